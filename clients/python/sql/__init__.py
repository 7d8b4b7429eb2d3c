"""SQL over files: DataFusion plans, accelerators do what they can, DataFusion does the rest.

with jumpgate.connect() as connection:
    connection.register("item", "data/item.parquet")
    print(connection.sql("SELECT i_category, count(*) FROM item GROUP BY 1").to_pandas())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumpgate.errors import ConfigError

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

__all__ = ["connect"]


def connect(address: str | None = None, *, offload: str = "auto", **options: Any) -> Connection:
    """A connection for SQL: connection.Connection. Raises Unreachable; ConfigError if DataFusion is not installed."""
    try:
        from jumpgate.client.sql.connection import Connection
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("datafusion", "substrait"):
            raise
        raise ConfigError(f"{error.name} is not installed; run `pip install 'jumpgate[sql]'`") from error
    return Connection(address, offload=offload, **options)
