"""Limits a window to the first rows of each partition if a filter keeps only those."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import uses
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjuncts
from jumpgate.dataflow.operators import Filter, FirstRows, Frame, Operator, Window, WindowFunction, rewrite

#: the most rows per partition: for more, a full sort is as fast
COUNT_MAX = 128
#: the largest fraction of the window's input that it may hold for this to pay
HELD_MAX = 0.75
#: operators that turn `literal < column` into `column > literal`
TURNED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def first_rows(plan: Plan) -> Plan:
    """Give a window without other consumers the bound of a filter such as `row_number() <= k`."""
    used = uses(plan.root)

    def change(node: Operator) -> Operator:
        if not isinstance(node, Filter) or not isinstance(node.input, Window) or used[id(node.input)] > 1:
            return node
        window = node.input
        first = _first(window, conjuncts(node.predicate))
        if first is None or not all(_sees_earlier_rows(f, window.frame) for f in window.functions):
            return node
        reduced = replace(window, first=first)
        rows, held = plan.estimator.of(window).rows, plan.estimator.held(reduced)
        return node if rows is not None and held > HELD_MAX * rows else replace(node, input=reduced)

    root = rewrite(plan.root, change)
    return plan.over(root)


def _first(window: Window, terms: tuple[Expression, ...]) -> FirstRows | None:
    """Return the smallest bound that the terms set; None if there is none or it is large."""
    bounds = [found for t in terms if (found := _bound(window, t)) is not None]
    if not bounds:
        return None
    count, ties = min(bounds)
    return FirstRows(max(1, count), ties) if count <= COUNT_MAX else None


def _bound(window: Window, term: Expression) -> tuple[int, bool] | None:
    """Return the last position in a partition that satisfies the term, and whether its ties do, too."""
    match term:
        case Call(function=how, args=(ColumnRef(index=index), Literal(value=int() as bound))):
            pass
        case Call(function=turned, args=(Literal(value=int() as bound), ColumnRef(index=index))):
            how = TURNED.get(turned, turned)
        case _:
            return None
    number = index - len(window.input.schema)
    if how not in ("eq", "le", "lt") or number < 0:
        return None
    count = bound - (how == "lt")
    match window.functions[number].function:
        case "row_number":
            return count, False
        case "rank" if window.order_by:
            return count, True
        case "dense_rank" if window.order_by and count <= 1:
            return count, True
    return None


def _sees_earlier_rows(function: WindowFunction, frame: Frame) -> bool:
    """Return whether the function's value for a row depends only on earlier rows and cannot fail."""
    if function.function == "first_value":
        return frame.start is None  # another frame may begin after the row
    if function.function != "lag":
        return function.function in ("row_number", "rank", "dense_rank")
    offset = function.arguments[1] if function.count is not None else None
    return offset is None or (isinstance(offset, Literal) and isinstance(offset.value, int) and offset.value >= 0)
