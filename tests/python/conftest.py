"""Shared by the tests of the Python package: test data, the program, a spoken stream."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import runnel


def _missing(what):
    if os.environ.get("RUNNEL_TEST_DATA_REQUIRED") == "1":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def data():
    """The folder of test data."""
    folder = os.environ.get("RUNNEL_TEST_DATA", "")
    if not folder or not os.path.isdir(folder):
        _missing("RUNNEL_TEST_DATA names no folder: tests with real recordings are left out")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def program():
    """Runs the program and returns its standard output; fails unless its exit code is 0."""
    path = os.environ["RUNNEL_PROGRAM"]

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return done.stdout

    return run


@pytest.fixture(scope="session")
def stream(data):
    """A recording with many digits."""
    return data / "digits" / "stitched_90s.wav"


@pytest.fixture(scope="session")
def digits():
    return runnel.load("digits")


@pytest.fixture(scope="session")
def features(digits):
    """Frames for the digits model, from noise: float32 [frames, values]."""
    random = np.random.default_rng(5)
    values = digits.session().input_values
    return (random.standard_normal((333, values)) * 3).astype(np.float32)


@pytest.fixture
def tree(tmp_path):
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)
