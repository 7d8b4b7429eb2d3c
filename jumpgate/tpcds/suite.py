"""A benchmark whose data DuckDB generates and whose queries it holds: the differences between TPC-DS and TPC-H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.types import Schema
from jumpgate.tpcds import scales, schemas


@dataclass(frozen=True)
class Suite:
    """A suite. extension: DuckDB's, `duckdb_extension_NAME` on PyPI. generator: the statement with a placeholder for
    the scale. rows: of a table at a scale, None if it does not grow. numbered: the table whose rows the values of a
    column number, or nothing."""

    name: str
    title: str
    extension: str
    generator: str
    tables: tuple[str, ...]
    schema: Callable[[str], Schema]
    rows: Callable[[str, float], float | None]
    numbered: Callable[[str], str]

    def queries(self) -> dict[int, str]:
        """The suite's queries by number, as DuckDB has them. Raises ConfigError: DuckDB is not installed."""
        from jumpgate.tpcds.data import connect

        with connect(suite=self) as connection:
            rows = connection.execute(f"SELECT query_nr, query FROM {self.extension}_queries() ORDER BY 1").fetchall()
        return {number: text.rstrip().rstrip(";") for number, text in rows}


TPCDS = Suite(
    "tpcds", "TPC-DS", "tpcds", "CALL dsdgen(sf = {})", schemas.TABLES, schemas.schema, scales.rows, scales.numbered
)
