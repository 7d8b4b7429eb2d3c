"""Converts joins of Substrait: splits the condition into equal keys and the residual."""

from __future__ import annotations

from jumpgate.dataflow.casts import TypeMismatch, common_type
from jumpgate.dataflow.expressions import Call, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.joins import filtered
from jumpgate.dataflow.literals import blank
from jumpgate.dataflow.operators import Join, Operator, Project, column
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import Schema, bool_

#: by Substrait's names
TYPES = {type.substrait: type for type in JoinType}
#: joins that are another type with swapped inputs
SWAPPED = {type.swapped: type for type in JoinType if type.swapped}


def read_join(left: Operator, right: Operator, type: str, condition: Expression | None, datafusion: bool) -> Operator:
    """The join of that Substrait type; `condition` is over left ++ right. datafusion: its mark is never NULL."""
    if type in SWAPPED:
        width, other = len(left.schema), len(right.schema)
        if condition is not None:
            condition = condition.remap(lambda i: _moved(left, right, i + other if i < width else i - width))
        left, right, kind = right, left, SWAPPED[type]
    elif type in TYPES:
        kind = TYPES[type]
    else:
        raise Unmapped(f"a {type.removeprefix('JOIN_TYPE_').lower().replace('_', ' ')} join is not known")
    left_keys, right_keys, rest = _apart(left.schema, right.schema, condition)
    if kind.any_order and rest and left_keys:
        return filtered(Join(left, right, kind, left_keys, right_keys), rest)
    node = Join(left, right, kind, left_keys, right_keys, conjunction(tuple(rest)) if rest else None)
    if not kind.marks or not datafusion:
        return node
    schema = node.schema
    mark = bind("coalesce", (column(schema, len(schema) - 1), Literal(bool_.with_nullable(False), False)))
    columns = tuple(column(schema, i) for i in range(len(schema) - 1))
    return Project(node, (*columns, mark), schema.names)


def _moved(left: Operator, right: Operator, index: int) -> Expression:
    schema = Schema((*right.schema, *left.schema))
    return column(schema, index)


def equal_rows(left: Schema, right: Schema) -> tuple[Expression, ...]:
    """Return conditions over left ++ right: each column of one equals that of the other, NULL equals NULL."""
    both = Schema((*left, *right))
    return tuple(bind("is_not_distinct", (column(both, i), column(both, len(left) + i))) for i in range(len(left)))


def _apart(
    left: Schema, right: Schema, condition: Expression | None
) -> tuple[tuple[Expression, ...], tuple[Expression, ...], list[Expression]]:
    keys: list[tuple[Expression, Expression]] = []
    rest: list[Expression] = []
    for term in conjuncts(condition) if condition is not None else ():
        if isinstance(term, Literal) and term.value is True:
            continue
        pair = _sides(term, len(left)) if isinstance(term, Call) and len(term.args) == 2 else None
        if pair is None:
            rest.append(term)
            continue
        a, b = pair[0], pair[1].remap(lambda i: column(right, i - len(left)))
        try:
            type = common_type((a.type, b.type))
        except TypeMismatch:
            rest.append(term)
            continue
        a, b = cast_to(a, type), cast_to(b, type)
        if isinstance(term, Call) and term.function == "is_not_distinct":
            keys += _null_safe(a, b)
        else:
            keys.append((a, b))
    return tuple(a for a, _ in keys), tuple(b for _, b in keys), rest


def _sides(term: Call, width: int) -> tuple[Expression, Expression] | None:
    """Return the sides of an equality between the inputs, left first."""
    if term.function not in ("eq", "is_not_distinct"):
        return None
    a, b = term.args
    x, y = a.columns(), b.columns()
    if x and y and max(x) < width <= min(y):
        return a, b
    if x and y and max(y) < width <= min(x):
        return b, a
    return None


def _null_safe(a: Expression, b: Expression) -> list[tuple[Expression, Expression]]:
    """Return keys under which NULL equals NULL: the validity, and the value or a placeholder."""
    if not a.type.nullable and not b.type.nullable:
        return [(a, b)]
    return [
        (bind("is_null", (a,)), bind("is_null", (b,))),
        (bind("coalesce", (a, blank(a.type))), bind("coalesce", (b, blank(b.type)))),
    ]
