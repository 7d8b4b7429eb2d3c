"""From a text to a dataflow: asks DuckDB for its plan, and leaves its session as it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.plan import read_plan
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.sources import Files
from jumpgate.client.duckdb.translate import translate
from jumpgate.client.duckdb.types import ZONED, SqlType
from jumpgate.client.duckdb.zones import is_utc, require_clockless
from jumpgate.dataflow.operators import Operator

#: versions of DuckDB whose plans are known, as its major and minor numbers
VERSIONS = ((1, 5),)
#: rewrites after which a plan cannot be handed out, or has functions of DuckDB's own
_DISABLED = (
    "column_lifetime", "common_aggregate", "common_subexpressions", "compressed_materialization",
    "late_materialization", "top_n_window_elimination",
)  # fmt: skip
#: all rewrites but that of expressions: constants are folded, operators stay as they are written
WRITTEN = tuple(
    name for (name,) in duckdb.connect().execute("SELECT name FROM duckdb_optimizers()").fetchall()
    if name != "expression_rewriter"
)  # fmt: skip
#: settings under which the plan means what it is taken for
_REQUIRED = {"ieee_floating_point_ops": True, "preserve_insertion_order": True}
#: the optimiser's settings belong to the database, not to a connection
_lock = threading.Lock()


@dataclass(frozen=True)
class Offloaded:
    """A text as a dataflow: `types` are those of its columns in DuckDB, `files` what it reads."""

    operator: Operator
    types: tuple[SqlType, ...]
    files: Files


def supported() -> str:
    """Why this DuckDB's plans are not read; empty if they are."""
    version = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
    if version in VERSIONS:
        return ""
    known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
    return f"DuckDB {duckdb.__version__} is installed, and the plans of {known} are known"


def is_query(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Return whether the text is one SELECT, WITH, VALUES or FROM. DuckDB says what is wrong with other texts."""
    try:
        statements = connection.extract_statements(text)
    except duckdb.Error:
        return False
    return len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT


def offload(
    connection: duckdb.DuckDBPyConnection, text: str, files: Files | None = None, constants: bool = False
) -> Offloaded:
    """The dataflow that a text is, whole; files: how its leaves are read, if not from the connection; constants: it
    need not read any table. Raises Stays."""
    reason = supported()
    if reason:
        raise Stays(reason)
    node = read_plan(bound_plan(connection, text))
    files = files or Files(lambda query: table_of(connection, query))
    try:
        part = translate(node, files)
        types = tuple(type for type in part.types if type is not None)
        if len(types) < len(part.types):
            raise Stays("a result with columns that only DuckDB has is not offloaded")
        if not constants and not files.files and not files.tables:
            raise Stays("it reads no table")
    except BaseException:
        files.close()
        raise
    return Offloaded(part.operator, types, files)


def table_of(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The answer to a query of Jumpgate's own. Raises Stays with DuckDB's error."""
    try:
        return _relation(connection, query).to_arrow_table()
    except duckdb.Error as error:
        raise Stays(f"DuckDB: {error}") from None


def bound_plan(connection: duckdb.DuckDBPyConnection, text: str, disabled: Sequence[str] = _DISABLED) -> Any:
    """Return json_serialize_plan's plan without these rewrites; the optimiser's settings are the user's again
    afterwards."""
    with _lock:
        try:
            names = ("disabled_optimizers", *_REQUIRED)
            (setting,) = _rows(connection, "SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
            before, *values = setting
            for name, wanted in _REQUIRED.items():
                if values.pop(0) is not wanted:
                    raise Stays(f"the setting {name} is not {str(wanted).lower()}")
            own = [name for name in before.split(",") if name]
            _set(connection, (*own, *disabled))
            try:
                # with a parameter DuckDB would load pandas; a constant is folded, while other plans come out
                texts = "(VALUES ('{}')) AS texts(query)".format(text.replace("'", "''"))
                ((plan,),) = _rows(connection, f"SELECT json_serialize_plan(query, optimize := true) FROM {texts}")
            finally:
                _set(connection, own)
            if not plan:  # of constants of types without a text in JSON, such as BIGNUM's
                raise Stays("DuckDB does not hand out its plan")
            found = json.loads(plan)
            if ZONED in plan:
                zone = zone_of(connection)
                if not is_utc(zone):
                    require_clockless(found, zone)
        except duckdb.Error as error:
            raise Stays(f"DuckDB does not hand out its plan: {error}") from None
    return found


def zone_of(connection: duckdb.DuckDBPyConnection) -> str:
    """The session's zone, in which people see moments."""
    ((zone,),) = _rows(connection, "SELECT current_setting('TimeZone')")
    return str(zone)


def _set(connection: duckdb.DuckDBPyConnection, disabled: Sequence[str]) -> None:
    connection.sql(f"SET disabled_optimizers = '{','.join(disabled)}'")


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = _relation(connection, query).fetchall()
    return found


def _relation(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """As a relation, so that a result that is being fetched from the connection stays. It is made where no variable is
    in sight that DuckDB could take for a table."""
    names = {"sql": connection.sql, "query": query}
    return eval("sql(query)", names)  # noqa: S307  a constant
