"""Describes a service of Jumpgate to the driver validation suite: DuckDB's names of types and its times."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from adbc_drivers_validation import model

#: the suite's names of types, as DuckDB has them
_TYPES = (
    (r"\b(VAR)?BINARY\(\d+\)", "BLOB"),
    (r"\bTIMESTAMP(\(\d\))? WITH TIME ZONE", "TIMESTAMPTZ"),
    (r"\bTIMESTAMP '([^']*\.\d{7,9})'", r"TIMESTAMP_NS '\1'"),
    (r"\bX'([0-9a-fA-F]*)'", r"from_hex('\1')"),
    (r"\bTIME\(9\)", "TIME_NS"),
    (r"\bTIME\(\d\)", "TIME"),
)
#: the first instant of 64 bits, which DuckDB stores, but cannot read as text
_FIRST = "TIMESTAMP_NS '1677-09-21 00:12:43.145224192'"


class Jumpgate(model.DriverQuirks):  # type: ignore[misc]
    """A service by ADBC's driver for Flight SQL; each connection is a session of its own."""

    name, short_version = "jumpgate", "0"
    driver, driver_name = "adbc_driver_flightsql", "ADBC Flight SQL Driver - Go"
    vendor_name, vendor_version = "Jumpgate", re.compile(".*")
    features = model.DriverFeatures(
        connection_get_table_schema=True,
        connection_transactions=True,
        get_objects=True,
        statement_bind=True,
        statement_bulk_ingest=True,
        statement_bulk_ingest_schema=True,
        statement_execute_schema=True,
        statement_get_parameter_schema=True,
        statement_prepare=True,
        statement_rows_affected=True,
        statement_rows_affected_ddl=True,
        current_catalog="memory",
        current_schema="main",
        secondary_schema="extra",
        quirk_foundry=False,
    )
    setup = model.DriverSetup(
        database={
            "uri": model.FromEnv("SERVICE_URI"),
            "adbc.flight.sql.authorization_header": model.FromEnv("SERVICE_AUTHORIZATION"),
            "adbc.flight.sql.rpc.with_cookie_middleware": "true",
        }
    )

    @property
    def queries_paths(self) -> tuple[Any, ...]:
        """There are no other queries than the suite's own."""
        return ()

    @property
    def query_set(self) -> model.QuerySet:
        """The suite's queries that apply, with the types that DuckDB stores."""
        return model.QuerySet(dict(_applying(model.base_query_set())))

    def is_table_not_found(self, table_name: str | None, error: Exception) -> bool:
        """Return whether the error says that there is no such table."""
        told = str(error)
        return ("does not exist" in told or "there is no table" in told) and (table_name or "") in told

    def split_statement(self, statement: str) -> list[str]:
        """Return the statements of a text, in DuckDB's words."""
        statement = re.sub(r"--.*", "", statement)
        for pattern, name in _TYPES:
            statement = re.sub(pattern, name, statement)
        statement = statement.replace(_FIRST, f"make_timestamp_ns({-(2**63)})")
        return [part for part in re.split(r";\s*(?:\n|$)", statement) if part.strip()]


class _Select(model.SelectQuery):  # type: ignore[misc]
    """A query whose result has DuckDB's types of times."""

    def expected_schema(self) -> pa.Schema:
        return _stored(super().expected_schema())

    def expected_result(self) -> pa.Table:
        return model.SelectQuery(**vars(self)).expected_result().cast(self.expected_schema())


class _Ingest(model.IngestQuery):  # type: ignore[misc]
    """A table that is stored with DuckDB's types of times."""

    def expected_schema(self) -> pa.Schema:
        return _stored(super().expected_schema())

    def expected(self) -> pa.Table:
        return model.IngestQuery(**vars(self)).expected().cast(self.expected_schema())


def _stored(schema: pa.Schema) -> pa.Schema:
    """Return the columns as a table of DuckDB has them: times of day, and instants, in microseconds."""
    for i, field in enumerate(schema):
        if pa.types.is_time32(field.type):
            schema = schema.set(i, field.with_type(pa.time64("us")))
        elif pa.types.is_timestamp(field.type) and field.type.tz:
            schema = schema.set(i, field.with_type(pa.timestamp("us", field.type.tz)))
    return schema


def _applying(queries: model.QuerySet) -> Iterator[tuple[str, model.Query]]:
    """Yield the queries without those over values that a table of DuckDB has no type for: decimals of negative scale,
    and instants with nanoseconds."""
    for name, query in queries.queries.items():
        asked = query.query
        try:
            if isinstance(asked, model.IngestQuery):
                asked = _Ingest(**vars(asked))
                if any(pa.types.is_decimal(type) and type.scale < 0 for type in asked.expected().schema.types):
                    continue
            else:
                asked = _Select(**vars(asked))
                asked.expected_result()
        except pa.ArrowInvalid:  # digits would be lost
            continue
        yield name, dataclasses.replace(query, query=asked)
