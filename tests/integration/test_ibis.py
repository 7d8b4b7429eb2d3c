"""Ibis's backend: its expressions have the answers of DuckDB's backend, and jobs run where they can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

from jumpgate.client.duckdb.decide import SMALL
from jumpgate.errors import CannotPlace, ConfigError

ROWS = 1000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ibis") / "t.parquet"
    columns = {"a": range(ROWS), "k": [i % 7 for i in range(ROWS)], "s": [f"é{i % 5}" for i in range(ROWS)]}
    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.fixture(scope="module")
def backend(one_host: str) -> Iterator[Any]:
    connected = ibis.jumpgate.connect(mode="always", address=one_host)
    yield connected
    connected.disconnect()


@pytest.fixture
def here() -> Iterator[Any]:
    connected = ibis.jumpgate.connect(mode="never")
    yield connected
    connected.disconnect()


def test_expressions_run_as_jobs(file: str, backend: Any) -> None:
    def asked(of: Any) -> Any:
        rows = of.read_parquet(file, table_name="t").filter(_.a > 10)
        return rows.group_by("k").agg(n=_.count(), total=_.a.sum(), least=_.s.min()).order_by("k")

    found, expected = asked(backend), asked(ibis.duckdb.connect())
    assert found.schema() == expected.schema()
    for ask in (lambda e: e.to_pyarrow(), lambda e: e.drop("total").to_pyarrow_batches(chunk_size=3).read_all()):
        backend.accelerated.last_reason = "nothing ran"
        assert ask(found).equals(ask(expected))
        assert backend.accelerated.last_reason == ""
    assert found.to_pandas().equals(expected.to_pandas())


def test_what_stays_says_why(file: str, backend: Any) -> None:
    rows = backend.read_parquet(file, table_name="t")
    with pytest.raises(CannotPlace, match="mode = always"):
        rows.mutate(r=ibis.random()).to_pyarrow()
    with pytest.raises(ConfigError, match="mode is 'sometimes'"):
        ibis.jumpgate.connect(mode="sometimes")


def test_a_view_made_anew_is_looked_at_again(file: str, tmp_path: Path) -> None:
    own = ibis.jumpgate.from_connection(duckdb.connect(), mode="auto")
    assert own.read_parquet(file, table_name="t").a.sum().to_pyarrow().as_py() == sum(range(ROWS))
    assert own.accelerated.last_reason == SMALL
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert own.read_csv(tmp_path / "t.csv", table_name="t").a.sum().to_pyarrow().as_py() == 3
    assert own.accelerated.last_reason != SMALL
    own.disconnect()


def test_statements_are_duckdbs(here: Any, tmp_path: Path) -> None:
    made = here.create_table("own", ibis.memtable({"x": [3, 1, None], "y": ["a", "b", "c"]}))
    here.insert("own", [{"x": 9, "y": "d"}])
    assert "own" in here.list_tables()
    assert made.filter(made.x > 0).order_by("x").x.to_pyarrow().to_pylist() == [1, 3, 9]
    assert here.accelerated.last_reason == "mode = never"
    assert here.sql("SELECT y FROM own WHERE x IS NULL").to_pyarrow().to_pylist() == [{"y": "c"}]
    assert here.raw_sql("SELECT count(*) FROM own").fetchall() == [(4,)]
    assert here.raw_sql(here.compiler.to_sqlglot(made.count().as_table())).fetchall() == [(4,)]
    here.to_parquet(made, tmp_path / "own.parquet")
    assert pq.read_table(tmp_path / "own.parquet").num_rows == 4
    with pytest.raises(duckdb.CatalogException, match="nosuch"):
        here.raw_sql("SELECT * FROM nosuch")
    here.drop_table("own")
    assert "own" not in here.list_tables()


def test_urls_and_reconnection(tmp_path: Path) -> None:
    backend = ibis.connect(f"jumpgate://{tmp_path}/d.duckdb?mode=never")
    backend.create_table("own", ibis.memtable({"x": [1]}))
    backend.disconnect()
    backend.reconnect()
    assert backend.list_tables() == ["own"]
    assert backend.accelerated.mode == "never"
    backend.disconnect()
