#!/usr/bin/env python3
"""compare_builds.py OLD NEW [--rounds N] [--core C]: the benches of two build folders, in turn, as ratios.

Runs the same benches of both folders alternately, so that a busy machine disturbs both, takes the least time of every case over all
rounds, and prints NEW / OLD as a table: below 1 is faster. Whatever compares with other libraries is left out. Ends with 0, whatever it
finds; noise on a shared machine is some percent.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys


def run(command, core):
    if core is not None:
        command = ["taskset", "-c", str(core)] + command
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout


def inference(build, core):
    """Least microseconds of runnel's own cases, and of the digits graph per second of sound."""
    out = json.loads(run([f"{build}/bench/inference_bench", "--seconds", "0.3", "--digits", f"{build}/models/digits/digits.rnl"], core))
    return {name: case["min_us"] for name, case in out["cases"].items() if name.split("/")[-1] != "xnnpack qs8" and "xnnpack" not in name}


def features(build, core):
    """Least microseconds per frame of every case and instruction set."""
    cases = {}
    for line in run([f"{build}/bench/features_bench", "--seconds", "0.2"], core).splitlines():
        cell = [part.strip() for part in line.strip("| ").split("|")]
        if len(cell) > 5 and re.fullmatch(r"[0-9.]+", cell[4]) and not cell[0].startswith("FFTW"):
            cases[f"{cell[0]}, {cell[1]}, {cell[2]}"] = float(cell[5] if re.fullmatch(r"[0-9.]+", cell[5]) else cell[4])
    return cases


def serving(build, core):
    """The steps of many streams, as serve takes them."""
    out = json.loads(run([f"{build}/bench/serve_step", "--streams", "200", "--seconds", "2", "--rounds", "3", f"{build}/models/digits/digits.rnl"], core))
    return {"serve_step, per second of sound": 1000 * out["ms_per_audio_second"]["least"]}


BENCHES = {"inference": inference, "features": features, "serve": serving}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--bench", action="append", choices=sorted(BENCHES), help="again for more; default: all")
    call = parser.parse_args()
    least = {call.old: {}, call.new: {}}
    for number in range(call.rounds):
        for build in (call.old, call.new) if number % 2 == 0 else (call.new, call.old):
            for name in call.bench or sorted(BENCHES):
                try:
                    cases = BENCHES[name](build, call.core)
                except (OSError, subprocess.CalledProcessError) as failure:
                    sys.exit(f"compare_builds.py: {build}: {failure}")
                for case, value in cases.items():
                    least[build][case] = min(value, least[build].get(case, value))
        print(f"compare_builds.py: round {number + 1} of {call.rounds}", file=sys.stderr)
    ratios = []
    print("| case | old, us | new, us | new / old |\n|---|---:|---:|---:|")
    for case, old in least[call.old].items():
        if case in least[call.new] and old > 0:
            ratios.append(least[call.new][case] / old)
            print(f"| {case} | {old:.3f} | {least[call.new][case]:.3f} | {ratios[-1]:.3f} |")
    print(f"\nMedian of {len(ratios)} ratios: {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}.")


if __name__ == "__main__":
    main()
