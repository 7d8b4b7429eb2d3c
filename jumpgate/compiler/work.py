"""The work of an operator in the cost units of jumpgate.nca.speeds, by the estimated rows that reach it.

Once a join's table is built, the source of its probing rows learns the keys. By their range it skips row groups: where
the rows of a file lie by a column, as sales by their day, a join with a few days reads a few of them. Of the rows
without a partner it decodes the key alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jumpgate.compiler.columns import overlap
from jumpgate.compiler.estimate import Estimator, row_bytes
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal, conjuncts
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import Aggregate, Distinct, Filter, Join, Operator, Read, State, Window, numbered
from jumpgate.dataflow.types import DataType
from jumpgate.nca.speeds import FIXED, LARGE, SMALL, Work, seconds_of

#: a build row's overhead: its hash, its chain and its place in a directory at most half full
JOIN_ROW_BYTES, GROUP_ROW_BYTES = 32.0, 32.0
#: core seconds to keep and read back a row, and each value of it
KEPT_ROW, KEPT_VALUE, KEPT_TEXT = 15e-9, 3e-9, 15e-9
#: the fewest seconds to save: keeping rows adds a step to the job
SAVED_MIN = 5e-4

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


def work(node: Operator, estimator: Estimator) -> Work | None:
    """Return the work of `node` without its inputs, or None if the rows are unknown."""
    inputs = [estimator.of(i).rows for i in node.inputs]
    output = estimator.of(node).rows
    if output is None or None in inputs:
        return None
    found = _by_rows(node, [r for r in inputs if r is not None], output, estimator)
    return {"operator": 1.0, **found} if node.state is not State.NOTHING else found


def _by_rows(node: Operator, rows: list[float], output: float, estimator: Estimator) -> Work:
    """Return the work for `rows` of the inputs."""
    match node:
        case Read():
            return _scan(node, estimator, output)
        case Filter():
            return {"filter": rows[0] * len(conjuncts(node.predicate))}
        case Join():
            return _join(node, rows[0], rows[1], output)
        case Aggregate():
            return _group(rows[0], output, len(node.measures), _computed(node.keys))
        case Distinct():
            return _group(rows[0], output, 0, 0)
        case Window():
            held = estimator.held(node)
            looked_at = rows[0] if node.first is not None else 0.0
            return {"filter": looked_at, "sort": held * _levels(held), "window": held * len(node.functions)}
    if node.state is State.NOTHING:
        return {"expression": rows[0] * _computed(node.own_expressions)} if node.own_expressions else {}
    offset, most = node.limits
    if most is not None:
        kept = min(rows[0], float(offset + most))
        return {"filter": rows[0], "sort": kept * _levels(kept)}
    return {"sort": rows[0] * _levels(rows[0])}


def part_of(node: Operator, estimator: Estimator, part: Part) -> Work | None:
    """Return the work of `node` where joins above leave so much of it."""
    found = work(node, estimator)
    if found is None:
        return None
    if isinstance(node, Read):
        found = _scan(node, estimator, estimator.of(node).rows or 0.0, part)
    rows = {name: 1.0 if name.startswith((*FIXED, "build")) else part.rows for name in found}
    return {n: amount * rows[n] * (part.probing if n.startswith("probe") else 1.0) for n, amount in found.items()}


def kept_seconds(node: Operator, rows: float) -> float:
    """Return the core seconds to keep `rows` rows of `node` and read them again."""
    return rows * (KEPT_ROW + sum(KEPT_TEXT if f.type.is_text else KEPT_VALUE for f in node.schema))


def takes(node: Operator, estimator: Estimator, seconds: Mapping[str, float]) -> float:
    """Return the core seconds of the operator alone; 0 if its rows are unknown."""
    found = work(node, estimator)
    return 0.0 if found is None else seconds_of(found, seconds)


def takes_again(node: Operator, estimator: Estimator, seconds: Mapping[str, float]) -> float:
    """Return the core seconds to compute the node's rows for one more consumer; tables that it reads exist already."""
    if node.state is State.ROWS:
        return 0.0
    inputs = (node.probe,) if isinstance(node, Join) else node.inputs
    return takes(node, estimator, seconds) + sum(takes_again(i, estimator, seconds) for i in inputs)


def state_bytes(node: Operator, estimator: Estimator) -> float:
    """Return the bytes that an operator holds between rows; 0 if unknown."""
    match node:
        case Join():
            build = estimator.of(node.build)
            return (build.bytes or 0.0) + JOIN_ROW_BYTES * (build.rows or 0.0)
        case Aggregate() | Distinct():
            groups = estimator.of(node)
            return (groups.bytes or 0.0) + GROUP_ROW_BYTES * (groups.rows or 0.0)
        case Window() if node.first is not None:
            return estimator.held(node) * row_bytes(node.input.schema)
    if node.state is State.ROWS:
        held = node.inputs[0] if node.limits[1] is None else node
        return estimator.of(held).bytes or 0.0
    return 0.0


def by_size(name: str, rows: float, entries: float) -> Work:
    """Split `rows` look-ups into a table of `entries` between the units for small and for large tables."""
    large = math.log(max(entries, SMALL) / SMALL) / math.log(LARGE / SMALL)
    large = min(1.0, large)
    return {name: rows * (1.0 - large), f"{name} large": rows * large}


def added(parts: Iterable[Work]) -> Work:
    """Add the parts."""
    total: Counter[str] = Counter()
    for part in parts:
        for name, amount in part.items():
            total[name] += amount  # type: ignore[assignment]
    return total


def _scan(node: Read, estimator: Estimator, rows: float, part: Part = WHOLE) -> Work:
    found: Counter[str] = Counter()
    for index, column in enumerate(node.schema):
        values = rows if index in part.early else rows * part.late
        found[f"scan {node.format} {_class(column.type)}"] += values  # type: ignore[assignment]
    files = estimator.files(node).bytes or 0.0
    return {f"open {node.format}": 1.0, f"scan {node.format} byte": files, **found}


def _class(type: DataType) -> str:
    if type.is_text:
        return "text"
    return "decimal" if type.kind == "decimal" else "number"


def _computed(expressions: Iterable[Expression]) -> int:
    """Count the expressions, parts included, that are neither columns nor literals."""
    return sum(not isinstance(e, ColumnRef | Literal) for whole in expressions for e in whole.walk())


def _join(node: Join, left: float, right: float, output: float) -> Work:
    built, probing = (left, right) if node.builds_left else (right, left)
    if not node.left_keys:
        return {"build": built, "filter": left * right}
    pairs = output if node.residual is not None else 0.0
    return {
        **by_size("build", built, built),
        **by_size("probe", probing, built),
        "filter": pairs,
        "expression": 0.0 if node.type.output is Output.LEFT else output,
    }


def _group(rows: float, groups: float, measures: int, computed: int) -> Work:
    return {**by_size("group", rows, groups), "measure": rows * measures, "expression": rows * computed}


def _levels(rows: float) -> float:
    return math.log2(max(2.0, rows))


def sent_bytes(node: Operator, estimator: Estimator) -> float | None:
    """Return the bytes of the rows that `node` sends."""
    rows = estimator.of(node).rows
    return None if rows is None else rows * row_bytes(node.schema)


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
