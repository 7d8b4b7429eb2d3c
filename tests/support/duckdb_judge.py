"""DuckDB over the tables of a reference: judges where plain DataFusion has no answer, or another one than Jumpgate."""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb
import pyarrow as pa

from tests.support.alike import unlike

#: what DataFusion's arrow_cast makes a value → the same in DuckDB
_CASTS = {
    "Timestamp(Nanosecond, None)": "CAST({} AS TIMESTAMP_NS)",
    "Time64(Microsecond)": "CAST({} AS TIME)",
    "Duration(Microsecond)": "to_microseconds({})",
}
_CAST = re.compile(r"arrow_cast\(('[^']*'|-?\d+), '([^']*)'\)")


class Judge:
    """Answers queries over Arrow tables."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        for name, table in tables.items():
            self._connection.register("given", table)
            self._connection.execute(f'CREATE TABLE "{name}" AS FROM given')
            self._connection.unregister("given")

    def difference(self, found: pa.Table, text: str) -> str | None:
        """Return the problem of `found`, ignoring types; empty if there is none, None if DuckDB does not answer."""
        try:
            expected = self._connection.execute(_CAST.sub(_cast_in_duckdb, text)).to_arrow_table()
        except duckdb.Error:
            return None
        if expected.num_columns == found.num_columns:
            columns = [
                column if column.type == type else _cast(column, type)
                for column, type in zip(expected.columns, found.schema.types, strict=True)
            ]
            expected = pa.table(columns, names=found.column_names)
        return unlike(found, expected, types=False)


def _cast_in_duckdb(call: re.Match[str]) -> str:
    return _CASTS[call[2]].format(call[1]) if call[2] in _CASTS else call[0]


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """The column in another type, if all of its values have one there."""
    try:
        return column.cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
