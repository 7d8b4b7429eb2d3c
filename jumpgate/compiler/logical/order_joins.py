"""Orders joins: chooses build sides and the order in which chains of inner joins are probed, small and selective builds
first. Semi and anti joins above a chain move to the input with their keys, and outer, semi and anti joins below a chain
move above it, where that saves look-ups."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.late_joins import after, may_wait
from jumpgate.compiler.origins import Keys, columns_of, counts_rows, through
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import mirrored, project, references, uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.join_types import JoinType, Output
from jumpgate.dataflow.joins import cross
from jumpgate.dataflow.operators import Join, Operator, Project, column
from jumpgate.dataflow.types import bool_
from jumpgate.nca.speeds import LARGE, SMALL

#: factor by which the build side of an outer, semi or anti join must be larger to swap: the mirrored form costs more
SWAP_OUTER = 4.0
#: factor by which a build side must exceed the probe's rows to swap
SWAP_PIPELINE = 4.0
#: a semi or anti join moves below another join if it probes at most this many times as many rows there: the join above
#: then has fewer rows
LOWER_MAX = 1.5
#: an outer, semi or anti join moves above an inner one if it leaves at least this many times as many rows
LATE_MIN = 1.5
#: the most leaves of a chain that includes shared joins: each may double how often its leaves are computed
OWN_LEAVES_MAX = 32
#: relative cost of a look-up by several keys, and in a build of LARGE rows, to one by one key in a small build
KEYS_COST, LARGE_COST = 3.0, 2.0
#: estimates that differ by less are equal, and the request's order decides. A query whose literals change slightly then
#: keeps its plan and compiles nothing.
ALIKE_ROWS, ALIKE_DROPPED = 1.02, 0.01


def order_joins(plan: Plan) -> Plan:
    """Order joins by estimated rows; unknown sizes keep the order of the request."""
    root = _Orderer(plan.estimator, uses(plan.root)).visit(plan.root)
    return plan.over(root)


@dataclass(frozen=True, eq=False)
class _Part:
    """A leaf of a chain, or some of them joined. `place`: numbered column → position in the output; `largest`: rows of
    its largest leaf; `shape`: the nesting of the leaves' numbers."""

    node: Operator
    place: dict[int, int]
    rows: float
    largest: float
    shape: object


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A join of two parts of a chain with its estimated rows."""

    probe: _Part
    build: _Part
    join: Join
    rows: float

    @property
    def dropped(self) -> float:
        """Return the fraction of probe rows that the join drops for each unit of look-up work."""
        dropped = max(0.0, 1 - self.rows / self.probe.rows) if self.probe.rows else 0.0
        large = math.log(max(self.build.rows, SMALL) / SMALL, LARGE / SMALL)
        return dropped / ((1 if len(self.join.left_keys) == 1 else KEYS_COST) * (1 + LARGE_COST * large))


@dataclass(frozen=True)
class _Condition:
    """A key or term of a chain, and the numbered columns that must exist before it is computed. For a condition that
    may fail these include all leaves that the request joins earlier, which may drop the rows it fails for."""

    expression: Expression
    columns: frozenset[int]
    may_fail: bool

    @classmethod
    def of(cls, expression: Expression, before: range, leaves: Sequence[Operator]) -> _Condition:
        fails = may_fail(expression, lambda i: counts_rows(*_leaf_column(leaves, i)))
        return cls(expression, expression.columns().union(before if fails else ()), fails)

    def shifted(self, to: Callable[[int], ColumnRef], by: int) -> _Condition:
        return _Condition(self.expression.remap(to), frozenset(c + by for c in self.columns), self.may_fail)


_Equality = tuple[_Condition, _Condition]


@dataclass
class _Chain:
    """Inner joins taken apart. Columns are numbered over the concatenation of the leaves' columns.

    `equal` holds the key pairs, `terms` the residuals, `output` the top join's columns.
    """

    leaves: list[Operator]
    equal: list[_Equality]
    terms: list[_Condition]
    output: list[Expression]

    @property
    def conditions(self) -> list[_Condition]:
        return [*itertools.chain(*self.equal), *self.terms]

    @property
    def may_fail(self) -> bool:
        return any(condition.may_fail for condition in self.conditions)

    @property
    def starts(self) -> list[int]:
        """Return the number of each leaf's first column."""
        widths = [len(leaf.schema) for leaf in self.leaves]
        return list(itertools.accumulate(widths[:-1], initial=0))


