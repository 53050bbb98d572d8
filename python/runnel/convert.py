"""Models of other tools: quantized, imported, exported."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np

from . import _runnel
from .errors import InvalidArgument
from .models import Model, load

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[str, float], None]


class OperatorReport:
    """What quantization did to one operator.

    * name, kind: str; type: "int8", "int16" or "float32"
    * alone: noise-to-signal ratio of the outputs when only this operator is quantized
    * accumulated: noise-to-signal ratio of its own result, with everything quantized
    * saturated: share of its results at an end of the range
    * multiply_adds: per run
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.name: str = about["name"]
        self.kind: str = about["kind"]
        self.type: str = about["type"]
        self.alone: float = about["alone"]
        self.accumulated: float = about["accumulated"]
        self.saturated: float = about["saturated"]
        self.multiply_adds: int = about["multiply_adds"]

    def __repr__(self) -> str:
        return f"<runnel.OperatorReport {self.name}: {self.kind} {self.type}, alone {self.alone:.3g}>"


class OutputReport:
    """The error of one output: noise_to_signal (a ratio), largest_difference (in the output's unit)."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.name: str = about["name"]
        self.noise_to_signal: float = about["noise_to_signal"]
        self.largest_difference: float = about["largest_difference"]

    def __repr__(self) -> str:
        return f"<runnel.OutputReport {self.name}: noise to signal {self.noise_to_signal:.3g}>"


class Evaluation:
    """Decisions on labelled clips: clips, float_correct, quantized_correct, streamed_correct (None: not a stream),
    same_decision, noise_to_signal, classes."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.clips: int = about["clips"]
        self.float_correct: int = about["float_correct"]
        self.quantized_correct: int = about["quantized_correct"]
        self.streamed_correct: int | None = about.get("streamed_correct")
        self.same_decision: int = about["same_decision"]
        self.noise_to_signal: float = about["noise_to_signal"]
        self.classes: int = about["classes"]

    def __repr__(self) -> str:
        return (f"<runnel.Evaluation {self.clips} clips, correct: float {self.float_correct}, "
                f"quantized {self.quantized_correct}>")


class Quantized:
    """What quantize() made.

    * path: of the file; load(): the model
    * methods: those used; trials: list of (methods, noise-to-signal ratio on clips held back)
    * error: noise-to-signal ratio of the outputs, on all clips that were used
    * outputs, operators: list of OutputReport, OperatorReport; empty when it was made from a table
    * evaluation: Evaluation, or None
    * report: dict, the JSON that `runnel quantize --report` writes
    * notes: sentences for people
    """

    def __init__(self, path: str, answer: Mapping[str, Any]) -> None:
        self.path = path
        self.methods: str = answer["methods"]
        self.trials: list[tuple[str, float]] = answer["trials"]
        self.error: float = answer["error"]
        self.notes: list[str] = answer["notes"]
        self.bytes: int = answer["bytes"]
        self.json: str = answer["json"]
        self.report: dict[str, Any] = json.loads(self.json) if self.json else {}
        self.outputs = [OutputReport(each) for each in self.report.get("outputs", [])]
        self.operators = [OperatorReport(each) for each in self.report.get("operators", [])]
        found = self.report.get("evaluation")
        self.evaluation = None if found is None else Evaluation(found)

    def load(self) -> Model:
        """The model from its file."""
        return load(self.path)

    def __repr__(self) -> str:
        return f"<runnel.Quantized {self.path}: {self.bytes} bytes, {self.methods}, noise to signal {self.error:.3g}>"


def _write_wav(path: pathlib.Path, samples: np.ndarray, rate: int) -> None:
    """A recording as 32-bit floats, which keeps every bit."""
    samples = np.ascontiguousarray(samples, "<f4")
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    data = samples.tobytes()

    def number(value: int, size: int) -> bytes:
        return value.to_bytes(size, "little")

    form = number(3, 2) + number(channels, 2) + number(rate, 4) + number(rate * channels * 4, 4)
    form += number(channels * 4, 2) + number(32, 2) + number(0, 2)
    fact = b"fact" + number(4, 4) + number(len(samples), 4)
    body = b"WAVE" + b"fmt " + number(len(form), 4) + form + fact + b"data" + number(len(data), 4) + data
    path.write_bytes(b"RIFF" + number(len(body), 4) + body)


