"""DuckDB in this process: one database of a connection, with a cursor for each query over the tables that it names."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from jumpgate.client.duckdb import installed
from jumpgate.client.sql.tables import Scan
from jumpgate.machine import memory_bytes

#: of this machine's memory the database may hold; what is beyond that is spilled, or fails
MEMORY_SHARE = 0.6


def memory_max() -> int:
    """Bytes that the database may hold."""
    return int(memory_bytes() * MEMORY_SHARE)


def opened(spool_folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory, which installs and loads no extensions by itself and sees no variables of Python. Its
    cursors have the same settings."""
    settings = {
        "memory_limit": f"'{memory_max()}B'",
        "threads": str(len(os.sched_getaffinity(0))),
        "temp_directory": "'{}'".format(str(spool_folder).replace("'", "''")),
        "TimeZone": "'UTC'",
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_file_cache": "false",  # it takes a file that is written twice in a second for the first one
    }
    database = duckdb.connect()
    # of this database's cursors, too
    database.execute("; ".join(f"SET GLOBAL {name} = {value}" for name, value in settings.items()))
    installed.register(database)
    return database


def cursor(database: duckdb.DuckDBPyConnection, scans: list[Scan]) -> duckdb.DuckDBPyConnection:
    """A cursor that sees these tables as temporary views."""
    found = database.cursor()
    for scan in scans:
        scan.add_to(found)
    return found
