"""Small engines as accelerators of a host, run in the benchmark's process: plain Python, DuckDB and Polars.

Each takes one operator at a time, and computes it over the rows that arrive. A mutant is the plain one with a mistake.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import polars
import pyarrow as pa

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, ColumnRef
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Receive,
    Skyline,
    Sort,
    UnionAll,
    Window,
)
from jumpgate.errors import Overflow
from jumpgate.nca.interface import Completeness, Device, InstancePlan, Match, Unsupported
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.matching import pruned_leaf
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.nca.worker import Input
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.testing import oracle
from jumpgate.testing.interpret import Interpreter, Rows
from jumpgate.testing.sql import Translator, sql_type

#: what the plain engine takes
OPERATORS = (Filter, Project, Join, Aggregate, Sort, Limit, Distinct, UnionAll, Skyline)
DIVISIONS = frozenset(("divide", "int_divide", "modulo", "divide_decimal", "mean"))


def rows_of(batches: Iterator[pa.RecordBatch]) -> Rows:
    """Return rows in which each NaN is one object, so that Python finds it equal to itself."""
    found: Rows = []
    for batch in batches:
        columns = ([math.nan if v != v else v for v in oracle.values(column)] for column in batch.columns)
        found += zip(*columns, strict=True)
    return found


def batch_of(rows: Rows, operator: Operator) -> pa.RecordBatch:
    schema = oracle.arrow_schema(operator.schema)
    columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass
class Engine:
    """Takes operators of the kinds `takes`; `prunes` the first rows of sorts that have a limit instead. `compute` makes
    an operator's rows of its inputs'."""

    name: str
    compute: Callable[[Operator, dict[str, list[pa.RecordBatch]], Dialect], pa.RecordBatch]
    takes: tuple[type[Operator], ...] = OPERATORS
    prunes: bool = False
    refuses: Callable[[Operator, Dialect], str] = lambda node, dialect: ""
    #: what an engine hears of a request's dialect
    hears: Callable[[Dialect], Dialect] = lambda dialect: dialect
    lifecycle: Any = field(init=False)

    def __post_init__(self) -> None:
        module = types.ModuleType(f"bench_{self.name}")
        module.compute = self._computed  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        self.lifecycle = InThisProcess(module.__name__)

    @property
    def operators(self) -> Engine:
        return self

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        return None if transport == TCP and ntf.layout == "columnar" else Unsupported("it receives columns over tcp")

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        if device.kind != "host" or not isinstance(node, self.takes):
            return None
        if isinstance(node, Aggregate) and node.phase != "full":
            return Unsupported("it computes whole aggregates")
        if reason := self.refuses(node, dialect):
            return Unsupported(reason)
        heard = self.hears(dialect)
        if self.prunes:
            if not isinstance(node, Sort) or node.limit is None:
                return None
            return Match(self.name, (node,), Completeness.PRUNE, pruned_leaf((node,)).schema, settings=heard)
        return Match(self.name, (node,), Completeness.FULL, node.schema, settings=heard)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.columnar(match.schema), TCP

    def speeds(self, device: Device) -> Speeds:
        return Speeds(factor=5.0, setup_s=0.5)

    def _computed(self, configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
        instance: InstancePlan = configuration["plan"]
        arrived = {edge: list(input) for edge, input in zip(instance.inputs, inputs, strict=True)}
        yield self.compute(instance.root.inputs[0], arrived, instance.settings)


class InThisProcess(WorkerLifecycle):
    """Its instances get their plan as it is: nothing leaves the process."""

    def __init__(self, module: str) -> None:
        self.module = module

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        return {"plan": instance}


class Plain(Interpreter):
    """One operator over rows, by the reference bodies. Mutants override its methods."""

    def __init__(self, arrived: dict[str, list[pa.RecordBatch]], dialect: Dialect) -> None:
        self._arrived = arrived
        super().__init__(None, lambda edge: rows_of(iter(arrived[edge])), dialect)  # type: ignore[arg-type]

    def result(self, node: Operator) -> Rows:
        return self.rows(node)


def plain(
    cls: type[Plain] = Plain,
) -> Callable[[Operator, dict[str, list[pa.RecordBatch]], Dialect], pa.RecordBatch]:
    def compute(node: Operator, arrived: dict[str, list[pa.RecordBatch]], dialect: Dialect) -> pa.RecordBatch:
        try:
            return batch_of(cls(arrived, dialect).result(node), node)
        except (OverflowError, pa.ArrowInvalid) as error:
            raise Overflow(f"a value does not fit its type: {error}") from None

    return compute


class OverInputs(Translator):
    """Operators over tables input_0, … as DuckDB's SQL."""

    def __init__(self, names: dict[str, str], dialect: Dialect) -> None:
        super().__init__(dialect)
        self._inputs = names

    def _select(self, node: Operator) -> str:
        if not isinstance(node, Receive):
            return super()._select(node)
        columns = (f"CAST(c{i} AS {sql_type(f.type)}) AS c{i}" for i, f in enumerate(node.schema))
        return f"SELECT {', '.join(columns) or '1 AS c0'} FROM {self._inputs[node.edge]}"


