"""The microphone of a browser (docs/live.md): headless Chromium, whose fake device plays the recording at the pace of sound, on the live page
of a run. The browser converts the rate by its own filter and begins at an unknown sample, so the events are compared with those of the samples
that arrived, frame for frame. What has arrived whole of the recording around one of its own events, found by correlation, must have given an
event of this label there."""
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import way

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
if not BROWSER:
    way.skip("no chromium (scripts/install.sh browser)")
for module, purpose in (("websocket", "browser"), ("numpy", "python")):
    if importlib.util.find_spec(module) is None:
        way.skip(f"no python3-{module} (scripts/install.sh {purpose})")

from page_alignment import arrived  # noqa: E402
from page_speak import listen, opened, silence, urgent  # noqa: E402

FRONT_END = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600"
OWN = "detect smoothing_frames=25 threshold=0.93 release=0.56 refractory_frames=25 ignore=silence,unknown"
rate, channels, samples = way.read_wav(way.WAV)
seconds = len(samples) / (2 * channels * rate)
log, out = f"{way.FOLDER}/messages", f"{way.FOLDER}/lines.jsonl"
with open(out, "wb") as lines, open(log, "wb") as messages:
    # Zeros where something was lost, here and in the recording of what arrived.
    run = subprocess.Popen([way.RUNNEL, "run", f"browser name=mic ! {FRONT_END} ! infer model={way.MODEL} ! {way.DECISION or OWN} ! jsonl\n"
                            f"mic. ! wav path={way.HEARD} encoding=float32", "--on-gap", "zeros", "--http", "127.0.0.1:0"], stdout=lines, stderr=messages,
                           preexec_fn=urgent)


def url():
    with open(log, encoding="utf-8") as read:
        found = re.search(r"page: (http\S*)", read.read())
    return found and found.group(1)


try:
    with opened(BROWSER, way.until(url, "the page"), f"{way.FOLDER}/profile", way.WAV) as page:
        page.value("document.getElementById('pause').click()")  # pictures cost time that the sound needs
        listen(page, seconds + 1)
        silence(page)
    run.send_signal(signal.SIGINT)
    if run.wait(timeout=way.PATIENCE) != 0:
        with open(log, encoding="utf-8") as read:
            raise SystemExit(read.read())
finally:
    if run.poll() is None:
        run.kill()
    run.wait()
with open(out, encoding="utf-8") as read:
    records = [json.loads(line) for line in read]
way.write(records)
heard = [record for record in records if record["type"] == "event"]
call = [way.RUNNEL, "listen", way.MODEL, "--wav", way.WAV, *way.decision()]
original = [record for record in map(json.loads, way.output_of(call).splitlines()) if record["type"] == "event"]
missing, whole = arrived(original, heard, way.WAV, way.HEARD)
if missing:
    raise SystemExit(f"{missing} have arrived whole, and are not among {heard}")
if whole == 0:
    way.skip("the machine was too busy for sound in real time: nothing of the recording arrived whole")
way.note(f"{whole} of the recording's {len(original)} events arrived whole, and are there")
