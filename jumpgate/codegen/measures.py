"""How a group holds its measures: the fields of each one's state, and what is computed from them."""

from __future__ import annotations

from jumpgate.codegen.program import Finished, RowField
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import DISTINCT, MOMENTS, Measure, WindowFunction, partial_state
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int64

_COUNT = int64.with_nullable(False)
_FLAG = bool_.with_nullable(False)
_WIDE = decimal(38, 0, nullable=False)
_DOUBLE = float64.with_nullable(False)


def state_types(m: Measure) -> list[DataType]:
    """The fields of a group that hold one measure. Integers and decimals are summed in 128 bits."""
    argument = m.argument.type if m.argument is not None else None
    match DISTINCT.get(m.function, m.function):
        case "count" | "count_star":
            return [_COUNT]
        case "sum":
            assert argument is not None
            return [_DOUBLE if argument.is_float else _WIDE, _FLAG]
        case "avg":
            assert argument is not None
            return [_DOUBLE if argument.is_float else _WIDE, _COUNT]
        case function if function in MOMENTS:
            return [_COUNT, _DOUBLE, _DOUBLE]
        case _:
            assert argument is not None
            return [argument.with_nullable(False), _FLAG]


def finished(m: Measure, states: tuple[RowField, ...]) -> Expression:
    function = DISTINCT.get(m.function, m.function)
    if function in ("count", "count_star"):
        return states[0]
    scale = m.argument.type.scale if m.argument is not None else 0
    return Finished(m.type, function, states, scale)


def measure_of(f: WindowFunction) -> Measure:
    return Measure(f.function, f.arguments[0] if f.arguments else None, f.type, f.name)


def partial_output(m: Measure, states: tuple[RowField, ...]) -> tuple[Expression, ...]:
    """The columns that a partial aggregate emits for a measure (operators.partial_state)."""
    types = partial_state(m)
    if m.function in ("count", "count_star", *MOMENTS):
        return tuple(states)
    if m.function == "avg":  # sum is NULL while the count is 0
        return (Finished(types[0], "sum", states), states[1])
    return (Finished(types[0], m.function, states),)
