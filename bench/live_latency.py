#!/usr/bin/python3
"""From a sample to the event about it: through ALSA, through PipeWire and from the microphone of a browser, side by side in one run.

    cmake --build build --target runnel_program runnel_models runnel_clocked_card
    bench/live_latency.py [--build build] [--seconds 30] [--milliseconds 10]

The same tones go into the same graph, by the tests' virtual card of ALSA (clocked, with periods of so many milliseconds), by a PipeWire
daemon of this script's own (with cycles of so many milliseconds), and by headless Chromium, whose fake microphone plays them to the live page, which
sends pieces of 20 ms. All have the clock of this machine and no hardware. It prints

  sound       the sound that passes from the end of a frame until it comes out: exact, on the device's clock (docs/live.md)
  step        what computing adds, median and 99th percentile, as the program measures it
  arrival     when the line of an event was read here, above the earliest of all events: what waking up and threads add, median and 99th
              percentile
  in all      sound + arrival + median step

and for the browser what its page measures: from the capture of the last piece that a decision needed to the event on the page, which goes over a
WebSocket both ways. The browser's own buffers before a capture are in no row, as those of a sound card are not.

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
import threading
import time
import wave

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [f"{ROOT}/tests/bridges/pipewire", f"{ROOT}/scripts"]
from own_pipewire import OwnPipeWire, missing  # noqa: E402

RATE = 16000
DECISION = 'detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=""'
FRONT_END = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600"

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
    if missing():
        return None, f"no {missing()}: scripts/install.sh pipewire"
    with wave.open(f"{folder}/in.wav", "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(tones(call.seconds))
    with OwnPipeWire(folder, round(call.milliseconds * RATE / 1000)) as own:
        ears = own.start("ears", [call.runnel, "run", f"pipewire target=none label=ears ! {graph}"], stdout=subprocess.PIPE)
        mouth = own.start("mouth", [call.runnel, "run", f"wav path={folder}/in.wav ! pipewire target=none label=mouth"])
        own.link("mouth:output_MONO", "ears:input_MONO", ears, mouth)
        # The end of what is played ends the listener.
        threading.Thread(target=lambda: (mouth.wait(), ears.send_signal(signal.SIGINT))).start()
        lines = []
        return (lines, hear(ears, lines)), ""


def browser(call, folder, graph):
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        return None, "no chromium: scripts/install.sh browser"
    try:
        from page_speak import latencies, listen, opened, silence
    except ImportError:
        return None, "no python3-websocket: scripts/install.sh browser"
    with wave.open(f"{folder}/in.wav", "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(tones(call.seconds))
    ears = subprocess.Popen([call.runnel, "run", f"browser ! {graph}", "--http", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = next(line.split("page: ")[1].strip() for line in ears.stderr if "page: http" in line)
        threading.Thread(target=ears.stderr.read, daemon=True).start()
        lines, page_times, summary = [], [], {}
        hearing = threading.Thread(target=lambda: summary.update(hear(ears, lines)))
        hearing.start()
        with opened(program, url, f"{folder}/profile", f"{folder}/in.wav") as page:
            page.value("document.getElementById('pause').click()")  # pictures cost time that the sound needs
            listen(page, call.seconds)
            page_times += latencies(page)
            silence(page)
        ears.send_signal(signal.SIGINT)
        hearing.join()
    finally:
        if ears.poll() is None:
            ears.kill()
        ears.wait()
    return (lines, summary), page_times


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
    for name, way in (("ALSA", alsa), ("PipeWire", pipewire), ("browser", browser)):
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
        if why:
            print(f"{name:10} from a capture to the event on the page: p50 {quantile(why, 0.5):.2f}, p99 {quantile(why, 0.99):.2f}, {len(why)} events")


if __name__ == "__main__":
    main()
