"""What notebooks show, and Arrow's stream interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import narwhals
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import connect as sessions
from jumpgate.client import notebook, read
from jumpgate.client.sql import connect
from jumpgate.client.sql.connection import Connection

TEXT = "SELECT b, sum(a) AS s FROM t GROUP BY b ORDER BY b"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notebook") / "t.parquet"
    pq.write_table(pa.table({"a": range(1000), "b": [f"<b>{n % 20:02}</b>" for n in range(999)] + [None]}), path)
    return path


@pytest.fixture
def connection(file: Path) -> Iterator[Connection]:
    with connect(offload="always") as made:
        made.register("t", str(file))
        yield made


def test_a_query_shows_its_first_rows_and_its_plan(connection: Connection) -> None:
    query = connection.sql(TEXT)
    fresh = query._repr_html_()
    assert "&lt;b&gt;00&lt;/b&gt;" in fresh and "<b>" not in fresh
    assert "&lt;b&gt;09&lt;/b&gt;" in fresh and "&lt;b&gt;10&lt;/b&gt;" not in fresh
    assert "the first 10 rows" in fresh and "Offloaded: " in fresh
    assert len(query.to_arrow()) == 21
    assert "the first 10 rows" in query._repr_html_()
    assert query._repr_html_().partition("<details>")[0] == fresh.partition("<details>")[0]
    assert "│ <b>00</b> │  24500 │" in repr(query) and "21 rows" in repr(query)


def test_narwhals_takes_a_query(connection: Connection) -> None:
    taken = narwhals.from_arrow(connection.sql(TEXT), backend="pyarrow")
    assert taken.shape == (21, 2) and taken["s"].sum() == sum(range(1000))
    connection.register("frame", narwhals.from_native(pa.table({"x": [1, 2]})).lazy().collect().to_arrow())
    assert connection.sql("SELECT sum(x)::INT AS s FROM frame", offload="never").to_pylist() == [{"s": 3}]


def test_a_short_result_says_how_many_rows_it_has(connection: Connection) -> None:
    shown = connection.sql("SELECT b FROM t WHERE a = 999")._repr_html_()
    assert "<i>NULL</i>" in shown and "<p>1 rows</p>" not in shown and "1 row" in shown


def test_wide_tables_and_long_cells_are_cut() -> None:
    table = pa.table({f"c{n}": ["x" * 500] for n in range(notebook.COLUMNS_SHOWN + 3)})
    shown = notebook.rows(table, False)
    assert shown.count("<td>") == notebook.COLUMNS_SHOWN and "3 more columns" in shown
    assert "x" * (notebook.CELL_CHARACTERS + 1) not in shown


def test_a_connection_shows_its_tables(connection: Connection) -> None:
    connection.register("extra", pa.table({"n": [1]}))
    shown = connection._repr_html_()
    assert "<td>parquet</td>" in shown and "<td>Arrow data</td>" in shown and "a int64, b string" in shown


def test_other_libraries_take_a_query_as_a_stream(connection: Connection) -> None:
    query = connection.sql(TEXT)
    wanted = query.to_pylist()
    assert polars.DataFrame(connection.sql(TEXT)).to_dicts() == wanted
    streamed = connection.sql(TEXT)
    for _ in range(2):  # as when a cell runs again
        assert pa.table(streamed).to_pylist() == wanted
    assert query.to_polars().to_dicts() == wanted
    assert duckdb.from_arrow(query).fetchall() == [tuple(row.values()) for row in wanted]


def test_a_dataflow_and_its_result_show_themselves(file: Path) -> None:
    dataflow = read(str(file)).limit(3)
    assert "Dataflow(a: int64?" in dataflow._repr_html_() and "limit" in dataflow._repr_html_()
    with sessions() as session:
        result = session.run(dataflow)
        assert result.job in result._repr_html_() and "<td>int64</td>" in result._repr_html_()
        assert len(result.to_arrow()) == 3
        assert "&lt;b&gt;00&lt;/b&gt;" in result._repr_html_() and f"job {result.job}" in result._repr_html_()
        assert result.to_polars().height == 3
        assert pa.table(result).num_rows == 3
