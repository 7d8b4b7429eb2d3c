"""Rows that a client sends in bulk, into tables of its session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyarrow import flight

from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.sql.tables import COLUMNS_MAX
from jumpgate.errors import InvalidDataflow, NotFound
from jumpgate.flight.database import CATALOG, Cursor
from jumpgate.flight.sessions import Session
from jumpgate.v1.flight_sql_pb2 import CommandStatementIngest as Ingest

_IS_THERE = (
    "SELECT 1 FROM duckdb_tables() "
    "WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(table_name) = lower($3)"
)


def ingest(
    session: Session, command: Ingest, batches: flight.MetadataRecordBatchReader, is_gone: Callable[[], bool]
) -> int:
    """Write the batches into the table; return the number of rows. Raises NotFound and InvalidDataflow."""
    if command.HasField("catalog") and command.catalog not in ("", CATALOG):
        raise NotFound(f"there is no catalog {command.catalog}: a session's is called {CATALOG}")

    if len(batches.schema) > COLUMNS_MAX:
        raise InvalidDataflow(f"the rows have {len(batches.schema)} columns and may have {COLUMNS_MAX}: ingest fewer")
    for field in batches.schema:
        if pa.types.is_decimal(field.type) and field.type.scale < 0:
            raise InvalidDataflow(
                f"column {field.name} is {field.type}; a table's decimals have no negative scale: cast it"
            )

    def run(cursor: Cursor) -> int:
        return cursor.ingest(_text(cursor, command), _exact(batches.to_reader()))

    return session.change(run, command.transaction_id, is_gone)


def _exact(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the batches, whose instants have microseconds, as a table's: DuckDB would cut nanoseconds off."""
    schema = pa.schema([field.with_type(_stored(field.type)) for field in batches.schema])
    return batches if schema == batches.schema else pa.RecordBatchReader.from_batches(schema, _cast(batches, schema))


def _stored(type: pa.DataType) -> pa.DataType:
    """Return the type with microseconds in place of an instant's nanoseconds, also within nested values."""
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz) if type.unit == "ns" and type.tz else type
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_stored(field.type)) for field in type])
    if pa.types.is_map(type):
        key, item = type.key_field, type.item_field
        return pa.map_(key.with_type(_stored(key.type)), item.with_type(_stored(item.type)))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(type.value_field.with_type(_stored(type.value_type)), type.list_size)
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(_stored(type.value_type)))
    if pa.types.is_large_list(type):
        return pa.large_list(type.value_field.with_type(_stored(type.value_type)))
    if pa.types.is_dictionary(type) and _stored(type.value_type) != type.value_type:
        return _stored(type.value_type)
    return type


def _cast(batches: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        try:
            yield batch.cast(schema)
        except pa.ArrowInvalid:
            raise InvalidDataflow(
                "an instant has nanoseconds, and a table's have microseconds: round it, or send it without a time zone"
            ) from None


def _text(cursor: Cursor, command: Ingest) -> str:
    """Return the statement that takes the rows, as the table is there or not."""
    schema, options = command.schema or "main", command.table_definition_options
    name = f"{quoted(schema)}.{quoted(command.table)}"
    if not cursor.rows(_IS_THERE, (CATALOG, schema, command.table)):
        if options.if_not_exist == Ingest.ABSENT_FAIL:
            raise NotFound(f"there is no table {command.table}: ingest with mode create")
        return f"CREATE TABLE {name} AS FROM ingested"
    if options.if_exists == Ingest.THERE_APPEND:
        return f"INSERT INTO {name} BY NAME FROM ingested"
    if options.if_exists == Ingest.THERE_REPLACE:
        return f"CREATE OR REPLACE TABLE {name} AS FROM ingested"
    raise InvalidDataflow(f"there is a table {command.table} already: ingest with mode append or replace")
