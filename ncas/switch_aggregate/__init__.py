"""Partial aggregation on a switch (p4/programs/aggregate.p4): sum, count, min and max of one value for each key.

The switch keeps a group in a bucket that the first key to come owns; tuples of other keys of that bucket go on. So what
arrives is a partial result, in which a key may occur several times, and the final aggregate runs on a host.
"""

from __future__ import annotations

from dataclasses import replace

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, Receive, column, partial_state
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.nca.interface import Completeness, Device, InstancePlan, Match, Unsupported, Wire, WireInput
from jumpgate.nca.matching import partial_phase
from jumpgate.nca.speeds import Speeds
from jumpgate.ncas.switch import SwitchNCA
from jumpgate.ncas.switch.kind import BUCKETS, SWITCH, program_of
from jumpgate.ncas.switch.resources import summary
from jumpgate.ncas.switch.task import Input, Task
from jumpgate.ncas.switch.transport import DATAGRAMS, TupleFormat
from jumpgate.ncas.switch.wire import converted, wide_type
from jumpgate.p4.programs.render import PROGRAMS, AggregateSizes

PROGRAM = "aggregate"
#: (key, value)
TUPLES = TupleFormat((64, 64))
#: of the answer about a bucket that is empty: a header, UDP, IP and Ethernet
ANSWER_BYTES = 58
MEASURES = ("sum", "count", "count_star", "min", "max", "avg")


class SwitchAggregate(SwitchNCA):
    """Partial aggregates in the network: one key and one value of at most 64 bits, sum, count, min, max and avg."""

    name = "switch_aggregate"
    sample_devices = (SWITCH.device("switch", program=PROGRAM),)

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        if program_of(device) != PROGRAM or not isinstance(node, Aggregate) or node.phase != "full":
            return None
        no = _refusal(node, dialect)
        if no is not None:
            return no
        value = _value(node)
        if isinstance(value, Unsupported):
            return value
        return Match(
            self.name, (node,), Completeness.PARTIAL, partial_phase(node).schema,
            note=summary(PROGRAM), wire=_wire(node, value), claims=(BUCKETS,), chains=True,
        )  # fmt: skip

    def speeds(self, device: Device) -> Speeds:
        sizes = PROGRAMS[PROGRAM]
        assert isinstance(sizes, AggregateSizes)
        return replace(super().speeds(device), drain_bytes=float(ANSWER_BYTES << sizes.bucket_bits))

    def task(self, instance: InstancePlan) -> Task:
        body = instance.root.inputs[0]
        assert isinstance(body, Aggregate)
        sizes = PROGRAMS[PROGRAM]
        assert isinstance(sizes, AggregateSizes)
        return Task("aggregate", TUPLES, (Input(),), (BUCKETS,), ("",), sizes.bucket_bits, tuple(outputs(body)))


def _refusal(node: Aggregate, dialect: Dialect) -> Unsupported | None:
    if len(node.keys) != 1:
        what = f"here are {len(node.keys)}" if node.keys else "here is none"
        return Unsupported(f"the switch groups by one key; {what}", "key", "Group by one column.")
    key = node.keys[0].type
    if wide_type(key) is None:
        return Unsupported(
            f"the key is {key.name}; the switch's registers hold integers, dates, timestamps and decimals of 64 bits",
            "key_type",
            "Group by the number that stands for it, and join its name afterwards.",
        )
    for m in node.measures:
        if m.function not in MEASURES:
            return Unsupported(f"the switch does not compute {m.function}", "measure", "Compute it on a host.")
        sums = m.function in ("sum", "avg") and m.argument is not None and m.argument.type.is_integer
        if sums and dialect.on_overflow != "error":
            return Unsupported(
                f"the switch's sums do not follow on_overflow = {dialect.on_overflow}", "overflow",
                "Use a dialect with on_overflow = error, or sum decimals.",
            )  # fmt: skip
    return None


def _value(node: Aggregate) -> Expression | Unsupported:
    """The one value that all measures are of."""
    values = list(dict.fromkeys(m.argument for m in node.measures if m.argument is not None))
    if len(values) > 1:
        names = ", ".join(map(str, values))
        return Unsupported(f"the switch aggregates one value of a row, not {names}", "values",
                           "Compute them in separate queries, or on a host.")  # fmt: skip
    if not values:
        return Literal(int64.with_nullable(False), 0)
    value = values[0]
    if wide_type(value.type) is None:
        return Unsupported(
            f"{value} is {value.type.name}; the switch adds up integers and decimals of 64 bits",
            "value_type",
            "Cast it to a decimal of at most 18 digits.",
        )
    if value.type.nullable and any(m.function == "count_star" for m in node.measures):
        return Unsupported(
            f"count(*) beside {value}: the switch counts values that are not NULL, and this one may be", "count_star",
            "Count a column that is never NULL, or count rows in a query of its own.",
        )  # fmt: skip
    return value


def _wire(node: Aggregate, value: Expression) -> Wire:
    """The same aggregate over a key and a value of 64 bits each."""
    expressions = []
    for e in (node.keys[0], value):
        type = wide_type(e.type)
        assert type is not None
        expressions.append(converted(e, type))
    names = ("key", "value")
    schema = Schema(tuple(Field(n, e.type) for n, e in zip(names, expressions, strict=True)))
    arriving = Receive("0", schema)
    measures = tuple(_over_wire(m, arriving) for m in node.measures)
    body = Aggregate(arriving, (column(schema, 0),), node.key_names, measures, "partial")
    wanted = partial_phase(node).schema
    back = tuple(converted(column(body.schema, i), f.type) for i, f in enumerate(wanted))
    return Wire((WireInput(0, tuple(expressions), schema, (0,)),), body, back, DATAGRAMS)


def _over_wire(m: Measure, arriving: Receive) -> Measure:
    if m.argument is None:
        return m
    value = column(arriving.schema, 1)
    return Measure.of(m.function, value, name=m.name)


def outputs(body: Aggregate) -> list[str]:
    """Which of a group's numbers each column of the aggregate's output is: key, count, sum, min, max."""
    states = {"count_star": ("count",), "avg": ("sum", "count")}
    found = ["key"]
    for m in body.measures:
        of_measure = states.get(m.function, (m.function,))
        assert len(of_measure) == len(partial_state(m))
        found += of_measure
    return found


AGGREGATE = SwitchAggregate()
