"""Random SQL in DuckDB's dialect (support.random_duckdb): what is offloaded means what DuckDB answers.

JUMPGATE_RANDOM_SQL=20000 asks for more texts than the first ones.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest

import jumpgate
from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.answers import relation_over
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.testing import oracle
from tests.support import random_duckdb
from tests.support.alike import unlike

Planner = Callable[[str], Offloaded]

COUNT = int(os.environ.get("JUMPGATE_RANDOM_SQL", "60"))
#: of the texts that DuckDB answers, at least so many are offloaded
OFFLOADED_MIN = 0.7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


@pytest.fixture(scope="module")
def connection(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with random_duckdb.connect(folder) as found:
        yield found


@pytest.fixture(scope="module")
def planners(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[tuple[Planner, Planner]]:
    """Over the files, and over stand-ins for them, as SQL connections have them."""
    with jumpgate.connect() as session:
        tables = [session.register(name, folder / f"{name}.parquet") for name in random_duckdb.TABLES]
        wanted = [(table, table.schema) for table in tables]
        yield partial(planning.offload, connection), lambda text: session._workspace.stand_ins.offload(text, (), wanted)


def verdict(connection: duckdb.DuckDBPyConnection, text: str, plan: Planner) -> str:
    """`same`, `stays`, `error` where DuckDB has no answer, or the difference."""
    try:
        expected = connection.sql(text).to_arrow_table()
    except duckdb.Error:
        return "error"
    try:
        found = plan(text)
    except Stays:
        return "stays"
    try:
        found.files.fill()
        table, names = oracle.run(found.operator, DUCKDB), expected.column_names
        difference = unlike(relation_over(connection, table, names, found.types).to_arrow_table(), expected)
        return f"{text}: {difference}" if difference else "same"
    finally:
        found.files.close()


def test_random_texts_mean_what_duckdb_answers(
    connection: duckdb.DuckDBPyConnection, planners: tuple[Planner, Planner]
) -> None:
    verdicts = Counter(
        verdict(connection, random_duckdb.Texts(seed).query(), planners[seed % 2]) for seed in range(COUNT)
    )
    assert not [found for found in verdicts if found not in ("same", "stays", "error")]
    assert verdicts["same"] >= OFFLOADED_MIN * (COUNT - verdicts["error"])


def test_a_seed_makes_one_text() -> None:
    assert random_duckdb.Texts(7).query() == random_duckdb.Texts(7).query()
    assert len({random_duckdb.Texts(seed).query() for seed in range(40)}) == 40


def test_a_wrong_dataflow_is_found(
    connection: duckdb.DuckDBPyConnection, planners: tuple[Planner, Planner], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = oracle.run
    monkeypatch.setattr(oracle, "run", lambda *arguments: run(*arguments).slice(1))
    assert "rows" in verdict(connection, "SELECT k, count(*) AS n FROM r GROUP BY k", planners[0])
