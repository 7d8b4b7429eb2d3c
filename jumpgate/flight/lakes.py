"""Tables of Delta Lake and Iceberg as SELECTs over their Parquet files, for DuckDB."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate import extras
from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.reading import read_delta, read_iceberg
from jumpgate.converters.probe import infer_schema
from jumpgate.dataflow import deleted
from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression, Literal
from jumpgate.dataflow.formats import DELETED, PARTITIONS
from jumpgate.dataflow.operators import Operator, Project, Read, UnionAll
from jumpgate.dataflow.partitions import from_option, values_of
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import FileUnreadable, InvalidDataflow
from jumpgate.ntf.codec import arrow_type
from jumpgate.stores.names import is_remote

#: snapshots whose SELECTs are kept
SNAPSHOTS_MAX = 256
#: runs of deleted rows in a SELECT
RUNS_MAX = 10_000
#: kinds to which DuckDB casts all values of narrower ones exactly
_WIDENED = ("int8", "int16", "int32", "int64", "float32", "float64", "decimal", "timestamp", "timestamp_ns")

Found = tuple[tuple[str, ...], str]
State = tuple[tuple[str, int, int], ...]


def find(format: str, path: str, catalog: str = "") -> Found:
    """Return the files of a table's newest snapshot, and the SELECT that reads them. `catalog`: by its name in
    pyiceberg's configuration, of which `path` names the table. Raises JumpgateError."""
    if is_remote(path):
        raise _refused(f"{path!r} is in a store")
    if format == "delta":
        folder = os.path.abspath(path)
        return _snapshot(format, folder, _state(os.path.join(folder, "_delta_log")))
    location = _newest(catalog, path) if catalog else path
    if is_remote(location):
        raise _refused(f"{location!r} is in a store")
    location = os.path.abspath(location.removeprefix("file://"))
    return _snapshot(format, location, _state(location))


def _state(path: str) -> State:
    """Return what changes with the log or metadata file at that path; nothing where it cannot be read."""
    try:
        entries: list[Any] = sorted(os.scandir(path), key=lambda e: e.name) if os.path.isdir(path) else [path]
        found = ((getattr(entry, "name", ""), os.stat(entry)) for entry in entries)
        return tuple((name, status.st_mtime_ns, status.st_size) for name, status in found)
    except OSError:
        return ()


def _newest(catalog: str, name: str) -> str:
    """Return the metadata file that the catalog has for the table."""
    with extras.explained():
        from pyiceberg.catalog import load_catalog
    try:
        return str(load_catalog(catalog).load_table(name).metadata_location)
    except Exception as error:  # catalogs have many
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise FileUnreadable(f"cannot read Iceberg table '{name}' of catalog '{catalog}': {reason}") from None


@lru_cache(SNAPSHOTS_MAX)
def _snapshot(format: str, place: str, state: State) -> Found:
    root = (read_delta(place) if format == "delta" else read_iceberg(place)).root
    reads = [node for node in root.walk() if isinstance(node, Read)]
    files = tuple(file for read in reads for file in read.files)
    remote = next(filter(is_remote, files), None)
    if remote:
        raise _refused(f"its file {remote!r} is in a store")
    _check_names(root.schema)
    text = _select(root)
    _check_types(root.schema, text)
    return files, text


def _refused(why: str) -> InvalidDataflow:
    return InvalidDataflow(f"Flight SQL does not serve this table: {why}", operator="read")


def _check_names(schema: Schema) -> None:
    """Raise InvalidDataflow where names differ in case alone, which DuckDB takes for one."""
    names = sorted(schema.names, key=str.lower)
    for one, other in zip(names, names[1:], strict=False):
        if one.lower() == other.lower():
            raise _refused(f"its columns '{one}' and '{other}' are one name to DuckDB")


def _check_types(schema: Schema, text: str) -> None:
    """Raise InvalidDataflow where DuckDB reads a column as another type."""
    try:
        with duckdb.connect() as connection:
            types = list(map(str, connection.sql(text).types))
    except duckdb.Error as error:
        raise FileUnreadable(f"DuckDB cannot read its files: {str(error).splitlines()[0]}") from None
    for field, found in zip(schema, types, strict=True):
        if field.type.kind == "timestamptz_ns":
            raise _refused(f"DuckDB has no type for column '{field.name}', which is {field.type.name}")
        if not field.type.is_opaque and found != _sql_type(field.type.with_nullable(True)):
            raise _refused(f"column '{field.name}' is {field.type.name}, but {found} to DuckDB")


@cache
def _sql_type(type: DataType) -> str:
    with duckdb.connect() as connection:
        return str(connection.from_arrow(pa.table({"c": pa.array([], arrow_type(type))})).types[0])


