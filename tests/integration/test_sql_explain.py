"""What ten queries' explain says (tests/golden/sql/), and the decision behind offload = auto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client import read
from jumpgate.client.sql import calibrate, decide
from jumpgate.client.sql.calibrate import Speeds
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.cuts import Candidate
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.measures import count, sum_
from jumpgate.dataflow.named import col

Golden = Callable[[str, str], None]
TWICE = (
    "WITH s AS (SELECT item, sum(number) AS n FROM sale GROUP BY item) "
    "SELECT a.n, b.n AS m FROM s AS a JOIN s AS b ON md5(CAST(a.item AS VARCHAR)) = md5(CAST(b.item + 1 AS VARCHAR))"
)
QUERIES = {
    "filter": "SELECT name, price * 2 AS twice FROM item WHERE price > 1.50 AND name LIKE 'a%'",
    "join": "SELECT name, sum(number) AS n FROM item JOIN sale ON id = item GROUP BY name",
    "left_join": "SELECT id, number FROM item LEFT JOIN sale ON id = item",
    "semi": "SELECT id FROM item WHERE id IN (SELECT item FROM sale WHERE number > 10)",
    "anti": "SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = id)",
    "union": "SELECT id FROM item UNION ALL SELECT item FROM sale",
    "top": "SELECT DISTINCT name FROM item ORDER BY name DESC LIMIT 3",
    "average": "SELECT avg(price) AS a, count(*) / 2 AS half FROM item",
    "rest": "SELECT label, array_agg(number) AS n FROM extra JOIN sale ON extra.id = item GROUP BY label",
    "twice": TWICE,
}


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """Tables of which only the schemas matter: nothing runs."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    with jumpgate.connect(offload="always") as connection:
        schemas = {
            "item": {"id": "int64", "name": "string", "price": "decimal(7, 2)"},
            "sale": {"item": "int64", "number": "int64"},
        }
        for name, schema in schemas.items():
            (tmp_path / f"{name}.json").touch()
            connection.register(name, tmp_path / f"{name}.json", schema=schema)
        connection.register("extra", pa.table({"id": [1], "label": ["one"]}))
        yield connection


@pytest.mark.parametrize("name", QUERIES)
def test_explain(connection: Connection, golden: Golden, name: str) -> None:
    query = connection.sql(QUERIES[name])
    assert query.split.cuts, "offload is always"
    golden(f"sql/{name}.txt", f"{QUERIES[name]}\n\n{query.explain()}")


def test_equal_sub_plans_are_one_job(connection: Connection) -> None:
    split = connection.sql(TWICE).split
    assert [cut.uses for cut in split.cuts] == [2]
    assert split.rest is not None and split.offloaded + len(split.kept) == split.operators


FORMATS = ("json", "csv", "parquet", "orc")
FAST = Speeds(dict.fromkeys(FORMATS, 1e9), dict.fromkeys(FORMATS, 1e8), 0.01)


def candidate(dataflow: Dataflow, uses: int = 1) -> Candidate:
    return Candidate(dataflow.root, 1, uses)


@pytest.fixture
def big(tmp_path: Path) -> Dataflow:
    """3 MB of JSON: 30 ms for the client, 13 ms for accelerators."""
    file = tmp_path / "big.json"
    row = '{"k": 1, "v": 2}\n'
    file.write_text(row * (3_000_000 // len(row)))
    return read(file, schema={"k": "int64", "v": "int64"})


def test_the_inequality(big: Dataflow, tmp_path: Path) -> None:
    auto = decide.decision(FAST)
    assert auto(candidate(big.aggregate(by=["k"], n=count()))) is None
    slow = decide.decision(Speeds(FAST.client, FAST.client, 0.01))
    why = str(slow(candidate(big)))
    assert "accelerators would take 40.0 ms (10.0 ms of it overhead), the client takes 30.0 ms" in why
    assert slow(candidate(big, uses=2)) is None
    small = tmp_path / "small.json"
    small.write_text('{"k": 1, "v": 2}\n')
    reason = auto(candidate(read(small, schema={"k": "int64"})))
    assert reason is not None and "10.0 ms of it overhead" in reason
    assert decide.decision(None)(candidate(read(small, schema={"k": "int64"}))) is None


def test_a_result_that_grows_is_cut_below(big: Dataflow) -> None:
    auto = decide.decision(FAST)
    grown = big.select(**{f"c{i}": col("k") + i for i in range(40)})
    assert "cut below" in str(auto(candidate(grown)))
    assert auto(candidate(grown.aggregate(total=sum_("c1")))) is None


def test_speeds_are_kept_by_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path))
    assert not calibrate.load().measured
    file = calibrate.save(FAST)
    assert calibrate.load() == FAST
    file.write_text("{")
    assert not calibrate.load().measured
