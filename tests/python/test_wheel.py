"""A wheel, made without network, in a fresh virtual environment that sees Debian's NumPy."""
# needs: setuptools wheel pip venv

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np

SOURCE = pathlib.Path(os.environ["RUNNEL_SOURCE"])
BUILD = pathlib.Path(os.environ["RUNNEL_BUILD"])


def run(*arguments, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RUNNEL_MODEL_PATH")}
    env.update(environment, PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE=os.devnull)
    done = subprocess.run([str(each) for each in arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stdout)
    return done.stdout


def files_of(folder):
    """The source files of a folder: no builds, and nothing hidden or compiled by Python, which tests that run beside this one write."""
    def source(path):
        return not any(part.startswith(("build", ".")) or part == "__pycache__" for part in path.relative_to(folder).parts)

    return {path for path in folder.rglob("*") if source(path)}


def test_the_wheel_works_by_itself(tmp_path):
    before = files_of(SOURCE)
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", tmp_path / "dist", SOURCE,
        RUNNEL_WHEEL_BUILD=str(BUILD), TMPDIR=str(tmp_path))
    assert sorted(files_of(SOURCE) - before) == [], "the source tree was written to"
    wheels = list((tmp_path / "dist").glob("runnel-*.whl"))
    assert len(wheels) == 1 and "-none-any" not in wheels[0].name
    run(sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheels[0])
    code = f"""
import numpy, runnel
assert runnel.__file__.startswith({str(tmp_path)!r}), runnel.__file__
model = runnel.load("digits")
assert model.path.startswith({str(tmp_path)!r}), model.path
assert model.check().passed
noise = (numpy.random.default_rng(1).standard_normal(32000) * 0.01).astype(numpy.float32)
print(len(list(model.listen(noise))), model.session().whole(runnel.FrontEnd(model.front_end)(noise)).data.shape)
commands = runnel.load("commands")
assert commands.check().passed
list(commands.listen(noise))  # opens its words and its grammar
real = runnel.load({str(SOURCE / 'models' / 'digits' / 'digits.onnx')!r})
print(real.usage)
"""
    out = run(python, "-c", code, HOME=str(tmp_path))
    assert "12)" in out
    # The tutorial from this wheel, where PyTorch is (python.pytorch says when it is not).
    if importlib.util.find_spec("torch") is not None:
        assert "rising" in run(python, SOURCE / "examples" / "python" / "pytorch.py", tmp_path / "tutorial", HOME=str(tmp_path))
