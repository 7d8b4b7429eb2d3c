"""Answers about catalogs, schemas, tables and keys, as Flight SQL has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message

from jumpgate.client.duckdb.sources import quoted
from jumpgate.flight.database import CATALOG, Database
from jumpgate.flight.sql_info import sql_info, type_info
from jumpgate.v1 import flight_sql_pb2 as sql

_TEXT = pa.utf8()


def _fields(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, type, nullable) for name, type, nullable in fields])


_CATALOGS = _fields(("catalog_name", _TEXT, False))
_SCHEMAS = _fields(("catalog_name", _TEXT, True), ("db_schema_name", _TEXT, False))
_TABLES = _fields(
    ("catalog_name", _TEXT, True), ("db_schema_name", _TEXT, True), ("table_name", _TEXT, False),
    ("table_type", _TEXT, False),
)  # fmt: skip
_TABLES_WITH_SCHEMAS = _TABLES.append(pa.field("table_schema", pa.binary(), False))
_TABLE_TYPES = _fields(("table_type", _TEXT, False))
_PRIMARY_KEYS = _fields(
    ("catalog_name", _TEXT, True), ("db_schema_name", _TEXT, True), ("table_name", _TEXT, False),
    ("column_name", _TEXT, False), ("key_sequence", pa.int32(), False), ("key_name", _TEXT, True),
)  # fmt: skip
_FOREIGN_KEYS = _fields(
    ("pk_catalog_name", _TEXT, True), ("pk_db_schema_name", _TEXT, True), ("pk_table_name", _TEXT, False),
    ("pk_column_name", _TEXT, False), ("fk_catalog_name", _TEXT, True), ("fk_db_schema_name", _TEXT, True),
    ("fk_table_name", _TEXT, False), ("fk_column_name", _TEXT, False), ("key_sequence", pa.int32(), False),
    ("fk_key_name", _TEXT, True), ("pk_key_name", _TEXT, True), ("update_rule", pa.uint8(), False),
    ("delete_rule", pa.uint8(), False),
)  # fmt: skip
#: tables of jumpgate.toml are views over files, and are called tables
TABLE, VIEW = "TABLE", "VIEW"

_SCHEMA_ROWS = (
    f"SELECT database_name, schema_name FROM duckdb_schemas() WHERE database_name = '{CATALOG}' "
    "AND schema_name NOT IN ('information_schema', 'pg_catalog') AND schema_name ILIKE $1 ESCAPE '\\' ORDER BY ALL"
)
_TABLE_ROWS = (
    "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables "
    f"WHERE table_catalog = '{CATALOG}' AND table_schema ILIKE $1 ESCAPE '\\' AND table_name ILIKE $2 ESCAPE '\\' "
    "ORDER BY ALL"
)


def schema_of(command: Message) -> pa.Schema:
    """Return the columns of the answer."""
    return _answerer(command)[0](command)


def answer(command: Message, database: Database) -> pa.Table:
    """Return the answer to a command."""
    schema, rows = _answerer(command)
    return _table(schema(command), rows(command, database))


def is_answered(command: Message) -> bool:
    """Return whether the command asks for metadata."""
    return type(command) in _ANSWERS


def _table(schema: pa.Schema, rows: Any) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    return pa.table([pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema)


def _catalogs(command: Any, database: Database) -> list[tuple[Any, ...]]:
    return [(CATALOG,)]


def _schemas(command: Any, database: Database) -> list[tuple[Any, ...]]:
    if not _in_catalog(command):
        return []
    return _rows(database, _SCHEMA_ROWS, _pattern(command, "db_schema_filter_pattern"))


def _tables(command: Any, database: Database) -> list[tuple[Any, ...]]:
    if not _in_catalog(command):
        return []
    patterns = [_pattern(command, f"{name}_filter_pattern") for name in ("db_schema", "table_name")]
    configured = {(table.schema, table.name) for table in database.files}
    found = []
    for catalog, schema, name, type in _rows(database, _TABLE_ROWS, *patterns):
        kind = TABLE if type == "BASE TABLE" or (schema, name) in configured else VIEW
        if not command.table_types or kind in command.table_types:
            found.append((catalog, schema, name, kind))
    return [(*row, _serialized(database, row)) for row in found] if command.include_schema else found


def _serialized(database: Database, row: tuple[str, ...]) -> bytes:
    cursor = database.cursor()
    try:
        schema = cursor.schema_of(".".join(map(quoted, row[:3])))
    finally:
        cursor.close()
    return bytes(schema.serialize().to_pybytes())


def _table_types(command: Any, database: Database) -> list[tuple[Any, ...]]:
    return [(TABLE,), (VIEW,)]


def _no_keys(command: Any, database: Database) -> list[tuple[Any, ...]]:
    return []  # files have none


def _tables_schema(command: Any) -> pa.Schema:
    return _TABLES_WITH_SCHEMAS if command.include_schema else _TABLES


def _in_catalog(command: Any) -> bool:
    return not command.HasField("catalog") or command.catalog in ("", CATALOG)


def _pattern(command: Any, name: str) -> str:
    return str(getattr(command, name)) if command.HasField(name) else "%"


def _rows(database: Database, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    cursor = database.cursor()
    try:
        return cursor.rows(query, parameters)
    finally:
        cursor.close()


_Answerer = tuple[Callable[[Any], pa.Schema], Callable[[Any, Database], Any]]
_ANSWERS: dict[type[Message], _Answerer] = {
    sql.CommandGetCatalogs: (lambda _: _CATALOGS, _catalogs),
    sql.CommandGetDbSchemas: (lambda _: _SCHEMAS, _schemas),
    sql.CommandGetTables: (_tables_schema, _tables),
    sql.CommandGetTableTypes: (lambda _: _TABLE_TYPES, _table_types),
    sql.CommandGetPrimaryKeys: (lambda _: _PRIMARY_KEYS, _no_keys),
    sql.CommandGetExportedKeys: (lambda _: _FOREIGN_KEYS, _no_keys),
    sql.CommandGetImportedKeys: (lambda _: _FOREIGN_KEYS, _no_keys),
    sql.CommandGetCrossReference: (lambda _: _FOREIGN_KEYS, _no_keys),
    sql.CommandGetSqlInfo: (lambda _: sql_info([]).schema, lambda command, _: sql_info(command.info)),
    sql.CommandGetXdbcTypeInfo: (
        lambda _: type_info(None).schema,
        lambda command, _: type_info(command.data_type if command.HasField("data_type") else None),
    ),
}


def _answerer(command: Message) -> _Answerer:
    return _ANSWERS[type(command)]
