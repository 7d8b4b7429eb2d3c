"""Statements that differ in numbers only, such as those of 300 sums, as one loop over a table of these numbers: what is
wide then costs the C++ compiler no more than what is narrow.

A unit is the statements of one output, key or measure. Units that follow each other make a run if their texts are equal
but for the numbers of columns, fields, outputs, parameters and sites, and these have equal types in every unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: units from which on a loop is written; fewer are unrolled, which the C++ compiler makes more of
RUN_MIN = 24

#: what has a number: a source column or its validity, a row's field or NULL flag, a local name; a parameter, a site
#: that can fail, a column that is loaded, an output
_NUMBERED = re.compile(
    r"(?<!>)\b(?P<column>[cv])(?P<c>\d+)\b"
    r"|(?P<row>\(\(const T(?P<table>\d+)\*\)r\d+\[i\]\))?->(?P<field>[fn]\d+)\b"
    r"|\b(?P<local>[enq]\d+)\b"
    r"|(?P<before>t->params\[|jg_fail\(t, \w+, |jg_load\(t, |->out<\w+>\()(?P<number>\d+)\b"
)
_DECLARED = re.compile(r"\w ([enq]\d+)(?=\{\}| = |;)")


@dataclass(frozen=True)
class Scope:
    """What names stand for where units are: the types of source columns, the table of rows that are called `row`, `a`
    or `b`, and a C++ type for a field."""

    column: Callable[[int], str] = str
    table: int = -1
    field: Callable[[int, int], str] = lambda table, field: ""


@dataclass(frozen=True)
class Run:
    """A loop: a row of `numbers` for each unit; `columns`: (place of the number, type) of source columns; `lines`: of a
    unit, `m` being its numbers."""

    numbers: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[int, str], ...]
    lines: tuple[str, ...]


def fold(units: Iterable[Sequence[str]], scope: Scope) -> tuple[list[Run], list[str]]:
    """The runs, and the statements of the other units. Units must not depend on each other's order."""
    units = list(units)
    if len(units) < RUN_MIN:
        return [], [line for unit in units for line in unit]
    alike: dict[object, list[_Reader]] = {}
    for unit in units:
        reader = _Reader(tuple(unit), scope)
        alike.setdefault(reader.shape, []).append(reader)
    runs = [members for members in alike.values() if len(members) >= RUN_MIN]
    rest = [members for members in alike.values() if len(members) < RUN_MIN]
    return (
        [members[0].run([m.numbers for m in members]) for members in runs],
        [line for members in rest for m in members for line in m.unit],
    )


def condition(terms: Sequence[str], scope: Scope) -> tuple[list[Run], str]:
    """Whether all terms hold: runs of `if (!(term)) return 0;`, and what must be true as well."""
    before, after = "if (!(", ")) return 0;"
    runs, rest = fold([[f"{before}{term}{after}"] for term in terms], scope)
    return runs, " && ".join(line.removeprefix(before).removesuffix(after) for line in rest) or "true"


def any_runs(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether templates are given any: then fields are read by their places."""
    return any(part[key] for part in parts for key in part if key == "runs" or key.endswith("_runs"))


class _Reader:
    """A unit's text with its numbers taken out."""

    def __init__(self, unit: tuple[str, ...], scope: Scope) -> None:
        self.unit = unit
        self._scope = scope
        self._columns: dict[int, str] = {}  # the type, by the place of the column's number
        self._places: dict[tuple[str, str], int] = {}
        self._names: dict[str, str] = {}
        text = "\n".join(unit)
        self._declared = set(_DECLARED.findall(text))
        self.text = _NUMBERED.sub(self._without, text)
        self.numbers = tuple(number for _, number in self._places)
        self.shape = (self.text, tuple(self._columns.items()))

    def run(self, numbers: Sequence[tuple[str, ...]]) -> Run:
        columns = tuple((place, type) for place, type in self._columns.items())
        return Run(tuple(numbers), columns, tuple(self.text.split("\n")))

    def _place(self, kind: str, number: str) -> int:
        return self._places.setdefault((kind, number), len(self._places))

    def _without(self, found: re.Match[str]) -> str:
        of = found.groupdict()
        if of["column"]:
            place = self._place("c", of["c"])
            self._columns[place] = self._scope.column(int(of["c"]))
            return f"{of['column']}_{place}"
        if name := of["field"]:
            table = int(of["table"] or self._scope.table)
            type = "uint8_t" if name[0] == "n" else self._scope.field(table, int(name[1:]))
            place = self._place("", f"offsetof(T{table}, {name})")
            return f"{of['row'] or ''}->at<{type}>(m[{place}])"
        if name := of["local"]:
            known = name in self._declared  # what other statements declare keeps its name
            return self._names.setdefault(name, f"{name[0]}_{len(self._names)}") if known else name
        before = _NUMBERED.sub(self._without, of["before"])  # a failure may have a name of its own
        return f"{before}m[{self._place(before, of['number'])}]"
