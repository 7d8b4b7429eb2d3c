"""Text to plan: DataFusion parses and optimises over the tables' schemas alone; the plan leaves as Substrait."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datafusion
import pyarrow as pa
from datafusion.substrait import Producer, Serde
from google.protobuf.message import DecodeError
from substrait.plan_pb2 import Plan

from jumpgate.client.sql import dialect
from jumpgate.client.sql.balance import balance
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.errors import InvalidSql, invalid_sql
from jumpgate.client.sql.local import context, frame_of
from jumpgate.dataflow.substrait import parse_own

TEXT_BYTES_MAX = 4 << 20
#: DataFusion nests a chain of operators one into the other, and its stack ends somewhere above this
OPERATORS_MAX = 1000
_OPERATORS = re.compile(r"\b(?:and|or)\b|[-+*/%<>=]|\|\|", re.IGNORECASE)
TOO_DEEP = "the query nests too deeply; chains of AND, OR or arithmetic can often be an IN list or a join with a table"
READ_ONLY = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


@dataclass(frozen=True)
class Planned:
    """An optimised query: `plan` as Substrait, `schema` of the result as SQL has it (names may repeat), `text` the
    plan as DataFusion prints it."""

    plan: Plan
    schema: pa.Schema
    text: str


class Frontend:
    """Plans queries over tables of which it only knows the schemas. Thread-safe."""

    def __init__(self) -> None:
        self._context = context()
        self._lock = threading.Lock()

    def changed(self, name: str, table: Table | None) -> None:
        """Follows the catalog."""
        if table is None:
            self._context.deregister_table(name)
            return
        empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)
        self._context.register_record_batches(name, [[empty]])

    def plan(self, text: str, parameters: Sequence[Any] | Mapping[str, Any], tables: Sequence[str]) -> Planned:
        """Raises InvalidSql. parameters: for $1, $2 … or, as a mapping, for $name; typed values, never text."""
        if len(text.encode()) > TEXT_BYTES_MAX:
            raise InvalidSql(f"a query has at most {TEXT_BYTES_MAX >> 20} MiB of text")
        if sum(1 for _ in _OPERATORS.finditer(text)) > OPERATORS_MAX:
            raise InvalidSql(f"a query has at most {OPERATORS_MAX} operators; {TOO_DEEP}")
        values = parameter_values(parameters)
        with self._lock:
            try:
                frame = self._context.sql(text, options=READ_ONLY, param_values=values)
                logical = frame.optimized_logical_plan()
                names = frame.schema().names
                plan = self._substrait(logical)
                if dialect.rewrite(plan):
                    logical = frame_of(self._context, plan.SerializeToString()).optimized_logical_plan()
                    plan = self._substrait(logical)
                Serde.deserialize_bytes(plan.SerializeToString())  # DataFusion refuses what is nested too deeply
                # types are only settled in the optimised plan, names are those of the text
                fields = self._context.create_dataframe_from_logical_plan(logical).schema()
                schema = pa.schema([field.with_name(name) for field, name in zip(fields, names, strict=True)])
            except BaseException as error:  # a panic of DataFusion is no Exception
                raise _typed(error, text, tables) from error
        return Planned(plan, schema, logical.display_indent())

    def schema_of(self, plan: Plan) -> pa.Schema | None:
        """The schema that DataFusion gives a plan over the registered tables; None if it takes it for no plan."""
        with self._lock:
            try:
                logical = frame_of(self._context, plan.SerializeToString()).optimized_logical_plan()
                return self._context.create_dataframe_from_logical_plan(logical).schema()
            except Exception:  # of Rust; all that can be known of it is its text
                return None

    def _substrait(self, logical: datafusion.plan.LogicalPlan) -> Plan:
        plan = parse_own(Producer.to_substrait_plan(logical, self._context).encode())
        balance(plan)
        return plan


def parameter_values(parameters: Sequence[Any] | Mapping[str, Any]) -> dict[str, pa.Scalar] | None:
    """Typed literals by name; raises InvalidSql for a value that SQL has no type for."""
    pairs = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters, 1)
    values = {}
    for name, value in pairs:
        try:
            values[str(name)] = value if isinstance(value, pa.Scalar) else pa.scalar(value)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InvalidSql(f"parameter {name}: {type(value).__name__} is no SQL value: {error}") from None
    return values or None


def _typed(error: BaseException, text: str, tables: Sequence[str]) -> BaseException:
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        return error
    if isinstance(error, DecodeError) or any(word in str(error) for word in ("recursion", "Recursion", "decode plan")):
        return InvalidSql(TOO_DEEP)
    return invalid_sql(error, text, tables)
