"""Parts of files that are read because a join's keys exclude the rest.

Once a join's table is built, the source of its probing rows learns the keys. By their range it skips row groups: where
the rows of a file lie by a column, as sales by their day, a join with a few days reads a few of them. Of the rows
without a partner it decodes the key alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jumpgate.compiler.columns import overlap
from jumpgate.compiler.estimate import Estimator
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Filter, Join, Operator, Read, numbered

#: of a file's rows, the least part that is taken to be read: estimated ranges may be narrower than the keys
PART_MIN = 0.01
#: of the seconds for a column, what its pages take if no row is wanted; and how many rows are decoded in the time of a
#: single one that is picked
PAGES, PICKED = 0.1, 4.0


@dataclass
class Part:
    """Parts of an operator's work that are left. rows: of all its rows; probing: of those that look up its table, in
    addition; late: of the values of a read's columns that are not `early`, in addition."""

    rows: float = 1.0
    probing: float = 1.0
    late: float = 1.0
    early: set[int] = field(default_factory=set)


WHOLE = Part()


def read_parts(root: Operator, estimator: Estimator) -> dict[int, Part]:
    """Return the parts of the work below joins that drop rows, by the operators' identity."""
    found: dict[int, Part] = {}
    for join in numbered(root):
        if not isinstance(join, Join) or not join.left_keys or not _drops(join):
            continue
        sides = (join.right_keys, join.left_keys) if join.builds_left else (join.left_keys, join.right_keys)
        ways = [_way(join, probing, estimator) for probing in sides[0]]
        parts = [_part(way, join, built, estimator) for way, built in zip(ways, sides[1], strict=True)]
        part = max(PART_MIN, min(parts))
        for node, _ in ways[parts.index(min(parts))] if part < 1.0 else ():
            found.setdefault(id(node), Part()).rows *= part
        found.setdefault(id(join), Part()).probing *= part
        _spare(ways[0], join, estimator, found)
    return found


def _drops(join: Join) -> bool:
    """Return whether probing rows without a partner are in no result."""
    return not (join.type.unmatched_right if join.builds_left else join.type.unmatched)


def _way(join: Join, key: Expression, estimator: Estimator) -> list[tuple[Operator, Expression]]:
    """Return the operators from the join's probing input down to the read that has the key, all of whose rows pass
    through them, with the key as an expression over each; empty if there is no such read."""
    way: list[tuple[Operator, Expression]] = []
    for node, found in estimator.path(join.probe, key):
        if way and isinstance(way[-1][0], Join) and node is not way[-1][0].probe:
            return []
        way.append((node, found))
    last = way[-1][0] if way else None
    return way if isinstance(last, Read) and formats()[last.format].columnar else []


def _part(way: list[tuple[Operator, Expression]], join: Join, built: Expression, estimator: Estimator) -> float:
    """Return the part of the rows in row groups that have keys in the range of this one."""
    column = estimator.column(*way[-1]) if way else None
    if column is None or column.spread is None:
        return 1.0
    return min(1.0, overlap(column, estimator.column(join.build, built)) + column.spread)


def _spare(way: list[tuple[Operator, Expression]], join: Join, estimator: Estimator, found: dict[int, Part]) -> None:
    """Leave out what is not decoded of the rows that the join, the first one above the read, drops."""
    if not way or any(isinstance(node, Join) for node, _ in way):
        return
    read, key = way[-1]
    before, after = estimator.of(join.probe).rows, estimator.of(join).rows
    if not before or after is None or not isinstance(key, ColumnRef):
        return
    early = {key.index}
    for node, _ in way:
        if isinstance(node, Filter) and node.input is read:
            early |= set(node.predicate.columns())
    part = found.setdefault(id(read), Part())
    part.late = min(part.late, PAGES + (1.0 - PAGES) * min(1.0, PICKED * after / before))
    part.early |= early
