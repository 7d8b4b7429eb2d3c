"""Types of a statement's parameters before they have values, as far as DuckDB tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from jumpgate.client.duckdb.types import SqlType, read_type
from jumpgate.flight.database import Cursor
from jumpgate.flight.statements import Statement


def parameters(cursor: Cursor, statement: Statement) -> pa.Schema:
    """Return the parameters in order. The type is null where it depends on the value."""
    if not statement.parameters:
        return pa.schema([])
    ((plan,),) = cursor.rows("SELECT json_serialize_plan($1, optimize := false)", (statement.text,))
    found: dict[str, set[SqlType]] = {}
    for name, type in _typed(json.loads(plan)):
        found.setdefault(name, set()).add(type)
    return pa.schema([(name, _arrow_type(cursor, found.get(name, set()))) for name in statement.parameters])


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
    if only is None or not only.is_carried:
        return pa.null()
    return cursor.duckdb.sql(f"SELECT CAST(NULL AS {only}) AS value").to_arrow_table().schema.field(0).type
