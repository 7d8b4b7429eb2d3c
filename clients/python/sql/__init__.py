"""SQL over files: DuckDB plans, accelerators do what they can exactly as it does, DuckDB does the rest.

with jumpgate.connect() as connection:
    connection.register("item", "data/item.parquet")
    print(connection.sql("SELECT i_category, count(*) FROM item GROUP BY 1").to_pandas())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumpgate import extras
from jumpgate.converters.prober import prober

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

__all__ = ["connect"]


def connect(address: str | None = None, *, offload: str = "auto", **options: Any) -> Connection:
    """A connection for SQL: connection.Connection. Raises Unreachable; NotInstalled if DuckDB is missing."""
    with prober.held():  # it starts while DuckDB is loaded
        with extras.explained("sql"):
            from jumpgate.client.sql.connection import Connection
        return Connection(address, offload=offload, **options)
