"""All 99 queries of TPC-DS and 22 of TPC-H at scale 0.01, from every format: DuckDB's answers, nearly all offloaded.

JUMPGATE_TPC_DATA names a folder that keeps the generated files between runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.dataflow.formats import formats
from jumpgate.study import coverage, suites
from jumpgate.study.report import Study, data, html
from jumpgate.study.runs import study
from jumpgate.tpcds.data import SCALE_MIN, generate
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH

OFFLOADED_MIN = 0.95
CASES = [(suite, format) for suite in (TPCDS, TPCH) for format in tuple(formats())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("JUMPGATE_TPC_DATA")
    root = Path(kept) if kept else tmp_path_factory.mktemp("tpc")
    for suite in (TPCDS, TPCH):
        generate(root / suite.name, SCALE_MIN, suite=suite)
    return root


@pytest.fixture(scope="module")
def oracles(folder: Path) -> Iterator[dict[str, suites.Oracle]]:
    found = {suite.name: suites.Oracle(suite, folder / suite.name) for suite in (TPCDS, TPCH)}
    yield found
    for oracle in found.values():
        oracle.close()


@pytest.fixture(scope="module")
def connections(one_host: str, folder: Path) -> Iterator[dict[tuple[str, str], Connection]]:
    found = {}
    for suite, format in CASES:
        connection = found[suite.name, format] = jumpgate.connect(one_host, offload="always")
        suites.register(connection, suite, folder / suite.name, format)
    yield found
    for connection in found.values():
        connection.close()


@pytest.mark.nightly(but=("tpcds-parquet", "tpch"))
@pytest.mark.parametrize(("suite", "format"), CASES, ids=lambda v: v if isinstance(v, str) else v.name)
def test_every_answer_is_duckdbs(
    suite: Suite, format: str, connections: dict[tuple[str, str], Connection], oracles: dict[str, suites.Oracle]
) -> None:
    connection = connections[suite.name, format]
    found = list(coverage.outcomes(connection, suite, oracles[suite.name], "always"))
    assert len(found) == (99 if suite is TPCDS else 22)
    wrong = [o for o in found if o.verdict != "right"]
    share = sum(o.offloaded for o in found) / sum(o.operators for o in found)
    assert not wrong, "\n".join(f"query {o.query}: {o.verdict}: {o.detail}" for o in wrong)
    assert share >= OFFLOADED_MIN, coverage.markdown(suite, format, found)


@pytest.mark.nightly(but="tpch")
@pytest.mark.parametrize("suite", [TPCDS, TPCH], ids=lambda suite: suite.name)
def test_datafusion_alone_gives_the_same_answers(
    suite: Suite, connections: dict[tuple[str, str], Connection], oracles: dict[str, suites.Oracle]
) -> None:
    found = list(coverage.outcomes(connections[suite.name, "parquet"], suite, oracles[suite.name], "never"))
    assert not [(o.query, o.detail) for o in found if o.verdict != "right"]
    assert sum(o.offloaded for o in found) == 0


@pytest.mark.parametrize(
    ("suite", "format"),
    [(TPCDS, "json"), *((TPCH, format) for format in tuple(formats()))],
    ids=lambda v: getattr(v, "name", v),
)
def test_duckdb_plans_every_query_as_one_job(folder: Path, suite: Suite, format: str) -> None:
    with jumpgate.connect(offload="always") as connection:
        suites.register(connection, suite, folder / suite.name, format)
        for text in suite.queries().values():
            with connection.sql(text) as query:
                assert query.split.offloaded == query.split.operators > 0


def test_a_study_counts_and_draws(
    connections: dict[tuple[str, str], Connection], oracles: dict[str, suites.Oracle]
) -> None:
    texts = {number: text for number, text in TPCH.queries().items() if number in (1, 3, 6)}
    queries = study(connections["tpch", "parquet"], oracles["tpch"], texts, runs=1)
    found = Study(TPCH.title, SCALE_MIN, "parquet", 1, 2, tuple(queries))
    assert found.right == 3
    assert found.operators_offloaded == found.operators_generated == 1.0
    assert all(q.volumes.disk > 0 and q.volumes.client > 0 and q.setup and q.phases for q in queries)
    assert all(set(q.seconds) == {"always", "auto", "never", "duckdb"} for q in queries)
    page = html(found)
    assert "3 of 3 answers right" in page and "every operator ran on accelerators" in page
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert data(found)["right"] == 3
