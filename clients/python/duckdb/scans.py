"""The sources of a plan's leaves: Parquet files and tables of DuckDB's, with the filters that were pushed into them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from jumpgate.client.duckdb.decode import Shape, known, listed, text, whole
from jumpgate.client.duckdb.expressions import (
    Bound,
    Comparison,
    Conjunction,
    Constant,
    Function,
    Operation,
    Ref,
    comparison,
    read_expression,
)
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import BOOLEAN, SqlType, read_literal, read_type
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.types import bool_, string

#: column numbers from here on are no columns of a table; that one counts rows
VIRTUAL = 1 << 63
EMPTY = 2**64 - 2


@dataclass(frozen=True)
class Scan:
    """The whole table, of which a Get takes columns."""

    types: tuple[SqlType, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class ParquetScan(Scan):
    files: tuple[str, ...]


@dataclass(frozen=True)
class TableScan(Scan):
    """A table that DuckDB stores."""

    catalog: str
    schema: str
    table: str


@dataclass(frozen=True)
class ColumnFilter:
    """A condition on one column of the table: an expression in which that column is number 0."""

    column: int
    condition: Bound


def require_source(name: object) -> None:
    """Raises Stays for a table function that is not known."""
    known(_SOURCES, "table function", name)


def read_source(source: str, data: Any, types: tuple[SqlType, ...], names: tuple[str, ...]) -> Scan:
    """Return the source of a table function with columns of these types and names. Raises Stays."""
    found = known(_SOURCES, "table function", source).decode(source, data)
    if not isinstance(found, Scan):
        found = found(types, names)
    assert isinstance(found, Scan)
    if (found.types, found.names) != (types, names):
        raise Stays("a scan that adds columns to those of its files is not offloaded")
    return found


def read_columns(data: Any) -> tuple[int | None, ...]:
    """Numbers of the table's columns that a scan reads. Raises Stays."""
    return tuple(map(_column, listed(lambda item: item)(data)))


def _column(data: Any) -> int | None:
    number = whole(_COLUMN.decode("a scan's column", data))
    if number >= VIRTUAL:
        if number in (EMPTY, 2**64 - 1):
            return None
        raise Stays("a column that only DuckDB has, as file_row_number, is not offloaded")
    return number


def read_column_filters(data: Any, types: tuple[SqlType, ...]) -> tuple[ColumnFilter, ...]:
    """The filters of a scan, without those that are only hints; types: of the table's columns. Raises Stays."""
    if not isinstance(data, dict) or data.keys() != {"filters"}:
        raise Stays("a scan's filters are written in a way that is not known")
    found = []
    for item in data["filters"]:
        if not isinstance(item, dict) or item.keys() != {"key", "value"} or not 0 <= whole(item["key"]) < len(types):
            raise Stays("a scan's filters are written in a way that is not known")
        if not is_hint(item["value"]):
            column = item["key"]
            found.append(ColumnFilter(column, _condition(Ref(types[column], 0), item["value"])))
    return tuple(found)


def is_hint(data: Any) -> bool:
    """Return whether a filter is a hint: rows that it would drop are dropped above the scan, too."""
    return isinstance(data, dict) and data.get("filter_type") in ("OPTIONAL_FILTER", "DYNAMIC_FILTER")


