"""TPC-H in a real Presto server: Presto's own answers and DuckDB's; most of what the planner shows is offloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jumpgate.tpcds.compare import duckdb_over
from jumpgate.tpcds.data import generate
from jumpgate.tpch import TPCH
from tests.support import presto
from tests.support.presto import Query

SCALE = 0.01
QUERIES = tuple(range(1, 23))
OFF = "jumpgate.offload=false"
#: of the operators that the planner shows; what stays is ORDER BY
OFFLOADED_MIN = 0.95


def presto_text(text: str) -> str:
    """The query as Presto reads it, which groups by no column's new name."""
    return re.sub(r"GROUP BY\s+supplier_no", "GROUP BY l_suppkey", text)


def asks_presto(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    generate(folder, SCALE, formats=("parquet",), suite=TPCH)
    texts = [presto_text(text) for text in TPCH.queries().values()]
    queries = [q for text in texts for q in (Query(text), Query(text, OFF), Query(f"EXPLAIN {text}"))]
    return presto.tpch_catalog(folder), queries


@pytest.fixture(scope="module")
def folder(presto_answers: presto.Answers) -> Path:
    return presto_answers.folder


@pytest.fixture(scope="module")
def answers(presto_answers: presto.Answers) -> dict[Query, Any]:
    """Return the answers to the queries of TPC-H."""
    texts = {presto_text(text) for text in TPCH.queries().values()}
    return {q: found for q, found in presto_answers.found.items() if q.text.removeprefix("EXPLAIN ") in texts}


@pytest.mark.parametrize("number", QUERIES)
def test_an_answer_is_prestos_own(number: int, answers: dict[Query, Any]) -> None:
    text = presto_text(TPCH.queries()[number])
    assert isinstance(answers[Query(text)], list), answers[Query(text)]
    assert answers[Query(text)] == answers[Query(text, OFF)]


@pytest.mark.parametrize("number", QUERIES)
def test_an_answer_is_duckdbs(number: int, answers: dict[Query, Any], folder: Path) -> None:
    text = TPCH.queries()[number]
    with duckdb_over(folder, "parquet", suite=TPCH) as connection:
        expected = connection.execute(text).fetchall()
    found = answers[Query(presto_text(text))]
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert all(map(presto.equal, row, other)), (row, other)


def test_most_of_what_the_planner_shows_is_offloaded(answers: dict[Query, Any]) -> None:
    plans = [json.dumps(answer) for query, answer in answers.items() if query.text.startswith("EXPLAIN")]
    counts = [list(map(int, found)) for plan in plans for found in re.findall(r"(\d+) of (\d+) operators", plan)]
    assert len(counts) > len(QUERIES)
    assert sum(offloaded for offloaded, _ in counts) >= OFFLOADED_MIN * sum(of for _, of in counts)