def by_duckdb(node: Operator, arrived: dict[str, list[pa.RecordBatch]], dialect: Dialect) -> pa.RecordBatch:
    names = {edge: f"input_{i}" for i, edge in enumerate(arrived)}
    wanted = oracle.arrow_schema(node.schema)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for leaf in {o.edge: o for o in node.walk() if isinstance(o, Receive)}.values():
            schema = oracle.arrow_schema(leaf.schema)
            table = pa.Table.from_batches(arrived[leaf.edge], schema).rename_columns(
                [f"c{i}" for i in range(len(schema))]
            )
            connection.register(f"{names[leaf.edge]}_arrow", table)
            connection.execute(f"CREATE TEMP TABLE {names[leaf.edge]} AS SELECT * FROM {names[leaf.edge]}_arrow")
        try:
            found = connection.sql(OverInputs(names, dialect).statement(node)).to_arrow_table()
        except (duckdb.OutOfRangeException, duckdb.ConversionException) as error:
            raise Overflow(f"a value does not fit its type: {error}") from None
    columns = [found.column(i).cast(f.type) for i, f in enumerate(wanted)]
    return (
        pa.Table.from_arrays(columns, schema=wanted).combine_chunks().to_batches()[0]
        if found.num_rows
        else (batch_of([], node))
    )


def duckdb_refuses(node: Operator, dialect: Dialect) -> str:
    """Return why DuckDB does not compute this as Jumpgate does."""
    called = {e.function for root in node.own_expressions for e in root.walk() if isinstance(e, Call)}
    if called & DIVISIONS and dialect.division_by_zero == "error":
        return "DuckDB divides by zero without an error"
    if dialect.on_overflow != "error":
        return "an overflow is an error in DuckDB"
    return ""


def by_polars(node: Operator, arrived: dict[str, list[pa.RecordBatch]], dialect: Dialect) -> pa.RecordBatch:
    """Groups and sorts of whole columns."""
    (batches,) = arrived.values()
    source = oracle.arrow_schema(node.inputs[0].schema)
    names = [f"c{i}" for i in range(len(source))]
    table: Any = polars.from_arrow(pa.Table.from_batches(batches, source).rename_columns(names))
    if isinstance(node, Sort):
        keys = [f"c{_index(k.expression)}" for k in node.keys]
        descending, last = [k.descending for k in node.keys], [not k.nulls_first for k in node.keys]
        found = table.sort(keys, descending=descending, nulls_last=last, maintain_order=True)
        found = found.slice(node.offset, node.limit)
    else:
        assert isinstance(node, Aggregate)
        measures = [_polars_measure(m.function, m.argument).alias(f"m{i}") for i, m in enumerate(node.measures)]
        keys = [f"c{_index(k)}" for k in node.keys]
        found = table.group_by(keys).agg(measures) if keys else table.select(measures)
    wanted = oracle.arrow_schema(node.schema)
    columns = [column.cast(f.type) for column, f in zip(found.to_arrow().columns, wanted, strict=True)]
    return (
        pa.Table.from_arrays(columns, schema=wanted).combine_chunks().to_batches()[0]
        if len(found)
        else (batch_of([], node))
    )


def _index(expression: Any) -> int:
    assert isinstance(expression, ColumnRef)
    return expression.index


def _polars_measure(function: str, argument: Any) -> Any:
    if argument is None:
        return polars.len()
    column = polars.col(f"c{_index(argument)}")
    return {"min": column.min, "max": column.max, "count": column.count}[function]()


def polars_refuses(node: Operator, dialect: Dialect) -> str:
    """Return why Polars is not asked."""
    if any(not isinstance(e, ColumnRef) for e in node.own_expressions):
        return "it takes columns, not expressions"
    if any(e.type.kind not in ("int8", "int16", "int32", "int64", "string", "date") for e in node.own_expressions):
        return "it takes whole numbers, text and dates"
    if isinstance(node, Aggregate) and any(
        m.function not in ("min", "max", "count", "count_star") for m in node.measures
    ):
        return "it takes min, max and counts"
    return ""


def correct() -> tuple[Engine, ...]:
    """Return the engines without a mistake."""
    return (
        Engine("plain_python", plain()),
        Engine("duckdb", by_duckdb, (*OPERATORS, Window), refuses=duckdb_refuses),
        Engine("polars", by_polars, (Aggregate, Sort), refuses=polars_refuses),
    )
