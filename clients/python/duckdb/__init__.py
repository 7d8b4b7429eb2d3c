"""DuckDB as an engine: it parses, binds and optimises, and what is computed exactly as it does goes to accelerators.

`jumpgate.accelerate(duckdb.connect())` gives a connection (connection.Connection) to use in its place.
"""