def _condition(value: Bound, data: Any) -> Bound:
    """A filter as an expression of the column's `value`, or of a field of it."""
    kind = data.get("filter_type") if isinstance(data, dict) else None
    if kind == "CONSTANT_COMPARISON" and data.keys() == {"filter_type", "comparison_type", "constant"}:
        constant = Constant(*read_literal(data["constant"]))
        return Comparison(BOOLEAN, comparison(data["comparison_type"]), value, constant)
    if kind in ("IS_NULL", "IS_NOT_NULL") and data.keys() == {"filter_type"}:
        return Operation(BOOLEAN, f"OPERATOR_{kind}", (value,))
    if kind == "IN_FILTER" and data.keys() == {"filter_type", "values"}:
        options = tuple(Constant(*read_literal(option)) for option in data["values"])
        return Operation(BOOLEAN, "COMPARE_IN", (value, *options))
    if kind == "EXPRESSION_FILTER" and data.keys() == {"filter_type", "expr"}:
        return read_expression(data["expr"])
    if kind == "STRUCT_EXTRACT" and data.keys() == {"filter_type", "child_idx", "child_name", "child_filter"}:
        return _condition(_field(value, whole(data["child_idx"]), text(data["child_name"])), data["child_filter"])
    if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR") and data.keys() == {"filter_type", "child_filters"}:
        is_and = kind == "CONJUNCTION_AND"
        children = [child for child in data["child_filters"] if not (is_and and is_hint(child))]
        conditions = tuple(_condition(value, child) for child in children)
        if conditions:
            return Conjunction(BOOLEAN, "and" if is_and else "or", conditions)
        return Constant(BOOLEAN, Literal(bool_.with_nullable(False), True))
    raise Stays(f"a scan's filter of type {kind} is not offloaded")


def _field(value: Bound, number: int, name: str) -> Bound:
    """The field of a struct. Raises Stays where that is not its name."""
    fields = value.type.parts if value.type.id == "STRUCT" else ()
    if not 0 <= number < len(fields) or fields[number][0].lower() != name.lower():
        raise Stays("a scan's filter of a field is written in a way that is not known")
    wanted = Constant(SqlType("VARCHAR"), Literal(string.with_nullable(False), fields[number][0]))
    return Function(fields[number][1], "struct_extract", (value, wanted))


# ---- sources --------------------------------------------------------------------------------------------------------


def _parquet(files: tuple[str, ...], types: tuple[SqlType, ...], names: tuple[str, ...]) -> ParquetScan:
    for file in files:
        if "://" in file:
            raise Stays(f"{file.partition('://')[0]}:// is read by DuckDB")
    return ParquetScan(types, names, tuple(map(os.path.abspath, files)))


def _options(data: Any) -> None:
    _PARQUET_OPTIONS.decode("parquet_scan", data)


def _file_options(data: Any) -> None:
    _FILE_OPTIONS.decode("parquet_scan", data)


def _nothing(**properties: Any) -> None:
    """Properties that were checked."""


#: child_indexes: the fields of a struct that are needed of it, which has all others, too
_COLUMN = Shape(
    lambda index: index,
    {"index": ("index", whole)},
    {"index_type": ("FULL_READ",), "field": ("",), "has_index": (True,),
     "type": ({"id": "INVALID", "type_info": None},)},
    frozenset(("child_indexes",)),
)  # fmt: skip
_FILE_OPTIONS = Shape(
    _nothing, {},
    {"filename": (False,), "hive_partitioning": (False,), "union_by_name": (False,), "hive_types_schema": ([],)},
    frozenset(("auto_detect_hive_partitioning", "hive_types_autocast", "filename_column")),
)  # fmt: skip
_PARQUET_OPTIONS = Shape(
    _nothing, {"file_options": ("options", _file_options)},
    {"binary_as_string": (False,), "file_row_number": (False,), "schema": ([],), "encryption_config": (None,)},
    frozenset(("explicit_cardinality", "can_have_nan")),
)  # fmt: skip
_types, _texts = listed(read_type), listed(text)
_SOURCES = {
    "parquet_scan": Shape(
        lambda files, types, names, options: _parquet(files, types, names),
        {"files": ("files", _texts), "types": ("types", _types), "names": ("names", _texts),
         "parquet_options": ("options", _options)},
    ),
    "seq_scan": Shape(
        lambda catalog, schema, table: lambda types, names: TableScan(types, names, catalog, schema, table),
        {"catalog": ("catalog", text), "schema": ("schema", text), "table": ("table", text)},
        {"is_index_scan": (False,), "is_create_index": (False,), "result_ids": ([],)},
    ),
}  # fmt: skip
_SOURCES["read_parquet"] = _SOURCES["parquet_scan"]
