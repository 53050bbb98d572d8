"""Graphs of nodes between arrays."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from . import _runnel
from .errors import Error, InvalidArgument
from .events import Event

Function = Callable[[np.ndarray], np.ndarray]


class Output:
    """What one end of a graph gave.

    * name: of the end: its `name=` in the text, else that of the node before it
    * kind: "frames", "audio" or "events"
    * data: array [frames, values] in the type of the node; without rows for events
    * events: list of Event; empty for frames and audio
    * first: index of the first frame in the recording
    * index: array int64 [frames], the index of each frame: consecutive but for gaps
    * rate: frames per second; hop, span, begin: seconds from one frame to the next, that a frame covers, at which
      frame 0 begins
    * labels: names of the values, where the model has them
    * exponent: of integers: value = integer * 2**exponent
    """

    def __init__(self, about: Mapping[str, Any], part: Any) -> None:
        self.name: str = about["name"]
        self.kind: str = about["kind"]
        self.rate: float = about["rate"]
        self.hop: float = about["hop"]
        self.span: float = about["span"]
        self.begin: float = about["begin"]
        self.labels: list[str] = about["labels"]
        self.exponent: int = about["exponent"]
        self.events: list[Event] = [Event(line) for line in part.records]
        self.data: np.ndarray = part.data if self.kind != "events" else np.zeros((0, 0), np.float32)
        self._runs: list[tuple[int, int]] = part.runs

    @property
    def first(self) -> int:
        return self._runs[0][1] if self._runs else 0

    @property
    def index(self) -> np.ndarray:
        index = np.arange(len(self.data), dtype=np.int64)
        for row, first in self._runs:
            index[row:] = np.arange(first, first + len(self.data) - row)
        return index

    @property
    def times(self) -> np.ndarray:
        """Seconds at which the frames begin, float64 [frames]."""
        return self.begin + self.hop * self.index

    def picture(self) -> bytes:
        """The frames as a PNG, time from left to right, as the node `png` draws it. Notebooks show it by themselves.

        Raises NotFound where this build has no libpng.
        """
        data = np.ascontiguousarray(self.data, np.float32)
        if self.kind == "events" or not data.size:
            raise InvalidArgument(f"a picture of {self.name}, which has no frames")
        rate = max(round(self.rate), 1)
        with tempfile.TemporaryDirectory(prefix="runnel") as folder:
            path = os.path.join(folder, "picture.png")
            Graph(f"samples rate={rate} values={data.shape[1]} hop=1 span=1 ! png path={_runnel.quote(path)}", data).run()
            with open(path, "rb") as file:
                return file.read()

    def _repr_png_(self) -> bytes | None:
        try:
            return self.picture()
        except Error:
            return None

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return self.data if dtype is None else self.data.astype(dtype)

    def __len__(self) -> int:
        return len(self.events) if self.kind == "events" else len(self.data)

    def __repr__(self) -> str:
        if self.kind == "events":
            return f"<runnel.Output {self.name!r}: {len(self.events)} events>"
        return f"<runnel.Output {self.name!r}: {self.kind} {list(self.data.shape)} {self.data.dtype}, {self.rate:g} per second>"


class Result(Mapping[str, Output]):
    """What a graph gave: its ends by name.

    * events: list of Event, of all ends
    * summary: the record at the end of a run (docs/pipeline.md, summary)
    * notes: sentences for people: inserted nodes, truncated files
    """

    def __init__(self, outputs: Sequence[Output], summary: Mapping[str, Any], notes: Sequence[str]) -> None:
        self._outputs = {output.name: output for output in outputs}
        self.summary: dict[str, Any] = dict(summary)
        self.notes: list[str] = list(notes)

    @property
    def events(self) -> list[Event]:
        return [event for output in self._outputs.values() for event in output.events]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {name: output.data for name, output in self._outputs.items() if output.kind != "events"}

    def __getitem__(self, name: str) -> Output:
        try:
            return self._outputs[name]
        except KeyError:
            raise KeyError(f"{name}: the graph has {', '.join(self._outputs) or 'no ends'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __repr__(self) -> str:
        return f"<runnel.Result: {', '.join(map(repr, self._outputs.values()))}>"


class EventStream(Iterator[Event]):
    """Records of a graph as they come: `for event in stream`. Ends with the recording, or after stop().

    A device gives records as the sound arrives. close(), and leaving a `with`, end the stream.
    """

    def __init__(self, graph: "Graph", slice_ms: float = 20.0) -> None:
        self._graph = graph
        self._slice_ms = slice_ms  # of work between two looks at what has come; 0: after every step
        self._waiting: list[Event] = []
        self._ended = False

    def __iter__(self) -> "EventStream":
        return self

    def __next__(self) -> Event:
        while not self._waiting:
            if self._ended:
                raise StopIteration
            self._ended = self._graph._bound.advance(self._slice_ms)
            self._waiting = self._graph._take_events()[::-1]
        return self._waiting.pop()

    def stop(self) -> None:
        """Ends the stream; what has been heard until now still gives its records."""
        self._graph._bound.stop()

    def close(self) -> None:
        """Ends the stream; records that have not been taken are dropped."""
        self._waiting = []
        self._ended = True

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def summary(self) -> dict[str, Any]:
        """The record at the end of a run; before it, what is known until now."""
        return json.loads(self._graph._bound.summary)

    @property
    def latency(self) -> str:
        """The latency of a live source in words; empty for recordings."""
        return self._graph._bound.latency

    @property
    def notes(self) -> list[str]:
        return self._graph.notes


class Graph:
    """A chain of nodes from a source to sinks, written as for `runnel run` (docs/pipeline.md).

    text: e.g. "wav path=a.wav ! fbank num_mel_bins=40"; an end without a sink is collected as an array or as events.
    samples: for the source `samples rate=16000 channels=1`: array [samples] or [samples, channels] (float32, float64,
        or int16 and int32 as fractions of their range); for several such sources a dict by their names.
        Without it: push() and flush().
    functions: nodes in Python, by name: called with float32 [frames, values], return [frames, values'];
        first without frames, to see how many values there are. A method `reset` is called at the start of a stream.
    models: loaded models, which `infer model=PATH` takes instead of reading the file again.
    threads: that the nodes may run on (1 to 32); tick: source samples per step; on_gap: "reset" or "zeros".
    convert: inserts `downmix` and `resample` where they are needed.
    options: how models are read, as in load().

    One thread at a time uses a graph; its lock makes others wait.
    """

    def __init__(self, text: str, samples: Any = None, *, functions: Mapping[str, Function] | None = None,
                 models: Sequence[Any] = (), threads: int = 1, tick: int = 1024, on_gap: str = "reset",
                 convert: bool = False, **options: Any) -> None:
        self._bound = _runnel.Graph(text, threads, tick, on_gap, convert, options, list(models), dict(functions or {}))
        self._ends: list[dict[str, Any]] = self._bound.ends
        self._notes: list[str] = []
        if samples is not None:
            sources = self._bound.sources
            if isinstance(samples, Mapping):
                for name, array in samples.items():
                    self._bound.give(name, array)
            else:
                if len(sources) != 1:
                    raise InvalidArgument(f"samples for a graph with {len(sources)} sources `samples`, expected 1, "
                                          "or a dict by their names")
                self._bound.give(sources[0], samples)

    @classmethod
    def load(cls, path: str | os.PathLike[str], samples: Any = None, **options: Any) -> "Graph":
        """A graph from a .rnlg file."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), samples, **options)

    def run(self) -> Result:
        """Runs to the end of the source and returns what the ends collected.

        The lock of the interpreter is released. Ctrl-C ends the stream as it ends that of the program, with complete
        files, and raises KeyboardInterrupt. Once, or again after reset().
        """
        self._bound.run_all()
        return self._result()

    def events(self) -> EventStream:
        """The records of all ends while the graph runs."""
        return EventStream(self)

    def push(self, samples: Any) -> Result:
        """Takes samples of the only source `samples` and returns what they brought, without waiting for more."""
        self._bound.feed(samples)
        return self._result()

    def flush(self) -> Result:
        """The stream has ended: returns the rest. After it reset() starts another one."""
        self._bound.finish()
        return self._result()

    def reset(self) -> None:
        """Back to the start. For graphs between arrays."""
        self._bound.restart()

    @property
    def text(self) -> str:
        """The graph as it runs, with nodes that were inserted."""
        return self._bound.text

    @property
    def notes(self) -> list[str]:
        """Sentences for people: inserted nodes, truncated files, how models were read."""
        self._notes += self._bound.take_notes()
        return list(self._notes)

    @property
    def summary(self) -> dict[str, Any]:
        """The record at the end of a run, until now."""
        return json.loads(self._bound.summary)

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """What is known of each end before it runs: kind, dtype, values, rate, labels."""
        return {end["name"]: end for end in self._bound.ends}

    def _result(self) -> Result:
        outputs = [Output(about, self._bound.take(i)) for i, about in enumerate(self._ends)]
        return Result(outputs, self.summary, self.notes)

    def _take_events(self) -> list[Event]:
        return [Event(line) for i, about in enumerate(self._ends) for line in self._bound.take(i).records]

    def __repr__(self) -> str:
        return f"runnel.Graph({self.text!r})"


def read_wav(path: str | os.PathLike[str]) -> tuple[np.ndarray, int]:
    """A recording (WAV, FLAC, OGG, AIFF) as the program reads it.

    Returns (samples, rate): float32 [samples] for one channel, else [samples, channels], in -1 .. 1; Hz.
    """
    graph = Graph(f"wav path={_runnel.quote(os.fspath(path))}", tick=8192)
    output = next(iter(graph.run().values()))
    data = output.data
    return (data[:, 0] if data.shape[1] == 1 else data), round(output.rate)
