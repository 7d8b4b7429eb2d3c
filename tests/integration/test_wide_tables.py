"""SQL over tables of thousands of columns is planned over the columns that a text names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.spool import Spool
from jumpgate.client.sql import stand_ins
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.planner import WIDE_COLUMNS
from tests.support.alike import unlike

COLUMNS = WIDE_COLUMNS + 200


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("wide") / "t.json"
    lines = [{f"c{i}": None if (i + n) % 7 == 0 else i * n for i in range(COLUMNS)} for n in range(5)]
    found.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return found


@pytest.fixture
def connection(one_host: str, file: Path) -> Iterator[Connection]:
    with jumpgate.connect(one_host, offload="always") as connection:
        connection.register("t", file)
        yield connection


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of columns that stand-ins get from then on."""
    found: list[int] = []
    fill = Spool.fill_parquet

    def counted(spool: Spool, table: pa.Table) -> None:
        found.append(table.num_columns)
        fill(spool, table)

    monkeypatch.setattr(stand_ins.Spool, "fill_parquet", counted)
    return found


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT c5, c1100 FROM t", 2),
        ("SELECT C7 + 1 AS x FROM t WHERE c9 > 0", 2),
        ("SELECT count(*) AS n FROM t", 1),
        ("SELECT a.c3, b.c4 FROM t a JOIN t b ON a.c2 = b.c2", 3),
        ("SELECT count(c1) AS n FROM t NATURAL JOIN (SELECT c1, c2 FROM t)", COLUMNS),
        ("SELECT * FROM t WHERE c0 = 0", COLUMNS),
        ("SELECT COLUMNS('c11[0-9]+') FROM t", COLUMNS),
    ],
)
def test_a_text_is_planned_over_what_it_names(
    connection: Connection, file: Path, planned: list[int], text: str, columns: int
) -> None:
    found = connection.sql(text).to_arrow()
    assert max(planned) == columns
    with duckdb.connect() as database:
        database.execute(f"CREATE VIEW t AS FROM read_json('{file}', map_inference_threshold := -1)")
        assert not unlike(found, database.sql(text).to_arrow_table())


def test_other_columns_are_planned_anew(connection: Connection, planned: list[int]) -> None:
    for name in ("c5", "c6"):
        query = connection.sql(f"SELECT max({name}) AS m FROM t")
        assert query.to_arrow().to_pylist() == [{"m": 4 * int(name[1:])}]
    assert planned
