"""A suite's data as a connection's tables and as DuckDB's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from jumpgate.client.duckdb.plan import read_plan
from jumpgate.client.duckdb.planning import bound_plan
from jumpgate.client.sql.connection import Connection
from jumpgate.errors import ConfigError
from jumpgate.study.answers import difference, sort_columns, without_limit
from jumpgate.tpcds import compare
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH

SUITES = {suite.name: suite for suite in (TPCDS, TPCH)}


def suite(name: str) -> Suite:
    """Raises ConfigError."""
    if name not in SUITES:
        raise ConfigError(f"there is no suite {name!r}; there are {', '.join(SUITES)}")
    return SUITES[name]


def chosen(suite: Suite, wanted: str | None) -> dict[int, str]:
    """Return the queries with these numbers, with commas between, or all. Raises ConfigError."""
    queries = suite.queries()
    if wanted is None:
        return queries
    try:
        numbers = [int(number) for number in wanted.split(",")]
    except ValueError:
        raise ConfigError(f"--queries {wanted}: write numbers with commas, as in 3,7,19") from None
    unknown = [number for number in numbers if number not in queries]
    if unknown:
        raise ConfigError(f"there is no query {unknown[0]}; there are 1 to {max(queries)}")
    return {number: queries[number] for number in numbers}


def register(connection: Connection, suite: Suite, directory: Path, format: str) -> None:
    """Every table of the suite, from the files of one format below `directory`."""
    for table in suite.tables:
        connection.register(table, path(directory, table, format), format=format, schema=suite.schema(table))


class Oracle:
    """DuckDB over the suite's files; answers are kept, so that four formats and three modes ask once."""

    def __init__(self, suite: Suite, directory: Path, format: str = "parquet", threads: int = 0) -> None:
        self._connection = compare.duckdb_over(directory, format, threads=threads, suite=suite)
        self._answers: dict[str, pa.Table] = {}

    def answer(self, text: str) -> pa.Table:
        if text not in self._answers:
            self._answers[text] = self.run(text)
        return self._answers[text]

    def run(self, text: str) -> pa.Table:
        """DuckDB's answer, computed now."""
        return self._connection.execute(text).to_arrow_table()

    def difference(self, ours: pa.Table, text: str) -> str:
        """Return the problem of `ours` as the answer to `text`."""
        whole = without_limit(text)
        return difference(
            ours,
            self.answer(text),
            sort_columns(read_plan(bound_plan(self._connection, text))),
            lambda: None if whole is None else self.answer(whole),
        )

    def close(self) -> None:
        self._connection.close()
