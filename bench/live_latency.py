#!/usr/bin/env python3
"""From a sample to the event about it: through ALSA and through PipeWire, side by side in one run.

    cmake --build build --target runnel_program runnel_models runnel_clocked_card
    bench/live_latency.py [--build build] [--seconds 30] [--milliseconds 10]

The same tones go into the same graph, by the tests' virtual card of ALSA (clocked, with periods of so many milliseconds) and by a PipeWire
daemon of this script's own (with cycles of so many milliseconds), which both have the clock of this machine and no hardware. It prints

  sound       the sound that passes from the end of a frame until it comes out: exact, on the device's clock (docs/live.md)
  step        what computing adds, median and 99th percentile, as the program measures it
  arrival     when the line of an event was read here, above the earliest of all events: what waking up and threads add, median and 99th
              percentile
  in all      sound + arrival + median step

A machine that is busy otherwise shows in the last two; compare the rows of one run.
"""
import argparse
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import wave

RATE = 16000
DECISION = 'detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=""'
FRONT_END = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600"

DAEMON = """
context.properties = {
    core.daemon = true
    core.name = pipewire-0
    default.clock.rate = 16000
    default.clock.allowed-rates = [ 16000 ]
    default.clock.quantum = %d
    default.clock.min-quantum = %d
    default.clock.max-quantum = %d
    clock.power-of-two-quantum = false
    support.dbus = false
    mem.allow-mlock = false
}
context.spa-libs = {
    audio.convert.* = audioconvert/libspa-audioconvert
    support.* = support/libspa-support
}
context.modules = [
    { name = libpipewire-module-protocol-native }
    { name = libpipewire-module-metadata }
    { name = libpipewire-module-spa-node-factory }
    { name = libpipewire-module-client-node }
    { name = libpipewire-module-access }
    { name = libpipewire-module-adapter }
    { name = libpipewire-module-link-factory }
]
context.objects = [
    { factory = metadata args = { metadata.name = default } }
    { factory = spa-node-factory
      args = { factory.name = support.node.driver node.name = Driver node.group = pipewire.dummy priority.driver = 20000 } }
]
"""


def tones(seconds):
    """16-bit samples with a new tone every 0.4 s."""
    samples = []
    for i in range(int(seconds * RATE)):
        second = i / RATE
        part = second * 2.5
        pitch = 200 + 170 * (int(part) % 20)
        loud = 9000 if part - int(part) < 0.6 else 20
        samples.append(int(loud * math.sin(2 * math.pi * pitch * second)))
    return struct.pack(f"<{len(samples)}h", *samples)


def hear(program, lines):
    """Reads the records of a program to its end; adds the time at which each line of an event came. Gives the summary."""
    summary = {}
    for line in program.stdout:
        now = time.monotonic()
        record = json.loads(line)
        if record["type"] == "event":
            lines.append((now, record["end"]))
        if record["type"] == "summary":
            summary = record
    return summary


def alsa(call, folder, graph):
    card = f"{call.build}/{call.card}"
    if not os.path.exists(card):
        return None, f"no {card}: cmake --build {call.build} --target runnel_clocked_card"
    with open(f"{folder}/in.raw", "wb") as out:
        out.write(tones(call.seconds + 1))
    with open(f"{folder}/asound.conf", "w", encoding="utf-8") as out:
        out.write('</usr/share/alsa/alsa.conf>\npcm_type.clocked { lib "%s" }\npcm.mic { type clocked infile "%s/in.raw" speed_percent 100 }\n'
                  % (os.path.abspath(card), folder))
    lines = []
    program = subprocess.Popen([call.runnel, "run", f"alsa device=mic period={call.milliseconds} duration={call.seconds} ! {graph}"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"ALSA_CONFIG_PATH": f"{folder}/asound.conf"})
    return (lines, hear(program, lines)), ""


