"""Folds statements that differ only in numbers, such as those of 300 sums, into one loop over the numbers, so that wide
queries compile as fast as narrow ones.

A unit is the statements of one output, key or measure. Consecutive units form a run if their texts are equal except for
the numbers of columns, fields, outputs, parameters and sites, and these have equal types in every unit. Units differ
only in digits: the text between them is parsed once, in the first unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from operator import eq
from typing import Any, NamedTuple

#: the fewest units for a loop; fewer are unrolled, which the C++ compiler optimises better
RUN_MIN = 24

#: numbered names: a source column or its validity, a row's field or NULL flag, a local name; a parameter, a site that
#: can fail, a column that is loaded, an output, its place and that of its source
_NUMBERED = re.compile(
    r"(?<!>)\b(?P<column>[cv])(?P<c>\d+)\b"
    r"|(?P<row>\(\(const T(?P<table>\d+)\*\)r\d+\[i\]\))?(?<!entry)->(?P<field>[fn])(?P<f>\d+)\b"
    r"|\b(?P<local>[enq])(?P<l>\d+)\b"
    r"|(?P<before>t->params\[|jg_fail\(t, \w+, |jg_load\(t, |->out<\w+>\(|\bout\[|->outputs\[)(?P<number>\d+)\b"
)
_DECLARED = re.compile(r"\w ([enq])(\d+)(?=\{\}| = |;)")
_DIGITS = re.compile(r"(\d+)")

#: C++ that is the same for many fields, and a number that is added to it
Place = tuple[str, int]


@dataclass(frozen=True)
class Scope:
    """The meaning of names in units: the types of source columns, the table of the rows `row`, `a` or `b`; a C++ type
    for a field, and the position of a field or NULL flag in a row."""

    column: Callable[[int], str] = str
    table: int = -1
    field: Callable[[int, int], str] = lambda table, field: ""
    place: Callable[[int, str], Place] = lambda table, name: (f"offsetof(T{table}, {name[0]}0)", int(name[1:]))


@dataclass(frozen=True)
class Run:
    """A loop of `count` rounds, one for each unit, whose numbers are `m`. They start at `first` and grow by `steps`; if
    they do not grow evenly, they come from `table`. `columns`: (place of the number, type) of source columns; `lines`:
    the text of a unit."""

    count: int
    first: tuple[str, ...]
    steps: tuple[int, ...]
    table: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[int, str], ...]
    lines: tuple[str, ...]


def fold(units: Iterable[Sequence[str]], scope: Scope) -> tuple[list[Run], list[str]]:
    """Return the runs, and the statements of the other units. Units must not depend on each other's order."""
    units = list(units)
    if len(units) < RUN_MIN:
        return [], [line for unit in units for line in unit]
    forms: dict[str, _Form] = {}
    for lines in units:
        text = "\n".join(lines)
        parts = _DIGITS.split(text)
        between = "#".join(parts[::2])
        if between not in forms:
            forms[between] = _Form(text, scope)
        forms[between].add(lines, parts[1::2])
    runs: list[Run] = []
    rest: list[str] = []
    for alike in (group for form in forms.values() for group in form.alike()):
        if len(alike.units) >= RUN_MIN:
            runs.append(_run(alike))
        else:
            rest += (line for lines in alike.units for line in lines)
    return runs, rest


def condition(terms: Sequence[str], scope: Scope) -> tuple[list[Run], str]:
    """Test that all terms hold: return runs of `if (!(term)) return 0;`, and the condition for the rest."""
    before, after = "if (!(", ")) return 0;"
    runs, rest = fold([[f"{before}{term}{after}"] for term in terms], scope)
    return runs, " && ".join(line.removeprefix(before).removesuffix(after) for line in rest) or "true"


