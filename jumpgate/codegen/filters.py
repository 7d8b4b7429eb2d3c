"""In which order the conditions of a filter are tried, and how each is.

Those about the same columns are tried together. Columns of files are decoded as they are needed, so what comes later is
decoded only for the rows that are left: numbers come first, which cost least.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.codegen.program import InParameter, Null, Parameter, SourceColumn, leaves
from jumpgate.dataflow.expressions import Call, Expression, InList, Literal
from jumpgate.dataflow.failing import may_fail

#: what compares numbers without a branch
PLAIN = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_not_null"})
#: steps of a filter at most: each is a loop of its own to compile
STEPS_MAX = 4


def in_steps(terms: Sequence[Expression]) -> list[tuple[Expression, ...]]:
    """The conditions of each step. Where one can fail they stay in their order."""
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
    """Whether it compares numbers of at most 64 bits."""
    if isinstance(e, SourceColumn | Parameter | Literal):
        return not e.type.is_text and e.type.width <= 8
    return isinstance(e, Call) and e.function in PLAIN and all(map(is_plain, e.args))


def coded_column(terms: Sequence[Expression]) -> int | None:
    """The column of texts that alone decides: rows that have the same value have the same answer."""
    constant = (Parameter, Literal, Null)
    found = {leaf for t in terms for leaf in leaves(t) if not leaf.children and not isinstance(leaf, constant)}
    columns = [leaf.index for leaf in found if isinstance(leaf, SourceColumn) and leaf.type.is_text]
    return columns[0] if len(columns) == len(found) == 1 else None


def _columns(e: Expression) -> frozenset[int]:
    return frozenset(leaf.index for leaf in leaves(e) if isinstance(leaf, SourceColumn))


def _cost(step: Sequence[Expression]) -> tuple[bool, int, bool]:
    """What orders steps: last, those that keep few rows come first."""
    return not all(map(is_plain, step)), len(_columns(step[0])), not any(map(_picks, step))


def _picks(term: Expression) -> bool:
    """Whether it keeps single values."""
    return isinstance(term, InList | InParameter) or isinstance(term, Call) and term.function in ("eq", "or")
