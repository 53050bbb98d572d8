#!/usr/bin/python3
"""What a worker of a fleet costs beside a server of streams: the same model, packets of 100 ms in real time, both measured in one run.

    cmake --build build --target runnel_program runnel_models serve_load
    bench/fleet_load.py [--build build] [--streams 200] [--seconds 20] [--save 5] [--model digits] [--chunk 100]

A nats-server of this script's own keeps the messages, `runnel send` sends every stream at its own pace, and one `runnel work` hears all of them. The
system's count of the worker's processor time in a window of so many seconds, in which all streams run, is divided by the sound of that window; so is
that of `runnel serve`, as bench/serve_load measures it. Prints a table: processor time for a second of a stream (the server of messages, too),
streams of one core, the ratio, and what goes over the network for each stream and second: bytes to and from the worker, and saved states, which are writes to the key-value store.
"""
import argparse
import array
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import wave

RATE = 16000


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tones(path, seconds):
    samples = array.array("h", (int(9000 * math.sin(2 * math.pi * (200 + 170 * (int(i / RATE * 2.5) % 20)) * i / RATE)) for i in range(int(seconds * RATE))))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


def server(folder):
    """A process, its address and that of its monitor."""
    (folder / "server.conf").write_text(f'listen: "127.0.0.1:-1"\nhttp: "127.0.0.1:-1"\njetstream {{store_dir: "{folder}/store"}}\n'
                                        f'ports_file_dir: "{folder}"\nmax_payload: 2MB\n')
    process = subprocess.Popen([shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin"), "-c", folder / "server.conf", "-l", folder / "log"])
    while True:
        for path in folder.glob("*.ports"):
            try:
                ports = json.loads(path.read_text())
                return process, ports["nats"][0], ports["monitoring"][0]
            except (json.JSONDecodeError, KeyError):
                pass
        if process.poll() is not None:
            sys.exit("fleet_load.py: nats-server does not start:\n" + (folder / "log").read_text())
        time.sleep(0.05)


def traffic(monitor, name):
    with urllib.request.urlopen(f"{monitor}/connz") as answer:
        for one in json.load(answer)["connections"]:
            if one.get("name", "").startswith(name):
                return one["in_bytes"], one["out_bytes"]
    return 0, 0


def fleet(call, program):
    """For a second of a stream: processor seconds of worker and server, bytes to and from the worker, saved states; and the bytes of a state."""
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        tones(folder / "tones.wav", call.seconds + 40)
        # A sender has eight recordings under way at a time.
        groups = [folder / f"g{i}" for i in range((call.streams + 7) // 8)]
        for i in range(call.streams):
            groups[i // 8].mkdir(exist_ok=True)
            os.link(folder / "tones.wav", groups[i // 8] / f"s{i}.wav")
        nats, url, monitor = server(folder)
        running = [nats]
        try:
            work = subprocess.Popen([program, "work", call.model, "--nats", url, "--name", "bench", "--save", str(call.save)], stdout=subprocess.PIPE, text=True)
            running.append(work)
            work.stdout.readline()
            senders = [subprocess.Popen([program, "send", url, "--stream", f"audio.{group.name}", "--wav", group, "--pace", "real",
                                         "--chunk", str(call.chunk)], stdout=subprocess.DEVNULL)
                       for group in groups]
            running += senders
            end = time.monotonic() + 60
            while True:
                lines = subprocess.run([program, "fleet", "status", "--json", "--nats", url], capture_output=True, text=True, check=False).stdout.splitlines()
                heard = [one for one in map(json.loads, lines) if one["type"] == "stream" and one["next"] > 0]
                if len(heard) == call.streams:
                    break
                if time.monotonic() > end:
                    sys.exit(f"fleet_load.py: only {len(heard)} of {call.streams} streams are heard")
            def now():
                return [time.monotonic(), processor_seconds(work), processor_seconds(nats), *traffic(monitor, "bench")]
            before = now()
            time.sleep(call.seconds)
            took, worker, keeper, back, to = (after - one for after, one in zip(now(), before))
            for send in senders:
                send.wait()
            work.terminate()
            summary = json.loads(work.communicate()[0].splitlines()[-1])
        finally:
            for process in running:
                process.kill()
                process.wait()
    sound = took * call.streams
    if to < 0.9 * 2 * RATE * sound:
        sys.exit("fleet_load.py: not all streams were sent in real time: fewer streams, or a machine that does nothing else")
    return {"worker": worker / sound, "server": keeper / sound, "to": to / sound, "back": back / sound,
            "saves": summary["saves"] / (call.streams * (call.seconds + 40)), "state": summary["saved_bytes"] / max(summary["saves"], 1)}


def serve(call, program):
    with tempfile.TemporaryDirectory() as folder:
        tones(pathlib.Path(folder) / "tones.wav", call.seconds + 12)
        done = subprocess.run([call.build / "bench/serve_load", "--streams", str(call.streams), "--seconds", str(call.seconds), "--threads", "1",
                               "--wav", f"{folder}/tones.wav", program, call.build / f"models/{call.model}/{call.model}.rnl"],
                              stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--save", type=float, default=5)
    parser.add_argument("--model", default="digits")
    parser.add_argument("--chunk", type=int, default=100, help="milliseconds; those of `serve` stay at 100")
    call = parser.parse_args()
    program = call.build / "runnel"
    served = serve(call, program)
    print(f"serve: {served}", file=sys.stderr)
    found = fleet(call, program)
    base = served["server_ms_per_audio_second"] / 1000
    print(f"{call.streams} streams of {call.model}, chunks of {call.chunk} ms, a saved state every {call.save:g} s\n")
    print("| | processor time for a second | streams of a core |\n|---|---|---|")
    print(f"| `serve` | {1e6 * base:.0f} us | {1 / base:.0f} |")
    print(f"| `work` | {1e6 * found['worker']:.0f} us | {1 / found['worker']:.0f} ({100 * base / found['worker']:.0f} % of `serve`) |")
    print(f"| nats-server | {1e6 * found['server']:.0f} us | {1 / found['server']:.0f} |\n")
    print(f"For each stream and second: {found['to'] / 1000:.1f} kB to the worker, {found['back'] / 1000:.2f} kB from it, {found['saves']:.2f} saved states "
          f"of {found['state'] / 1000:.1f} kB.")


if __name__ == "__main__":
    main()