def any_runs(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether templates are given any runs: then fields are read by their positions."""
    return any(part[key] for part in parts for key in part if key == "runs" or key.endswith("_runs"))


class _Token(NamedTuple):
    """Digits that are a number or part of a local name: `kind` tells which, `digits` is their position among all digits
    of a text; those of a field's table, if the text has them, are at `table`."""

    kind: str
    digits: int
    table: int = -1


class _Alike(NamedTuple):
    """Units of one shape, and for each of their numbers a column of its values by unit. The shape consists of digits
    that are no numbers; for each token, which number or declared name it is, or the digits of another name; and for
    each number its type and base."""

    units: list[Sequence[str]]
    shape: tuple[tuple[str, ...], tuple[int | str, ...], tuple[str, ...], tuple[str, ...]]
    numbers: list[list[int]]


class _Form:
    """Units that are equal except for their digits, and what the digits belong to."""

    def __init__(self, text: str, scope: Scope) -> None:
        at = {found.start(): number for number, found in enumerate(_DIGITS.finditer(text))}
        self._scope = scope
        self._tokens = tuple(_tokens(text, 0, at))
        self._declared = tuple((found[1], at[found.start(2)]) for found in _DECLARED.finditer(text))
        read = {token.digits for token in self._tokens}
        self._others = tuple(number for number in at.values() if number not in read)
        self._units: list[Sequence[str]] = []
        self._digits: list[Sequence[str]] = []

    def add(self, unit: Sequence[str], digits: Sequence[str]) -> None:
        self._units.append(unit)
        self._digits.append(digits)

    def alike(self) -> Iterable[_Alike]:
        """Group all units by shape; one unit alone always has one."""
        if (all_of_them := self._read(self._units, self._digits)) is not None:
            return [all_of_them]
        found: dict[object, _Alike] = {}
        for unit, digits in zip(self._units, self._digits, strict=True):
            alone = self._read([unit], [digits])
            assert alone is not None
            if alone.shape not in found:
                found[alone.shape] = alone
                continue
            found[alone.shape].units.append(unit)
            for numbers, more in zip(found[alone.shape].numbers, alone.numbers, strict=True):
                numbers += more
        return found.values()

    def _read(self, units: list[Sequence[str]], digits: list[Sequence[str]]) -> _Alike | None:
        """Parse the units if they share one shape: in each column of numbers, all values then are equal or none are."""
        columns = [*zip(*digits, strict=True)]
        try:
            others = tuple([_only(columns[at]) for at in self._others])
            declared = [("." + letter, columns[at]) for letter, at in self._declared]
            local: list[_Column] = []
            known: list[_Column] = []
            names: list[int | str] = []
            found: list[_Numbers] = []
            for kind, at, table_at in self._tokens:
                column = columns[at]
                if kind in _LOCAL and _find(declared, kind, column) is None:
                    names.append(_only(column))  # names that other statements declare stay the same
                elif kind in _LOCAL:
                    names.append(_place(local, kind, column))
                else:
                    table = self._scope.table if table_at < 0 else int(_only(columns[table_at]))
                    names.append(_place(known, (kind, table), column))
                    if len(known) > len(found):
                        found.append(self._numbers(kind, table, column))
        except _Differ:
            return None
        types, bases = tuple([n.type for n in found]), tuple([n.base for n in found])
        return _Alike([*units], (others, tuple(names), types, bases), [n.values for n in found])

    def _numbers(self, kind: str, table: int, column: Sequence[str]) -> _Numbers:
        scope = self._scope
        if kind in _FIELDS:
            places = [scope.place(table, kind + number) for number in column]
            type = "uint8_t" if kind == "n" else _only([scope.field(table, int(number)) for number in column])
            return _Numbers([place for _, place in places], type, _only([base for base, _ in places]))
        values = [*map(int, column)]
        return _Numbers(values, _only([*map(scope.column, values)]) if kind == "c" else "", "")


class _Numbers(NamedTuple):
    """A number for each unit, its type, and its base."""

    values: list[int]
    type: str
    base: str


#: the digits of each unit, and their meaning
_Column = tuple[object, Sequence[str]]


class _Differ(Exception):
    """Raised if units are not of one shape."""


def _only(column: Sequence[str]) -> str:
    if column.count(column[0]) < len(column):
        raise _Differ
    return column[0]


def _find(known: Sequence[_Column], kind: object, column: Sequence[str]) -> int | None:
    """Return the position of a column among the known ones, or None."""
    for place, (other, digits) in enumerate(known):
        if other == kind:
            if digits == column:
                return place
            if any(map(eq, digits, column)):
                raise _Differ
    return None


def _place(known: list[_Column], kind: object, column: Sequence[str]) -> int:
    """Return the position of a column, which is added if it is new."""
    place = _find(known, kind, column)
    if place is None:
        known.append((kind, column))
        return len(known) - 1
    return place


#: kinds of local names, and kinds of row fields
_LOCAL, _FIELDS = frozenset({".e", ".n", ".q"}), frozenset({"f", "n"})


def _tokens(text: str, start: int, at: Mapping[int, int]) -> Iterator[_Token]:
    for found in _NUMBERED.finditer(text):
        if found["column"]:
            yield _Token("c", at[start + found.start("c")])
        elif found["field"]:
            table = -1 if found["table"] is None else at[start + found.start("table")]
            yield _Token(found["field"], at[start + found.start("f")], table)
        elif found["local"]:
            yield _Token("." + found["local"], at[start + found.start("l")])
        else:  # a failure may have a name of its own
            yield from _tokens(found["before"], start + found.start("before"), at)
            yield _Token(found["before"].partition("(")[0], at[start + found.start("number")])


def _run(alike: _Alike) -> Run:
    _, names, types, bases = alike.shape
    text = _text("\n".join(alike.units[0]), names, types)
    columns = {int(number): types[int(number)] for number in re.findall(r"\b[cv]_(\d+)\b", text)}
    steps = tuple(numbers[1] - numbers[0] for numbers in alike.numbers)
    even = all(
        all(map(eq, numbers, count(numbers[0], step))) for numbers, step in zip(alike.numbers, steps, strict=True)
    )
    rows = (tuple(map(_number, bases, numbers)) for numbers in zip(*alike.numbers, strict=True))
    first = tuple(map(_number, bases, (numbers[0] for numbers in alike.numbers)))
    table = () if even else tuple(rows)
    return Run(len(alike.units), first, steps, table, tuple(columns.items()), tuple(text.split("\n")))


def _number(base: str, number: int) -> str:
    return f"{base} + {number}" if base and number else base or str(number)


def _text(text: str, names: Sequence[int | str], types: Sequence[str]) -> str:
    """Return a unit's text with `m` for its numbers."""
    remaining = iter(names)

    def without(found: re.Match[str]) -> str:
        if found["before"]:
            before = _NUMBERED.sub(without, found["before"])
            return f"{before}m[{next(remaining)}]"
        name = next(remaining)
        if found["column"]:
            return f"{found['column']}_{name}"
        if found["field"]:
            return f"{found['row'] or ''}->at<{types[int(name)]}>(m[{name}])"
        return found[0] if isinstance(name, str) else f"{found['local']}_{name}"

    return _NUMBERED.sub(without, text)
