"""Counts and sums of joined rows that no key groups: one row leaves the card in place of them.

The card counts joined rows, and of one column of 64 bits it counts the values and adds them up in 128 bits, which no
number of rows exceeds; whether a sum fits its type, who receives it finds out.
"""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, column
from jumpgate.dataflow.types import DataType, Schema, decimal
from jumpgate.nca.interface import Completeness, Unsupported, Wire
from jumpgate.nca.matching import partial_phase
from jumpgate.ncas.fpga_join.chain import Chain
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch.wire import DIGITS_MAX, converted

#: measures, in the order of the columns that leave
MEASURES = ("count_star", "count", "sum")
DIGITS = 38


@dataclass(frozen=True)
class Totals:
    """An aggregate of a chain's rows; `argument`: the column of these that is counted and added up."""

    node: Aggregate
    chain: Chain
    argument: int | None

    completeness = Completeness.PARTIAL
    note = "; of joined rows one leaves, with their count and sum"

    @property
    def operators(self) -> tuple[Operator, ...]:
        return (self.node, *self.chain.operators)

    @property
    def schema(self) -> Schema:
        return partial_phase(self.node).schema

    def wire(self) -> Wire:
        """A count of rows alone, or one, and the count and the sum of the column."""
        wanted = () if self.argument is None else (self.chain.output[self.argument],)
        sent, body, places = self.chain.joined(wanted)
        measures = [Measure.of("count_star", name="rows")]
        if places:
            value: Expression = column(body.schema, places[0])
            if value.type.is_integer:
                value = Cast(decimal(DIGITS, 0), value)
            measures += [Measure.of("count", value, name="values"), Measure.of("sum", value, name="sum")]
        totals = Aggregate(body, (), (), tuple(measures), "partial")
        back = tuple(
            converted(column(totals.schema, MEASURES.index(m.function)), field.type)
            for m, field in zip(self.node.measures, self.schema, strict=True)
        )
        return Wire(sent, totals, back, DATAGRAMS)


def refusal(node: Aggregate, dialect: Dialect) -> Unsupported | None:
    """Why no card computes the aggregate, whatever it is over."""
    if node.keys:
        return Unsupported("the card counts and adds up all joined rows, no groups", "key", "Let a host group them.")
    for m in node.measures:
        if m.function not in MEASURES:
            return Unsupported(f"the card does not compute {m.function}", "measure", "Let a host aggregate.")
        argument = m.argument
        if argument is None:
            continue
        if not isinstance(argument, ColumnRef) or not _is_wide(argument.type):
            return Unsupported(
                f"{argument} is no column of 64 bits; the card adds up int64 and decimals of {DIGITS_MAX} digits",
                "value", "Let a host aggregate.",
            )  # fmt: skip
        if m.function == "sum" and argument.type.is_integer and dialect.on_overflow != "error":
            return Unsupported(f"the card's sums do not follow on_overflow = {dialect.on_overflow}", "overflow",
                               "Use a dialect with on_overflow = error, or sum decimals.")  # fmt: skip
    if len({m.argument for m in node.measures} - {None}) > 1:
        return Unsupported("the card adds up one column", "values", "Let a host aggregate.")
    return None


def totals(node: Aggregate, chain: Chain) -> Totals:
    """Return the totals of an aggregate over the chain, which nothing refuses."""
    argument = next((m.argument for m in node.measures if m.argument is not None), None)
    return Totals(node, chain, argument.index if isinstance(argument, ColumnRef) else None)


def _is_wide(type: DataType) -> bool:
    return type.kind == "int64" or (type.kind == "decimal" and type.precision <= DIGITS_MAX)
