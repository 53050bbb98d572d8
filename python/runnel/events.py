"""Decisions of a model, as objects."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping


class Event(Mapping[str, Any]):
    """One record of a graph: a decision, a gap, a transcript.

    Its fields are those of the JSON line that the program writes (docs/pipeline.md, events), as attributes and as
    items. Of a decision:

    * type: "event"
    * label: str; score: float from 0 to 1
    * start, end: seconds in the recording
    * frame: index of the frame at which the decision was made
    * source: the name of the recording or device

    json: the line itself, byte for byte as `runnel listen` prints it.
    """

    __slots__ = ("json", "_fields")

    json: str

    def __init__(self, line: str) -> None:
        self.json = line
        self._fields: dict[str, Any] = json.loads(line)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"a record of type {self._fields.get('type')!r} has no {name!r}, "
                                 f"it has {', '.join(self._fields)}") from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    def __repr__(self) -> str:
        return f"Event({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Event, (self.json,))
