"""The page of the Python package, and what is said in the package itself."""

import ast
import inspect
import os
import pathlib
import re

import numpy as np
import pytest

import runnel
from runnel import _runnel

SOURCE = pathlib.Path(os.environ["RUNNEL_SOURCE"])


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (SOURCE / page).read_text(encoding="utf-8"), re.S)


def write_wav(path, samples):
    data = (samples * 32767).astype("<i2").tobytes()
    head = b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    head += (1).to_bytes(2, "little") * 2 + (16000).to_bytes(4, "little") + (32000).to_bytes(4, "little")
    path.write_bytes(head + (2).to_bytes(2, "little") + (16).to_bytes(2, "little") + b"data" + len(data).to_bytes(4, "little") + data)


def test_every_block_of_the_page_runs(tmp_path, monkeypatch):
    """As printed, in order, with the files that the page names; blocks that need files of the reader's own are compiled only."""
    monkeypatch.chdir(tmp_path)
    sound = (np.random.default_rng(1).standard_normal(32000) * 0.1).astype(np.float32)
    write_wav(tmp_path / "recording.wav", sound)
    write_wav(tmp_path / "a.wav", sound)
    names, ran = {"np": np}, 0
    for block in blocks("docs/python.md"):
        code = compile(block, "docs/python.md", "exec")
        if "net.onnx" in block:
            continue
        exec(code, names)
        ran += 1
    assert ran >= 7


def test_everything_public_has_a_docstring():
    for name in runnel.__all__:
        thing = getattr(runnel, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__ and thing.__doc__.strip(), name
            for method, value in vars(thing).items():
                if inspect.isfunction(value) and not method.startswith("_"):
                    assert value.__doc__, f"{name}.{method}"


def test_the_stub_has_what_the_module_has():
    stub = ast.parse((SOURCE / "python" / "runnel" / "_runnel.pyi").read_text(encoding="utf-8"))
    written = set()
    for node in stub.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            written.add(node.name)
        if isinstance(node, ast.AnnAssign):
            written.add(node.target.id)
    found = {name for name in dir(_runnel) if not name.startswith("_")}
    assert found == written
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name != "Frames":
            members = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            members |= {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
            own = {name for name in vars(getattr(_runnel, node.name)) if not name.startswith("__") or name == "__init__"}
            own -= {name for name in own if name.startswith("_pybind")}
            if node.name in ("EndPart", "CheckAnswer", "Session"):
                own.discard("__init__")
            assert members == own, node.name


def test_the_version_is_that_of_the_project():
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    assert runnel.__version__ == re.search(r"project\(runnel VERSION (\S+)", text).group(1)


def test_the_types_agree():
    """mypy reads the package where it is there."""
    mypy = pytest.importorskip("mypy.api", reason="mypy is not installed")
    out, err, code = mypy.run(["--cache-dir", os.devnull, "--ignore-missing-imports", str(SOURCE / "python" / "runnel")])
    assert code == 0, out + err
