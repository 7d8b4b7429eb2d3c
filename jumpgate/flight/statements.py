"""Which statements a session takes: one at a time, and none that reaches out of its database."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb
from duckdb import StatementType

from jumpgate.errors import Forbidden, InvalidDataflow

_QUERIES = frozenset((StatementType.SELECT, StatementType.EXPLAIN))
_CHANGES = frozenset((
    StatementType.INSERT, StatementType.UPDATE, StatementType.DELETE, StatementType.MERGE_INTO, StatementType.CREATE,
    StatementType.DROP, StatementType.ALTER,
))  # fmt: skip
_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)
#: ways out
_INSTEAD = {
    StatementType.TRANSACTION: "begin and end transactions by the driver (autocommit off, commit, rollback)",
    StatementType.SET: "session options are set by the driver; offload and timeout_ms are known",
    StatementType.COPY: "take the result with the client, or ingest with the driver",
}


@dataclass(frozen=True)
class Statement:
    """A text that may run. `parameters` are the names of its markers, in order."""

    text: str
    is_query: bool
    parameters: tuple[str, ...] = ()


def checked(connection: duckdb.DuckDBPyConnection, text: str, bytes_max: int) -> Statement:
    """Return the statement in the text. Raises InvalidDataflow and Forbidden, and DuckDB's error for what is no SQL."""
    if (size := len(text.encode())) > bytes_max:
        raise InvalidDataflow(f"the statement has {size} bytes and may have {bytes_max}: ingest large data instead")
    found = connection.extract_statements(text)
    if len(found) != 1:
        raise InvalidDataflow(f"the text has {len(found)} statements: send one at a time")
    kind = found[0].type
    if kind not in _QUERIES | _CHANGES or (kind == StatementType.EXPLAIN and not _explains_query(connection, text)):
        name = "EXPLAIN of this" if kind == StatementType.EXPLAIN else kind.name
        way_out = _INSTEAD.get(kind, "queries, and tables and views of the session's own, are served")
        raise Forbidden(f"{name} is not served: {way_out}")
    names = sorted(
        found[0].named_parameters, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)
    )
    return Statement(text, kind in _QUERIES, tuple(names))


def _explains_query(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Return whether what EXPLAIN stands before is one query, which is not run."""
    begin = _EXPLAIN.match(text)
    if begin is None:
        return False
    try:
        found = connection.extract_statements(text[begin.end() :])
    except duckdb.Error:  # as ANALYZE, or a comment before EXPLAIN
        return False
    return [statement.type for statement in found] == [StatementType.SELECT]
