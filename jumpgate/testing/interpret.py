"""Runs a job plan in this process on plain Python rows: every instance, every edge, slowly and obviously.

This tests the compiler without generated code, processes or sockets; NCA authors see the requests that their part of a
plan gets. Hash edges use Python's hash, so rows go to other instances than in a real run: no result may depend on that.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from jumpgate.dataflow.aggregates import ordinal
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Emit,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Prune,
    Read,
    Receive,
    Shuffle,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Unnest,
    numbered,
    partial_state,
)
from jumpgate.dataflow.types import Field, Schema
from jumpgate.nca.interface import Edge, InstancePlan, JobPlan, KeyFilter
from jumpgate.testing import oracle

Row = tuple[Any, ...]
Rows = list[Row]


#: returns an instance's output for its inputs (by edge), or None to interpret it
Compute = Callable[[InstancePlan, dict[str, Rows]], Rows | None]


def interpret(plan: JobPlan, dialect: Dialect = DEFAULT, compute: Compute | None = None) -> pa.Table:
    """The rows that the client would receive. Each edge is computed when somebody reads it; nothing is concurrent."""
    run = _Run(plan, dialect, compute)
    run.check_all_used()
    result = [row for _, rows in sorted(run.arriving(plan.result).items()) for row in rows]
    schema = next(i.root.schema for i in plan.instances if i.output == plan.result)
    columns = [pa.array([r[c] for r in result], oracle.arrow_type(f.type)) for c, f in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=oracle.arrow_schema(schema))


class _Run:
    """The rows on each edge of a plan."""

    def __init__(self, plan: JobPlan, dialect: Dialect, compute: Compute | None) -> None:
        self._plan, self._compute = plan, compute
        self._instances = {i.id: Interpreter(i, self._arrived(i), dialect) for i in plan.instances}
        self._edges: dict[str, dict[int, Rows]] = {}

    def arriving(self, edge: str) -> dict[int, Rows]:
        """The rows on `edge` by the consumer's index."""
        if edge not in self._edges:
            found: dict[int, Rows] = defaultdict(list)
            for index, producer in enumerate(self._plan.edge(edge).producers):
                for consumer, part in _spread(self._sent(producer, edge), self._plan.edge(edge), index):
                    found[consumer] += part
            self._edges[edge] = found
        return self._edges[edge]

    def check_all_used(self) -> None:
        """Check that each edge leads to the result; rows that arrive may stay unread, as those of a pruned input's
        other side."""
        used: set[str] = set()
        waiting = [self._plan.result]
        while waiting:
            edge = waiting.pop()
            if edge not in used:
                used.add(edge)
                waiting += [i for p in self._plan.edge(edge).producers for i in self._instances[p].instance.inputs]
        unused = {edge.id for edge in self._plan.edges} - used
        assert not unused, f"edges {sorted(unused)} lead nowhere"

    def _arrived(self, instance: InstancePlan) -> Callable[[str], Rows]:
        return lambda edge: self.arriving(edge)[instance.index]

    def _sent(self, producer: str, edge: str) -> Rows:
        instance = self._instances[producer]
        for filter in instance.instance.filters:
            if filter.edge == edge:
                return instance.keys(filter)
        root = instance.instance.root
        assert isinstance(root, Emit)
        computed = None
        if self._compute is not None:
            inputs = {edge: instance.inputs(edge) for edge in instance.instance.inputs}
            computed = self._compute(instance.instance, inputs)
        return instance.rows(root.input) if computed is None else computed


def _spread(rows: Rows, edge: Edge, producer: int) -> list[tuple[int, Rows]]:
    partitioning = edge.partitioning
    count = partitioning.count
    match partitioning.kind:
        case "paired":
            return [(producer, rows)]
        case "single":
            return [(0, rows)]
        case "broadcast":
            return [(i, rows) for i in range(count)]
        case "round_robin":
            return [(i, rows[i::count]) for i in range(count)]
    parts: list[Rows] = [[] for _ in range(count)]
    types = tuple(edge.ntf.schema[k].type for k in partitioning.keys)
    for number, row in enumerate(rows):
        key = tuple(row[k] for k in partitioning.keys)
        if not partitioning.heavy or fingerprint(key, types) not in partitioning.heavy:
            parts[hash(key) % count].append(row)
        else:
            for part in parts if partitioning.copied else [parts[number % count]]:
                part.append(row)
    return [*enumerate(parts)]


