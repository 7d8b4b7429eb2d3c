"""Rows that a filter's comparisons with constants exclude (p4/programs/filter.py).

Up to three comparisons of up to two columns become bits of a truth table; whatever else the condition has is taken for
true. Rows in which one of these columns is NULL pass. The filter runs again downstream.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Filter, Operator
from jumpgate.dataflow.types import DataType
from jumpgate.nca.interface import Estimates, Unsupported
from jumpgate.ncas.switch.task import Matches, Row
from jumpgate.ncas.switch_prune.pruning import NOTHING, Pruning, Setting, Tuple, pruned, with_payload
from jumpgate.ncas.switch_prune.words import WORD_BITS, WORD_MAX, Number, between, bits_of, literal, number
from jumpgate.p4.programs.filter import Formula, Range, truth_table

PREDICATES, COLUMNS = 3, 2
#: entries of a flow for one comparison, so that all flows have room
PREFIXES_MAX = 8
#: so that all words of a window are numbers of 64 bits
CONSTANT_MAX = 1 << 62
#: of the rows that are expected; if more pass, the way through the switch saves little
PASSING_MAX = 0.5
NEGATED = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "eq": "ne", "ne": "eq"}
MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq"}
#: the numbers from .. to that a comparison with a constant, itself no whole number perhaps, accepts
LEAST: dict[str, Callable[[Decimal], int]] = {"gt": lambda c: math.floor(c) + 1, "ge": math.ceil, "eq": math.ceil}
GREATEST: dict[str, Callable[[Decimal], int]] = {"lt": lambda c: math.ceil(c) - 1, "le": math.floor, "eq": math.floor}


@dataclass
class Condition:
    """A condition as the switch knows it: its columns, and ranges of their words."""

    columns: list[Window] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    def formula(self, e: Expression, negated: bool = False) -> Formula:
        """The condition, or its negation. NOT is of ranges alone, rounded so that more rows pass. None: unknown."""
        if not isinstance(e, Call):
            return None
        if e.function == "not":
            return self.formula(e.args[0], not negated)
        if e.function in ("and", "or"):
            parts = [self.formula(a, negated) for a in e.args]
            function = "and" if (e.function == "and") != negated else "or"
            known = [p for p in parts if p is not None]
            if not known or (function == "or" and len(known) < len(parts)):
                return None
            return functools.reduce(lambda left, right: (function, left, right), known)
        return self._comparison(NEGATED.get(e.function, "") if negated else e.function, e)

    def _comparison(self, function: str, e: Call) -> Formula:
        if function not in MIRRORED:
            return None
        column, constant = e.args
        if isinstance(column, Literal):
            function, column, constant = MIRRORED[function], constant, column
        if not isinstance(column, ColumnRef) or not isinstance(constant, Literal):
            return None
        known, value = number(column), _number(constant, column.type)
        if known is None or value is None:
            return None
        place = next((i for i, w in enumerate(self.columns) if w.column == column), len(self.columns))
        if place == len(self.columns):
            if place == COLUMNS or abs(value) > CONSTANT_MAX:
                return None
            self.columns.append(Window(column, known, math.floor(value) - (1 << WORD_BITS - 1)))
        low, high = self.columns[place].accepted(function, value)
        if low == high:
            return self._range(Range(place, low, high))
        if low == 0:
            return self._range(Range(place, 0, rounded(high + 1, up=True) - 1))
        below = self._range(Range(place, 0, rounded(low, up=False) - 1))  # takes fewer entries than what is above
        return None if below is None else ("not", below)

    def _range(self, wanted: Range) -> int | None:
        """The number of a range; None if there are too many."""
        if wanted not in self.ranges:
            if len(self.ranges) == PREDICATES:
                return None
            self.ranges.append(wanted)
        return self.ranges.index(wanted)


def _number(constant: Literal, type: DataType) -> Decimal | None:
    """Where a constant lies among what `number` makes of a column of that type; None if that is not known."""
    value = constant.value
    if constant.type.kind != type.kind or isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal) and (type.is_integer or type.kind == "decimal"):
        return Decimal(value).scaleb(type.scale if type.kind == "decimal" else 0)
    if isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None:
        return Decimal(value.year * 512 + value.month * 32 + value.day)
    return None


@dataclass(frozen=True)
class Window:
    """A column as a word: the numbers around a constant that it is compared with, so that few bits tell on which side
    of it they are. Smaller and greater ones are the least and the greatest word."""

    column: ColumnRef
    number: Number
    low: int

    @property
    def word(self) -> Expression:
        near = between(self.number.expression, self.low, self.low + WORD_MAX)
        return bits_of(bind("subtract", (near, literal(self.low))))

    def accepted(self, function: str, constant: Decimal) -> tuple[int, int]:
        """The least and the greatest word of the numbers that a comparison accepts, and perhaps of others."""
        if not self.number.exact:
            function = {"gt": "ge", "lt": "le"}.get(function, function)

        def shown(value: int) -> int:
            return min(max(value - self.low, 0), WORD_MAX)

        low = shown(LEAST[function](constant)) if function in LEAST else 0
        return low, shown(GREATEST[function](constant)) if function in GREATEST else WORD_MAX


def rounded(end: int, up: bool) -> int:
    """The end of a range from 0 that takes no more than PREFIXES_MAX entries, one for each bit that is set.

    >>> rounded(0x80000B54, True) == 0x80000B54, hex(rounded(0xFFF, True)), hex(rounded(0xFFF, False))
    (True, '0x1000', '0xff0')
    """
    while end.bit_count() > PREFIXES_MAX:
        end = end + (end & -end) if up else end & (end - 1)
    return end


def prune_filter(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Filter):
        return None
    if "filter" not in setting.sizes.algorithms:
        return Unsupported("its program has no filter", "program", 'Use program = "prune".')
    condition = Condition()
    formula = condition.formula(node.predicate)
    if formula is None:
        return Unsupported("the switch compares columns of numbers and dates with constants", "condition")
    if setting.estimates is not None and (share := _passing(node, setting.estimates)) > PASSING_MAX:
        return Unsupported(f"{share:.0%} of the rows are expected to pass", "selectivity")
    a, b = (*(w.word for w in condition.columns), NOTHING)[:2]
    sent, arriving = with_payload(node.input, Tuple(a=a, b=b))
    return Pruning("filter", (node,), pruned([sent], node.with_inputs((arriving,)), node.input))


def _passing(node: Filter, estimates: Estimates) -> float:
    """The share of rows that are expected to pass; 0 where nothing is known."""
    rows, left = estimates.of(node.input).rows, estimates.of(node).rows
    return left / rows if rows and left is not None else 0.0


def _field(r: Range, value: int, mask: int) -> Matches:
    """Nothing where any word is accepted."""
    return ((f"hdr.tuple_0.{'ab'[r.field]}", (value, mask)),) if mask else ()


def entries_of(body: Filter) -> tuple[Row, ...]:
    """Return the table entries of a flow that `prune_filter` made, without the flow itself."""
    condition = Condition()
    passes = truth_table(condition.formula(body.predicate), len(condition.ranges))
    rows = [
        Row(f"filter_{i}_0", _field(r, value, mask), f"filter_hit_{i}_0", (), priority=1)
        for i, r in enumerate(condition.ranges)
        for value, mask in r.prefixes()
    ]
    for bits, kept in enumerate(passes):
        if not kept:
            match = tuple((f"md.s0.filter_{i}", bits >> i & 1) for i in range(PREDICATES))
            rows.append(Row("filter_truth_0", match, "filter_prune_0", ()))
    return tuple(rows)