def _clips(clips: Any, folder: pathlib.Path, name: str, front_end: str, rate: int) -> list[str]:
    """Files of these clips: paths as they are; arrays are written to `folder`."""
    if clips is None:
        return []
    if isinstance(clips, (str, os.PathLike)):
        return [os.fspath(clips)]
    if isinstance(clips, Mapping):
        return [f"{key}={path}" for key, value in clips.items() for path in _clips(value, folder, f"{name}{key}", "", 0)]
    paths: list[str] = []
    for i, clip in enumerate(clips):
        if isinstance(clip, (str, os.PathLike)):
            paths.append(os.fspath(clip))
            continue
        array = np.asarray(clip)
        if array.dtype.kind not in "fi":
            raise InvalidArgument(f"clip {i}: an array of {array.dtype}, expected numbers")
        # Names keep their order.
        path = folder / f"{name}{i:06d}{'.wav' if front_end else '.npy'}"
        if front_end:
            if array.dtype == np.int16:
                array = array.astype(np.float32) / 32768
            _write_wav(path, array, rate or 16000)
        else:
            np.save(path, array.astype(np.float32))
        paths.append(str(path))
    return paths


def _list(values: Any) -> list[str]:
    return [values] if isinstance(values, str) else [str(value) for value in values]


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def quantize(model: Path, clips: Any = None, output: Path = "", *, front_end: str = "", sample_rate: int = 0,
             target: str = "", bits: int = 8, bits_of: Mapping[str, Union[int, str]] = {}, scheme: str = "pow2",
             calibration: str = "mse", methods: Sequence[str] = (), with_methods: Sequence[str] = (),
             without_methods: Sequence[str] = (), classes: Sequence[str] = (), decision: str = "", name: str = "",
             layout: str = "source", usage: str = "", window: int | None = None, hop: int | None = None,
             states: Mapping[str, str] = {}, evaluate: Any = None, labels: Sequence[int] | Path | None = None,
             max_error: float = 0.0, budget: float = 0.0, max_clips: int = 128, table: Path | None = None,
             save_table: Path | None = None, chunk: int = 0, seed: int = 1, threads: int = 2,
             progress: Progress | None = None, **options: Any) -> Quantized:
    """Makes an integer model from a float model (.onnx, .pte) and calibration data, as `runnel quantize`.

    clips: recordings or arrays: a path (file, folder, pattern), or a list of paths and arrays. With `front_end`: sound,
        arrays [samples] or [samples, channels] at sample_rate (0: 16000) Hz. Without it: the model's input itself, one
        array for each clip; for several inputs a dict by their names.
    output: the file to write, .rnl or .espdl.
    front_end: graph text from samples to the model's input, e.g. Fbank(...).text; stored in the model.
    target: whose arithmetic: generic, esp32 (c), esp32s3, esp32p4, ethos-u or an accelerator.
    bits: 8 or 16; bits_of: {operator: 8, 16 or "float"}; scheme: "pow2" or "affine".
    calibration: minmax, percentile, kl or mse; methods: exactly these; with_methods, without_methods: tried or not.
    classes: names of the output's values; decision: graph text after the model; both are stored in it.
    layout: "source", or "frames-first": [1, T, C] where the file has [1, C, T].
    window, hop: frames, of a model for windows of a stream; states: {output: input}, of a model with state.
    evaluate, labels: labelled clips (as clips), and their classes as numbers (a list, or a file), for the accuracy.
    max_error: largest noise-to-signal ratio of the outputs; operators become int16 or float until it is met (0: none);
        budget: largest share of the multiply-adds that may (0: all).
    table, save_table: decisions of an earlier run instead of clips; file to keep those of this one.
    progress: called with (stage, fraction from 0 to 1), at most 20 times a second. What it raises ends the run, as does
        Ctrl-C; nothing is written then.
    options: how the model is read, as in load().
    """
    output = os.fspath(output)
    if not output:
        raise InvalidArgument("no output, expected a file to write: quantize(model, clips, \"model.rnl\")")
    with tempfile.TemporaryDirectory(prefix="runnel") as place:
        folder = pathlib.Path(place)
        label_file = ""
        if labels is not None:
            if isinstance(labels, (str, os.PathLike)):
                label_file = os.fspath(labels)
            else:
                label_file = str(folder / "labels.txt")
                pathlib.Path(label_file).write_text("".join(f"{int(label)}\n" for label in labels), encoding="ascii")
        request = {
            "input": os.fspath(model), "output": output,
            "clips": _clips(clips, folder, "clip", front_end, sample_rate),
            "evaluate": _clips(evaluate, folder, "evaluate", front_end, sample_rate), "labels": label_file,
            "front_end": front_end, "sample_rate": sample_rate, "target": target, "bits": bits,
            "bits_of": _pairs(bits_of), "scheme": scheme, "calibration": calibration, "methods": _list(methods),
            "with_methods": _list(with_methods), "without_methods": _list(without_methods), "classes": _list(classes),
            "decision": decision, "name": name, "layout": layout, "usage": usage, "window": window, "hop": hop,
            "states": _pairs(states), "max_error": max_error, "budget": budget, "max_clips": max_clips,
            "table": "" if table is None else os.fspath(table),
            "save_table": "" if save_table is None else os.fspath(save_table), "chunk": chunk, "seed": seed,
            "threads": threads,
        }
        return Quantized(output, _runnel.quantize(request, options, progress))


