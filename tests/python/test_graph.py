"""Graphs between arrays, with functions in Python, on several threads, interrupted."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import runnel

RATE = 16000


def noise(seconds=1.0, channels=1, seed=2):
    shape = (round(seconds * RATE),) if channels == 1 else (round(seconds * RATE), channels)
    return (np.random.default_rng(seed).standard_normal(shape) * 0.1).astype(np.float32)


def test_an_open_end_is_collected():
    samples = noise()
    result = runnel.Graph("samples rate=16000 ! fbank num_mel_bins=40", samples).run()
    assert list(result) == ["fbank"]
    output = result["fbank"]
    assert output.kind == "frames" and output.data.shape == (98, 40) and output.data.dtype == np.float32
    assert output.first == 0 and output.rate == 100
    np.testing.assert_array_equal(output.index, np.arange(98))
    np.testing.assert_allclose(output.times, np.arange(98) * 0.01)
    np.testing.assert_array_equal(output.data, runnel.Fbank(num_mel_bins=40)(samples))
    assert result.summary["audio_seconds"] == 1.0


def test_branches_have_names():
    graph = runnel.Graph("""samples rate=16000 ! fbank num_mel_bins=20 name=a ! cmvn
                            a. ! deltas
                            a. ! collect name=plain
                            a. ! collect""", noise())
    assert sorted(graph.outputs) == ["a", "cmvn", "deltas", "plain"]
    result = graph.run()
    np.testing.assert_array_equal(result["a"].data, result["plain"].data)
    assert result.arrays["deltas"].shape[1] == 60
    with pytest.raises(KeyError, match="nothing: the graph has"):
        result["nothing"]


def test_joined_sources():
    text = """samples name=left rate=100 ! join name=both
              samples name=right rate=100 ! both."""
    left, right = noise(0.01)[:100], noise(0.02, seed=4)[:100]
    graph = runnel.Graph(text, {"left": left, "right": right})
    data = next(iter(graph.run().values())).data
    np.testing.assert_array_equal(data, np.stack([left, right], axis=1)[:len(data)])
    assert len(data) >= 99
    with pytest.raises(runnel.NotFound, match="middle"):
        runnel.Graph(text, {"middle": left})


def test_push_and_flush():
    samples = noise(2.0)
    whole = runnel.Graph("samples ! fbank ! cmvn", samples).run()["cmvn"].data
    graph = runnel.Graph("samples ! fbank ! cmvn")
    for _ in range(2):
        parts, first = [], 0
        for at in range(0, len(samples), 1234):
            output = graph.push(samples[at:at + 1234])["cmvn"]
            assert not len(output.data) or output.first == first
            first += len(output.data)
            parts.append(output.data)
        parts.append(graph.flush()["cmvn"].data)
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        with pytest.raises(runnel.InvalidArgument, match="restart"):
            graph.push(samples)
        graph.reset()


def test_samples_are_looked_at():
    text = "samples channels=2 ! downmix"
    for wrong, error, sentence in [
            (noise(), runnel.Mismatch, r"\[16000\], expected \[samples, 2\]"),
            (np.zeros((10, 2), np.uint8), runnel.InvalidArgument, "uint8, expected float32"),
            (np.zeros((10, 2), complex), runnel.InvalidArgument, "complex128"),
            (object(), runnel.InvalidArgument, "expected"),
    ]:
        with pytest.raises(error, match=sentence):
            runnel.Graph(text, wrong)
    integers = (noise(channels=2) * 32767).astype(np.int16)
    expected = runnel.Graph(text, integers.astype(np.float32) / 32768).run()["downmix"].data
    np.testing.assert_array_equal(runnel.Graph(text, integers).run()["downmix"].data, expected)
    np.testing.assert_array_equal(runnel.Graph(text, integers[::-1][::-1]).run()["downmix"].data, expected)


def test_sentences_of_the_program():
    with pytest.raises(runnel.NotFound, match="fbnk.*fbank"):
        runnel.Graph("samples ! fbnk")
    with pytest.raises(runnel.Error, match="num_mel_bins"):
        runnel.Fbank(num_mel_bin=40)
    with pytest.raises(runnel.Error, match="num_mel_bins"):
        runnel.Fbank(num_mel_bins=-1)
    with pytest.raises(runnel.NotFound, match="nowhere.wav"):
        runnel.Graph("wav path=nowhere.wav ! fbank").run()
    with pytest.raises(runnel.InvalidArgument, match="threads=0"):
        runnel.Graph("samples ! fbank", threads=0)


def test_a_function_as_a_node():
    samples = noise()
    seen = []

    def louder(frames):
        seen.append(len(frames))
        return np.concatenate([frames * 2, frames.sum(axis=1, keepdims=True)], axis=1)

    result = runnel.Graph("samples ! fbank num_mel_bins=10 ! louder ! cmvn", samples,
                          functions={"louder": louder}).run()
    frames = runnel.Fbank(num_mel_bins=10)(samples)
    own = np.concatenate([frames * 2, frames.sum(axis=1, keepdims=True)], axis=1).astype(np.float32)
    np.testing.assert_allclose(result["cmvn"].data, runnel.Cmvn(11)(own), atol=1e-5)
    assert seen[0] == 0 and sum(seen) == 98


def test_a_node_with_state_is_reset():
    class Sum:
        def __init__(self):
            self.starts = 0

        def reset(self):
            self.total = 0.0
            self.starts += 1

        def __call__(self, frames):
            out = np.cumsum(frames, axis=0, dtype=np.float32)
            if len(frames):
                out += self.total
                self.total = out[-1]
            return out

    node = Sum()
    graph = runnel.Graph("samples ! sum", functions={"sum": node})
    ones = np.ones(3000, np.float32)
    for _ in range(2):
        assert graph.push(ones)["sum"].data[-1, 0] == 3000
        graph.flush()
        graph.reset()
    assert node.starts >= 2


def test_what_a_function_throws_comes_out():
    class Strange(Exception):
        pass

    def fails(frames):
        if len(frames):
            raise Strange("in the middle")
        return frames

    with pytest.raises(Strange, match="in the middle"):
        runnel.Graph("samples ! fails", noise(), functions={"fails": fails}).run()
    with pytest.raises(runnel.Mismatch, match="expected as many"):
        runnel.Graph("samples ! fewer", noise(), functions={"fewer": lambda frames: frames[1:]}).run()
    with pytest.raises(runnel.InvalidArgument, match="expected an array"):
        runnel.Graph("samples ! text", noise(), functions={"text": lambda frames: "text"})
    with pytest.raises(ZeroDivisionError):
        runnel.Graph("samples ! zero", noise(), functions={"zero": lambda frames: 1 / 0})


def test_threads_lose_no_event(digits, data):
    """Sinks of several branches run in several threads; the records are the same as on one, each time."""
    path = data / "digits" / "stitched_90s.wav"
    branch = f"{digits.front_end} ! infer model=digits ! {digits.decision} threshold=0.2"
    text = f"wav path={path} name=sound ! " + "\nsound. ! ".join(f"{branch} ! collect name=end{i}" for i in range(4))
    try:
        expected = runnel.Graph(text, models=[digits]).run()
    except runnel.Error:   # the decision has a threshold of its own
        text = text.replace(" threshold=0.2", "")
        expected = runnel.Graph(text, models=[digits]).run()
    assert len(expected["end0"].events) > 20
    for threads in (2, 4):
        for _ in range(2):
            result = runnel.Graph(text, models=[digits], threads=threads).run()
            for name in expected:
                assert result[name].events == expected[name].events


def test_events_while_they_come(digits, data):
    listening = digits.listen(data / "digits" / "stitched_90s.wav")
    listening._slice_ms = 0.0   # one step at a time, so that no clock decides how much comes before stop()
    first = next(listening)
    assert first.type == "event" and first.label in digits.labels and 0 <= first.score <= 1 and first.start < first.end
    assert first["label"] == first.label and "label" in first
    with pytest.raises(AttributeError, match="it has"):
        first.colour
    listening.stop()
    assert len(list(listening)) < 20


def test_ctrl_c_ends_a_run(tmp_path):
    """A run of minutes ends at once, with KeyboardInterrupt, and its file is complete."""
    out = tmp_path / "features.npy"
    code = textwrap.dedent(f"""
        import numpy as np, os, runnel, sys, threading
        samples = np.zeros(16000 * 1800, np.float32)
        graph = runnel.Graph("samples name=s ! stft n_fft=16384 hop_length=16 ! null\\ns. ! fbank ! npy path={out}", samples)
        def tell():
            while not os.path.exists("{out}.part") or os.path.getsize("{out}.part") < 20000:
                pass
            print("running", flush=True)
        threading.Thread(target=tell, daemon=True).start()
        try:
            graph.run()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.exit(5)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    out_, _ = process.communicate(timeout=120)
    assert process.returncode == 5 and out_.endswith("interrupted\n")
    assert np.load(out).shape[1] == 23


def test_a_graph_from_a_file(tmp_path):
    path = tmp_path / "graph.rnlg"
    path.write_text("# a chain\nsamples ! fbank num_mel_bins=20\n")
    assert runnel.Graph.load(path, noise()).run()["fbank"].data.shape == (98, 20)


def test_outputs_know_labels_and_scales(digits):
    samples = noise()
    graph = runnel.Graph(f"samples ! {digits.front_end} ! infer model=digits", samples, models=[digits])
    output = graph.run()["infer"]
    assert output.labels == digits.labels and output.data.dtype == np.int8
    assert output.exponent == digits.session().output_exponent


def test_a_picture():
    output = runnel.Graph("samples ! fbank num_mel_bins=40", noise()).run()["fbank"]
    try:
        picture = output.picture()
    except runnel.NotFound as failure:
        pytest.skip(str(failure))
    assert picture.startswith(b"\x89PNG") and output._repr_png_() == picture
