"""Which side is built, and in which order chains of inner joins are probed: the small and selective builds first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import pair_references, project, references, uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, conjunction, conjuncts
from jumpgate.dataflow.operators import Join, Operator, Project, Send, column
from jumpgate.dataflow.types import bool_

#: how much larger the build side of an outer join must be to change sides: its other form costs more a row
SWAP_OUTER = 4.0
MIRRORED = {"left": "right", "right": "left", "full": "full"}


def order_joins(plan: Plan) -> Plan:
    """Orders by estimated rows; what is unknown stays as the request has it."""
    root = _Orderer(plan.estimator, uses(plan.root)).visit(plan.root)
    assert isinstance(root, Send)
    return plan if root is plan.root else replace(plan, root=root)


@dataclass
class _Chain:
    """Inner joins taken apart. Columns are numbered over the concatenation of the leaves' columns.

    `equal` are the key pairs, `terms` the residuals, `output` what the top join's columns are.
    """

    leaves: list[Operator]
    equal: list[tuple[Expression, Expression]]
    terms: list[Expression]
    output: list[Expression]


class _Orderer:
    def __init__(self, estimator: Estimator, uses: Counter[int]) -> None:
        self.estimator = estimator
        self.uses = uses
        self._done: dict[int, Operator] = {}

    def visit(self, node: Operator) -> Operator:
        if id(node) not in self._done:
            self._done[id(node)] = self._visit(node)
        return self._done[id(node)]

    def _visit(self, node: Operator) -> Operator:
        if isinstance(node, Join) and node.type == "inner" and node.left_keys:
            chain = self._flatten(node, top=True)
            known = all(self.estimator.of(leaf).rows is not None for leaf in chain.leaves)
            if known:
                ordered = self._ordered(node, chain)
                if ordered is not None:
                    return ordered
        inputs = tuple(self.visit(i) for i in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        new = node if same else node.with_inputs(inputs)
        return self._mirrored(new) if isinstance(new, Join) and new.type in MIRRORED else new

    def _mirrored(self, node: Join) -> Operator:
        """An outer join with the sides changed where the build side is much the larger."""
        left, right = self.estimator.of(node.left).rows, self.estimator.of(node.right).rows
        if left is None or right is None or right <= left * SWAP_OUTER or not node.left_keys:
            return node
        width, other = len(node.left.schema), len(node.right.schema)
        residual = node.residual
        if residual is not None:
            refs = pair_references(node.right.schema, node.left.schema)
            residual = residual.remap(lambda i: refs[i + other if i < width else i - width])
        swapped = Join(node.right, node.left, MIRRORED[node.type], node.right_keys, node.left_keys, residual)
        order = [*range(other, other + width), *range(other)]
        return project(swapped, references(swapped.schema, order), node.schema.names)

    def _flatten(self, node: Operator, top: bool = False) -> _Chain:
        if top or self.uses[id(node)] == 1:
            if isinstance(node, Join) and node.type == "inner" and node.left_keys:
                return self._flatten_join(node)
            if isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions):
                inner = self._flatten(node.input)
                if len(inner.leaves) > 1:
                    output = [inner.output[e.index] for e in node.expressions if isinstance(e, ColumnRef)]
                    return replace(inner, output=output)
        return _Chain([node], [], [], list(references(node.schema)))

    def _flatten_join(self, node: Join) -> _Chain:
        left, right = self._flatten(node.left), self._flatten(node.right)
        width = sum(len(leaf.schema) for leaf in left.leaves)

        def shift(e: Expression) -> Expression:
            return e.remap(lambda i: _Numbered.reference(right.leaves, i, width))

        right_output = [shift(e) for e in right.output]
        equal = [*left.equal, *((shift(a), shift(b)) for a, b in right.equal)]
        for a, b in zip(node.left_keys, node.right_keys, strict=True):
            equal.append((a.remap(lambda i: left.output[i]), b.remap(lambda i: right_output[i])))
        output = [*left.output, *right_output]
        terms = [*left.terms, *(shift(t) for t in right.terms)]
        if node.residual is not None:
            terms += [t.remap(lambda i: output[i]) for t in conjuncts(node.residual)]
        return _Chain([*left.leaves, *right.leaves], equal, terms, output)

    def _ordered(self, node: Join, chain: _Chain) -> Operator | None:
        """The chain rebuilt: the largest leaf probes; each next build is the one that leaves the fewest rows.

        None where some leaf is connected to the others by no key.
        """
        rows = [self.estimator.of(leaf).rows or 0.0 for leaf in chain.leaves]
        numbered = _Numbered(chain.leaves)
        leaves = [self.visit(leaf) for leaf in chain.leaves]
        first = max(range(len(leaves)), key=lambda i: (rows[i], -i))
        order = [first]
        current = leaves[first]
        place = numbered.placed({}, first, 0)
        equal, terms = [*chain.equal], [*chain.terms]
        while len(order) < len(leaves):
            best: tuple[tuple[float, float, int], int, Join] | None = None
            for i in range(len(leaves)):
                if i in order:
                    continue
                joined = numbered.join(current, place, leaves[i], i, equal)
                if joined is None:
                    continue
                rank = (self.estimator.of(joined).rows or 0.0, rows[i], i)
                if best is None or rank < best[0]:
                    best = (rank, i, joined)
            if best is None:
                return None
            _, chosen, joined = best
            place = numbered.placed(place, chosen, len(current.schema))
            order.append(chosen)
            current, equal, terms = numbered.closed(joined, place, equal, terms)
        if (
            order == [*range(len(leaves))]
            and all(a is b for a, b in zip(leaves, chain.leaves, strict=True))
            and _left_deep(node, len(leaves))
        ):
            return node
        refs = references(current.schema)
        output = tuple(e.remap(lambda i: refs[place[i]]) for e in chain.output)
        return project(current, output, node.schema.names)


def _left_deep(node: Operator, leaves: int) -> bool:
    joins = 0
    while isinstance(node, Join) and node.type == "inner" and node.left_keys:
        joins += 1
        node = node.left
    return joins == leaves - 1


class _Numbered:
    """The numbering of a chain's columns: leaf by leaf."""

    def __init__(self, leaves: list[Operator]) -> None:
        self.leaves = leaves
        self.starts = [0]
        for leaf in leaves:
            self.starts.append(self.starts[-1] + len(leaf.schema))

    @staticmethod
    def reference(leaves: list[Operator], index: int, shift: int) -> ColumnRef:
        """Column `index` over all leaves, as a reference `shift` further on."""
        at = index
        for leaf in leaves:
            if at < len(leaf.schema):
                found = column(leaf.schema, at)
                return ColumnRef(found.type, index + shift, found.name)
            at -= len(leaf.schema)
        raise IndexError(index)

    def placed(self, place: dict[int, int], leaf: int, offset: int) -> dict[int, int]:
        """`place` (numbered column → position in the join so far) with the leaf's columns appended at `offset`."""
        start, end = self.starts[leaf], self.starts[leaf + 1]
        return place | {c: offset + c - start for c in range(start, end)}

    def join(
        self,
        current: Operator,
        place: dict[int, int],
        leaf: Operator,
        index: int,
        equal: list[tuple[Expression, Expression]],
    ) -> Join | None:
        """The join of what is there with one more leaf, by all keys that connect them; None without any."""
        mine = range(self.starts[index], self.starts[index + 1])
        here, there = references(current.schema), references(leaf.schema)
        left_keys: list[Expression] = []
        right_keys: list[Expression] = []
        for pair in equal:
            for a, b in (pair, pair[::-1]):
                if all(c in place for c in a.columns()) and b.columns() and all(c in mine for c in b.columns()):
                    left_keys.append(a.remap(lambda i: here[place[i]]))
                    right_keys.append(b.remap(lambda i: there[i - mine.start]))
                    break
        if not left_keys:
            return None
        return Join(current, leaf, "inner", tuple(left_keys), tuple(right_keys))

    def closed(
        self, joined: Join, place: dict[int, int], equal: list[tuple[Expression, Expression]], terms: list[Expression]
    ) -> tuple[Join, list[tuple[Expression, Expression]], list[Expression]]:
        """The join with the residual terms that can be computed now; what is still open of keys and terms.

        A key whose columns are all here, but which connected nothing when they came, becomes a term.
        """
        refs = references(joined.schema)
        before = {c for c, p in place.items() if p < len(joined.left.schema)}
        ready: list[Expression] = []
        open_equal: list[tuple[Expression, Expression]] = []
        for a, b in equal:
            columns = a.columns() | b.columns()
            if not all(c in place for c in columns):
                open_equal.append((a, b))
                continue
            after = {c for c in place if c not in before}
            used = any(x.columns() <= before and y.columns() and y.columns() <= after for x, y in ((a, b), (b, a)))
            if not used:
                nullable = a.type.nullable or b.type.nullable
                ready.append(Call(bool_.with_nullable(nullable), "eq", (a, b)))
        open_terms: list[Expression] = []
        for term in terms:
            (ready if all(c in place for c in term.columns()) else open_terms).append(term)
        residual = [t.remap(lambda i: refs[place[i]]) for t in ready]
        if residual:
            joined = replace(joined, residual=conjunction(tuple(residual)))
        return joined, open_equal, open_terms
