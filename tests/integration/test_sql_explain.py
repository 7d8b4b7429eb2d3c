"""What ten queries' explain says (tests/golden/sql/), and the decision behind offload = auto."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client import read
from jumpgate.client.duckdb import decide
from jumpgate.client.sql import calibrate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.client.sql.workspace import Opened
from jumpgate.dataflow.measures import count
from jumpgate.service import calibration

Golden = Callable[[str, str], None]
QUERIES = {
    "filter": "SELECT name, price * 2 AS twice FROM item WHERE price > 1.50 AND name LIKE 'a%'",
    "join": "SELECT name, sum(number) AS n FROM item JOIN sale ON id = item GROUP BY name",
    "left_join": "SELECT id, number FROM item LEFT JOIN sale ON id = item",
    "semi": "SELECT id FROM item WHERE id IN (SELECT item FROM sale WHERE number > 10)",
    "anti": "SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = id)",
    "union": "SELECT id FROM item UNION ALL SELECT item FROM sale",
    "top": "SELECT DISTINCT name FROM item ORDER BY name DESC LIMIT 3",
    "average": "SELECT avg(price) AS a, count(*) / 2 AS half FROM item",
    "data": "SELECT label, max(number) AS n FROM extra JOIN sale ON extra.id = item GROUP BY label",
    "twice": "WITH s AS (SELECT item, sum(number) AS n FROM sale GROUP BY item) "
    "SELECT a.n, b.n AS m FROM s AS a JOIN s AS b ON a.item = b.item + 1",
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
    text = re.sub(r"\d+ threads", "2 threads", query.explain())  # as many as the machine has cores
    golden(f"sql/{name}.txt", f"{QUERIES[name]}\n\n{text}")


def test_what_duckdb_keeps_is_named(connection: Connection) -> None:
    text = "SELECT label, list(number) AS n FROM extra JOIN sale ON extra.id = item GROUP BY label"
    query = connection.sql(text)
    assert "in 1 job\n" in query.explain() and "DuckDB computes the rest\n  " in query.explain()
    assert any("list" in kept.reason for kept in query.split.kept)
    query = connection.sql("SELECT label, list(id) AS n FROM extra GROUP BY label")
    assert not query.split.cuts and query.split.operators == 1
    assert query.explain().startswith("Offloaded: 0 of 1 operator, in 0 jobs\nDuckDB answers here\n  query: ")
    assert "list" in query.split.kept[0].reason


def test_the_service_answers_both_sides(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text('{"k": 1, "v": 2}\n' * 10_000)
    flow = read(file, schema={"k": "int64", "v": "int64"}).aggregate(by=["k"], n=count())
    slow = {"scan json number": 1e-3}
    found = connection.session.estimate(flow, elsewhere=slow, cores=1)
    assert found.seconds is not None and found.seconds < 1
    assert found.elsewhere_s == pytest.approx(10, rel=0.1)  # one column of 10,000 rows
    assert found.gain_s == pytest.approx(10, rel=0.1) and 0 < found.overhead_s < found.seconds
    assert connection.session.estimate(flow, elsewhere={}, cores=1).elsewhere_s == 0


def test_auto_asks_the_service(connection: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"k": 1, "v": 2}\n' * 1000)
    connection.register("t", file, schema={"k": "int64", "v": "int64"})
    text = "SELECT k, sum(v) AS s FROM t GROUP BY k"
    monkeypatch.setattr(decide, "QUICK_S", 0.0)
    monkeypatch.setattr(decide, "STARTING_S", 0.0)
    monkeypatch.setattr(calibrate, "load", lambda: {**calibration.assumed(), "job": 1000.0})
    assert connection.sql(text, offload="auto").split.offloaded
    monkeypatch.setattr(calibrate, "load", lambda: {**calibration.assumed(), "job": 0.0})
    assert not connection.sql(text + " LIMIT 9", offload="auto").split.offloaded


def test_a_text_that_is_planned_is_bound_over_stand_ins(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = connection.sql(QUERIES["filter"])
    monkeypatch.setattr(Opened, "seeing", lambda self: pytest.fail("DuckDB looks at the tables"))
    second = connection.sql(f"{QUERIES['filter']} AND id < 5")
    assert (second.columns, second.types, second.schema) == (first.columns, first.types, first.schema)


def test_a_text_with_a_mistake_has_the_error_of_its_own_tables(connection: Connection) -> None:
    connection.sql(QUERIES["filter"])  # from now on there are stand-ins
    with pytest.raises(InvalidSql, match='"prise" not found'):
        connection.sql("SELECT prise FROM item")
