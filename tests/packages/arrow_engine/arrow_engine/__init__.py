"""pyarrow as an accelerator: groups and sorts of whole columns, where it means what Jumpgate means."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Operator, Sort
from jumpgate.nca.interface import Completeness, Device, InstancePlan, Match, Unsupported
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor

MEASURES = ("sum", "count", "count_star", "min", "max", "avg")
#: a sum of values of so many digits has at most 38, whatever the number of rows
SUMMED_DIGITS_MAX = 28


class ArrowLifecycle(WorkerLifecycle):
    module = "arrow_engine.worker"

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        node = instance.root.inputs[0]
        if isinstance(node, Sort):
            keys = [[index(k.expression), k.descending, k.nulls_first] for k in node.keys]
            return {"sort": {"keys": keys, "offset": node.offset, "limit": node.limit}}
        assert isinstance(node, Aggregate)
        measures = [[m.function, -1 if m.argument is None else index(m.argument)] for m in node.measures]
        return {"aggregate": {"keys": [*map(index, node.keys)], "measures": measures}}


def index(expression: Expression) -> int:
    assert isinstance(expression, ColumnRef)
    return expression.index


class ArrowEngine:
    """Groups and sorts in pyarrow: whole columns that are not floats."""

    name = "arrow_engine"

    @property
    def operators(self) -> ArrowEngine:
        return self

    @cached_property
    def lifecycle(self) -> ArrowLifecycle:
        return ArrowLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport != TCP or ntf.layout != "columnar":
            return Unsupported("pyarrow receives columns over tcp", "edge")
        return None

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        if device.kind != "host" or not isinstance(node, Aggregate | Sort):
            return None
        if any(not isinstance(e, ColumnRef) for e in node.own_expressions):
            return Unsupported("pyarrow takes columns, not expressions", "expression", "Compute them below.")
        no = _aggregate(node, dialect) if isinstance(node, Aggregate) else _sort(node)
        return no or Match(self.name, (node,), Completeness.FULL, node.schema)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.columnar(match.schema), TCP

    def speeds(self, device: Device) -> Speeds:
        return Speeds(factor=5.0, setup_s=0.5)


def _aggregate(node: Aggregate, dialect: Dialect) -> Unsupported | None:
    if node.phase != "full" or dialect.on_overflow != "error":
        return Unsupported("pyarrow computes whole aggregates, and an overflow is an error", "phase")
    if strange := [m.function for m in node.measures if m.function not in MEASURES]:
        return Unsupported(f"pyarrow is not asked for {strange[0]}", "measure")
    if any(e.type.is_float for e in node.own_expressions):
        return Unsupported("pyarrow tells NaN and -0.0 from their equals", "float")
    for m in node.measures:
        if m.function in ("sum", "avg") and m.argument is not None and m.argument.type.precision > SUMMED_DIGITS_MAX:
            return Unsupported(f"a sum of {m.argument.type.name} may overflow unnoticed", "digits")
    return None


def _sort(node: Sort) -> Unsupported | None:
    if any(k.expression.type.is_float for k in node.keys):
        return Unsupported("pyarrow sorts NaN after everything, in both directions", "float")
    return None


NCA = ArrowEngine()
