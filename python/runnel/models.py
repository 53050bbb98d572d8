"""Models: loading, describing, checking, listening."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _runnel
from .errors import InvalidArgument
from .events import Event
from .graphs import EventStream, Graph


class Check:
    """What Model.check() found.

    * passed: whether everything agrees, bit for bit
    * report: dict, the JSON that `runnel check` prints
    * details: list of sentences
    """

    def __init__(self, answer: Any) -> None:
        self.passed: bool = answer.passed
        self.json: str = answer.json
        self.report: dict[str, Any] = json.loads(answer.json)
        self.details: list[str] = answer.details

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<runnel.Check {'passed' if self.passed else 'FAILED'}: {'; '.join(self.details)}>"


class Model(_runnel.Model):
    """A model, made by load(). Immutable; any number of threads may use it.

    * path, name: str
    * front_end, decision: graph text before and after the model; empty: it has none
    * labels: names of the output's values
    * sample_rate: of the sound in Hz; 0: not stored
    * usage: "stream", "step", "window" or "whole" (docs/usage.md)
    * notes: sentences of the importer
    """

    def session(self, *, output: str = "", integers: bool = False, dequantize: bool = False,
                block: int = 0) -> "_runnel.Session":
        """A stream of frames through the model.

        output: name of the output; empty: the only one that is not state.
        integers: frames are the model's own integers instead of float32.
        dequantize: frames come out as float32 instead of the model's integers.
        block: frames per run of a streaming model; 0: the smallest possible.
        Sessions with the same arguments share one preparation.
        """
        return _runnel.make_session(self, output, integers, dequantize, block)

    def inspect(self, *, block: int = 0) -> dict[str, Any]:
        """What is known before it runs, as `runnel inspect --json` prints it: bytes, latency, cost, operators."""
        return json.loads(self.inspect_json(block))

    def check(self, wav: str | os.PathLike[str] | None = None, *, frames: int = 0, seed: int = 1,
              speed: bool = False) -> Check:
        """Proves the model on this machine, as `runnel check`: self-test vectors, and streamed equal to whole.

        wav: a recording for the model's own front end; None: seeded random input of `frames` frames (0: 200).
        """
        return Check(self.check_answer("" if wav is None else os.fspath(wav), frames, seed, speed))

    def graph_text(self, source: str, *, front_end: str = "", decision: str = "", threshold: float | None = None,
                   chunk: int = 0) -> str:
        """The graph from a source through front end, model and decision, with an open end."""
        around = self.text_around(front_end, decision, chunk)
        if threshold is not None:
            if not 0 <= threshold <= 1:
                raise InvalidArgument(f"threshold={threshold}, expected 0 to 1")
            around = _runnel.with_threshold(around, threshold)
        return f"{source} ! {around}"

    def listen(self, source: Any = None, *, rate: int | None = None, device: str = "default", channels: int = 1,
               tail: float = 0.0, duration: float = 0.0, replug: float = 0.0, period: float = 10.0,
               buffer: float = 200.0, overload: str = "block", threshold: float | None = None, front_end: str = "",
               decision: str = "", threads: int = 1, on_gap: str = "reset") -> EventStream:
        """Listens, and yields the decisions as Event objects while they come.

        source: samples, an array [samples] or [samples, channels] at `rate` Hz (default: the model's rate); or the path
            of a recording (WAV, FLAC, OGG, AIFF); None: the capture device `device`, as ALSA names it.
        tail: seconds of silence after a recording or an array, for a word at its end.
        duration: seconds to listen to a device (0: until stop()); period, buffer in ms, replug, overload: of it.
        threshold: posterior at which an event is made, instead of the decision's own.
        front_end, decision: graph text instead of the model's own.

        The events of a recording are those of `runnel listen --wav`, byte for byte (Event.json). Channels are mixed down
        and other rates resampled. The lock of the interpreter is released while the graph computes.
        """
        rate = rate or self.sample_rate or 16000
        from_file = isinstance(source, (str, os.PathLike))
        samples = None
        if from_file:
            text = _runnel.source_text(os.fspath(source), tail, "", rate, channels, period, buffer, overload, replug, 0.0)
        elif source is None:
            text = _runnel.source_text("", 0.0, device, rate, channels, period, buffer, overload, replug, duration)
        else:
            samples = np.asarray(source)
            channels = samples.shape[1] if samples.ndim == 2 else 1
            if tail > 0:
                silence = np.zeros((round(tail * rate),) + samples.shape[1:], samples.dtype)
                samples = np.concatenate([samples, silence])
            text = f"samples rate={rate} channels={channels}"
        live = source is None
        graph = Graph(self.graph_text(text, front_end=front_end, decision=decision, threshold=threshold,
                                      chunk=0 if live else self.file_chunk()),
                      samples, models=[self], threads=threads, on_gap=on_gap, convert=True,
                      tick=1024 if live else _runnel.file_tick)
        return EventStream(graph, 0.0 if live else 20.0)

    def stream(self, *, rate: int | None = None, channels: int = 1, threshold: float | None = None,
               front_end: str = "", decision: str = "") -> "Stream":
        """A stream that is given samples as they come: push(samples) returns the events they bring."""
        rate = rate or self.sample_rate or 16000
        text = self.graph_text(f"samples rate={rate} channels={channels}", front_end=front_end, decision=decision,
                               threshold=threshold)
        return Stream(Graph(text, models=[self], convert=True))

    def __repr__(self) -> str:
        return f"<runnel.Model {self.name!r}: {self.usage}, {len(self.labels)} labels, {self.path}>"


class Stream:
    """Samples in, events out, in pieces of any size; made by Model.stream(). One thread at a time."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def push(self, samples: Any) -> list[Event]:
        """Takes samples [samples] or [samples, channels] and returns the events that became known."""
        self.graph._bound.feed(samples)
        return self.graph._take_events()

    def flush(self) -> list[Event]:
        """The stream has ended: the last events. After it reset() starts another one."""
        self.graph._bound.finish()
        return self.graph._take_events()

    def reset(self) -> None:
        """Back to the start."""
        self.graph.reset()


def load(model: str | os.PathLike[str], **options: Any) -> Model:
    """Loads a model by name ("digits") or from a file: .rnl, .onnx, .tflite, .pte, .espdl, a microWakeWord manifest.

    trust: file of a public key, list or folder of keys: only a model that one of them has signed is taken (RUNNEL_TRUST).
    options, for files of other tools: target, member, key (16 bytes, or the path of a key file), shapes and values
    (dicts of lists by the name of an input), stream=True (refuse what cannot be streamed), time_axis, max_lookahead,
    contexts (dict), pool_window (frames, (frames, hop), "clip" or "running"), attention_window (left, right, chunk).

    Raises Error with the program's sentence.
    """
    return Model(os.fspath(model), options)


def models() -> dict[str, str]:
    """The models that have a name, and the paths of their files, as `runnel models` lists them."""
    return _runnel.list_models()
