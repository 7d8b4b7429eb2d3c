"""Prunings of any kind: the operators that they match, the columns that they send, and the program that they run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, Prune, Receive, column
from jumpgate.dataflow.types import Field, Schema, int32
from jumpgate.nca.interface import Estimates, Wire, WireInput
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch_prune.words import literal
from jumpgate.p4.programs.render import PruneSizes

NOTHING = Literal(int32.with_nullable(False), 0)


@dataclass(frozen=True)
class Setting:
    """The switch on which something is to be pruned: its program's sizes, and the least probability of a right answer
    that the configuration accepts (1: certainty). `estimates`: what is expected of the plan, where the planner asks."""

    sizes: PruneSizes
    success: float = 1.0
    estimates: Estimates | None = None


@dataclass(frozen=True)
class Tuple:
    """A row's part of a packet, as the program reads it; unused fields are 0."""

    key: Expression = literal(0)
    a: Expression = NOTHING
    b: Expression = NOTHING

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.key, self.a, self.b)


@dataclass(frozen=True)
class Pruning:
    """`operators` (root first) over leaves of which the first is pruned; `algorithm` does it. `note`: for
    explain. `rows_max`: how many rows keep the accepted probability."""

    algorithm: str
    operators: tuple[Operator, ...]
    wire: Wire
    note: str = ""
    rows_max: float = math.inf


def fingerprints(bits: int, setting: Setting, rows_max: float) -> str:
    """Return explain's note on keys that may be taken for each other."""
    wrong = 1 - setting.success
    return f"fingerprints of {bits} bits: wrong with a probability of at most {wrong:.2g} for {rows_max:.2g} rows"


def with_payload(leaf: Operator, carried: Tuple, number: int = 0) -> tuple[WireInput, Receive]:
    """Rows of leaf 0 with their tuple behind them, as they arrive."""
    return _input(0, number, (*every_column(leaf), *carried.expressions), leaf.schema.names)


def without_payload(leaf: int, carried: Tuple, number: int) -> tuple[WireInput, Receive]:
    """Tuples alone, as they arrive: for inputs that only leave something behind on the switch."""
    return _input(leaf, number, carried.expressions, ())


def _input(
    leaf: int, number: int, expressions: tuple[Expression, ...], names: Sequence[str]
) -> tuple[WireInput, Receive]:
    every = (*names, "key", "a", "b")
    schema = Schema(tuple(Field(n, e.type) for n, e in zip(every, expressions, strict=True)))
    return WireInput(leaf, expressions, schema, (len(names),)), Receive(str(number), schema)


def partners(left: Operator, right: Operator, key: int) -> Join:
    """The rows of `left` whose column `key` is the first one of a row of `right`."""
    return Join(left, right, JoinType.SEMI, (column(left.schema, key),), (column(right.schema, 0),))


def pruned(inputs: Sequence[WireInput], body: Operator, leaf: Operator) -> Wire:
    """Return the wire that passes the rows of `leaf` that may matter to `body`."""
    return Wire(tuple(inputs), Prune(body, leaf.schema), every_column(leaf), DATAGRAMS)


def every_column(node: Operator) -> tuple[Expression, ...]:
    """References to all of its columns."""
    return tuple(column(node.schema, i) for i in range(len(node.schema)))
