"""Models with their graphs as source for firmware."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Mapping, Sequence

from . import _runnel
from .convert import Path


class Embedded:
    """What embed() made.

    * folder: where it was written; files: list of pathlib.Path, all that was written
    * name: of the library, and of runnel_NAME in C
    * model_bytes: in ROM or in its partition, of the model's file, or of the constants of a compiled one (step)
    * operators: of the model; kinds: names of those in the program, each once
    * sample_rate (Hz), channels, samples ("int16" or "float32"): of the sound that the application pushes
    * hop: samples that are processed at once
    * memory_bytes, fast_bytes: memory that the application gives (fast_bytes 0: no second tier)
    * npu: accelerator that computes parts of the model; empty: none
    * notes: sentences for people
    """

    def __init__(self, folder: str, answer: Mapping[str, Any]) -> None:
        self.folder = pathlib.Path(folder)
        self.files: list[pathlib.Path] = [self.folder / each for each in answer["files"]]
        self.name: str = answer["name"]
        self.model_bytes: int = answer["model_bytes"]
        self.operators: int = answer["operators"]
        self.kinds: list[str] = answer["kinds"]
        self.sample_rate: int = answer["sample_rate"]
        self.channels: int = answer["channels"]
        self.samples: str = answer["samples"]
        self.hop: int = answer["hop"]
        self.memory_bytes: int = answer["memory_bytes"]
        self.fast_bytes: int = answer["fast_bytes"]
        self.npu: str = answer["npu"]
        self.notes: list[str] = answer["notes"]

    def __repr__(self) -> str:
        return (f"<runnel.Embedded {self.folder}: library {self.name}, model {self.model_bytes} bytes, "
                f"memory {self.memory_bytes} bytes, hop {self.hop} samples of {self.sample_rate} Hz>")


def embed(model: Path, folder: Path, *, name: str = "", front_end: str = "", decision: str = "", target: str = "",
          sample_rate: int = 0, channels: int = 1, samples: str = "", hop: int = 0, events: int = 4, memory: int = 0,
          fast: int = 0, step: bool = False, counters: bool = False, cores: int = 1, self_test: bool = False,
          runnel: Path | None = None, build_system: str = "", model_partition: bool = False, profile: Sequence[Path] = (),
          model_version: int = 1, key: Path | None = None, **options: Any) -> Embedded:
    """Writes a model with its front end and decision as C++ source for firmware, as `runnel embed` (docs/firmware.md).

    model: name or file; folder: to write, made where it is missing.
    name: of the library, and of runnel_NAME in C ("": the file's name).
    front_end, decision: graph text before and after the model ("": the model's own).
    target: the processor: cortex-m4, cortex-m7, cortex-m55, rv32imac, rv32imafc or rv64gc ("": any); other values are
        the target of a foreign file, as in load().
    sample_rate: of the sound in Hz (0: the model's, else 16000); channels: 1 to 256.
    samples: "int16" or "float32" ("": int16 for one channel where the front end takes it, else float32).
    hop: samples that are processed at once (0: the front end's hop); events: 1 to 1000 decisions that may wait.
    memory: bytes as measured on the board (0: an upper bound); fast: bytes of a second tier of fast memory (0: one tier).
    step: compiles the model into constants and calls of the kernels that it uses; for streaming models.
    counters: times by node and operator, marks of memory and stack, lateness, for runnel_measure().
    cores: 1 to 8 that heavy operators are split for, not with step.
    self_test: keeps the model's test vectors; not with step.
    runnel: source tree of runnel that the folder builds with (None: the one that this package was built from).
    build_system: what the folder is: "cmake", "esp-idf", "zephyr", "arduino", "mbed" or "wasm" ("": cmake).
    model_partition: writes a profile, whose model lies in a partition of flash, and the model's image (.rnli) beside it
        (docs/model-slots.md); not with step, self_test or memory.
    profile: further models that the profile must take, each of which gets an image; model_version: of the images, 1 or
        more; key: file of the key that signs them (`runnel image keys`). These three are about models in partitions.
    options: how the model is read, as in load().

    Everything is checked before a file is written. Calls from several threads take turns.
    """
    request = {
        "model": os.fspath(model), "output": os.fspath(folder), "name": name, "front_end": front_end,
        "decision": decision, "target": target, "sample_rate": sample_rate, "channels": channels, "samples": samples,
        "hop": hop, "events": events, "memory": memory, "fast": fast, "step": step, "counters": counters,
        "cores": cores, "self_test": self_test, "runnel": None if runnel is None else os.fspath(runnel),
        "build_system": build_system, "model_partition": model_partition, "profile": [os.fspath(each) for each in profile],
        "model_version": model_version, "key": None if key is None else os.fspath(key),
    }
    return Embedded(os.fspath(folder), _runnel.embed(request, options))
