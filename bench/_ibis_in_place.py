"""A plugin of pytest: Ibis's tests of its backend for DuckDB run on Jumpgate's, which offloads whatever can be."""

from __future__ import annotations

import ibis.backends.duckdb

from jumpgate.client.duckdb.connection import Connection
from jumpgate.client.ibis import Backend


class InPlace(Backend):
    """The backend, by the name that the tests' marks have."""

    name = "duckdb"


ibis.backends.duckdb.Backend = InPlace
Connection._reason = lambda *_: ""  # type: ignore[method-assign]  # auto would leave small tables to DuckDB
