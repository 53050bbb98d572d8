"""Models that are quantized, imported and exported from Python: the files of the program, byte for byte."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import runnel

DIGITS = pathlib.Path(os.environ["RUNNEL_SOURCE"]) / "models" / "digits"


@pytest.fixture(scope="module")
def real():
    """The float model, or a skip where this build does not read .onnx files."""
    path = DIGITS / "digits.onnx"
    try:
        runnel.load(path)
    except runnel.Unsupported as failure:
        pytest.skip(str(failure))
    return path


def clips(count=6, frames=98, values=40):
    """Arrays of the model's input: [1, values, frames]."""
    random = np.random.default_rng(2)
    return [(random.standard_normal((1, values, frames)) * 3 + 8).astype(np.float32) for _ in range(count)]


def test_quantize_gives_the_file_and_the_report_of_the_program(real, program, tmp_path):
    shape = runnel.load(real).inspect()["tensors"][0]["shape"]
    arrays = [each.reshape(shape) for each in clips(frames=int(np.prod(shape)) // 40)]
    folder = tmp_path / "clips"
    folder.mkdir()
    for i, array in enumerate(arrays):
        np.save(folder / f"clip{i:06d}.npy", array)
    program("quantize", real, "--calib", folder, "-o", tmp_path / "program.rnl", "--methods", "none", "--layout", "frames-first",
            "--report", tmp_path / "report.json", "--quiet", "--name", "digits")
    seen = []
    made = runnel.quantize(real, arrays, tmp_path / "python.rnl", methods=["none"], layout="frames-first", name="digits",
                           progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert (tmp_path / "python.rnl").read_bytes() == (tmp_path / "program.rnl").read_bytes()
    assert made.json == (tmp_path / "report.json").read_text()
    assert made.bytes == (tmp_path / "python.rnl").stat().st_size
    assert made.report == json.loads(made.json)
    assert made.operators and made.operators[0].type == "int8" and made.operators[0].alone >= 0
    assert made.outputs[0].noise_to_signal > 0 and made.methods == "none"
    assert {stage for stage, _ in seen} >= {"ranges", "report"} and all(0 <= fraction <= 1 for _, fraction in seen)
    assert made.load().check().passed


def test_a_table_makes_the_bundled_model(real, program, tmp_path, digits):
    made = runnel.quantize(real, output=tmp_path / "digits.rnl", table=DIGITS / "digits.table.json", layout="frames-first", classes=digits.labels, decision=digits.decision)
    assert made.operators == [] and made.evaluation is None
    model = made.load()
    assert model.front_end == digits.front_end and model.labels == digits.labels
    frames = np.random.default_rng(1).standard_normal((200, 40)).astype(np.float32)
    np.testing.assert_array_equal(model.session().whole(frames).data, digits.session().whole(frames).data)


def test_evaluation(real, tmp_path):
    shape = runnel.load(real).inspect()["tensors"][0]["shape"]
    arrays = [each.reshape(shape) for each in clips(frames=int(np.prod(shape)) // 40)]
    made = runnel.quantize(real, arrays, tmp_path / "a.rnl", methods=["none"], evaluate=arrays, labels=[0, 1, 2, 3, 4, 5])
    assert made.evaluation.clips == 6 and 0 <= made.evaluation.same_decision <= 6


def test_wrong_calls(real, tmp_path):
    out = tmp_path / "a.rnl"
    for arguments, error, sentence in [
            ({"bits": 12}, runnel.InvalidArgument, "bits=12"),
            ({"target": "esp99"}, runnel.Error, "esp99"),
            ({"methods": ["nothing"]}, runnel.Error, "nothing"),
            ({"bits_of": {"conv": 9}}, runnel.Error, "expected 8, 16 or float"),
    ]:
        with pytest.raises(error, match=sentence):
            runnel.quantize(real, clips(2), out, **arguments)
    with pytest.raises(runnel.InvalidArgument, match="--calib DATA or --table"):
        runnel.quantize(real, None, out)
    with pytest.raises(runnel.InvalidArgument, match="no output"):
        runnel.quantize(real, clips(2))
    with pytest.raises(TypeError, match="colour"):
        runnel.quantize(real, clips(2), out, colour=1)
    assert not out.exists()


def test_what_progress_raises_ends_the_run(real, tmp_path):
    class Enough(Exception):
        pass

    def progress(stage, fraction):
        if stage not in ("", "ranges"):
            raise Enough(stage)

    shape = runnel.load(real).inspect()["tensors"][0]["shape"]
    arrays = [each.reshape(shape) for each in clips(4, frames=int(np.prod(shape)) // 40)]
    with pytest.raises(Enough):
        runnel.quantize(real, arrays, tmp_path / "a.rnl", progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c(real, tmp_path):
    shape = runnel.load(real).inspect()["tensors"][0]["shape"]
    code = textwrap.dedent(f"""
        import numpy as np, runnel, sys
        clips = [np.random.default_rng(i).standard_normal({list(shape)}).astype(np.float32) for i in range(64)]
        try:
            runnel.quantize({str(real)!r}, clips, {str(tmp_path / 'a.rnl')!r}, with_methods=["blocks", "tqt"],
                            progress=lambda stage, fraction: print(stage, flush=True))
        except KeyboardInterrupt:
            sys.exit(5)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() not in ("", "ranges"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 5
    assert list(tmp_path.iterdir()) == []


def test_import_and_export(program, tmp_path):
    program("import", DIGITS / "digits_c_s8.espdl", "-o", tmp_path / "program.rnl", "--front-end", "fbank num_mel_bins=40")
    model = runnel.import_model(DIGITS / "digits_c_s8.espdl", tmp_path / "python.rnl", front_end="fbank num_mel_bins=40")
    assert (tmp_path / "python.rnl").read_bytes() == (tmp_path / "program.rnl").read_bytes()
    assert "num_mel_bins=40" in model.front_end
    program("export", tmp_path / "program.rnl", "-o", tmp_path / "program.espdl", "--target", "esp32s3")
    notes = runnel.export(tmp_path / "python.rnl", tmp_path / "python.espdl", target="esp32s3")
    assert (tmp_path / "python.espdl").read_bytes() == (tmp_path / "program.espdl").read_bytes()
    assert any("esp32s3" in note for note in notes)
    with pytest.raises(runnel.InvalidArgument, match="espdl"):
        runnel.export(tmp_path / "python.rnl", tmp_path / "a.rnl")
    with pytest.raises(runnel.Mismatch, match="values"):
        runnel.import_model(DIGITS / "digits_c_s8.espdl", tmp_path / "b.rnl", front_end="fbank num_mel_bins=39")
    assert not (tmp_path / "b.rnl").exists()
