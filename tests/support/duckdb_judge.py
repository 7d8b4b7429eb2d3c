"""Plain DuckDB over the tables of a trial, as the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from tests.support.alike import unlike
from tests.support.tables import reversed_rows


@dataclass(frozen=True)
class Answer:
    """A reference answer; ordered: its rows come in this order."""

    text: str
    table: pa.Table
    ordered: bool


class Judge:
    """Answers queries over Arrow tables."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables = dict(tables)

    def answer(self, text: str) -> Answer:
        """Raises DuckDB's errors."""
        ordered = "ORDER BY" in text.rpartition(")")[2].upper()
        with _database(self.tables) as database:
            return Answer(text, database.execute(text).to_arrow_table(), ordered)

    def difference(self, found: pa.Table, answer: Answer) -> str | None:
        """Return the problem of `found`; empty if there is none, None if the query does not determine its answer:
        DuckDB itself gives another one when rows arrive in another order, or to several threads."""
        wrong = unlike(found, answer.table, answer.ordered)
        if not wrong:
            return ""
        turned = {name: reversed_rows(table) for name, table in self.tables.items()}
        for threads in (1, 4):
            with _database(turned, threads) as database:
                again = database.execute(answer.text).to_arrow_table()
            if unlike(again, answer.table, answer.ordered):
                return None if unlike(found, answer.table) else ""
        return wrong


def model(threads: int = 1) -> duckdb.DuckDBPyConnection:
    """An empty DuckDB in UTC; with one thread it gives the same answer to the same rows each time."""
    database = duckdb.connect(config={"threads": threads})
    database.execute("SET TimeZone = 'UTC'")
    return database


def _database(tables: Mapping[str, pa.Table], threads: int = 1) -> duckdb.DuckDBPyConnection:
    database = model(threads)
    for name, table in tables.items():
        database.register("given", table)
        database.execute(f'CREATE TABLE "{name}" AS FROM given')
        database.unregister("given")
    return database
