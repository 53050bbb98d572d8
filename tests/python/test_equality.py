"""What Python returns is what the program writes, byte for byte."""

import json
import os
import pathlib

import numpy as np
import pytest

import runnel

BUILD = pathlib.Path(os.environ["RUNNEL_BUILD"])


def sound(seconds=2.0, rate=16000):
    """A voice-like sound with noise, as int16."""
    time = np.arange(round(seconds * rate)) / rate
    random = np.random.default_rng(3)
    sound_ = 0.3 * np.sin(2 * np.pi * (200 + 50 * np.sin(6 * time)) * time) * np.sin(9 * time) ** 2
    return np.round((sound_ + 0.01 * random.standard_normal(len(time))) * 32767).astype("<i2")


def write_wav(path, samples, rate=16000):
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    data = samples.astype("<i2").tobytes()
    head = b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    head += (1).to_bytes(2, "little") + channels.to_bytes(2, "little") + rate.to_bytes(4, "little")
    head += (rate * channels * 2).to_bytes(4, "little") + (channels * 2).to_bytes(2, "little") + (16).to_bytes(2, "little")
    path.write_bytes(head + b"data" + len(data).to_bytes(4, "little") + data)
    return path


@pytest.fixture(scope="module")
def wav(tmp_path_factory):
    return write_wav(tmp_path_factory.mktemp("sound") / "sound.wav", sound())


def same_bytes(array, path):
    expected = np.load(path)
    assert array.dtype == expected.dtype and array.shape == expected.shape
    assert array.tobytes() == expected.tobytes()


@pytest.mark.parametrize("preset", runnel.presets())
def test_every_preset(preset, wav, program, tmp_path):
    out = tmp_path / "features.npy"
    program("features", wav, "--preset", preset, "-o", out)
    samples, rate = runnel.read_wav(wav)
    front_end = runnel.Fbank(preset)
    if front_end.rate != rate:
        samples = runnel.Resampler(rate, front_end.rate)(samples)
    same_bytes(front_end(samples), out)
    # In pieces as well, and from the integers of the file.
    pieces = [front_end.push(samples[at:at + 777]) for at in range(0, len(samples), 777)]
    same_bytes(np.concatenate([*pieces, front_end.flush()]), out)
    if front_end.rate == rate:
        same_bytes(front_end(sound()), out)


@pytest.mark.parametrize("kind, make", [("mfcc", runnel.Mfcc), ("spectrogram", runnel.Spectrogram)])
def test_other_kinds(kind, make, wav, program, tmp_path):
    out = tmp_path / "features.npy"
    program("features", wav, "--kind", kind, "--set", "frame_shift=12.5", "-o", out)
    same_bytes(make(frame_shift=12.5)(runnel.read_wav(wav)[0]), out)


@pytest.mark.parametrize("nodes, make", [
    ("stft n_fft=400 hop_length=100", lambda: runnel.Stft(n_fft=400, hop_length=100)),
    ("resample rate=11025", lambda: runnel.Resampler(16000, 11025)),
    ("highpass cutoff=300", lambda: runnel.HighPass(cutoff=300)),
    ("preemphasis", lambda: runnel.Preemphasis()),
    ("levels", lambda: runnel.Levels()),
    ("framing window=512 hop=128", lambda: runnel.Framing(window=512, hop=128)),
    ("statistics window=20ms hop=10ms", lambda: runnel.Statistics(window="20ms", hop="10ms")),
    ("fbank num_mel_bins=23 ! deltas ! cmvn", lambda: runnel.FrontEnd("fbank num_mel_bins=23 ! deltas ! cmvn")),
])
def test_every_node_of_a_front_end(nodes, make, wav, program, tmp_path):
    out = tmp_path / "out.npy"
    program("run", f"wav path={wav} ! {nodes} ! npy path={out}")
    front_end = make()
    samples = runnel.read_wav(wav)[0]
    same_bytes(front_end(samples), out)
    pieces = [front_end.push(samples[at:at + 1000]) for at in range(0, len(samples), 1000)]
    assert front_end.next == sum(map(len, pieces))
    same_bytes(np.concatenate([*pieces, front_end.flush()]), out)


