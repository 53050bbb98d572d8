"""Source for firmware written from Python: the files of the program, byte for byte, and its sentences."""

import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

import runnel

DIGITS = pathlib.Path(os.environ["RUNNEL_BUILD"]) / "models" / "digits" / "digits.rnl"


def files_in(folder):
    """{path below the folder: bytes}."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def number(text, name):
    """The number that the generated header defines as RUNNEL_..._NAME."""
    return int(re.search(rf"#define RUNNEL_\w+_{name} (\d+)", text).group(1))


def sentence_of(*arguments):
    """The last sentence of a call that the program refuses."""
    done = subprocess.run([os.environ["RUNNEL_PROGRAM"], *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode != 0, arguments
    return done.stderr.decode().splitlines()[-1].removeprefix("runnel: ")


# Arguments of embed(), and the options of the program.
WAYS = {
    "plain": ({}, []),
    "compiled": ({"step": True, "name": "compiled", "target": "cortex-m4"},
                 ["--step", "--name", "compiled", "--target", "cortex-m4"]),
    "settings": ({"self_test": True, "events": 9, "memory": 70001, "fast": 4096, "samples": "float32", "hop": 320,
                  "sample_rate": 16000, "runnel": "/opt/runnel"},
                 ["--self-test", "--events", "9", "--memory", "70001", "--fast", "4096", "--samples", "float32", "--hop",
                  "320", "--sample-rate", "16000", "--runnel", "/opt/runnel"]),
    "zephyr": ({"build_system": "zephyr"}, ["--build-system", "zephyr"]),
    "told": ({"counters": True, "cores": 2, "self_test": True}, ["--counters", "--cores", "2", "--self-test"]),
    "graph": ({"front_end": "fbank preset=kaldi num_mel_bins=40 high_freq=7600", "decision": "detect threshold=0.7"},
              ["--front-end", "fbank preset=kaldi num_mel_bins=40 high_freq=7600", "--decision", "detect threshold=0.7"]),
}


# The same for models in partitions.
PARTITIONS = {
    "plain": ({}, []),
    "told": ({"counters": True, "cores": 2, "model_version": 7}, ["--counters", "--cores", "2", "--model-version", "7"]),
    "zephyr": ({"build_system": "zephyr"}, ["--build-system", "zephyr"]),
}


@pytest.mark.parametrize("way", PARTITIONS)
def test_partitions_are_those_of_the_program(way, program, tmp_path):
    arguments, flags = PARTITIONS[way]
    other = tmp_path / "other.rnl"
    shutil.copy(DIGITS, other)
    program("embed", DIGITS, "-o", tmp_path / "program", "--model-partition", "--profile", other, *flags)
    made = runnel.embed(DIGITS, tmp_path / "python", model_partition=True, profile=[other], **arguments)
    written = files_in(tmp_path / "python")
    assert written == files_in(tmp_path / "program")
    assert {"digits.rnli", "other.rnli", "digits.profile.json"} <= set(written)
    assert {str(each.relative_to(tmp_path / "python")) for each in made.files} == set(written)
    assert len(written["digits.rnli"]) == 256 + made.model_bytes
    assert int.from_bytes(written["other.rnli"][12:16], "little") == arguments.get("model_version", 1)


@pytest.mark.parametrize("way", WAYS)
def test_the_files_are_those_of_the_program(way, program, tmp_path):
    arguments, flags = WAYS[way]
    program("embed", DIGITS, "-o", tmp_path / "program", *flags)
    made = runnel.embed(DIGITS, tmp_path / "python", **arguments)
    written = files_in(tmp_path / "python")
    assert written == files_in(tmp_path / "program") and len(written) >= 4
    assert {str(each.relative_to(tmp_path / "python")) for each in made.files} == set(written)
    assert made.name == arguments.get("name", "digits")
    header = (made.folder / f"{made.name}.h").read_text()
    assert made.hop == number(header, "HOP")
    assert made.memory_bytes == number(header, "MEMORY_BYTES") >= arguments.get("memory", 1)
    assert made.fast_bytes == arguments.get("fast", 0)
    assert made.operators == len(runnel.load(DIGITS).inspect()["operators"])
    assert 0 < len(made.kinds) == len(set(made.kinds)) <= made.operators
    assert made.model_bytes > 1000 and made.samples == arguments.get("samples", "int16")
    assert made.sample_rate == 16000 and made.channels == 1 and made.npu == ""
    assert f"{made.operators} operators of {len(made.kinds)} kinds, model {made.model_bytes} bytes" in made.notes[-1]


def test_npus_of_several_kinds_in_one_process(program, tmp_path):
    for kind in ("ethos-u55-128", "ethos-u65-256", "ethos-u55-128"):
        model = tmp_path / f"{kind}.rnl"
        program("npu", "compile", DIGITS, "-o", model, "--accelerator", kind, "--block", "1", "--quiet")
        program("embed", model, "-o", tmp_path / "program", "--name", "npu")
        made = runnel.embed(model, tmp_path / "python", name="npu")
        assert made.npu == kind
        assert files_in(tmp_path / "python") == files_in(tmp_path / "program")


def test_threads_take_turns(tmp_path):
    failed = []

    def work(i):
        try:
            for k in range(3):
                step = (i + k) % 2 == 0
                runnel.embed(DIGITS, tmp_path / f"{i}-{k}-{step}", name="one", step=step)
                with pytest.raises(runnel.Mismatch, match="digits"):
                    runnel.embed(DIGITS, tmp_path / "none", front_end=f"fbank num_mel_bins={41 + i}")
        except BaseException as failure:  # pylint: disable=broad-except
            failed.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for step in (False, True):
        folders = sorted(tmp_path.glob(f"*-{step}"))
        assert len(folders) >= 4 and all(files_in(each) == files_in(folders[0]) for each in folders)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("arguments, flags, error", [
    ({"target": "cortex-m9"}, ["--target", "cortex-m9"], runnel.InvalidArgument),
    ({"step": True, "self_test": True}, ["--step", "--self-test"], runnel.InvalidArgument),
    ({"name": "1 2"}, ["--name", "1 2"], runnel.InvalidArgument),
    ({"model_partition": True, "step": True}, ["--model-partition", "--step"], runnel.InvalidArgument),
    ({"model_partition": True, "key": "/none.key"}, ["--model-partition", "--key", "/none.key"], runnel.NotFound),
    ({"front_end": "fbank num_mel_bins=39"}, ["--front-end", "fbank num_mel_bins=39"], runnel.Mismatch),
    ({"front_end": "fbank colour=1"}, ["--front-end", "fbank colour=1"], runnel.Error),
    ({"decision": "jsonl"}, ["--decision", "jsonl"], runnel.Error),
])
def test_wrong_options_give_the_sentence_of_the_program(arguments, flags, error, tmp_path):
    folder = tmp_path / "folder"
    sentence = sentence_of("embed", DIGITS, "-o", folder, *flags)
    with pytest.raises(error) as failure:
        runnel.embed(DIGITS, folder, **arguments)
    assert str(failure.value) == sentence
    assert not folder.exists()


def test_wrong_files_give_the_sentence_of_the_program(tmp_path):
    missing = tmp_path / "nothing.rnl"
    with pytest.raises(runnel.Error) as failure:
        runnel.embed(missing, tmp_path / "folder")
    assert str(failure.value) == sentence_of("embed", missing, "-o", tmp_path / "folder")
    with pytest.raises(runnel.InvalidArgument) as failure:
        runnel.embed(DIGITS, tmp_path / "model.rnl")
    assert str(failure.value) == sentence_of("embed", DIGITS, "-o", tmp_path / "model.rnl")
    assert list(tmp_path.iterdir()) == []


def test_values_out_of_their_range(tmp_path):
    for arguments, sentence in [({"channels": 0}, "--channels 0: expected 1 to 256"),
                                ({"events": 1001}, "--events 1001: expected 1 to 1000"),
                                ({"memory": -1}, "--memory -1: expected 0 to 67108864"),
                                ({"fast": 67108865}, "--fast 67108865: expected 0 to 67108864"),
                                ({"hop": -1}, "--hop -1: expected 0 to 2147483647"),
                                ({"sample_rate": -8000}, "--sample-rate -8000: expected 0 to 2147483647"),
                                ({"samples": "int24"}, "--samples int24: expected int16 or float32")]:
        with pytest.raises(runnel.InvalidArgument) as failure:
            runnel.embed(DIGITS, tmp_path / "folder", **arguments)
        assert str(failure.value) == sentence
    with pytest.raises(TypeError, match="colour"):
        runnel.embed(DIGITS, tmp_path / "folder", colour=1)
    assert list(tmp_path.iterdir()) == []
