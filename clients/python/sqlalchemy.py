"""A dialect of SQLAlchemy, over ADBC's driver for Flight SQL: `create_engine("jumpgate://CLIENT:TOKEN@HOST:PORT")`.

PORT is that of `jumpgate serve --flight PORT`. In the URL's query, `offload` and `timeout_ms` are the session's
options, `token_file` has the token, and `tls` is the folder of this machine's certificate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import exc, types, util
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.url import URL
from sqlalchemy.sql.compiler import IdentifierPreparer

from jumpgate.extras import explained
from jumpgate.ntf.addresses import joined
from jumpgate.trust import tls as tls_files
from jumpgate.trust import tokens

CATALOG = "memory"
PORT = 7412
_OPTION = "adbc.flight.sql.session.option."
_SESSION_OPTIONS = ("offload", "timeout_ms")
_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.Boolean, "TINYINT": types.SmallInteger, "SMALLINT": types.SmallInteger, "INTEGER": types.Integer,
    "BIGINT": types.BigInteger, "UTINYINT": types.SmallInteger, "USMALLINT": types.Integer,
    "UINTEGER": types.BigInteger, "UBIGINT": types.BigInteger, "HUGEINT": types.BigInteger,
    "UHUGEINT": types.BigInteger, "FLOAT": types.REAL, "DOUBLE": types.DOUBLE, "VARCHAR": types.VARCHAR,
    "BLOB": types.BLOB, "DATE": types.DATE, "TIME": types.TIME, "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_S": types.TIMESTAMP, "TIMESTAMP_MS": types.TIMESTAMP, "TIMESTAMP_NS": types.TIMESTAMP,
    "UUID": types.VARCHAR, "ENUM": types.VARCHAR, "INTERVAL": types.Interval,
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_COLUMNS = (
    "SELECT column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns() "
    f"WHERE database_name = '{CATALOG}' AND lower(schema_name) = lower(?) AND lower(table_name) = lower(?) "
    "ORDER BY column_index"
)
_CONSTRAINTS = (
    "SELECT constraint_name, constraint_column_names, referenced_table, referenced_column_names FROM "
    f"duckdb_constraints() WHERE database_name = '{CATALOG}' AND lower(schema_name) = lower(?) "
    "AND lower(table_name) = lower(?) AND constraint_type = ? ORDER BY constraint_index"
)
_SCHEMAS = (
    f"SELECT DISTINCT schema_name FROM duckdb_schemas() WHERE database_name = '{CATALOG}' "
    "AND schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY ALL"
)
_TABLES = f"SELECT table_name FROM duckdb_tables() WHERE database_name = '{CATALOG}' AND lower(schema_name) = lower(?)"
_VIEWS = (
    f"SELECT view_name FROM duckdb_views() WHERE database_name = '{CATALOG}' AND NOT internal "
    "AND lower(schema_name) = lower(?)"
)
_VIEW = (
    f"SELECT sql FROM duckdb_views() WHERE database_name = '{CATALOG}' AND lower(schema_name) = lower(?) "
    "AND lower(view_name) = lower(?)"
)


class Preparer(IdentifierPreparer):
    """Quotes every name: which words are reserved differs from version to version."""

    def _requires_quotes(self, value: str) -> bool:
        return True


class Dialect(default.DefaultDialect):
    """Speaks SQL as DuckDB has it, which Flight SQL serves."""

    name, driver = "jumpgate", "adbc"
    preparer = Preparer
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = supports_native_decimal = True
    supports_default_values = supports_multivalues_insert = supports_comments = True
    supports_alter = False  # constraints are made with their tables
    supports_sane_rowcount = supports_sane_multi_rowcount = False  # the driver tells it after executemany only
    postfetch_lastrowid = False

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return ADBC's driver as a module of PEP 249. Raises NotInstalled."""
        with explained():
            import adbc_driver_flightsql.dbapi

        return adbc_driver_flightsql.dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of the driver's `connect`. Raises ArgumentError and ConfigError."""
        query = {name: str(value) for name, value in url.query.items()}
        options = {name: query.pop(name) for name in _SESSION_OPTIONS if name in query}
        address = joined(url.host or "127.0.0.1", url.port or PORT)
        token_file, tls = query.pop("token_file", None), tls_files.for_client(address, query.pop("tls", None))
        if query:
            raise exc.ArgumentError(
                f"the URL has {', '.join(sorted(query))}; it can have offload, timeout_ms, token_file and tls"
            )
        arguments = {"adbc.flight.sql.rpc.with_cookie_middleware": "true"}
        if url.username:
            arguments |= {"username": url.username, "password": url.password or ""}
        elif token := tokens.for_service(address, token_file):
            arguments["adbc.flight.sql.authorization_header"] = tokens.SCHEME + token
        if tls is not None:
            arguments |= {
                "adbc.flight.sql.client_option.tls_root_certs": tls.ca.decode(),
                "adbc.flight.sql.client_option.mtls_cert_chain": tls.certificate.decode(),
                "adbc.flight.sql.client_option.mtls_private_key": tls.key.decode(),
            }
        scheme = "grpc" if tls is None else "grpc+tls"
        return [f"{scheme}://{tokens.target(address)}"], {"db_kwargs": arguments, "session_options": options}

    def connect(self, *arguments: Any, session_options: dict[str, str], **named: Any) -> Any:
        """Return a connection whose session has the URL's options."""
        connection = super().connect(*arguments, **named)
        try:
            if session_options:
                connection.adbc_connection.set_options(**{_OPTION + k: v for k, v in session_options.items()})
        except BaseException:
            connection.close()
            raise
        return connection

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement; one without parameters is not prepared."""
        cursor.execute(statement, parameters or None)

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = str(connection.exec_driver_sql("SELECT version()").scalar())
        return tuple(map(int, re.findall(r"\d+", version)[:3]))

    def _get_default_schema_name(self, connection: Any) -> str:
        return "main"

    @reflection.cache
    def get_schema_names(self, connection: Any, **_: Any) -> list[str]:
        """Return the schemas of the service's tables and of the session's own."""
        return list(connection.exec_driver_sql(_SCHEMAS).scalars())

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """Return the service's tables and the session's own."""
        own = connection.exec_driver_sql(_TABLES, (schema or "main",)).scalars()
        return sorted({*own, *(self._views(connection, schema) & self._served(connection, schema))})

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """Return the session's views."""
        return sorted(self._views(connection, schema) - self._served(connection, schema))

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **_: Any) -> str:
        """Return the statement that made a view. Raises NoSuchTableError."""
        for (text,) in connection.exec_driver_sql(_VIEW, (schema or "main", view_name)):
            return str(text)
        raise exc.NoSuchTableError(view_name)

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Return whether there is a table or view of that name."""
        return bool(self._columns(connection, table_name, schema))

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        """Return the columns of a table or view. Raises NoSuchTableError."""
        found = self._columns(connection, table_name, schema)
        if not found:
            raise exc.NoSuchTableError(table_name)
        return [
            {
                "name": name, "type": sql_type(type), "nullable": nullable, "default": default, "comment": comment,
                "autoincrement": False,
            }
            for name, type, nullable, default, comment in found
        ]  # fmt: skip

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return the primary key; files have none."""
        for name, columns, *_rest in self._constraints(connection, table_name, schema, "PRIMARY KEY"):
            return {"name": name, "constrained_columns": columns}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return what has to be unique, but for the primary key."""
        found = self._constraints(connection, table_name, schema, "UNIQUE")
        return [{"name": name, "column_names": columns} for name, columns, *_rest in found]

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return references to other tables of the same schema, which are the only ones that DuckDB has."""
        return [
            {
                "name": name, "constrained_columns": columns, "referred_schema": schema, "referred_table": table,
                "referred_columns": referred,
            }
            for name, columns, table, referred in self._constraints(connection, table_name, schema, "FOREIGN KEY")
        ]  # fmt: skip

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return none: a session's indexes are gone with it, and no query has to know them."""
        return []

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return no comment."""
        return {"text": None}

    def _views(self, connection: Any, schema: str | None) -> set[str]:
        """Return the views, of which the service's tables are some, as the transaction sees them."""
        return set(connection.exec_driver_sql(_VIEWS, (schema or "main",)).scalars())

    def _served(self, connection: Any, schema: str | None) -> set[str]:
        """Return what the service calls tables."""
        adbc = connection.connection.dbapi_connection
        found = adbc.adbc_get_objects(depth="tables", catalog_filter=CATALOG, table_types_filter=["TABLE"])
        return {
            table["table_name"]
            for catalog in found.read_all().to_pylist()
            for each in catalog["catalog_db_schemas"]
            for table in each["db_schema_tables"]
            if each["db_schema_name"].lower() == (schema or "main").lower()
        }

    def _columns(self, connection: Any, table: str, schema: str | None) -> Sequence[Any]:
        rows: Sequence[Any] = connection.exec_driver_sql(_COLUMNS, (schema or "main", table)).fetchall()
        return rows

    def _constraints(self, connection: Any, table: str, schema: str | None, kind: str) -> Sequence[Any]:
        rows: Sequence[Any] = connection.exec_driver_sql(_CONSTRAINTS, (schema or "main", table, kind)).fetchall()
        return rows


def sql_type(name: str) -> types.TypeEngine[Any]:
    """Return SQLAlchemy's type for one of DuckDB's.

    >>> sql_type("DECIMAL(9,2)"), sql_type("BIGINT"), sql_type("TIMESTAMP WITH TIME ZONE").timezone
    (Numeric(precision=9, scale=2), BigInteger(), True)
    """
    if found := _DECIMAL.fullmatch(name):
        return types.Numeric(int(found[1]), int(found[2]))
    if name == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    base = name.partition("(")[0]
    if base in _TYPES and not name.endswith("]"):
        return _TYPES[base]()
    util.warn(f"SQLAlchemy has no type for {name}: its values come as Arrow has them")
    return types.NullType()
