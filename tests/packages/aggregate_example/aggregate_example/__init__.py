"""The root mean square, an aggregate that Jumpgate does not have."""

import math

from jumpgate.dataflow.aggregate import AggregateFunction, Row, Rows, StateCode, States
from jumpgate.dataflow.types import float64, int64


def _state(rows: Rows) -> Row:
    return len(rows), math.fsum(float(row[0]) ** 2 for row in rows)


def _merged(states: Rows) -> Row:
    return sum(s[0] for s in states), math.fsum(s[1] for s in states)


def _value(state: Row) -> float | None:
    count, squares = state
    return math.sqrt(squares / count) if count else None


ROOT_MEAN_SQUARE = AggregateFunction(
    "root_mean_square",
    "the square root of the mean of the squares; float64",
    result=lambda types: float64,
    numeric=True,
    states=States(
        types=lambda arguments, order: (int64.with_nullable(False), float64.with_nullable(False)),
        of=_state,
        merged=_merged,
        value=_value,
    ),
    code=StateCode(
        update="s0++; s1 += v0 * v0;",
        merge="s0 += o0; s1 += o1;",
        value="jg_sqrt(s1 / (double)s0)",
        null="s0 == 0",
    ),
    substrait=("extension:org.example.statistics:root_mean_square",),
)
