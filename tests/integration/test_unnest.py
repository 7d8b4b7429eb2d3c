"""Rows of the elements of lists: every type of element, above and below every other operator, beside DuckDB."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate.client as jg
from jumpgate.client import col
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import InvalidDataflow
from tests.support.alike import unlike

ELEMENTS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "b": (pa.bool_(), [True, False]),
    "i": (pa.int32(), [-(2**31), 0, 7, 2**31 - 1]),
    "l": (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    "f": (pa.float64(), [0.5, -1e300, 1e-300]),
    "d": (pa.decimal128(30, 4), [Decimal("12345678901234567890.1234"), Decimal("-0.0001")]),
    "t": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(2024, 2, 29)]),
    "s": (pa.string(), ["", "a", "ß" * 40, "x" * 5000]),
    "n": (pa.list_(pa.int64()), [[], [1], [None, 2, 3]]),
    "r": (pa.struct([("x", pa.int64()), ("y", pa.string())]), [{"x": 1, "y": "one"}, {"x": None, "y": ""}]),
}
ROWS = 3000


def lists(rng: random.Random, values: list[Any]) -> list[list[Any] | None]:
    """Lists of no element, of few, and some of hundreds; NULL among lists and elements."""
    sizes = rng.choices((None, 0, 1, 2, 9, 300), (2, 3, 5, 5, 3, 0.1), k=ROWS)
    return [None if n is None else rng.choices([None, *values], k=n) for n in sizes]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = random.Random(1)
    columns: dict[str, Any] = {"id": range(ROWS), "k": [rng.choice([None, 1, 2, 3]) for _ in range(ROWS)]}
    table = pa.table(columns)
    for name, (type, values) in ELEMENTS.items():
        table = table.append_column(name, pa.array(lists(rng, values), pa.list_(type)))
    path = tmp_path_factory.mktemp("unnest") / "lists.parquet"
    pq.write_table(table, path, row_group_size=700)
    return str(path)


def check(session: Session, flow: Dataflow, path: str, sql: str) -> None:
    """Compare a result with DuckDB's, rows in any order."""
    found = session.run(flow).to_arrow()
    expected = duckdb.sql(sql.format(t=f"'{path}'")).to_arrow_table()
    assert not unlike(found, expected, types=False)


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_every_type(local: Session, path: str, name: str, outer: bool) -> None:
    join = "left join" if outer else "join"
    sql = f"select id, e from {{t}} t {join} lateral (select unnest(t.{name}) as e) u on true"
    check(local, jg.read(path, columns=["id", name]).unnest(name, name="e", outer=outer).select("id", "e"), path, sql)


def test_other_operators_below_and_above(local: Session, path: str) -> None:
    data = jg.read(path, columns=["id", "k", "i", "s"])
    elements = data.unnest("i", name="e")
    small = elements.filter((col("e") < 7) & (col("id") < 2000)).aggregate(n=jg.count(), m=jg.max_("id"), by="e")
    check(
        local,
        small,
        path,
        "select e, count(*), max(id) from (select id, unnest(i) e from {t}) where e < 7 and id < 2000 group by e",
    )
    twice = data.unnest("i", name="e").unnest("s", name="g", outer=True).filter(col("g").is_null() | (col("g") == "a"))
    check(
        local,
        twice.select("id", "e", "g"),
        path,
        "select id, e, g from (select id, e, g from {t} t join lateral (select unnest(t.i) e) on true "
        "left join lateral (select unnest(t.s) g) on true) where g is null or g = 'a'",
    )
    grouped = data.aggregate(n=jg.count(), by="k")
    joined = elements.select("id", "k", "e").join(grouped, on="k", how="left").select("id", "k", "e", "n")
    check(
        local,
        joined,
        path,
        "with t as (select id, k, unnest(i) e from {t}) "
        "select id, t.k, e, n from t left join (select k, count(*) n from {t} group by k) g on t.k = g.k",
    )
    texts = data.unnest("s", name="e").aggregate(n=jg.count(), by="e")
    check(local, texts, path, "select e, count(*) from (select unnest(s) e from {t}) group by e")
    ordered = data.select("id", "i").top(50, "id").unnest("i", name="e").select("id", "e")
    check(local, ordered, path, "select id, unnest(i) from (select id, i from {t} order by id limit 50)")


def test_lists_of_lists_and_members(local: Session, path: str) -> None:
    nested = jg.read(path, columns=["id", "n"]).unnest("n", name="list").unnest("list", name="e").select("id", "e")
    check(local, nested, path, "select id, unnest(l) from (select id, unnest(n) l from {t})")
    fields = jg.read(path, columns=["id", "r"]).unnest("r", name="e").select("id", x=col("e").field("x"))
    check(local, fields, path, "select id, e.x from (select id, unnest(r) e from {t})")


def test_entries_of_maps(local: Session, tmp_path: Path) -> None:
    maps = [[("a", 1), ("b", None)], None, [], [("", -1)]]
    table = pa.table({"id": range(4), "m": pa.array(maps, pa.map_(pa.string(), pa.int64()))})
    path = str(tmp_path / "maps.parquet")
    pq.write_table(table, path)
    for outer, where in (
        (False, ""),
        (True, "union all select id, null, null from {t} where coalesce(cardinality(m), 0) = 0"),
    ):
        entries = jg.read(path).unnest("m", name="e", outer=outer)
        found = entries.select("id", key=col("e").field("key"), value=col("e").field("value"))
        check(
            local, found, path, "select id, e.key, e.value from (select id, unnest(map_entries(m)) e from {t}) " + where
        )


def test_many_hosts(cluster: Session, path: str) -> None:
    flow = jg.read(path, columns=["id", "s"]).unnest("s", name="e", outer=True).aggregate(n=jg.count(), by="e")
    sql = "select e, count(*) from {t} t left join lateral (select unnest(t.s) e) on true group by e"
    check(cluster, flow, path, sql)


def test_no_list_is_refused(path: str) -> None:
    data = jg.read(path, columns=["id", "i"])
    with pytest.raises(InvalidDataflow, match="unnest: id is int64, not a list"):
        data.unnest("id")
    with pytest.raises(InvalidDataflow, match="id"):
        data.unnest("i", name="id")
    assert data.unnest("i").schema.names == ("id", "i", "i_element")
