"""The package of runnel embed --build-system wasm in Node.js (docs/wasm.md), made for this model and decision. In the folder of
the other tests of WebAssembly, where only what is new is built (RUNNEL_WASM_WORK: another one of scripts/wasm.sh)."""
import os
import subprocess

import way

HERE = os.path.dirname(os.path.abspath(__file__))
work = os.environ.get("RUNNEL_WASM_WORK") or f"{way.BUILD}/wasm-work"
environment = os.environ | {"RUNNEL_PROGRAM": way.RUNNEL, "RUNNEL_MODEL": way.MODEL, "RUNNEL_DECISION": way.DECISION, "RUNNEL_RECORDING": way.WAV,
                            "RUNNEL_WASM_WORK": work, "RUNNEL_JOBS": "1"}
made = subprocess.run([f"{HERE}/../../../scripts/wasm.sh", "package"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
                      check=False)
if made.returncode == 77:
    way.skip(made.stderr.strip().splitlines()[-1])
if made.returncode != 0:
    raise SystemExit(made.stderr)
way.write(way.output_of(["node", f"{HERE}/wasm.mjs", f"{work}/build/package", way.WAV]).splitlines())
