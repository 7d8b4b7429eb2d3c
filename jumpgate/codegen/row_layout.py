"""Where the fields of a table's row are: those of one C++ type lie side by side, and loops count to the next one."""

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
    """All fields and NULL flags that C++ calls by their names."""
    return frozenset(re.findall(r"\b[fn]\d+\b", text))


@dataclass(frozen=True)
class Segment:
    """Fields of one C++ type of so many bytes, or NULL flags: a letter and their numbers are their names. `notes`: what
    is said of each."""

    cpp: str
    bytes: int
    letter: str
    numbers: Sequence[int]
    notes: Sequence[str] = ()

    def declarations(self, named: frozenset[str]) -> Iterator[str]:
        """One for each field; of many, those that follow each other and are not among `named` are an array."""
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
    """Of the rows of a table: the widest fields come first, those of one type together, and NULL flags after them."""

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
        """Where in a row a field or NULL flag is: after the first one of its segment."""
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, Place]:
        return {
            f"{s.letter}{number}": (f"offsetof(T{self.table.id}, {s.letter}{s.numbers[0]})", s.bytes * i)
            for s in (*self.fields, self.flags)
            for i, number in enumerate(s.numbers)
        }
