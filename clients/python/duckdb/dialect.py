"""DuckDB's meaning where engines differ."""

from __future__ import annotations

from jumpgate.dataflow.dialect import Dialect

DUCKDB = Dialect(division_by_zero="ieee")
