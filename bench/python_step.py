"""python_step.py: what a step of a session costs from NumPy, beside the same steps in C++, in one run.

    PYTHONPATH=build/python taskset -c 1 python3 bench/python_step.py [MODEL]

Both push single frames, in turn, and measure the thread's processor time; the smallest of many rounds counts, which is
the one that nothing disturbed. One line of JSON.
"""

import json
import sys
import time

import numpy as np

import runnel

FRAMES, ROUNDS = 2000, 40
BOUND_US = 1.5


def main():
    model = runnel.load(sys.argv[1] if len(sys.argv) > 1 else "digits")
    session, native = model.session(), model.session()
    random = np.random.default_rng(1)
    frames = random.standard_normal((FRAMES, session.input_values)).astype(np.float32)
    single = [np.ascontiguousarray(frame) for frame in frames]
    push = session.push
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for frame in single:
            push(frame)
        middle = time.thread_time_ns()
        native._push_each(frames, 1)
        end = time.thread_time_ns()
        best = [min(best[0], middle - start), min(best[1], end - middle)]
    python, cpp = (each / FRAMES / 1000 for each in best)
    print(json.dumps({"model": model.name, "python_us": round(python, 3), "cpp_us": round(cpp, 3),
                      "overhead_us": round(python - cpp, 3), "bound_us": BOUND_US, "ratio": round(python / cpp, 3)}))
    return 0 if python - cpp <= BOUND_US else 1


sys.exit(main())