def _select(node: Operator) -> str:
    match node:
        case UnionAll():
            return " UNION ALL ".join(map(_select, node.inputs))
        case Project():
            columns = (
                f"{_expression(e, node.input.schema)} AS {quoted(name)}"
                for e, name in zip(node.expressions, node.names, strict=True)
            )
            return f"SELECT {', '.join(columns)} FROM ({_select(node.input)})"
        case Read():
            options = ", ".join(f"{name} := {value}" for name, value in _options(node))
            files = ", ".join(map(literal, node.files))
            folders = from_option(dict(node.options))
            columns = (_column(field.name, field.type, field.name in folders) for field in node.schema)
            return f"SELECT {', '.join(columns)} FROM read_parquet([{files}], {options}){_kept(node)}"
    raise _refused(f"it takes a {type(node).__name__}")


def _kept(read: Read) -> str:
    """Return the condition of rows that are not deleted, empty if none is."""
    texts = deleted.of_files(dict(read.options))
    runs = [
        f"({literal(file)}, {run.start}, {run.stop})"
        for file, text in zip(read.files, texts, strict=bool(texts))
        for run in deleted.decode(text)
    ]
    if len(runs) > RUNS_MAX:
        raise _refused(f"its files have lost more than {RUNS_MAX} runs of rows; rewrite them (compact it)")
    if not runs:
        return ""
    lost = f"SELECT file, unnest(range(first, stop)) FROM (VALUES {', '.join(runs)}) AS runs(file, first, stop)"
    return f" WHERE (filename, file_row_number) NOT IN ({lost})"


def _options(read: Read) -> Iterator[tuple[str, str]]:
    """Yield options by which DuckDB reads the same columns."""
    if unknown := dict(read.options).keys() - {PARTITIONS.name, DELETED.name}:
        raise _refused(f"its files are read with {', '.join(sorted(unknown))}")
    schemas = {infer_schema((file,), "parquet", {}) for file in read.files}
    for schema in schemas:
        _check_names(schema)
    if DELETED.name in dict(read.options):
        yield "filename", "true"
        yield "file_row_number", "true"
    yield "can_have_nan", "true"
    yield "union_by_name", str(len(schemas) > 1).lower()
    folders = from_option(dict(read.options))
    yield "hive_partitioning", str(bool(folders)).lower()
    if not folders:
        return
    yield "hive_types_autocast", "false"
    for file in read.files:
        for name, text in values_of(file).items():
            if name in folders and (text or "").lower() == "null":
                raise _refused(f"DuckDB takes {text!r} in the names of folders for NULL ('{file}')")
            if name not in folders and name.lower() in map(str.lower, read.schema.names):
                raise _refused(f"its folder's name has another value of column '{name}' ('{file}')")


def _column(name: str, type: DataType, is_text: bool) -> str:
    """Return a column of files, with the type that all of them have; `is_text`: it is in the names of folders."""
    if type.is_text or not (is_text or type.kind in _WIDENED):
        return quoted(name)
    return f"CAST({quoted(name)} AS {_sql_type(type.with_nullable(True))}) AS {quoted(name)}"


def _expression(expression: Expression, schema: Schema) -> str:
    match expression:
        case ColumnRef():
            return quoted(schema.names[expression.index])
        case Literal():
            return f"CAST({_value(expression)} AS {_sql_type(expression.type.with_nullable(True))})"
        case Cast(input=ColumnRef()) if expression.type.kind in _WIDENED:
            return f"CAST({_expression(expression.input, schema)} AS {_sql_type(expression.type.with_nullable(True))})"
        case Cast(input=ColumnRef()) if expression.type.kind == "timestamptz":
            return f"{_expression(expression.input, schema)} AT TIME ZONE 'UTC'"
    raise _refused(f"it computes {expression}")


def _value(expression: Literal) -> str:
    match expression.value:
        case None:
            return "NULL"
        case str() as text:
            return literal(text)
        case bytes() as content:
            return literal("".join(f"\\x{byte:02X}" for byte in content))
        case Decimal() as number:
            return f"'{number:f}'"
        case datetime.datetime() as moment:
            return f"'{moment.isoformat(' ')}{'+00' if expression.type.is_zoned else ''}'"
        case datetime.date() as day:
            return f"'{day.isoformat()}'"
        case bool() | float() as value:
            return f"'{value!r}'"
        case int() as number if expression.type.is_integer:
            return str(number)
    raise _refused(f"a value of a partition is {expression.type.name}")


def literal(text: str) -> str:
    """Return the text as SQL has it."""
    return "'{}'".format(text.replace("'", "''"))


def error_select(message: str) -> str:
    """Return a SELECT that fails with the message."""
    return f"SELECT error({literal(message)}) AS missing"