class Interpreter:
    """One instance: `inputs` has what arrives on each of its edges."""

    def __init__(self, instance: InstancePlan, inputs: Callable[[str], Rows], dialect: Dialect) -> None:
        self.instance = instance
        self.inputs = inputs
        self.dialect = dialect
        self._done: dict[int, Rows] = {}
        self._filters: list[Operator] = []  # keeps the operators whose identities are in `_done`

    def rows(self, node: Operator) -> Rows:
        """Return all rows of `node`; a shared node is computed once."""
        if id(node) not in self._done:
            self._done[id(node)] = self._rows(node)
        return self._done[id(node)]

    def keys(self, filter: KeyFilter) -> Rows:
        """Return the rows that leave over a filter edge."""
        join = numbered(self.instance.root)[filter.join]
        assert isinstance(join, Join)
        every = join.left_keys if join.builds_left else join.right_keys
        wanted = [every[k] for k in filter.keys]
        keys = Receive(filter.edge, Schema(tuple(Field(f"key{i}", k.type) for i, k in enumerate(wanted))))
        self._done[id(keys)] = [tuple(self.value(k, row) for k in wanted) for row in self.rows(join.build)]
        self._filters.append(keys)
        return self.rows(filter.sent(keys))

    def value(self, expression: Any, row: Row) -> Any:
        return evaluate(expression, row, self.dialect)

    def _rows(self, node: Operator) -> Rows:
        match node:
            case Read():
                table = oracle.run(replace(node, predicate=None), self.dialect)
                every = [*zip(*(oracle.values(c) for c in table.columns), strict=True)]
                return every[self.instance.index :: self.instance.count]
            case Receive():
                return self.inputs(node.edge)
            case Filter():
                return [r for r in self.rows(node.input) if self.value(node.predicate, r) is True]
            case Project():
                return [tuple(self.value(e, r) for e in node.expressions) for r in self.rows(node.input)]
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Sort():
                rows = self._sorted(self.rows(node.input), node.keys)
                return rows[node.offset : None if node.limit is None else node.offset + node.limit]
            case Skyline():
                return self._skyline(node)
            case Unnest():
                return self._unnest(node)
            case Limit():
                return self.rows(node.input)[node.offset : node.offset + node.count]
            case Distinct():
                return [*dict.fromkeys(self.rows(node.input))]
            case UnionAll():
                return [r for m in node.members for r in self.rows(m)]
            case Shuffle():
                return self.rows(node.input)
            case Prune():
                return self._prune(node)
        raise ValueError(f"cannot interpret {node.kind}")

    def _join(self, node: Join) -> Rows:
        left, right = self.rows(node.left), self.rows(node.right)
        built: dict[Row, list[int]] = defaultdict(list)
        for i, r in enumerate(right):
            built[tuple(self.value(k, r) for k in node.right_keys)].append(i)
        nothing_left, nothing_right = (None,) * len(node.left.schema), (None,) * len(node.right.schema)
        matched: set[int] = set()
        out: Rows = []
        for row in left:
            key = tuple(self.value(k, row) for k in node.left_keys)
            found = [
                i
                for i in (built.get(key, []) if None not in key else [])
                if node.residual is None or self.value(node.residual, row + right[i]) is True
            ]
            matched.update(found)
            match node.type.output:
                case Output.LEFT:
                    out += [row] * (node.type.matched if found else node.type.unmatched)
                case Output.MARK:
                    out.append((*row, True if found else self._undecided(node, key, row, right)))
                case Output.PAIRS:
                    out += [row + right[i] for i in found]
                    if not found and node.type.unmatched:
                        out.append(row + nothing_right)
        if node.type.unmatched_right:
            out += [nothing_left + r for i, r in enumerate(right) if i not in matched]
        return out

    def _undecided(self, node: Join, key: Row, row: Row, right: Rows) -> bool | None:
        """Return False, or None if some pair is neither a match nor a mismatch."""
        for r in right:
            pairs = zip(key, (self.value(k, r) for k in node.right_keys), strict=True)
            terms = [None if a is None or b is None else a == b for a, b in pairs]
            if node.residual is not None:
                terms.append(self.value(node.residual, row + r))
            if False not in terms:  # not decided, as it did not match
                return None
        return False

    def _sorted(self, rows: Rows, keys: Sequence[SortKey]) -> Rows:
        def before(a: Row, b: Row) -> int:
            found = (
                _compared(self.value(k.expression, a), self.value(k.expression, b), k.descending, k.nulls_first)
                for k in keys
            )
            return next((c for c in found if c), 0)

        return sorted(rows, key=functools.cmp_to_key(before))

    def _unnest(self, node: Unnest) -> Rows:
        out: Rows = []
        for row in self.rows(node.input):
            elements = self.value(node.list, row) or ((None,) if node.outer else ())
            out += [(*row, element) for element in elements]
        return out

    def _skyline(self, node: Skyline) -> Rows:
        """Every row beside every other."""
        rows = self.rows(node.input)
        points = [[self.value(k.expression, r) for k in node.keys] for r in rows]

        def dominates(a: list[Any], b: list[Any]) -> bool:
            if None in a or None in b:
                return False
            signs = [(x < y) - (x > y) for x, y in zip(a, b, strict=True)]  # > 0: a is smaller
            signs = [-s if k.descending else s for s, k in zip(signs, node.keys, strict=True)]
            return bool(min(signs) >= 0 and max(signs) > 0)

        return [r for r, b in zip(rows, points, strict=True) if not any(dominates(a, b) for a in points)]

    # ---- aggregates -------------------------------------------------------------------------------------------------

    def _aggregate(self, node: Aggregate) -> Rows:
        groups: dict[Row, Rows] = defaultdict(list)
        for row in self.rows(node.input):
            groups[tuple(self.value(k, row) for k in node.keys)].append(row)
        if not node.keys and node.phase != "partial":
            groups.setdefault((), [])
        return [(*key, *self._measures(node, rows)) for key, rows in groups.items()]

    def _measures(self, node: Aggregate, rows: Rows) -> Iterable[Any]:
        at = len(node.keys)
        for m in node.measures:
            declaration = m.declaration
            if node.phase == "final":
                assert declaration.states is not None
                width = len(partial_state(m))
                states = _ordered(m, [r[at : at + width] for r in rows])
                yield declaration.states.value(declaration.states.merged(states))
                at += width
                continue
            values = [tuple(self.value(e, r) for e in (*m.values, *(k.expression for k in m.order))) for r in rows]
            if not declaration.keeps_nulls:
                values = [v for v in values if None not in v[: declaration.arity]]
            if declaration.distinct_of:
                values = [(v, *[v] * len(m.order)) for v in dict.fromkeys(v[0] for v in values)]
            values = _ordered(m, values)
            if node.phase == "partial":
                assert declaration.states is not None
                yield from declaration.states.of(values)
            else:
                yield declaration.value(values, *(o.value for o in m.options))

    def _prune(self, node: Prune) -> Rows:
        """Drop every second row of those that do not matter to a filter; all rows of other operators pass."""
        leaf = node.input
        filters: list[Filter] = []
        while leaf.inputs:
            if isinstance(leaf, Filter):
                filters.append(leaf)
            leaf = leaf.inputs[0]
        rows = self.rows(leaf)
        if filters and filters[-1].input is leaf:
            matters = [self.value(filters[-1].predicate, r) is True for r in rows]
            rows = [r for i, (r, m) in enumerate(zip(rows, matters, strict=True)) if m or i % 2]
        return [r[: len(node.kept)] for r in rows]


def _ordered(m: Measure, rows: Rows) -> Rows:
    """Rows of an argument and the order's keys, or states that begin so, as the measure's order has them."""
    if not m.declaration.ordered:
        return rows
    flags = [*((k.descending, k.nulls_first) for k in m.order), (False, False)]

    def before(a: Row, b: Row) -> int:
        pairs = zip(a[1 : len(flags)] + a[:1], b[1 : len(flags)] + b[:1], flags, strict=True)
        return next((c for x, y, (d, n) in pairs if (c := _compared(x, y, d, n))), 0)

    return sorted(rows, key=functools.cmp_to_key(before))


def _compared(x: Any, y: Any, descending: bool, nulls_first: bool) -> int:
    """Compare by order: negative if x comes first, positive if y does."""
    if x is None or y is None:
        return ((x is None) - (y is None)) * (-1 if nulls_first else 1)
    a, b = ordinal(x), ordinal(y)
    return int(a > b) - int(a < b) if not descending else int(a < b) - int(a > b)
