"""Groups of one object (PushdownDB, section VI): a sample tells the large ones, which the store computes by CASE or by
a request each. The rows of the others come here, and those with a NULL as a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from jumpgate.ncas.s3_select import local, totals
from jumpgate.ncas.s3_select.source import Source
from jumpgate.ncas.s3_select.sql import EXPRESSION_MAX, column, select, value
from jumpgate.ncas.s3_select.terms import Columns, Terms
from jumpgate.ncas.s3_select.totals import Figures

#: rows of the sample; the part of them that makes a group large, and the most such groups
SAMPLED, LARGE, GROUPS_MAX = 1000, 0.02, 8
#: characters of a text that is a key in a statement
KEY_MAX = 1000

Group = tuple[tuple[Any, ...], int, Mapping[str, Figures]]


@dataclass(frozen=True)
class Grouping:
    """Names of the keys' columns, of the arguments' (whether each is an integer), the condition, and CASE or not.
    `terms` and `met` are columns and the condition as the store has them."""

    keys: tuple[str, ...]
    arguments: Mapping[str, bool]
    where: str
    cases: bool
    terms: Terms
    met: str

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.keys, *(name for name in self.arguments if name not in self.keys))

    def of(self, key: Sequence[Any], terms: Terms) -> str:
        """Return the condition that a row has the key."""
        tests = (f"{terms.value(name)} = {value(v)}" for name, v in zip(self.keys, key, strict=True))
        return f"({' AND '.join(tests)})"

    def others(self, done: Sequence[tuple[Any, ...]], terms: Terms, where: str) -> str:
        """Return the condition of the rows that no pushed group has."""
        if not done:
            return where
        missing = " OR ".join(map(terms.absent, self.keys))
        any_of = " OR ".join(self.of(key, terms) for key in done)
        return " AND ".join(filter(None, [where, f"({missing} OR NOT ({any_of}))"]))


def computed(source: Source, grouping: Grouping, types: Sequence[pa.DataType]) -> Iterator[Group]:
    """Yield the groups of an object, none of them twice. types: of the keys."""
    sample = source.selected(select(map(grouping.terms.value, grouping.keys), [grouping.met], SAMPLED))
    large = _large(sample or [])
    done = []
    for key, group in zip(large, _pushed(source, grouping, large), strict=True):
        if group is not None:
            done.append(key)
            if group[0]:
                yield (key, *group)
    yield from _here(source, grouping, done, types)


def _large(sample: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    counts = Counter(tuple(row.get(f"c{i}") for i in range(len(row))) for row in sample)
    return [key for key, n in counts.most_common(GROUPS_MAX) if n >= LARGE * len(sample) and all(map(_is_plain, key))]


def _is_plain(v: object) -> bool:
    return isinstance(v, int) or (isinstance(v, str) and len(v) <= KEY_MAX)


def _pushed(
    source: Source, grouping: Grouping, large: Sequence[tuple[Any, ...]]
) -> list[tuple[int, Mapping[str, Figures]] | None]:
    """Return the figures of each large group; None where the store did not compute them, or not exactly."""
    if not large:
        return []
    conditions, terms = [grouping.of(key, grouping.terms) for key in large], grouping.terms
    if grouping.cases:
        items = [item for c in conditions for item in totals.items(grouping.arguments, c, terms)]
        statement = select(items, [grouping.met])
        answers = source.selected(statement) if len(statement.encode()) <= EXPRESSION_MAX else None
        if not answers:
            return [None] * len(large)
        values = totals.values(answers[0], len(items))
        found = [totals.figures(values, grouping.arguments) for _ in large]
    else:
        found = []
        items = [*totals.items(grouping.arguments, terms=terms)]
        for condition in conditions:
            answers = source.selected(select(items, [grouping.met, condition]))
            if not answers:
                break
            found.append(totals.figures(totals.values(answers[0], len(items)), grouping.arguments))
    missing = [None] * (len(large) - len(found))
    return [*(f if all(of.is_exact for of in f[1].values()) else None for f in found), *missing]


def _here(
    source: Source, grouping: Grouping, done: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]
) -> Iterator[Group]:
    """Yield the groups that were not pushed, whose rows are read and grouped here."""
    numbers = {name: pa.int64() if is_integer else pa.string() for name, is_integer in grouping.arguments.items()}
    known = {**numbers, **dict(zip(grouping.keys, types, strict=True))}
    schema = pa.schema([pa.field(name, known[name]) for name in grouping.names])
    others = grouping.others(done, grouping.terms, grouping.met)
    rows = source.selected_rows(select(map(grouping.terms.field, grouping.names), [others]), schema)
    shown, width = [*map(column, grouping.keys), *totals.items(grouping.arguments)], len(grouping.keys)
    by = f" GROUP BY {', '.join(map(column, grouping.keys))}"
    if rows is None:
        answers = source.exact(select(shown, [grouping.others(done, Columns(), grouping.where)]) + by)
        found = [[*totals.values(answer, len(shown))] for answer in answers]
    else:
        with local.answered(select(shown, []) + by, "S3Object", schema, rows) as result:
            found = result.fetchall()
    for row in found:
        yield (tuple(row[:width]), *totals.figures(iter(row[width:]), grouping.arguments))
