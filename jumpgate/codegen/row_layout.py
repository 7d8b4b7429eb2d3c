"""The layout of a table's rows: fields of one C++ type are adjacent, so that a loop steps from one to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from jumpgate.codegen.cpp import cpp_type
from jumpgate.codegen.program import Table
from jumpgate.codegen.runs import RUN_MIN, Place


def names(text: str) -> frozenset[str]:
    """Return all fields and NULL flags that the C++ refers to by name."""
    return frozenset(re.findall(r"\b[fn]\d+\b", text))


@dataclass(frozen=True)
class Segment:
    """Adjacent fields of one C++ type and width, or NULL flags: their names are a letter and a number. `notes`: a
    comment for each."""

    cpp: str
    bytes: int
    letter: str
    numbers: Sequence[int]
    notes: Sequence[str] = ()

    def declarations(self, named: frozenset[str]) -> Iterator[str]:
        """Yield one declaration for each field; consecutive ones that are not among `named` become an array."""
        wide = len(self.numbers) >= RUN_MIN
        places = range(len(self.numbers))
        for alone, group in groupby(places, lambda i: not wide or f"{self.letter}{self.numbers[i]}" in named):
            first, *others = group
            if not alone and others:
                yield f"{self.cpp} {self.letter}{self.numbers[first]}_[{1 + len(others)}];"
                continue
            for place in (first, *others):
                note = f"  // {self.notes[place]}" if self.notes else ""
                yield f"{self.cpp} {self.letter}{self.numbers[place]};{note}"


@dataclass(frozen=True)
class Layout:
    """Orders the fields of a table's rows: the widest first, those of one type together, NULL flags last."""

    table: Table

    @cached_property
    def fields(self) -> list[Segment]:
        of_type: dict[str, list[int]] = {}
        for number, type in enumerate(self.table.fields):
            of_type.setdefault(cpp_type(type), []).append(number)
        types = self.table.fields
        segments = [
            Segment(cpp, types[numbers[0]].width, "f", numbers, [str(types[n]) for n in numbers])
            for cpp, numbers in of_type.items()
        ]
        return sorted(segments, key=lambda segment: -segment.bytes)

    @cached_property
    def flags(self) -> Segment:
        return Segment("uint8_t", 1, "n", [i for i, type in enumerate(self.table.fields) if type.nullable])

    def place(self, name: str) -> Place:
        """Return the position of a field or NULL flag, relative to the first one of its segment."""
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, Place]:
        return {
            f"{s.letter}{number}": (f"offsetof(T{self.table.id}, {s.letter}{s.numbers[0]})", s.bytes * i)
            for s in (*self.fields, self.flags)
            for i, number in enumerate(s.numbers)
        }
