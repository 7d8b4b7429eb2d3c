"""SQL over files: DataFusion plans, accelerators do what they can, DataFusion does the rest.

DuckDB answers the texts that DataFusion is known to get wrong.

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
    """A connection for SQL: connection.Connection. Raises Unreachable; NotInstalled if DataFusion is missing."""
    with prober.held():  # it starts while DataFusion is loaded
        with extras.explained():
            from jumpgate.client.sql.connection import Connection
        return Connection(address, offload=offload, **options)
