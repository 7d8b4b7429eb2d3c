"""Reduces grouped rows: a semi join below an aggregate keeps the rows whose keys the join above it can match.

In `a join (b group by k) on a.x = k` only groups whose key is among the values of x are in the result. The values come
from the cheapest part of `a` that has them all, often a build side of the plan, whose table both joins then share.
(Magic sets: Mumick et al., SIGMOD 1990; here for plans that are decorrelated already.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jumpgate.compiler.origins import Keys, columns_of, origins, within
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import project, references, unique, uses
from jumpgate.compiler.work import takes, takes_again
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.joins import with_partners
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Operator, Read, Window
from jumpgate.nca.speeds import assumed

#: the largest fraction of grouped rows that may be left: estimates are not precise enough for a smaller gain
LEFT_MAX = 0.5
#: the most parts of the other side to try for one join: each takes time
SOURCES_MAX = 4


def reduce_groups(plan: Plan) -> Plan:
    """Add semi joins where the rows are known and the estimate shows a gain."""
    root = _Reducer(plan).visit(plan.root)
    return plan.over(root)


@dataclass(frozen=True)
class _Source:
    """Rows that have all values which the join's key pairs `keys`, by number, can match."""

    node: Operator
    pairs: tuple[int, ...]
    keys: Keys


class _Reducer:
    def __init__(self, plan: Plan) -> None:
        self.estimator = plan.estimator
        self.seconds = {**assumed(), **plan.options.speeds}
        self.uses = uses(plan.root)
        joins = [n for n in unique(plan.root) if isinstance(n, Join)]
        # tables that another join by the same keys can share
        self.built = {(id(j.right), j.right_keys) for j in joins if not j.builds_left and not j.type.unmatched_right}
        self._done: dict[int, tuple[Operator, Operator]] = {}  # with the node, so that its id stays valid

    def visit(self, node: Operator) -> Operator:
        """Visit joins before the nodes below them, so that both consumers of a source find the same operator."""
        if id(node) not in self._done:
            new = self._reduced(node) if isinstance(node, Join) and node.left_keys else node
            inputs = tuple(self.visit(i) for i in new.inputs)
            same = all(a is b for a, b in zip(inputs, new.inputs, strict=True))
            self._done[id(node)] = node, new if same else new.with_inputs(inputs)
        return self._done[id(node)][1]

    def _reduced(self, join: Join) -> Join:
        """Return the join over fewer groups, on the side where that saves more."""
        best, gain, used = join, 0.0, None
        for side, keys, other, other_keys in (
            (join.right, join.right_keys, join.left, join.left_keys),
            (join.left, join.left_keys, join.right, join.right_keys),
        ):
            kept = join.type.unmatched if side is join.left else join.type.unmatched_right or join.type.marks
            if kept:
                continue
            for source in self._sources(side, keys, other, other_keys):
                path = _Path(self, source)
                new = path.below(side, tuple(keys[i] for i in source.pairs))
                saved = path.saved()
                if saved > gain:
                    inputs = (new, join.right) if side is join.left else (join.left, new)
                    best, gain, used = replace(join, left=inputs[0], right=inputs[1]), saved, source
        if used is not None:
            self.uses[id(used.node)] += 1
        return best

    def _sources(self, side: Operator, keys: Keys, other: Operator, other_keys: Keys) -> list[_Source]:
        """Return parts of the other side with far fewer key values than there are groups, the smallest first, each with
        the key pairs whose values it has, singly and together."""
        found: dict[int, tuple[Operator, dict[int, Expression]]] = {}
        for number, (mine, theirs) in enumerate(zip(keys, other_keys, strict=True)):
            values = self.estimator.column(side, mine).distinct
            if values is None or mine.type.is_float or may_fail(mine) or not self._groups_by(side, mine):
                continue
            for place, key in origins(other, theirs):
                there = self.estimator.column(place, key).distinct
                if there is not None and there <= LEFT_MAX * values and not may_fail(key):
                    found.setdefault(id(place), (place, {}))[1].setdefault(number, key)
        sources: list[_Source] = []
        for place, pairs in sorted(found.values(), key=lambda f: self.estimator.rows(f[0]))[:SOURCES_MAX]:
            sources += [_Source(place, (number,), (key,)) for number, key in pairs.items()]
            if len(pairs) > 1:
                sources.append(_Source(place, tuple(pairs), tuple(pairs.values())))
        return sources

    def _groups_by(self, node: Operator, key: Expression) -> bool:
        """Return whether the key is one of groups without other consumers."""
        for place, _ in origins(node, key):
            if self.uses[id(place)] > 1:
                return False
            if isinstance(place, Aggregate | Window):
                return True
        return False

    def again(self, node: Operator) -> float:
        return takes_again(node, self.estimator, self.seconds)

    def takes(self, node: Operator) -> float:
        return takes(node, self.estimator, self.seconds)


