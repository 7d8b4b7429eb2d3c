"""Pushes filters down as far as their meaning allows, and into reads as hints for skipping; equalities become join
keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from jumpgate.compiler.logical.common_terms import implied
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import references, uses
from jumpgate.dataflow.expressions import Call, Expression, conjunction, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.operators import Filter, Join, Operator, Read

Terms = list[Expression]


def push_filters(plan: Plan) -> Plan:
    """Move each filter's terms separately. A shared node keeps the filters of each consumer above it."""
    root = _Pusher(plan.root).visit(plan.root, [])
    return plan.over(root)


class _Pusher:
    def __init__(self, root: Operator) -> None:
        self.uses = uses(root)
        self.shared: dict[int, Operator] = {}

    def visit(self, node: Operator, terms: Terms) -> Operator:
        """Return `node` under the filter `terms` (over its output)."""
        if self.uses[id(node)] > 1:
            if id(node) not in self.shared:
                self.shared[id(node)] = self._push(node, [])
            return _filtered(self.shared[id(node)], terms)
        return self._push(node, terms)

    def _push(self, node: Operator, terms: Terms) -> Operator:
        match node:
            case Filter():
                own = [*conjuncts(node.predicate)]
                if not terms and self.uses[id(node.input)] > 1:
                    return _over(node, self.visit(node.input, []))
                result = self.visit(node.input, [*own, *(t for t in terms if t not in own)])
                same = isinstance(result, Filter) and result.input is node.input and not terms
                return node if same and result == node else result
            case Join():
                return self._join(node, terms)
            case Read() if terms:
                return _read(node, terms)
        down, stay = _split(terms, lambda t: node.commutes(t.columns(), may_fail(t)))
        inputs = (self.visit(i, [_below(t, node, n) for t in down]) for n, i in enumerate(node.inputs))
        return _filtered(_over(node, *inputs), stay)

    def _join(self, node: Join, terms: Terms) -> Operator:
        width = len(node.left.schema)
        residual = [] if node.residual is None else [*conjuncts(node.residual)]
        if node.type.any_order:  # a condition on the pair means the same above and within the join, unless it may fail
            within, terms = _split(terms, lambda t: not may_fail(t))
            residual = residual + [t for t in within if t not in residual]
        left: Terms = []
        right: Terms = []

        def takes_left(t: Expression) -> bool:
            return bool(t.columns()) and max(t.columns()) < width and not may_fail(t)

        def takes_right(t: Expression) -> bool:
            return bool(t.columns()) and min(t.columns()) >= width and not may_fail(t)

        type = node.type  # rows of an input that a term drops must not return without a partner
        if not type.extends_left:
            left, terms = _split(terms, takes_left)
        if type.pairs and not type.extends_right:
            right, terms = _split(terms, takes_right)
        if not type.unmatched:
            more, residual = _split(residual, takes_left)
            left = left + more + [*implied(residual, takes_left)]
        if not type.unmatched_right and not type.marks:
            more, residual = _split(residual, takes_right)
            right = right + more + [*implied(residual, takes_right)]
        columns = references(node.right.schema)
        new_left = self.visit(node.left, left)
        new_right = self.visit(node.right, [t.remap(lambda i: columns[i - width]) for t in right])
        keys, residual = _keys(node, residual, width)
        before = () if node.residual is None else conjuncts(node.residual)
        new = _over(node, new_left, new_right)
        if keys or tuple(residual) != tuple(before):
            assert isinstance(new, Join)
            new = replace(
                new,
                left_keys=(*node.left_keys, *(a for a, _ in keys)),
                right_keys=(*node.right_keys, *(b for _, b in keys)),
                residual=conjunction(tuple(residual)) if residual else None,
            )
        return _filtered(new, terms)


def _keys(node: Join, residual: Terms, width: int) -> tuple[list[tuple[Expression, Expression]], Terms]:
    """Split equalities between left and right expressions off as keys. An inner join's residual keeps the other terms,
    and those that may fail for rows that earlier conditions drop."""
    if not node.type.any_order:
        return [], residual
    found: list[tuple[Expression, Expression]] = []
    rest: Terms = []
    columns = references(node.right.schema)
    for number, term in enumerate(residual):
        guarded = may_fail(term) and (number > 0 or bool(node.left_keys))
        if isinstance(term, Call) and term.function == "eq" and not term.args[0].type.is_float and not guarded:
            a, b = term.args
            if b.columns() and a.columns() and max(b.columns()) < width:
                a, b = b, a
            if a.columns() and b.columns() and max(a.columns()) < width <= min(b.columns()):
                found.append((a, b.remap(lambda i: columns[i - width])))
                continue
        rest.append(term)
    return found, rest


def _split(terms: Iterable[Expression], chosen: Callable[[Expression], bool]) -> tuple[Terms, Terms]:
    yes: Terms = []
    no: Terms = []
    for term in terms:
        (yes if chosen(term) else no).append(term)
    return yes, no


def _below(term: Expression, node: Operator, input: int) -> Expression:
    """Return a term over the node's output as one over an input; the node commutes with it."""
    below = node.below(term, input)
    assert below is not None, f"{node.kind} commutes with {term}, which is not over input {input}"
    return below


def _read(node: Read, terms: Terms) -> Operator:
    """Add the terms as a filter and as the reader's hint."""
    known = () if node.predicate is None else conjuncts(node.predicate)
    hint = tuple(t for t in terms if t not in known and not may_fail(t))
    if hint:
        node = replace(node, predicate=conjunction((*known, *hint)))
    return _filtered(node, terms)


def _filtered(node: Operator, terms: Terms) -> Operator:
    return Filter(node, conjunction(tuple(terms))) if terms else node


def _over(node: Operator, *inputs: Operator) -> Operator:
    same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)
