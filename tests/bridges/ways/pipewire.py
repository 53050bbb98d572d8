"""From runnel's sink into runnel's source through a PipeWire daemon of the test's own (docs/pipewire.md), which computes its cycles
as fast as it can, without hardware and without a session manager."""
import os
import signal
import sys
import wave

import way

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pipewire"))
from own_pipewire import OwnPipeWire, missing  # noqa: E402

if missing() or not os.path.exists(f"{way.BUILD}/lib/runnel/pipewire_sink.so"):
    way.skip(f"no {missing() or 'node pipewire'} (scripts/install.sh pipewire)")

GRAPH = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" + way.MODEL + " ! "
OWN = "detect smoothing_frames=25 threshold=0.93 release=0.56 refractory_frames=25 ignore=silence,unknown"
CYCLE = 8192


def pad():
    """The recording with silence around it: a link is not there on both sides in the same cycle."""
    rate, channels, samples = way.read_wav(way.WAV)
    path = f"{way.FOLDER}/padded.wav"
    with wave.open(path, "wb") as out:
        out.setparams((channels, 2, rate, 0, "NONE", ""))
        out.writeframes(bytes(16 * CYCLE * 2 * channels) + samples + bytes(4 * CYCLE * 2 * channels))
    return path


def attempt(number):
    with OwnPipeWire(way.FOLDER, CYCLE, freewheel=True) as own:
        def end(program, name, patience):
            if program.wait(timeout=patience) != 0:
                raise SystemExit(own.text_of(f"{name}{number}.err"))

        ears = own.start(f"ears{number}", [way.RUNNEL, "run", f"pipewire target=none label=ears name=mic ! {GRAPH}{way.DECISION or OWN} ! "
                                           f"jsonl source=samples\nmic. ! wav path={way.HEARD}"])
        mouth = own.start(f"mouth{number}", [way.RUNNEL, "run", f"wav path={pad()} ! pipewire target=none label=mouth"])
        own.link("mouth:output_MONO", "ears:input_MONO", ears, mouth)
        end(mouth, "mouth", 300)
        # What has been played waits in the listener's ring, and is heard before it ends.
        ears.send_signal(signal.SIGINT)
        end(ears, "ears", way.PATIENCE)
        lines = own.text_of(f"ears{number}.out").splitlines()
    _, _, sent = way.read_wav(way.WAV)
    _, _, heard = way.read_wav(way.HEARD)
    at = heard.find(sent)
    whole = at >= 0 and at % 2 == 0 and not any('"type":"gap"' in line for line in lines)
    way.write(lines)
    return whole


# A machine that is busy for longer than a cycle breaks what is played: then once more.
if not any(attempt(number) for number in range(12)):
    raise SystemExit("in none of twelve attempts all samples of the recording arrived in order and without a gap")
