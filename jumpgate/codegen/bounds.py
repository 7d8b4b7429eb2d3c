"""Bounds of columns that a filter's conjuncts set, so that a source can skip what is outside."""

from __future__ import annotations

from jumpgate.codegen import literals
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, InList, Literal, conjuncts
from jumpgate.dataflow.types import DataType

#: longer lists of values are bounded by their ends
VALUES_MAX = 32
_SWAPPED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
Physical = int | float | bytes


def bounds(predicate: Expression | None) -> tuple[tuple[int, str, str], ...]:
    """Return the conjuncts of a Read's hint that compare a column with literals or test it for NULL: (output column,
    operator, physical text). Operator `any`: the column equals one of the values that share it."""
    found: list[tuple[int, str, str]] = []
    listed: set[int] = set()
    for term in conjuncts(predicate) if predicate is not None else ():
        if isinstance(term, Call) and term.function in ("is_null", "is_not_null"):
            if isinstance(term.args[0], ColumnRef):
                found.append((term.args[0].index, term.function, ""))
        elif (compared := _comparison(term)) is not None:
            column, op, value = compared
            if value is not None and (text := _bound_text(value)) is not None:
                found.append((column.index, op, text))
        elif (alternatives := _alternatives(term)) is not None:
            column, values = alternatives
            found += _of_list(column.index, values, only_ends=column.index in listed)
            listed.add(column.index)
    return tuple(found)


def _comparison(term: Expression) -> tuple[ColumnRef, str, Physical | None] | None:
    """Return the column, the operator and the literal's value (None for NULL); None for a column of floats."""
    if not isinstance(term, Call) or term.function not in _SWAPPED:
        return None
    a, b = term.args
    op = term.function
    if isinstance(b, ColumnRef):
        a, b, op = b, a, _SWAPPED[op]
    if not isinstance(a, ColumnRef) or not isinstance(b, Literal) or a.type.is_float:
        return None
    return a, op, None if b.value is None else literals.physical(b.value, b.type)


def _alternatives(term: Expression) -> tuple[ColumnRef, list[Physical]] | None:
    """Return the column and the values of a list or an OR of equalities."""
    if isinstance(term, InList):
        if not isinstance(term.input, ColumnRef) or term.input.type.is_float:
            return None
        type = term.input.type
        return term.input, [literals.physical(o.value, type) for o in term.options if o.value is not None]
    if isinstance(term, Call) and term.function == "or":
        parts = [_alternatives(a) for a in term.args]
        known = [p for p in parts if p is not None]
        if len(known) < len(parts) or len({column.index for column, _ in known}) > 1:
            return None
        return known[0][0], [value for _, values in known for value in values]
    compared = _comparison(term)
    if compared is None or compared[1] != "eq":
        return None
    return compared[0], [] if compared[2] is None else [compared[2]]


def _of_list(column: int, values: list[Physical], only_ends: bool) -> list[tuple[int, str, str]]:
    if not values:
        return []
    distinct = sorted(set(values))
    texts = [_bound_text(v) for v in distinct]
    if len(distinct) <= VALUES_MAX and not only_ends and None not in texts:
        return [(column, "any", text) for text in texts if text is not None]
    ends = (("ge", texts[0]), ("le", texts[-1]))
    return [(column, op, text) for op, text in ends if text is not None]


def _bound_text(value: Physical) -> str | None:
    """Return the value as configuration text; None for bytes that are not UTF-8, which it cannot hold."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        return None


def ordered_alike(a: DataType, b: DataType) -> bool:
    """Return whether the physical values of both are 64-bit integers of the same meaning."""
    integers = a.is_integer and b.is_integer
    same = a.kind == b.kind and a.scale == b.scale and not (a.is_float or a.is_text or a.kind == "bool")
    return (integers or same) and max(a.width, b.width) <= 8
