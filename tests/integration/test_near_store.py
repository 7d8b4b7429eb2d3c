"""Agents beside a store: what runs there is what the estimate of its slow link says, and answers are DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, col, count, max_, read, sum_
from jumpgate.client.session import Session
from jumpgate.hosts import config
from jumpgate.service import embedded
from jumpgate.stores import settings
from tests.support.object_store import KEY, SECRET, Store, credentials

ROWS = 120_000
#: over 10 Mbit/s; `BESIDE` are near the store
STORE = {"url": "s3://lake", "latency_ms": 20, "bits_per_s": 1e7}
BESIDE = [{"name": "beside1", "near": "s3://lake", "cores": 1}, {"name": "beside2", "near": "s3://lake", "cores": 1}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("near")
    (found / "lake").mkdir()
    numbers = range(ROWS)
    for part in range(2):
        own = numbers[part::2]
        columns = {
            "k": pa.array([n * 2654435761 % 1009 for n in own], pa.int64()),
            "v": pa.array([None if n % 7 == 0 else n * 2654435761 % 1000003 for n in own], pa.int64()),
            "s": pa.array([None if n % 11 == 0 else f"s{n * 40503 % 65537}" for n in own]),
        }
        pq.write_table(pa.table(columns), found / f"lake/sales{part}.parquet", row_group_size=20_000)
    few = pa.table(
        {"id": pa.array(range(0, 1009, 100), pa.int64()), "name": [f"n{n % 3}" for n in range(0, 1009, 100)]}
    )
    pq.write_table(few, found / "items.parquet")
    return found


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Store]:
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    with credentials(found.endpoint):
        yield found
    found.close()
    settings.configure([])


def session_of(hosts: list[dict[str, Any]]) -> Iterator[Session]:
    service = embedded.start(config.parse({"store": [STORE], "host": [{"name": "here"}, *hosts]}))
    try:
        with Session(service.address) as session:
            yield session
    finally:
        service.close()


@pytest.fixture(scope="module")
def near(store: Store) -> Iterator[Session]:
    yield from session_of(BESIDE)


@pytest.fixture(scope="module")
def plain(store: Store) -> Iterator[Session]:
    """The same without hosts beside the store."""
    yield from session_of([])


def flows(folder: Path) -> dict[str, tuple[Dataflow, str]]:
    """Return dataflows, and what they are in DuckDB over `sales` and `items`."""
    sales, items = read("s3://lake/sales*.parquet"), read(str(folder / "items.parquet"))
    return {
        "filter": (
            sales.filter(col("v") < 300).select("k", "v", "s"), "select k, v, s from sales where v < 300"
        ),
        "groups": (
            sales.aggregate(by=["k"], n=count(), t=sum_("v"), m=max_("s")),
            "select k, count(*) n, sum(v)::bigint t, max(s) m from sales group by k",
        ),
        "join": (
            sales.join(items, left_on="k", right_on="id").aggregate(by=["name"], n=count(), t=sum_("v")),
            "select name, count(*) n, sum(v)::bigint t from sales join items on k = id group by name",
        ),
        "first": (
            sales.filter(col("v").is_not_null()).top(7, col("v").desc()).select("v"),
            "select v from sales where v is not null order by v desc limit 7",
        ),
    }  # fmt: skip


def over_link(session: Session, job: str) -> float:
    """Return the bytes that a job moved over the store's link: objects to hosts here, or rows of hosts beside it."""
    record = session.describe(job).record
    assert record is not None
    host_of = {instance["id"]: instance["host"] for instance in record["instances"]}
    beside = {id for id, host in host_of.items() if host.startswith("beside")}
    to = {edge["id"]: {*edge["to"]} for edge in session.explain_job_data(job)["edges"]}
    total = 0.0
    for id, counted in record["counters"].items():
        if id not in beside:
            total += counted.get("asked", {}).get("returned_bytes", 0)
            continue
        total += sum(sink["bytes"] for sink in counted["sinks"] if not to[sink["edge"]] <= beside)
    return total


@pytest.mark.parametrize("name", ["filter", "groups", "join", "first"])
def test_what_few_rows_come_of_runs_beside_the_store(near: Session, plain: Session, folder: Path, name: str) -> None:
    flow, text = flows(folder)[name]
    with duckdb.connect() as reference:
        reference.execute(f"create view sales as from '{folder}/lake/*.parquet'")
        reference.execute(f"create view items as from '{folder}/items.parquet'")
        expected = reference.execute(text).fetchall()
    moved = {}
    for session in (near, plain):
        result = session.run(flow)
        rows = [tuple(row.values()) for row in result.to_pylist()]
        assert sorted(rows, key=repr) == sorted(expected, key=repr)
        assert ("near s3://lake" in session.explain_job(result.job)) == (session is near)
        moved[session] = over_link(session, result.job)
    assert "lost: is estimated at" in near.explain(flow)
    assert 0 < moved[near] < moved[plain] / 3


@pytest.mark.parametrize("name", ["groups", "shuffled join"])
def test_what_two_hosts_beside_a_store_share_they_send_each_other(near: Session, folder: Path, name: str) -> None:
    """Rows are shuffled between them, by groups or keys, and only the result crosses the store's link."""
    sales = read("s3://lake/sales*.parquet")
    few = sales.filter(col("v") < 100_000).aggregate(by=["k"], n=count())
    flow, text = {
        "groups": flows(folder)["groups"],
        "shuffled join": (
            sales.join(few.select("n", j=col("k")), left_on="k", right_on="j").aggregate(n=count(), t=sum_("n")),
            "select count(*), sum(b.n) from sales a join"
            " (select k, count(*) n from sales where v < 100000 group by k) b on a.k = b.k",
        ),
    }[name]  # fmt: skip
    result = near.run(flow)
    with duckdb.connect() as reference:
        reference.execute(f"create view sales as from '{folder}/lake/*.parquet'")
        expected = reference.execute(text).fetchall()
    assert sorted(tuple(row.values()) for row in result.to_pylist()) == sorted(expected)
    record = near.describe(result.job).record
    assert record is not None
    explained = near.explain_job_data(result.job)
    beside = {i["id"] for i in record["instances"] if i["host"].startswith("beside")}
    shuffles = [
        edge
        for edge in explained["edges"]
        if edge["partitioning"].startswith(("hash", "broadcast")) and {*edge["from"], *edge["to"]} <= beside
    ]
    assert shuffles and all(len(edge["to"]) == 2 for edge in shuffles)
    sent = {sink["edge"]: sink for id in beside for sink in record["counters"][id]["sinks"]}
    shuffled = sum(sent[edge["id"]]["bytes"] for edge in shuffles)
    assert shuffled > 0
    objects = sum((folder / f"lake/sales{part}.parquet").stat().st_size for part in range(2))
    assert over_link(near, result.job) < objects / 20
