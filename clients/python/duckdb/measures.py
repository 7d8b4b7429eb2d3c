"""The computation of a call of an aggregate: measures, and what becomes of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.operators import SortKey
from jumpgate.dataflow.types import int32


class Term(NamedTuple):
    """A measure without a name: the arguments precede the options, and `order` orders the rows."""

    function: str
    arguments: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()


@dataclass(frozen=True)
class Computed:
    """The computation of one call: `measures`, and the call's value from theirs."""

    measures: tuple[Term, ...]
    value: Callable[[tuple[Expression, ...]], Expression]


def alone(function: str, arguments: tuple[Expression, ...] = ()) -> Computed:
    """Return the computation that is one measure."""
    return Computed((Term(function, arguments),), lambda values: values[0])


def counted_if(condition: Expression, value: Expression | None) -> Expression:
    """The value where the condition is TRUE, else NULL; without a value some number that is not."""
    value = Literal(int32.with_nullable(False), 1) if value is None else value
    type = value.type.with_nullable(True)
    return Case(type, (condition, value), Literal(type, None))