class _Path:
    """A path from a join's side down to the first place where a semi join with `source` drops rows."""

    def __init__(self, reducer: _Reducer, source: _Source) -> None:
        self.reducer = reducer
        self.shares = (id(source.node), source.keys) in reducer.built
        self.build, self.build_keys = source.node, source.keys
        if not self.shares:
            names = tuple(f"key{i}" for i in range(len(source.keys)))
            self.build = project(source.node, source.keys, names)
            self.build_keys = references(self.build.schema)
        self.source = source
        self.passed: list[tuple[Operator, Operator]] = []  # (operator before, operator after)
        self.joins: list[Join] = []

    def saved(self) -> float:
        """Return the core seconds saved; 0 if no group is spared, or too few for certain."""
        estimator = self.reducer.estimator
        before = [estimator.of(join.left).rows for join in self.joins]
        if not any(isinstance(old, Aggregate | Window) for old, _ in self.passed) or None in before:
            return 0.0
        left = sum(map(estimator.rows, self.joins))
        if left > LEFT_MAX * sum(rows or 0.0 for rows in before):
            return 0.0
        takes = self.reducer.takes
        spared = sum(takes(old) - takes(new) for old, new in self.passed)
        again = 0.0 if self.shares else self.reducer.again(self.source.node)
        return spared - again - sum(map(takes, self.joins))

    def below(self, node: Operator, keys: Keys) -> Operator:
        """Return `node` with the semi join as far down as it drops only whole groups and no other row's partner."""
        if self.reducer.uses[id(node)] > 1:
            return self._semi(node, keys)
        if isinstance(node, Join):
            return self._join(node, keys)
        read_first = isinstance(node, Filter) and isinstance(node.input, Read)  # the reader applies its filter first
        if not read_first and node.commutes(columns_of(keys)):
            moved = [tuple(node.below(key, number) for key in keys) for number in range(len(node.inputs))]
            below = [tuple(key for key in each if key is not None) for each in moved]
            if all(len(each) == len(keys) and _can_be(each) for each in below):
                inputs = tuple(self.below(i, each) for i, each in zip(node.inputs, below, strict=True))
                return self._passed(node, node.with_inputs(inputs))
        return self._semi(node, keys)

    def _join(self, node: Join, keys: Keys) -> Operator:
        width = len(node.left.schema)
        if not node.type.extends_left and within(keys, width):
            return self._passed(node, node.with_inputs((self.below(node.left, keys), node.right)))
        if node.type.pairs and not node.type.extends_right and all(i >= width for i in columns_of(keys)):
            right = references(node.right.schema)
            moved = tuple(k.remap(lambda i: right[i - width]) for k in keys)
            return self._passed(node, node.with_inputs((node.left, self.below(node.right, moved))))
        return self._semi(node, keys)

    def _passed(self, old: Operator, new: Operator) -> Operator:
        self.passed.append((old, new))
        return new

    def _semi(self, node: Operator, keys: Keys) -> Operator:
        join = with_partners(node, self.build, keys, self.build_keys)
        self.joins.append(join)
        return join


def _can_be(keys: Keys) -> bool:
    """Return whether the keys can be those of a join over unchecked rows."""
    return bool(columns_of(keys)) and not any(map(may_fail, keys))
