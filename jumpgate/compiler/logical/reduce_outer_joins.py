"""Reduces outer joins to inner joins, and full joins to left or right ones, if rows without a partner are dropped
further up.

    (l left join r on l.a = r.a) join s on r.b = s.b   is   (l join r on l.a = r.a) join s on r.b = s.b

Inner joins can be reordered, and filters and other joins' keys reach both of their inputs. (Galindo-Legaria and
Rosenthal, "Outerjoin simplification and reordering for query optimization", TODS 1997.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jumpgate.compiler.logical.null_rejection import is_null, rejects, with_nulls
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import pair_references, unique
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Expression, conjunction
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator
from jumpgate.dataflow.types import bool_

#: null-extended rows of an outer join: its id, and whether their left columns are NULL, not the right ones
Added = tuple[int, bool]
#: null-extended rows → output columns that are NULL in them
Columns = Mapping[Added, frozenset[int]]


def reduce_outer_joins(plan: Plan) -> Plan:
    """Reduce outer joins. A join with several consumers is reduced if all of them drop its null-extended rows."""
    nodes = [*unique(plan.root)]
    if not any(isinstance(n, Join) and _extends(n.type) for n in nodes):
        return plan
    types = _Reducer(nodes, plan.options.dialect).types()
    built: dict[int, Operator] = {}
    for node in nodes:
        inputs = tuple(built[id(i)] for i in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        new = node if same else node.with_inputs(inputs)
        built[id(node)] = replace(new, type=types[id(node)]) if isinstance(new, Join) and id(node) in types else new
    root = built[id(plan.root)]
    return plan.over(root)


class _Reducer:
    """Follows the null-extended rows of outer joins from the leaves up, then finds from the root down who drops
    them."""

    def __init__(self, nodes: Sequence[Operator], dialect: Dialect) -> None:
        self.nodes = nodes
        self.dialect = dialect
        self.columns: dict[int, Columns] = {}
        for node in nodes:
            self.columns[id(node)] = {added: c for added, c in self._columns(node).items() if c}
        #: null-extended rows of each operator that every consumer drops
        self.dropped = {id(node): {*self.columns[id(node)]} for node in nodes}

    def types(self) -> dict[int, JoinType]:
        """Return the joins that change their type, by id."""
        found: dict[int, JoinType] = {}
        self.dropped[id(self.nodes[-1])] = set()
        for node in reversed(self.nodes):
            if isinstance(node, Join):
                condition, type = _condition(node), self._reduced(node)
                if type is not node.type:
                    found[id(node)] = type
                width = len(node.left.schema)
                self._drop(node, node.left, (condition,), None if type.unmatched else condition)
                needed = type.unmatched_right or type.marks
                self._drop(node, node.right, (condition,), None if needed else condition, width, node.type.pairs)
                continue
            for input in node.inputs:
                self._drop(node, input, node.own_expressions, node.predicate if isinstance(node, Filter) else None)
        return found

    def _reduced(self, node: Join) -> JoinType:
        """Return the join's type, given which of its rows are dropped. A join whose condition may fail does not become
        an inner join: its terms could become keys, which are computed for all rows of an input."""
        of, dropped = node.type, self.dropped[id(node)]
        if not _extends(of):
            return of
        type = of.extending(
            of.extends_left and (id(node), True) not in dropped, of.extends_right and (id(node), False) not in dropped
        )
        assert type is not None
        return of if type.any_order and may_fail(_condition(node)) else type

    def _drop(
        self,
        node: Operator,
        input: Operator,
        computes: Sequence[Expression],
        condition: Expression | None,
        start: int = 0,
        passed: bool = True,
    ) -> None:
        """Keep of the input's null-extended rows those that `node` drops, too: its condition is not TRUE for them, or
        their results are not needed and cannot fail.

        `start` is the number of the input's first column in what the node computes; `passed` tells whether its rows are
        made of the input's, which may also be rows of another input.
        """

        def drops(added: Added, columns: frozenset[int]) -> bool:
            nulls = {start + c for c in columns}
            if condition is not None and rejects(condition, nulls, self.dialect):
                return True
            unneeded = passed and added in self.dropped[id(node)]
            return unneeded and not any(may_fail(with_nulls(e, nulls, self.dialect)) for e in computes)

        self.dropped[id(input)] &= {a for a, columns in self.columns[id(input)].items() if drops(a, columns)}

    def _columns(self, node: Operator) -> Columns:
        """Return the columns that are NULL in all rows made from a null-extended row. If these rows are dropped, the
        other rows are the same without them."""
        below = [self.columns[id(i)] for i in node.inputs]
        if isinstance(node, Join) and node.type.pairs:
            width, whole = len(node.left.schema), len(node.schema)
            right = {added: frozenset(width + c for c in columns) for added, columns in below[1].items()}
            own: dict[Added, frozenset[int]] = {}
            if node.type.extends_left:
                own[id(node), True] = frozenset(range(width))
            if node.type.extends_right:
                own[id(node), False] = frozenset(range(width, whole))
            return _merged([below[0], right]) | own
        if isinstance(node, Join):
            return below[0]
        if not any(below):
            return {}
        known = [i for i in range(len(node.schema)) if node.commutes({i})]
        return _merged([self._computed(node, known, number, nulls) for number, nulls in enumerate(below)])

    def _computed(self, node: Operator, known: Sequence[int], input: int, below: Columns) -> Columns:
        """Return which of the `known` output columns are NULL, given those of an input."""
        made = {i: e for i in known for number, e in node.lineage(i) if number == input}

        def nulls(columns: frozenset[int]) -> frozenset[int]:
            return frozenset(i for i, e in made.items() if is_null(with_nulls(e, columns, self.dialect)))

        return {added: nulls(columns) for added, columns in below.items()}


def _extends(type: JoinType) -> bool:
    return type.extends_left or type.extends_right


def _merged(inputs: Sequence[Columns]) -> dict[Added, frozenset[int]]:
    """Combine several inputs: for null-extended rows that come through more than one, the columns that are NULL in
    each."""
    found: dict[Added, frozenset[int]] = {}
    for columns in inputs:
        found |= {added: c & found.get(added, c) for added, c in columns.items()}
    return found


def _condition(node: Join) -> Expression:
    """Return the condition that makes two rows partners, over the columns of both."""
    pairs = pair_references(node.left.schema, node.right.schema)[len(node.left.schema) :]
    keys = (
        Call(bool_.with_nullable(a.type.nullable or b.type.nullable), "eq", (a, b.remap(lambda i: pairs[i])))
        for a, b in zip(node.left_keys, node.right_keys, strict=True)
    )
    return conjunction((*keys, *((node.residual,) if node.residual is not None else ())))
