"""Aggregates of one object: COUNT, SUM, MIN and MAX of its rows, or of those of a group.

Stores compute with doubles: where a number might not fit into one exactly, the object is read by ranges. A sum of no
values is 0 in some stores, so NULL is told by the count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.ncas.s3_select.dialects import EXACT
from jumpgate.ncas.s3_select.terms import Columns, Terms


@dataclass(frozen=True)
class Figures:
    """The number of values of a column that are not NULL and, of integers, their sum and bounds."""

    count: int
    total: int = 0
    low: int = 0
    high: int = 0

    @property
    def is_exact(self) -> bool:
        """Return whether doubles were exact on the way to the sum."""
        return self.count * max(abs(self.low), abs(self.high)) < EXACT


def items(arguments: Mapping[str, bool], condition: str = "", terms: Terms | None = None) -> Iterator[str]:
    """Yield the columns of the statement for rows, or for those of a condition, that meet it: their number, then the
    figures of each argument. arguments: whether each is an integer, by name."""
    terms = terms or Columns()
    yield f"COUNT(CASE WHEN {condition} THEN 1 END)" if condition else "COUNT(*)"
    for name, is_integer in arguments.items():
        for function in ("COUNT", "SUM", "MIN", "MAX") if is_integer else ("COUNT",):
            yield f"{function}({terms.value(name, condition)})"


def values(row: Mapping[str, Any], count: int) -> Iterator[Any]:
    """Return so many columns of a store's answer; it may leave out NULLs."""
    return (row.get(f"c{i}") for i in range(count))


def figures(values: Iterator[Any], arguments: Mapping[str, bool]) -> tuple[int, dict[str, Figures]]:
    """Take the values of `items` from the front; return the number of rows, and the figures by name."""
    rows = int(next(values))
    found = {}
    for name, is_integer in arguments.items():
        count = int(next(values))
        numbers = [int(next(values) or 0) for _ in range(3 if is_integer else 0)]
        found[name] = Figures(count, *numbers) if count else Figures(0)
    return rows, found


def states(measures: Sequence[tuple[str, str]], rows: int, found: Mapping[str, Figures]) -> list[Any]:
    """Return the partial states of the measures (aggregates.States), each a function and the name of its argument."""
    values: list[Any] = []
    for function, name in measures:
        if function == "count_star":
            values.append(rows)
            continue
        of = found[name]
        match function:
            case "count":
                values.append(of.count)
            case "avg":
                values += [of.total if of.count else None, of.count]
            case _:
                known = {"sum": of.total, "min": of.low, "max": of.high}[function]
                values.append(known if of.count else None)
    return values