def pipewire(call, folder, graph):
    for tool in ("pipewire", "pw-link"):
        if not shutil.which(tool):
            return None, f"no {tool}: scripts/install.sh pipewire"
    quantum = round(call.milliseconds * RATE / 1000)
    with open(f"{folder}/own.conf", "w", encoding="utf-8") as out:
        out.write(DAEMON % (quantum, quantum, quantum))
    with wave.open(f"{folder}/in.wav", "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(tones(call.seconds))
    env = {key: value for key, value in os.environ.items() if key not in ("DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_REMOTE", "PIPEWIRE_NODE")}
    env |= {"XDG_RUNTIME_DIR": folder, "PIPEWIRE_RUNTIME_DIR": folder,
            "PIPEWIRE_PROPS": "{ adapter.auto-port-config = { mode = dsp monitor = false control = false position = preserve } }"}
    quiet = {"stderr": subprocess.DEVNULL, "env": env}
    programs = [subprocess.Popen(["pipewire", "-c", f"{folder}/own.conf"], stdout=subprocess.DEVNULL, **quiet)]
    try:
        while not os.path.exists(f"{folder}/pipewire-0"):
            time.sleep(0.05)
        ears = subprocess.Popen([call.runnel, "run", f"pipewire target=none label=ears ! {graph}"], stdout=subprocess.PIPE, **quiet)
        mouth = subprocess.Popen([call.runnel, "run", f"wav path={folder}/in.wav ! pipewire target=none label=mouth"],
                                 stdout=subprocess.DEVNULL, **quiet)
        programs += [ears, mouth]
        while subprocess.run(["pw-link", "mouth:output_MONO", "ears:input_MONO"], check=False, **quiet).returncode != 0:
            if ears.poll() is not None or mouth.poll() is not None:
                return None, "a program has ended"
            time.sleep(0.1)
        # The end of what is played ends the listener.
        waiter = subprocess.Popen(["sh", "-c", f"while kill -0 {mouth.pid} 2>/dev/null && [ \"$(cut -d' ' -f3 /proc/{mouth.pid}/stat)\" != Z ]; "
                                   f"do sleep 0.2; done; kill -INT {ears.pid}"])
        programs.append(waiter)
        lines = []
        return (lines, hear(ears, lines)), ""
    finally:
        for program in reversed(programs):
            if program.poll() is None:
                program.send_signal(signal.SIGKILL)
            program.wait()


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--milliseconds", type=float, default=10)
    parser.add_argument("--card", default="tests/pipeline/clocked/runnel_clocked_card.so")
    call = parser.parse_args()
    call.runnel = f"{call.build}/runnel"
    graph = f"{FRONT_END} ! infer model={call.build}/models/digits/digits.rnl ! {DECISION} ! jsonl"
    print(f"{'ms':10} {'sound':>7} {'step p50':>9} {'p99':>7} {'arrival p50':>12} {'p99':>7} {'in all p50':>11} {'p99':>7} {'events':>7} {'lost':>6}")
    for name, way in (("ALSA", alsa), ("PipeWire", pipewire)):
        with tempfile.TemporaryDirectory() as folder:
            result, why = way(call, folder, graph)
        if result is None:
            print(f"{name:10} SKIPPED: {why}")
            continue
        lines, summary = result
        if not lines or not summary.get("latency"):
            sys.exit(f"{name}: no event came: {summary}")
        latency = summary["latency"][0]
        sound = latency["delay_ms"]
        step = [latency["p50_ms"] - sound, latency["p99_ms"] - sound]
        late = [1000 * (at - end) for at, end in lines]
        arrival = [late_one - min(late) for late_one in late]
        p50, p99 = quantile(arrival, 0.5), quantile(arrival, 0.99)
        print(f"{name:10} {sound:7.2f} {step[0]:9.2f} {step[1]:7.2f} {p50:12.2f} {p99:7.2f} {sound + step[0] + p50:11.2f} "
              f"{sound + step[0] + p99:7.2f} {len(lines):7} {summary['lost_samples']:6}", flush=True)


if __name__ == "__main__":
    main()
