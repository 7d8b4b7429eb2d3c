"""Values of a dataflow as SQL: those of UUID, ENUM and INTERVAL have another form in it."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.duckdb.types import SqlType

#: how values of types that Parquet or a dataflow does not have are written
_WRITTEN = {
    "UTINYINT": "CAST({0} AS SMALLINT)", "USMALLINT": "CAST({0} AS INTEGER)", "UINTEGER": "CAST({0} AS BIGINT)",
    "UBIGINT": "CAST({0} AS DECIMAL(20,0))", "HUGEINT": "CAST({0} AS DECIMAL(38,0))", "UUID": "CAST({0} AS BLOB)",
    "ENUM": "CAST(enum_code({0}) AS INTEGER)",
    "INTERVAL": "CASE WHEN {0} IS NOT NULL THEN {{'months': CAST(datepart('year', {0}) * 12 + datepart('month', {0}) "
                "AS INTEGER), 'days': CAST(datepart('day', {0}) AS INTEGER), 'micros': (datepart('hour', {0}) * 60 + "
                "datepart('minute', {0})) * 60000000 + datepart('microsecond', {0})}} END",
}  # fmt: skip


def to_carrier(column: str, type: SqlType) -> str:
    """A column of that type in the form of its carrier."""
    return _WRITTEN[type.id].format(column) if type.id in _WRITTEN else column


def from_carrier(column: str, type: SqlType | str) -> str:
    """A column in the form of a type's carrier as that type; of a type by its name, the column cast to it."""
    if isinstance(type, SqlType) and type.id == "INTERVAL":
        return f"to_months({column}.months) + to_days({column}.days) + to_microseconds({column}.micros)"
    if isinstance(type, SqlType) and type.values:
        return f"CAST(enum_range(NULL::{type})[{column} + 1] AS {type})"
    return f"CAST({column} AS {type})"


def cut_columns(types: Sequence[SqlType]) -> str:
    """The columns of a cut's result, which are c0, c1 … as Arrow data. Each is an expression: DuckDB would have Arrow
    compare columns with what a filter or the other side of a join needs, for which NaN is no number that is greater."""
    return ", ".join(f"{_computed(f'c{i}', type)} AS c{i}" for i, type in enumerate(types))


def _computed(column: str, type: SqlType) -> str:
    is_one = type.is_passed or type.id in ("LIST", "MAP")
    return from_carrier(column if is_one else f"least({column})", type)
