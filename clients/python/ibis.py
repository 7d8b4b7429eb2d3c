"""A backend of Ibis: DuckDB's, whose expressions accelerators answer where they do that exactly as DuckDB does.

`ibis.jumpgate.connect()`; Ibis finds it by its entry point.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from ibis.backends.duckdb import Backend as DuckDBBackend

from jumpgate.client.duckdb.connection import Connection, accelerate


class Backend(DuckDBBackend):  # type: ignore[misc]
    """`accelerated` answers expressions; its `last_reason` says why DuckDB answered the last one. What else Ibis does
    goes to DuckDB, as it is."""

    name = "jumpgate"
    accelerated: Connection
    _mode: str = "auto"
    _address: str | None = None

    def do_connect(
        self,
        database: str | Path = ":memory:",
        read_only: bool = False,
        extensions: Sequence[str] | None = None,
        *,
        mode: str = "auto",
        address: str | None = None,
        **config: Any,
    ) -> None:
        """Connect to a DuckDB database. mode and address: as of jumpgate.accelerate. The rest: as of ibis.duckdb."""
        self._mode, self._address = mode, address
        super().do_connect(database, read_only, extensions, **config)

    @classmethod
    def from_connection(
        cls,
        con: duckdb.DuckDBPyConnection,
        /,
        *,
        extensions: Sequence[str] | None = None,
        mode: str = "auto",
        address: str | None = None,
    ) -> Backend:
        """Use an open connection to DuckDB. mode and address: as of jumpgate.accelerate."""
        backend: Backend = super().from_connection(con, extensions=extensions)
        backend.accelerated = accelerate(con, mode=mode, address=address)
        return backend

    def _post_connect(self, extensions: Sequence[str] | None = None) -> None:
        self.accelerated = accelerate(self.con, mode=self._mode, address=self._address)
        super()._post_connect(extensions)

    def disconnect(self) -> None:
        """End what runs, and close the database."""
        self.accelerated.close()

    def raw_sql(self, query: Any, **more: Any) -> Any:
        """Run a statement in DuckDB."""
        self.accelerated.forget()
        return super().raw_sql(query if isinstance(query, str) else query.sql(self.dialect), **more)

    def to_pyarrow_batches(
        self, expr: Any, /, *, params: Any = None, limit: Any = None, chunk_size: int = 1_000_000, **_: Any
    ) -> pa.RecordBatchReader:
        """Return the expression's rows, in batches of at most `chunk_size`."""
        rows = self._to_duckdb_relation(expr, params=params, limit=limit).to_arrow_reader(chunk_size)
        return pa.RecordBatchReader.from_batches(expr.as_table().schema().to_pyarrow(), rows)

    def _to_duckdb_relation(self, expr: Any, *, params: Any = None, limit: Any = None, **more: Any) -> Any:
        self._run_pre_execute_hooks(expr)
        table = expr.as_table()
        if table.schema().geospatial:
            self._load_extensions(["spatial"])
        return self.accelerated.sql(self.compile(table, params=params, limit=limit, **more))
