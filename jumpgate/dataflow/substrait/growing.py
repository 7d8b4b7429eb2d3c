"""Adds columns that the expressions of a filter or projection need beside their input: subqueries and window
functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from substrait.algebra_pb2 import Expression, Rel

from jumpgate.dataflow.expressions import Expression as Scalar
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.joins import cross
from jumpgate.dataflow.operators import Operator, column
from jumpgate.dataflow.substrait import dependent
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.substrait.windows import add_window
from jumpgate.dataflow.types import int64

if TYPE_CHECKING:
    from jumpgate.dataflow.substrait.reader import Reader

_NUMBER = int64.with_nullable(False)
_SET = Expression.Subquery.SetComparison
#: comparisons, and the one that is true where it is false
_COMPARISONS = {
    _SET.COMPARISON_OP_EQ: ("eq", "ne"),
    _SET.COMPARISON_OP_NE: ("ne", "eq"),
    _SET.COMPARISON_OP_LT: ("lt", "ge"),
    _SET.COMPARISON_OP_GT: ("gt", "le"),
    _SET.COMPARISON_OP_LE: ("le", "gt"),
    _SET.COMPARISON_OP_GE: ("ge", "lt"),
}


class Growing:
    """An input that grows by one column for each subquery and window function that is read over it.

    A scalar subquery that surely has one row is a cross join; any other one is made to have one, or to fail. EXISTS is
    a count beside each row, IN a mark join. Correlated subqueries become joins as dependent.py says.
    """

    def __init__(self, relations: Reader, node: Operator) -> None:
        self._relations = relations
        self.node = node
        self.reader = relations.expressions(node.schema, self._subquery, self._window)

    def _subquery(self, rex: Expression.Subquery) -> Scalar:
        kind = rex.WhichOneof("subquery_type")
        if kind == "scalar":
            return self._scalar(rex.scalar)
        if kind == "set_predicate":
            return self._exists(rex.set_predicate)
        if kind == "in_predicate":
            return self._in(rex.in_predicate)
        if kind == "set_comparison":
            return self._comparison(rex.set_comparison)
        raise Unmapped(f"a {(kind or 'empty').replace('_', ' ')} subquery is not known")

    def _scalar(self, rex: Expression.Subquery.Scalar) -> Scalar:
        found = self._relations.subquery(rex.input, self.node.schema)
        if len(found.schema) != 1:
            raise Unmapped(f"a scalar subquery has {len(found.schema)} columns")
        row = found if dependent.one_row(found) else dependent.only_row(found)
        if dependent.is_dependent(row):
            self.node = dependent.scalar(self.node, row)
            return self._last()
        return self._beside(dependent.lowered(row))

    def _exists(self, rex: Expression.Subquery.SetPredicate) -> Scalar:
        if rex.predicate_op != Expression.Subquery.SetPredicate.PREDICATE_OP_EXISTS:
            raise Unmapped("UNIQUE of a subquery is not known")
        found = self._relations.subquery(rex.tuples, self.node.schema)
        if dependent.is_dependent(found):
            self.node = dependent.exists(self.node, found)
            return self._last()
        return bind("gt", (self._beside(dependent.first_counted(found)), Literal(_NUMBER, 0)))

    def _in(self, rex: Expression.Subquery.InPredicate) -> Scalar:
        if len(rex.needles) != 1:
            raise Unmapped(f"an IN of {len(rex.needles)} values is not known")
        return self._any(rex.needles[0], rex.haystack, "eq")

    def _comparison(self, rex: Expression.Subquery.SetComparison) -> Scalar:
        functions = _COMPARISONS.get(rex.comparison_op)
        if functions is None:
            raise Unmapped("a comparison of a subquery with an operator of its own is not known")
        if rex.reduction_op == rex.REDUCTION_OP_ANY:
            return self._any(rex.left, rex.right, functions[0])
        if rex.reduction_op == rex.REDUCTION_OP_ALL:
            return bind("not", (self._any(rex.left, rex.right, functions[1]),))
        raise Unmapped("a comparison of a subquery that is neither ANY nor ALL is not known")

    def _any(self, left: Expression, right: Rel, function: str) -> Scalar:
        found = self._relations.subquery(right, self.node.schema)
        if len(found.schema) != 1:
            raise Unmapped(f"a comparison with {len(found.schema)} columns of a subquery is not known")
        self.node = dependent.compares(self.node, found, self.reader.read(left), function)
        return self._last()

    def _beside(self, row: Operator) -> Scalar:
        """Return the only column of a one-row operator, beside every row of the input."""
        self.node = cross(self.node, row)
        return self._last()

    def _last(self) -> Scalar:
        return column(self.node.schema, len(self.node.schema) - 1)

    def _window(self, rex: Expression.WindowFunction) -> Scalar:
        self.node, value = add_window(self.node, rex, self.reader, self._relations.functions)
        return value