def import_model(model: Path, output: Path, *, front_end: str = "", sample_rate: int = 0, decision: str = "",
                 labels: Sequence[str] = (), name: str = "", usage: str = "", window: int | None = None,
                 hop: int | None = None, step: int | None = None, context: int | None = None,
                 look_ahead: int | None = None, output_frames: int | None = None, states: Mapping[str, str] = {},
                 blocks: Sequence[int] = (), strip_names: bool = False, encrypt: bool = False, pow2: bool = False,
                 **options: Any) -> Model:
    """Converts a model of another tool (.espdl, .tflite, .pte, .onnx, a microWakeWord manifest) to a .rnl file, as
    `runnel import`, and loads it.

    front_end, decision: graph text before and after the model; labels: names of the output's values; all are stored.
    usage: stream, step, window or whole, with window, hop, step, context, look_ahead, output_frames in frames and
        states {output: input} (docs/usage.md).
    blocks: source frames per block whose exact memory the file records. encrypt: with the key of options.
    pow2: multipliers become power-of-two scales. options: how the model is read, as in load().
    """
    output = os.fspath(output)
    if pathlib.Path(output).suffix != ".rnl":
        raise InvalidArgument(f"{output}: expected a file to write that ends in .rnl")
    request = {
        "input": os.fspath(model), "output": output, "front_end": front_end, "sample_rate": sample_rate,
        "decision": decision, "labels": _list(labels), "name": name, "usage": usage, "window": window, "hop": hop,
        "step": step, "context": context, "look_ahead": look_ahead, "output_frames": output_frames,
        "states": _pairs(states), "blocks": list(blocks), "strip_names": strip_names, "encrypt": encrypt, "pow2": pow2,
    }
    notes = _runnel.import_model(request, options)
    made = load(output, **({"key": options["key"]} if encrypt and "key" in options else {}))
    made.import_notes = notes
    return made


def export(models: Union[Path, Sequence[Path]], output: Path, *, target: str = "", chunk: int = 0, seed: int = 1,
           package: str = "", version: str = "1.0.0", encrypt: bool = False, **options: Any) -> list[str]:
    """Writes an integer model with power-of-two scales as an .espdl file for ESP-DL, as `runnel export`.

    models: one model (name or file), or several, which become a package (package: PDL1, PDL2 or PDL3; its version).
    target: c, esp32, esp32s3, esp32p4 ("": the model's own). chunk: frames per call, for the streaming form (0: whole
    clips). Returns notes for people.
    """
    output = os.fspath(output)
    if pathlib.Path(output).suffix != ".espdl":
        raise InvalidArgument(f"{output}: expected a file to write that ends in .espdl")
    inputs = [models] if isinstance(models, (str, os.PathLike)) else list(models)
    request = {"inputs": [os.fspath(each) for each in inputs], "output": output, "target": target, "chunk": chunk,
               "seed": seed, "package": package, "version": version, "encrypt": encrypt}
    return _runnel.export_model(request, options)
