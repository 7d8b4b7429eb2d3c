"""Compares two dataflows without the names of columns between their operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from jumpgate.dataflow.operators import Operator, Read

_NAMES = ("name", "names", "key_names")


def shape(root: Operator) -> tuple[Hashable, ...]:
    """Return every different operator, expression and type of the dataflow once, each after its parts. Equal shapes are
    equal dataflows except for names; those of files' columns count."""
    places: dict[Hashable, int] = {}
    visited: dict[int, int] = {}

    def place(value: object) -> Hashable:
        if isinstance(value, tuple):
            return tuple(map(place, value))
        if isinstance(value, Read) or not dataclasses.is_dataclass(value):
            return (type(value).__name__, value)
        if id(value) not in visited:
            parts = [place(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name not in _NAMES]
            visited[id(value)] = places.setdefault((type(value).__name__, *parts), len(places))
        return visited[id(value)]

    place(root)
    return tuple(places)