def test_frames_as_input(wav, program, tmp_path):
    out = tmp_path / "out.npy"
    program("run", f"wav path={wav} ! fbank num_mel_bins=40 ! stack frames=4 step=1 ! npy path={out}")
    frames = runnel.Fbank(num_mel_bins=40)(runnel.read_wav(wav)[0])
    same_bytes(runnel.Stack(40, frames=4, step=1)(frames), out)


def test_there_and_back(wav):
    samples = runnel.read_wav(wav)[0]
    spectra = runnel.Stft()(samples)
    back = runnel.InverseStft()(spectra)[:, 0]
    np.testing.assert_allclose(back, samples[:len(back)], atol=2e-6)
    assert len(back) > len(samples) - 512
    assert runnel.Stft().complex(spectra).shape == (len(spectra), 257)


def records(output):
    return [line for line in output.decode().splitlines() if json.loads(line)["type"] != "summary"]


def without_source(lines):
    return [{name: value for name, value in json.loads(line).items() if name != "source"} for line in lines]


def test_digits_hear_the_same(digits, stream, program):
    expected = records(program("listen", "digits", "--wav", stream))
    assert len(expected) > 20
    listening = digits.listen(stream)
    assert [event.json for event in listening] == expected
    assert listening.summary["events"] == len(expected)
    samples, rate = runnel.read_wav(stream)
    heard = list(digits.listen(samples, rate=rate))
    assert [{**event, "source": None} for event in heard] == [{**json.loads(line), "source": None} for line in expected]
    # As they come, in pieces.
    pushing = digits.stream(rate=rate)
    pieces = [event for at in range(0, len(samples), 12345) for event in pushing.push(samples[at:at + 12345])]
    assert without_source(event.json for event in pieces + pushing.flush()) == without_source(expected)


def test_another_rate_and_channels(digits, stream, program, tmp_path):
    samples, rate = runnel.read_wav(stream)
    samples = samples[:20 * rate]
    stereo = np.stack([np.repeat(samples, 2), np.repeat(samples, 2)], axis=1)
    path = write_wav(tmp_path / "stereo.wav", np.round(stereo * 32767), 2 * rate)
    expected = records(program("listen", "digits", "--wav", path, "--threshold", "0.6"))
    assert expected
    assert [event.json for event in digits.listen(path, threshold=0.6)] == expected
    heard = digits.listen(runnel.read_wav(path)[0], rate=2 * rate, threshold=0.6)
    assert without_source(event.json for event in heard) == without_source(expected)


def test_vibration_hears_the_same(program):
    found = sorted((BUILD / "recordings" / "vibration").rglob("*.wav"))
    if not found:
        pytest.skip("this build has no recordings of vibration")
    model = runnel.load("vibration")
    for path in found[:6]:
        expected = records(program("listen", "vibration", "--wav", path))
        assert [event.json for event in model.listen(path)] == expected


def test_commands_hears_the_same(program):
    try:
        model = runnel.load("commands")
    except runnel.NotFound:
        pytest.skip("this build has no model commands")
    path = pathlib.Path(os.environ["RUNNEL_SOURCE"]) / "tests" / "models" / "commands.wav"
    expected = records(program("listen", "commands", "--wav", path))
    assert any("turn on the light" in record for record in expected)
    assert [event.json for event in model.listen(path)] == expected


@pytest.mark.parametrize("name", ["commands", "digits", "vibration"])
def test_reports_are_the_same(name, program):
    try:
        model = runnel.load(name)
    except runnel.NotFound:
        pytest.skip(f"this build has no model {name}")
    assert model.inspect() == json.loads(program("inspect", name, "--json"))
    assert model.check().report == json.loads(program("check", name))


def test_the_frames_of_a_model_are_those_of_the_program(digits, stream, program, tmp_path):
    out = tmp_path / "frames.npy"
    program("run", f"wav path={stream} ! {digits.front_end} ! infer model=digits ! npy path={out}")
    frames = runnel.FrontEnd(digits.front_end)(runnel.read_wav(stream)[0])
    same_bytes(digits.session().whole(frames).data, out)
