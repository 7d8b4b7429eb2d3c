"""Orders the conditions of a filter and chooses how to evaluate each.

Conditions on the same columns are evaluated together. Columns of files are decoded on demand, so later columns are
decoded only for the rows that are left: cheap numeric conditions come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.codegen.program import Element, InParameter, Null, Parameter, SourceColumn, leaves
from jumpgate.dataflow.expressions import Call, Expression, InList, Literal
from jumpgate.dataflow.failing import may_fail

#: functions that compare numbers without a branch
PLAIN = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_not_null"})
#: leaves that are the same for all rows
CONSTANT = Parameter | Literal | Null
#: the most steps of a filter: each compiles to a loop of its own
STEPS_MAX = 4


def in_steps(terms: Sequence[Expression]) -> list[tuple[Expression, ...]]:
    """Return the conditions of each step. If one can fail, they keep their order."""
    steps: list[list[Expression]] = []
    found: dict[frozenset[int], list[Expression]] = {}
    ordered = any(map(may_fail, terms))
    for term in terms:
        columns = _columns(term)
        if ordered and steps and found.get(columns) is not steps[-1]:
            found.pop(columns, None)
        if columns not in found:
            found[columns] = []
            steps.append(found[columns])
        found[columns].append(term)
    if not ordered:
        steps.sort(key=_cost)
    late = [term for step in steps[STEPS_MAX - 1 :] for term in step]
    return [tuple(step) for step in (*steps[: STEPS_MAX - 1], late) if step]


def is_plain(e: Expression) -> bool:
    """Return whether the expression compares numbers of at most 64 bits."""
    if isinstance(e, SourceColumn | Parameter | Literal):
        return not e.type.is_text and e.type.width <= 8
    return isinstance(e, Call) and e.function in PLAIN and all(map(is_plain, e.args))


def coded_column(terms: Sequence[Expression]) -> SourceColumn | None:
    """Return the column that alone decides: rows with equal values have the same answer."""
    if any(isinstance(e, Element) for t in terms for e in t.walk()):
        return None  # the rows of a list's elements have the list in common
    found = {leaf for t in terms for leaf in leaves(t) if not leaf.children and not isinstance(leaf, CONSTANT)}
    columns = [leaf for leaf in found if isinstance(leaf, SourceColumn) and not leaf.type.is_nested]
    return columns[0] if len(columns) == len(found) == 1 else None


def _columns(e: Expression) -> frozenset[int]:
    return frozenset(leaf.index for leaf in leaves(e) if isinstance(leaf, SourceColumn))


def _cost(step: Sequence[Expression]) -> tuple[bool, int, bool]:
    """Return the sort key of steps; it ends with preferring those that keep few rows."""
    return not all(map(is_plain, step)), len(_columns(step[0])), not any(map(_picks, step))


def _picks(term: Expression) -> bool:
    """Return whether the term keeps single values."""
    return isinstance(term, InList | InParameter) or isinstance(term, Call) and term.function in ("eq", "or")
