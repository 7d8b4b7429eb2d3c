"""What a source need not read: bounds of columns that a filter's conjuncts set."""

from __future__ import annotations

from jumpgate.codegen import literals
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, InList, Literal, conjuncts


def bounds(predicate: Expression | None) -> tuple[tuple[int, str, str], ...]:
    """The conjuncts of a Read's hint that compare a column with literals, or ask whether it is NULL: (output column,
    operator, physical text). Of a list of literals, its ends."""
    found = []
    swapped = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
    for term in conjuncts(predicate) if predicate is not None else ():
        if isinstance(term, InList) and isinstance(term.input, ColumnRef):
            found += _ends(term, term.input)
        if not isinstance(term, Call):
            continue
        if term.function in ("is_null", "is_not_null") and isinstance(term.args[0], ColumnRef):
            found.append((term.args[0].index, term.function, ""))
        if term.function not in swapped:
            continue
        a, b = term.args
        op = term.function
        if isinstance(b, ColumnRef):
            a, b, op = b, a, swapped[op]
        if isinstance(a, ColumnRef) and isinstance(b, Literal) and b.value is not None and not a.type.is_float:
            value = _bound_text(literals.physical(b.value, b.type))
            if value is not None:
                found.append((a.index, op, value))
    return tuple(found)


def _ends(term: InList, column: ColumnRef) -> list[tuple[int, str, str]]:
    values = [literals.physical(o.value, column.type) for o in term.options if o.value is not None]
    if column.type.is_float or not values:
        return []
    ends = (("ge", _bound_text(min(values))), ("le", _bound_text(max(values))))
    return [(column.index, op, text) for op, text in ends if text is not None]


def _bound_text(value: int | float | bytes) -> str | None:
    """As the configuration carries it; None for bytes that are not UTF-8, which it cannot."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        return None
