"""Parameters of statements: their types before they have values, as far as DuckDB tells them, and values as sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from jumpgate.client.duckdb.types import SqlType, read_type
from jumpgate.errors import InvalidDataflow
from jumpgate.flight.database import Cursor
from jumpgate.flight.statements import Statement

#: types of DuckDB that have one in Arrow, beside those that are offloaded
_INSTANTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIME_NS")


def parameters(cursor: Cursor, statement: Statement) -> pa.Schema:
    """Return the parameters in order. The type is null where it depends on the value."""
    if not statement.parameters:
        return pa.schema([])
    ((plan,),) = cursor.rows("SELECT json_serialize_plan($1, optimize := false)", (statement.text,))
    found: dict[str, set[SqlType]] = {}
    for name, type in _typed(json.loads(plan)):
        found.setdefault(name, set()).add(type)
    return pa.schema([(name, _arrow_type(cursor, found.get(name, set()))) for name in statement.parameters])


def bound(sent: pa.Table, expected: pa.Schema) -> list[Sequence[Any] | None]:
    """Return rows of values for a statement with these parameters. Raises InvalidDataflow."""
    if sent.num_columns != len(expected):
        raise InvalidDataflow(f"the statement has {len(expected)} parameters, and {sent.num_columns} were sent")
    if not len(expected):
        return [None]
    return list(zip(*map(_values, sent.columns, expected), strict=True))


def _values(column: pa.ChunkedArray, expected: pa.Field) -> list[Any]:
    """Return a parameter's values as DuckDB takes them: times to the microsecond, or as text with nanoseconds, and
    instants in UTC, where each is a time of Python's."""
    type = column.type
    if pa.types.is_timestamp(type):
        type = pa.timestamp("us" if type.unit == "ns" else type.unit, type.tz and "UTC")
    elif pa.types.is_time64(type):
        type = pa.time64("us")
    try:
        found: list[Any] = (column if type == column.type else column.cast(type)).to_pylist()
    except pa.ArrowInvalid:  # nanoseconds would be lost
        if expected.type != column.type:
            raise InvalidDataflow(
                f"parameter {expected.name} has nanoseconds, where the statement has {expected.type}: round it, or "
                "ingest the rows"
            ) from None
        found = column.cast(pa.string()).to_pylist()
    except (OverflowError, ValueError) as error:
        raise InvalidDataflow(f"parameter {expected.name} has a value that cannot be bound: {error}") from None
    return found


def _typed(node: Any) -> Iterator[tuple[str, SqlType]]:
    """Yield the name and type of each parameter in a plan."""
    if isinstance(node, dict):
        if node.get("type") == "VALUE_PARAMETER":
            yield str(node["identifier"]), read_type(node["return_type"])
            return
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from _typed(child)


def _arrow_type(cursor: Cursor, types: set[SqlType]) -> pa.DataType:
    """Return the type that is the same wherever the parameter stands; null if there is none."""
    only = types.pop() if len(types) == 1 else None
    if only is None or not (only.is_carried or (only.id in _INSTANTS and not only.strange)):
        return pa.null()
    return cursor.duckdb.sql(f"SELECT CAST(NULL AS {only}) AS value").to_arrow_table().schema.field(0).type
