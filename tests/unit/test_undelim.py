"""Correlated subqueries that only ask for a partner are plain joins, without the distinct values that DuckDB reads."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from jumpgate.client.duckdb import planning
from jumpgate.compiler.describe import tree
from tests.support import duckdb_texts


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_texts.connect(tmp_path_factory.mktemp("duckdb")) as connection:
        yield connection


def joins(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """The dataflow's joins, and what becomes of their marks."""
    found = planning.offload(connection, text)
    found.files.close()
    return [line for line in map(str.strip, tree(found.operator)) if "join" in line or "mark =" in line]


#: texts of which DuckDB's plan has a delim join, and the joins that are left
PLAIN = {
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.k > 2)": [
        "join semi on #0:c0 = #0:a",
    ],
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.k > 2)": [
        "join anti on #0:c0 = #0:a",
    ],
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.k > 2 AND v.s < t.s)": [
        "join semi on #0:c0 = #0:a where gt(#1:c1, #3:s)",
    ],
    "SELECT a, EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.k > 2) AS m FROM t": [
        "project c0, mark = coalesce(#1:mark, False)",
        "join mark on #0:c0 = #0:a",
    ],
    "SELECT a FROM t WHERE a IN (SELECT v.a FROM v WHERE v.k = t.k AND v.s = 'ax')": [
        "join semi on #0:c0 = #0:a, #1:c1 = #1:k",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_join(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    assert "DELIM_JOIN" in str(planning.bound_plan(connection, text))
    assert joins(connection, text) == PLAIN[text]


@pytest.mark.parametrize(
    "text",
    [
        # the subquery has one row for each value, with a count of 0 for those without partners
        "SELECT a FROM t WHERE (SELECT count(*) FROM v WHERE v.a = t.a AND v.k > 2) < 1",
        # IN has NULLs, of the rows that correlate alone
        "SELECT a, s IN (SELECT s FROM v WHERE v.k = t.k AND v.a > 2) AS m FROM t",
    ],
)
def test_distinct_values_that_count_stay(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    assert "DELIM_JOIN" in str(planning.bound_plan(connection, text))
    assert any("d0" in line for line in joins(connection, text))
