"""From runnel's sink into runnel's source through a PipeWire daemon of the test's own (docs/pipewire.md), which computes its cycles
as fast as it can, without hardware and without a session manager."""
import os
import shutil
import signal
import subprocess
import time
import wave

import way

for program in ("pipewire", "pw-link"):
    if not shutil.which(program) or not os.path.exists(f"{way.BUILD}/lib/runnel/pipewire_sink.so"):
        way.skip(f"no {program}, a program of PipeWire, or no node pipewire (scripts/install.sh pipewire)")

CONFIGURATION = """
context.properties = {
    core.daemon = true
    core.name = pipewire-0
    default.clock.rate = 16000
    default.clock.allowed-rates = [ 16000 ]
    default.clock.quantum = 8192
    default.clock.min-quantum = 8192
    default.clock.max-quantum = 8192
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
      args = { factory.name = support.node.driver node.name = Driver node.group = pipewire.dummy priority.driver = 20000
               node.freewheel = FREEWHEEL } }
]
"""
GRAPH = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" + way.MODEL + " ! "
OWN = "detect smoothing_frames=25 threshold=0.93 release=0.56 refractory_frames=25 ignore=silence,unknown"


def start(call, name):
    with open(f"{way.FOLDER}/{name}.out", "wb") as out, open(f"{way.FOLDER}/{name}.err", "wb") as err:
        return subprocess.Popen(call, stdout=out, stderr=err)


def text_of(name):
    with open(f"{way.FOLDER}/{name}", encoding="utf-8") as read:
        return read.read()


def linked():
    return subprocess.run(["pw-link", "mouth:output_MONO", "ears:input_MONO"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def pad():
    """The recording with silence around it: a link is not there on both sides in the same cycle."""
    rate, channels, samples = way.read_wav(way.WAV)
    path = f"{way.FOLDER}/padded.wav"
    with wave.open(path, "wb") as out:
        out.setparams((channels, 2, rate, 0, "NONE", ""))
        out.writeframes(bytes(16 * 8192 * 2 * channels) + samples + bytes(4 * 8192 * 2 * channels))
    return path


def wait_for_silence(path):
    """Until nothing more was written for a second: what was played has been heard."""
    since, size = time.monotonic(), -1
    while time.monotonic() - since < 1:
        now = os.path.getsize(path) if os.path.exists(path) else -1
        if now != size:
            since, size = time.monotonic(), now
        time.sleep(0.05)


def attempt(number, freewheel):
    os.environ |= {"XDG_RUNTIME_DIR": way.FOLDER, "PIPEWIRE_RUNTIME_DIR": way.FOLDER, "PIPEWIRE_REMOTE": "pipewire-0",
                   "PIPEWIRE_PROPS": "{ adapter.auto-port-config = { mode = dsp monitor = false control = false position = preserve } }"}
    for name in ("DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_NODE", "PIPEWIRE_DEBUG"):
        os.environ.pop(name, None)
    with open(f"{way.FOLDER}/own.conf", "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.replace("FREEWHEEL", freewheel))
    programs = [start(["pipewire", "-c", f"{way.FOLDER}/own.conf"], "daemon")]
    try:
        way.until(lambda: os.path.exists(f"{way.FOLDER}/pipewire-0"), "the daemon")
        ears = start([way.RUNNEL, "run",
                      f"pipewire target=none label=ears name=mic ! {GRAPH}{way.DECISION or OWN} ! jsonl source=samples\n"
                      f"mic. ! wav path={way.HEARD}"], f"ears{number}")
        programs.append(ears)
        mouth = start([way.RUNNEL, "run", f"wav path={pad()} ! pipewire target=none label=mouth"], f"mouth{number}")
        programs.append(mouth)
        way.until(linked, "ears and mouth")
        if mouth.wait(timeout=300) != 0:
            raise SystemExit(text_of(f"mouth{number}.err"))
        wait_for_silence(f"{way.HEARD}.part")
        ears.send_signal(signal.SIGINT)
        if ears.wait(timeout=way.PATIENCE) != 0:
            raise SystemExit(text_of(f"ears{number}.err"))
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()
        if os.path.exists(f"{way.FOLDER}/pipewire-0"):
            os.remove(f"{way.FOLDER}/pipewire-0")
    _, _, sent = way.read_wav(way.WAV)
    _, _, heard = way.read_wav(way.HEARD)
    lines = text_of(f"ears{number}.out").splitlines()
    at = heard.find(sent)
    whole = at >= 0 and at % 2 == 0 and not any('"type":"gap"' in line for line in lines)
    way.write(lines)
    return whole


# A machine that is busy for longer than a cycle breaks what is played: then once more.
if not any(attempt(number, os.environ.get("FREEWHEEL", "true")) for number in range(12)):
    raise SystemExit("in none of twelve attempts all samples of the recording arrived in order and without a gap")