class _Orderer:
    def __init__(self, estimator: Estimator, uses: Counter[int]) -> None:
        self.estimator = estimator
        self.uses = uses
        self._done: dict[int, tuple[Operator, Operator]] = {}  # with the node, so that its id stays valid
        self._counted: dict[int, tuple[Operator, int]] = {}  # leaves; with the node, likewise
        self._alive: list[Operator] = []  # nodes whose ids are in `uses`

    def visit(self, node: Operator) -> Operator:
        if id(node) not in self._done:
            self._done[id(node)] = node, self._visit(node)
        return self._done[id(node)][1]

    def _visit(self, node: Operator) -> Operator:
        if isinstance(node, Join) and (lower := self._lower(node)) is not None:
            return self.visit(lower)
        if isinstance(node, Join) and node.type.any_order and node.left_keys:
            chain = self._chain(node)
            if self._is_known(chain):
                ordered = self._ordered(node, chain)
                if ordered is not None:
                    return ordered
        node = self._left_deep(node)
        inputs = tuple(self.visit(i) for i in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return self._sided(node if same else node.with_inputs(inputs))

    def _sided(self, new: Operator) -> Operator:
        """Return a join with its build side chosen."""
        if isinstance(new, Join) and new.type.may_build_left:
            return self._built(new)
        if isinstance(new, Join) and _is_product(new):
            return self._mirrored(new, SWAP_PIPELINE)
        if isinstance(new, Join) and not new.type.any_order and new.left_keys:
            return self._mirrored(new, SWAP_OUTER)
        return new

    def _lower(self, node: Join) -> Operator | None:
        """Move a semi or anti join into the inner joins below it, onto the input with its keys."""
        if node.type.output is not Output.LEFT or node.residual is not None or node.builds_left:
            return None
        if not node.left_keys or any(map(may_fail, node.left_keys)):
            return None
        return self._within(node.left, node, node.left_keys)

    def _within(self, node: Operator, semi: Join, keys: Keys) -> Operator | None:
        """Return `node` with the semi join in it; None if that is impossible or looks up more rows."""
        if self.uses[id(node)] > 1:
            return None
        if isinstance(node, Project) and _chooses(node):
            inner = self._within(node.input, semi, through(keys, node.expressions))
            return None if inner is None else self._made(node.with_inputs((inner,)))
        if not (isinstance(node, Join) and node.type.any_order and node.left_keys):
            return None
        width, columns = len(node.left.schema), columns_of(keys)
        if not columns or min(columns) < width <= max(columns):
            return None
        is_left = max(columns) < width
        side = node.left if is_left else node.right
        own = references(side.schema)
        keys = tuple(key.remap(lambda i: own[i if is_left else i - width]) for key in keys)
        here, there = self.estimator.of(side).rows, self.estimator.of(node).rows
        if here is None or there is None or here > there * LOWER_MAX:
            return None
        new = self._within(side, semi, keys) or self._made(Join(side, semi.right, semi.type, keys, semi.right_keys))
        return self._made(node.with_inputs((new, node.right) if is_left else (node.left, new)))

    def _made(self, node: Operator) -> Operator:
        """Register a new operator, which has one consumer."""
        self.uses[id(node)] = 1
        self._alive.append(node)
        return node

    def _left_deep(self, node: Operator) -> Operator:
        """Rewrite `a × (b × c)` as `(a × b) × c`: each factor is built, not a product."""
        while isinstance(node, Join) and _is_product(node):
            inner, columns = node.right, references(node.right.schema)
            while isinstance(inner, Project) and self.uses[id(inner)] == 1 and _chooses(inner):
                below = [e for e in inner.expressions if isinstance(e, ColumnRef)]
                inner, columns = inner.input, tuple(below[c.index] for c in columns)
            if not (isinstance(inner, Join) and _is_product(inner) and inner.residual is None):
                return node
            if self.uses[id(inner)] > 1:
                return node
            width, names = len(node.left.schema), node.schema.names
            order = [*range(width), *(width + c.index for c in columns)]
            pair = cross(cross(node.left, inner.left), inner.right)
            over = references(pair.schema, order)
            if node.residual is not None:
                pair = replace(pair, residual=node.residual.remap(lambda i, over=over: over[i]))  # type: ignore[misc]
            whole = project(pair, over, names)
            if whole is not pair:
                return whole
            node = pair
        return node

    def _built(self, node: Join) -> Operator:
        """Return a join that builds its left side if that is much smaller."""
        left, right = self.estimator.of(node.left).rows, self.estimator.of(node.right).rows
        smaller = left is not None and right is not None and left * SWAP_OUTER < right and bool(node.left_keys)
        return node if smaller == node.builds_left else replace(node, builds_left=smaller)

    def _mirrored(self, node: Join, factor: float) -> Operator:
        """Return the join mirrored, if its type allows that and the build side is larger by `factor`."""
        turned = mirrored(node)
        left, right = self.estimator.of(node.left).rows, self.estimator.of(node.right).rows
        if turned is None or left is None or right is None or right <= left * factor:
            return node
        return project(*turned, node.schema.names)

    def _is_known(self, chain: _Chain) -> bool:
        return all(self.estimator.of(leaf).rows is not None for leaf in chain.leaves)

    def _chain(self, node: Operator) -> _Chain:
        """Return the chain of inner joins from `node` down. Shared joins are included if the chain has better joins to
        begin with."""
        chain = self._flatten(node, top=True)
        if not len(chain.leaves) < self._leaves(node) <= OWN_LEAVES_MAX:
            return chain
        own = self._flatten(node, top=True, own=True)
        if not (self._is_known(chain) and self._is_known(own)):
            return chain
        if own.may_fail:  # the shared joins may drop the rows for which a condition fails
            return chain
        for shared in chain.leaves:
            inner = self._flatten(shared, top=True, own=True).leaves
            if len(inner) > 1 and self._is_better_own(own, shared, inner):
                return own
        return chain

    def _leaves(self, node: Operator) -> int:
        """Count the leaves of the node's inner joins, those of shared joins each time."""
        if id(node) not in self._counted:
            joins = isinstance(node, Join) and node.type.any_order and bool(node.left_keys)
            arranges = isinstance(node, Project) and _arranges(node)
            below = node.inputs if joins or arranges else ()
            self._counted[id(node)] = node, sum(map(self._leaves, below)) or 1
        return self._counted[id(node)][1]

    def _is_better_own(self, chain: _Chain, shared: Operator, inner: Sequence[Operator]) -> bool:
        """Return whether readers of a `shared` join (of the leaves `inner`) look up fewer rows if each starts with
        another leaf of its own chain than if all read the kept rows."""
        readers = max(self.uses[id(node)] for node in _chosen_from(shared))
        largest = max(inner, key=lambda leaf: self.estimator.of(leaf).rows or 0.0)
        number = next(i for i, leaf in enumerate(chain.leaves) if leaf is largest)
        others = [i for i, leaf in enumerate(chain.leaves) if not any(leaf is other for other in inner)]
        read, kept = (self.estimator.of(node).rows or 0.0 for node in (largest, shared))
        return readers * (read + self._left_by(chain, number, largest, others)) < read + readers * kept

    def _left_by(self, chain: _Chain, number: int, node: Operator, others: Iterable[int]) -> float:
        """Return the fewest rows of a join between `node`, which has the columns of leaf `number`, and one of the
        `others`."""
        starts = chain.starts
        parts = {i: _part(self.estimator, chain.leaves[i], starts[i], i) for i in others}
        mine = _part(self.estimator, node, starts[number], number)
        found = (self._attempt(mine, part, chain.equal) for part in parts.values())
        return min((a.rows for a in found if a is not None), default=math.inf)

    def _late(self, chain: _Chain) -> dict[int, Join]:
        """Return the leaves, by number, that are joins to move above the chain."""
        found: dict[int, Join] = {}
        if chain.may_fail:
            return found
        needed = {c for condition in chain.conditions for c in condition.expression.columns()}
        for number, (leaf, start) in enumerate(zip(chain.leaves, chain.starts, strict=True)):
            if not (isinstance(leaf, Join) and may_wait(leaf) and self.uses[id(leaf)] == 1):
                continue
            added = range(start + len(leaf.left.schema), start + len(leaf.schema))
            others = (i for i in range(len(chain.leaves)) if i != number)
            rows = self.estimator.of(leaf).rows or 0.0
            if needed.isdisjoint(added) and self._left_by(chain, number, leaf.left, others) * LATE_MIN < rows:
                found[number] = leaf
        return found

    def _flatten(self, node: Operator, top: bool = False, own: bool = False) -> _Chain:
        """Take the inner joins apart. own: include joins that others read."""
        if top or own or self.uses[id(node)] == 1:
            if isinstance(node, Join) and node.type.any_order and node.left_keys:
                return self._flatten_join(node, own)
            if isinstance(node, Project) and _arranges(node):
                inner = self._flatten(node.input, own=own)
                if len(inner.leaves) > 1 or may_wait(inner.leaves[0]):
                    output = [inner.output[e.index] if isinstance(e, ColumnRef) else e for e in node.expressions]
                    return replace(inner, output=output)
        return _Chain([node], [], [], list(references(node.schema)))

    def _flatten_join(self, node: Join, own: bool) -> _Chain:
        left, right = self._flatten(node.left, own=own), self._flatten(node.right, own=own)
        width = sum(len(leaf.schema) for leaf in left.leaves)

        def shift(index: int) -> ColumnRef:
            return _reference(right.leaves, index, width)

        output = [*left.output, *(e.remap(shift) for e in right.output)]
        end = width + sum(len(leaf.schema) for leaf in right.leaves)
        equal = [*left.equal, *((a.shifted(shift, width), b.shifted(shift, width)) for a, b in right.equal)]
        leaves = [*left.leaves, *right.leaves]
        for a, b in zip(node.left_keys, node.right_keys, strict=True):
            ours = a.remap(lambda i: output[i])
            theirs = b.remap(lambda i: output[len(left.output) + i])
            equal.append((_Condition.of(ours, range(width), leaves), _Condition.of(theirs, range(width, end), leaves)))
        terms = [*left.terms, *(t.shifted(shift, width) for t in right.terms)]
        if node.residual is not None:
            residual = (t.remap(lambda i: output[i]) for t in conjuncts(node.residual))
            terms += [_Condition.of(t, range(end), leaves) for t in residual]
        return _Chain(leaves, equal, terms, output)

    def _ordered(self, node: Join, chain: _Chain) -> Operator | None:
        """Rebuild the chain: join the connected pair with the fewest result rows until one part is left (greedy
        operator ordering: Fegaras, DEXA 1998), unless the same rows can probe another build that drops more of them for
        its work. So small tables reduce each large table before large tables meet. None if a leaf has no key to any
        other."""
        late = self._late(chain)
        parts: list[_Part] = []
        for number, (leaf, start) in enumerate(zip(chain.leaves, chain.starts, strict=True)):
            leaf = late[number].left if number in late else leaf
            part = _part(self.estimator, leaf, start, number)
            parts.append(replace(part, node=self.visit(leaf)))
        same = all(part.node is leaf for part, leaf in zip(parts, chain.leaves, strict=True))
        equal, terms = chain.equal, chain.terms
        tried: dict[tuple[_Part, _Part], _Attempt | None] = {}
        while len(parts) > 1:
            found: list[_Attempt] = []
            for i, a in enumerate(parts):
                for b in parts[i + 1 :]:
                    probe, build = _sides(a, b)
                    if (probe, build) not in tried:
                        tried[probe, build] = self._attempt(probe, build, equal)
                    if (attempt := tried[probe, build]) is not None:
                        found.append(attempt)
            if not found:
                return None
            chosen = _fewest(found).probe
            best = _best([f for f in found if f.probe is chosen])
            probe, build, joined = best.probe, best.build, best.join
            width = len(probe.node.schema)
            place = probe.place | {c: width + p for c, p in build.place.items()}
            joined, equal, terms = _closed(joined, probe, build, place, equal, terms)
            largest = max(probe.largest, build.largest)
            new = _Part(joined, place, self.estimator.of(joined).rows or best.rows, largest, (probe.shape, build.shape))
            parts = [new if p is probe else p for p in parts if p is not build]
        (whole,) = parts
        if same and whole.shape == _left_deep(len(chain.leaves)) and _is_left_deep(node, len(chain.leaves)):
            return node
        top, places = whole.node, dict(whole.place)
        for number, join in late.items():
            start, width = chain.starts[number], len(join.left.schema)
            added = range(width, len(join.schema))
            places |= {start + c: len(top.schema) + c - width for c in added}
            below = {c: places[start + c] for c in range(width)}
            top = self._sided(after(top, join, self.visit(join.right), below))
        output = tuple(e.remap(lambda i: column(top.schema, places[i])) for e in chain.output)
        return project(top, output, node.schema.names)

    def _attempt(self, probe: _Part, build: _Part, equal: Iterable[_Equality]) -> _Attempt | None:
        """Join two parts by all keys that connect them; None without any."""
        left_keys: list[Expression] = []
        right_keys: list[Expression] = []
        here, there = probe.node.schema, build.node.schema
        for pair in equal:
            order = _connects(pair, probe, build)
            if order is not None:
                a, b = (pair[i].expression for i in order)
                left_keys.append(a.remap(lambda i: column(here, probe.place[i])))
                right_keys.append(b.remap(lambda i: column(there, build.place[i])))
        if not left_keys:
            return None
        joined = Join(probe.node, build.node, JoinType.INNER, tuple(left_keys), tuple(right_keys))
        return _Attempt(probe, build, joined, self.estimator.of(joined).rows or 0.0)


def _part(estimator: Estimator, leaf: Operator, start: int, number: int) -> _Part:
    rows = estimator.of(leaf).rows or 0.0
    return _Part(leaf, {start + c: c for c in range(len(leaf.schema))}, rows, rows, number)


def _fewest(found: Sequence[_Attempt]) -> _Attempt:
    """Return the join with the fewest rows; among equals the one with the smallest build, then the first."""
    most = min(a.rows for a in found) * ALIKE_ROWS
    found = [a for a in found if a.rows <= most]
    largest = min(a.build.rows for a in found) * ALIKE_ROWS
    return next(a for a in found if a.build.rows <= largest)


def _best(found: Sequence[_Attempt]) -> _Attempt:
    """Return the join that drops the most rows for its look-up work (Ibaraki and Kameda, TODS 1984), which grows with
    the build and the keys; among equals the one with the fewest rows."""
    least = max(a.dropped for a in found) - ALIKE_DROPPED
    return _fewest([a for a in found if a.dropped >= least])


def _is_product(node: Join) -> bool:
    """Return whether the join compares every pair of rows."""
    return node.type.any_order and not node.left_keys


def _chooses(node: Project) -> bool:
    return all(isinstance(e, ColumnRef) for e in node.expressions)


def _chosen_from(node: Operator) -> Iterator[Operator]:
    """Yield the node and the nodes whose columns it only rearranges."""
    yield node
    while isinstance(node, Project) and _arranges(node):
        node = node.input
        yield node


def _arranges(node: Project) -> bool:
    return all(isinstance(e, ColumnRef | Literal) for e in node.expressions)


def _sides(a: _Part, b: _Part) -> tuple[_Part, _Part]:
    """Return (probe, build): the part with the largest table probes, unless the other part has become much larger."""
    if b.largest > a.largest * ALIKE_ROWS:
        a, b = b, a
    return (b, a) if b.rows > a.rows * SWAP_PIPELINE else (a, b)


def _connects(pair: _Equality, probe: _Part, build: _Part) -> tuple[int, int] | None:
    """Return which side of the pair is over the probe's columns and which over the build's; None if neither is."""
    for i, j in ((0, 1), (1, 0)):
        a, b = pair[i].columns, pair[j].columns
        if a and b and a <= probe.place.keys() and b <= build.place.keys():
            return i, j
    return None


def _closed(
    joined: Join,
    probe: _Part,
    build: _Part,
    place: dict[int, int],
    equal: list[_Equality],
    terms: list[_Condition],
) -> tuple[Join, list[_Equality], list[_Condition]]:
    """Return the join with the residual terms that can be computed now, and the remaining keys and terms.

    A key whose columns are all here, but that connected nothing when they arrived, becomes a term.
    """
    ready: list[Expression] = []
    open_equal: list[_Equality] = []
    for pair in equal:
        if not (pair[0].columns | pair[1].columns) <= place.keys():
            open_equal.append(pair)
        elif _connects(pair, probe, build) is None:
            a, b = pair[0].expression, pair[1].expression
            ready.append(Call(bool_.with_nullable(a.type.nullable or b.type.nullable), "eq", (a, b)))
    open_terms = [term for term in terms if not term.columns <= place.keys()]
    ready += [term.expression for term in terms if term.columns <= place.keys()]
    if ready:
        schema = joined.schema
        residual = tuple(t.remap(lambda i: column(schema, place[i])) for t in ready)
        joined = replace(joined, residual=conjunction(residual))
    return joined, open_equal, open_terms


def _left_deep(leaves: int) -> object:
    shape: object = 0
    for i in range(1, leaves):
        shape = (shape, i)
    return shape


def _is_left_deep(node: Operator, leaves: int) -> bool:
    joins = 0
    while isinstance(node, Join) and node.type.any_order and node.left_keys:
        joins += 1
        node = node.left
    return joins == leaves - 1


def _reference(leaves: Sequence[Operator], index: int, shift: int) -> ColumnRef:
    """Return a reference to column `index` over all leaves, shifted by `shift`."""
    leaf, at = _leaf_column(leaves, index)
    found = column(leaf.schema, at)
    return ColumnRef(found.type, index + shift, found.name)


def _leaf_column(leaves: Sequence[Operator], index: int) -> tuple[Operator, int]:
    """Return the leaf that has column `index` over all leaves, and the column's number there."""
    for leaf in leaves:
        if index < len(leaf.schema):
            return leaf, index
        index -= len(leaf.schema)
    raise IndexError(index)
