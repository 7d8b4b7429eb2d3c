"""VALUES as a dataflow: the first rows of a table of numbers, with a CASE over the number for each column."""

from __future__ import annotations

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.expressions import ExpressionReader, is_null
from jumpgate.dataflow.casts import common_type
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.operators import Filter, Operator, Project, Read, column
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import Schema, int64

#: rows of VALUES that become a dataflow, each of which is a branch of generated code
ROWS_MAX = 64


def read_values(values: pb.Values, numbers: Read) -> Operator:
    """numbers: a column of those from 0 to `ROWS_MAX` - 1. Raises Unmapped."""
    width, count = values.columns, len(values.exprs) // values.columns
    if count > ROWS_MAX:
        raise Unmapped(f"VALUES of {count} rows: {ROWS_MAX} are the most that become a dataflow")
    reader = ExpressionReader(Schema(()), (), ())
    values_of = [reader.read(expr) for expr in values.exprs]
    number = column(numbers.schema, 0)
    found = Filter(numbers, bind("lt", (number, _whole(count))))
    columns = tuple(_column(values_of[i::width], number) for i in range(width))
    return Project(found, columns, tuple(f"column{i + 1}" for i in range(width)))


def _whole(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)


def _column(values: list[Expression], number: Expression) -> Expression:
    type = common_type(tuple(value.type for value in values if not is_null(value)) or (values[0].type,))
    nullable = type.with_nullable(any(value.type.nullable for value in values))
    cast = [Literal(nullable, None) if is_null(value) else cast_to(value, type) for value in values]
    branches = tuple(e for i, value in enumerate(cast[:-1]) for e in (bind("eq", (number, _whole(i))), value))
    return Case(nullable, branches, cast[-1]) if branches else cast[-1]
