"""Runs every query of TPC-DS or TPC-H in every mode beside DuckDB, and reports what it saw."""
