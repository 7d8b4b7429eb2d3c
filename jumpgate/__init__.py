"""Jumpgate: middleware that lets any analytics engine use any network-connected accelerator.

`jumpgate.connect()` is SQL over files (jumpgate.client.sql), `jumpgate.accelerate()` makes a DuckDB connection use
accelerators (jumpgate.client.duckdb); everything else is in the subpackages.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from jumpgate.client.duckdb.connection import Connection as Accelerated
    from jumpgate.client.sql.connection import Connection

__version__ = "0.2.0"

#: gRPC's handlers would start its threads again in a forked child, which ends some of those that then close their
#: descriptors (subprocess with preexec_fn, as PySpark starts its JVM). Nothing in Jumpgate calls gRPC after a fork.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
#: its errors are ours to tell
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def connect(address: str | None = None, *, offload: str = "auto", **options: Any) -> Connection:
    """SQL over files, as much of it as possible on accelerators: see jumpgate.client.sql.connection.Connection.

    address: of a service (host:port); None starts one inside this process when a query needs it. offload: auto, always
    or never. options: those of jumpgate.client.session.Session. Raises Unreachable, ConfigError.
    """
    from jumpgate.client import sql

    return sql.connect(address, offload=offload, **options)


def accelerate(
    connection: DuckDBPyConnection, *, mode: str = "auto", address: str | None = None, **options: Any
) -> Accelerated:
    """A DuckDB connection that uses accelerators: see jumpgate.client.duckdb.connection.Connection.

    mode: auto, always or never. address: of a service (host:port); None starts one inside this process when a text
    needs it. options: those of jumpgate.client.session.Session. Raises ConfigError; NotInstalled without DuckDB.
    """
    from jumpgate import extras

    with extras.explained():
        from jumpgate.client.duckdb.connection import accelerate

    return accelerate(connection, mode=mode, address=address, **options)
