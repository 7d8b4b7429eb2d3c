"""Sqllogictest files give plain DuckDB's answers on every road: the cases of this repository, or a sample of the
suites in the folders that JUMPGATE_SLT names, as PATH does (JUMPGATE_SLT_QUERIES of them, 300 by default)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import sqllogic, sqllogic_run, suites
from tests.support.duckdb_judge import model
from tests.support.sqllogic_run import Outcome, Worker
from tests.support.sqllogic_worker import ROADS

CASES = Path(__file__).parents[1] / "cases" / "sql"
COUNT = int(os.environ.get("JUMPGATE_SLT_QUERIES", "300"))


def told(outcomes: tuple[Outcome, ...]) -> str:
    return "\n".join(f"{o.file}:{o.line}: {o.text}\n  {o.road}: {o.verdict}: {o.detail}" for o in outcomes)


def named() -> list[Path]:
    folders = [Path(folder) for folder in os.environ.get("JUMPGATE_SLT", "").split(os.pathsep) if folder]
    return folders or [CASES]


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("count", [COUNT // 3, COUNT])
def test_every_road_answers_as_duckdb_does(count: int) -> None:
    chosen = sqllogic.sample(suites.files(named()), count)
    found = sqllogic_run.summary(sqllogic_run.run(chosen))
    assert not found.wrong, told(found.wrong)
    assert found.answered >= count // 2
    assert found.share_offloaded >= 0.5


ENDLESS = """
query I
SELECT 1 AS a

query I
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r

statement ok
CREATE TABLE t(a INTEGER)

statement ok
INSERT INTO t VALUES (1), (2)

query I
SELECT a FROM t WHERE a > 1
"""


def test_what_never_ends_or_dies_ends_one_query_only(tmp_path: Path) -> None:
    path = tmp_path / "endless.slt"
    path.write_text(ENDLESS)
    worker = Worker(query_s=10.0)
    try:
        found = list(worker.run(path, {0, 1, 4}))
    finally:
        worker.close()
    assert [(o.line, o.verdict, o.detail) for o in found if o.road == "duckdb"] == [(5, "unanswered", "hang")]
    assert [o.line for o in found if o.verdict == "same"] == [2] * len(ROADS) + [14] * len(ROADS)
    counted = sqllogic_run.summary(found)
    assert (counted.answered, counted.same, counted.over_files, counted.offloaded) == (2, 2, 1, 1)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.slt")), ids=lambda path: path.stem)
def test_the_cases_say_what_duckdb_answers(path: Path) -> None:
    with model() as database:
        for record in sqllogic.parse(path):
            if isinstance(record, sqllogic.Statement):
                database.execute(record.text)
            else:
                answer = sqllogic.render(database.execute(record.text).to_arrow_table(), record.sort)
                assert answer == list(record.rows), record.text
