"""Hybrid reads: objects on the disk are read here, the store computes over the others, and answers are DuckDB's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, avg, col, count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import cache
from jumpgate.hosts import config
from jumpgate.service import embedded
from jumpgate.stores import chunks, settings
from tests.support.object_store import KEY, SECRET, Store, credentials
from tests.support.select_double import SelectDouble

PARTS, ROWS = 4, 3000
NAMES = [f"s3://lake/t/{part}.parquet" for part in range(PARTS)]
COLUMNS = ["k", "v", "s"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("hybrid")
    (folder / "lake/t").mkdir(parents=True)
    for part in range(PARTS):
        numbers = range(part * ROWS, (part + 1) * ROWS) if part else ()  # the first object is empty
        columns = {
            "k": pa.array([None if n % 13 == 0 else n % 5 for n in numbers], pa.int32()),
            "v": pa.array([None if n % 7 == 0 else n * 2654435761 % 1000003 - 500000 for n in numbers], pa.int64()),
            "s": pa.array([None if n % 11 == 0 else f"s{n * 40503 % 97}" for n in numbers], pa.string()),
        }
        pq.write_table(pa.table(columns), folder / f"lake/t/{part}.parquet", row_group_size=1000)
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    found.select = SelectDouble()
    with credentials(found.endpoint):
        yield found
    found.close()
    settings.configure([])


@pytest.fixture(scope="module")
def address(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service whose host keeps chunks, in a cache folder of its own with what is built already."""
    folder = tmp_path_factory.mktemp("cache")
    for part in ("runtime", "build", "artifacts", "templates", "calibration"):
        (folder / part).symlink_to(cache.folder(part))
    told = {"url": "s3://lake", "select": True, "select_dialect": "aws", "scanned_bytes_per_s": 1e4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPGATE_CACHE_DIR", str(folder))
        service = embedded.start(config.parse({"store": [told], "service": {"cache_bytes": 1 << 25}}))
        yield service.address
        service.close()
        chunks.configure(Path(), 0)


@pytest.fixture
def selecting(address: str) -> Iterator[Session]:
    with Session(address, prefer=("s3_select",)) as session:
        yield session


def keep(address: str, names: list[str]) -> None:
    """Keep all columns of these objects, and nothing else."""
    shutil.rmtree(cache.root() / "chunks", ignore_errors=True)
    with Session(address) as session:
        for name in names:
            session.run(read(name).select(*COLUMNS)).to_arrow()


def asked(store: Store) -> dict[str, set[str]]:
    """Return the objects that were asked about since the last time, by what they were asked."""
    found = {
        "select": {path.rpartition("/")[2] for method, path, _ in store.requests if method == "POST"},
        "ranges": {path.rpartition("/")[2] for method, path, of in store.requests if of not in ("", "bytes=0-0")},
    }
    store.requests.clear()
    return found


def flows() -> dict[str, tuple[Dataflow, str]]:
    """Return dataflows, and what they are in DuckDB."""
    t = read("s3://lake/t/*.parquet")
    few = t.filter((col("v") < -100000) | col("s").is_null())
    return {
        "rows": (few, "select * from t where v < -100000 or s is null"),
        "columns": (few.select("s", "k"), "select s, k from t where v < -100000 or s is null"),
        "groups": (
            t.aggregate(by=["k"], n=count(), m=count("v"), t=sum_("v"), a=avg("v")),
            "select k, count(*), count(v), sum(v), avg(v) from t group by k",
        ),
        "totals": (
            few.aggregate(n=count(), low=min_("v"), high=max_("v"), t=sum_("v")),
            "select count(*), min(v), max(v), sum(v) from t where v < -100000 or s is null",
        ),
        "no rows": (t.filter(col("k") > 99).aggregate(n=count(), t=sum_("v")), "select 0, null"),
        "first rows": (
            t.filter(col("v") > 0).top(9, col("v").desc()).select("v", "s"),
            "select v, s from t where v > 0 order by v desc limit 9",
        ),
        "join": (
            few.join(t.filter(col("v") > 499000).select(j=col("k"), w=col("v")), left_on="k", right_on="j"),
            "select a.*, b.k, b.v from t a join t b on a.k = b.k where (a.v < -100000 or a.s is null) and b.v > 499000",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["rows", "columns", "groups", "totals", "no rows", "first rows", "join"])
def test_both_together_are_the_whole(store: Store, address: str, selecting: Session, name: str) -> None:
    keep(address, NAMES[:2])
    flow, text = flows()[name]
    asked(store)
    result = selecting.run(flow)
    rows = [tuple(row.values()) for row in result.to_pylist()]
    with duckdb.connect() as reference:
        reference.execute(f"create view t as from '{store.folder}/lake/t/*.parquet'")
        assert sorted(rows, key=repr) == sorted(reference.execute(text).fetchall(), key=repr)
    if name == "first rows":  # a sample's threshold is one of all objects
        return
    assert asked(store) == {"select": {"2.parquet", "3.parquet"}, "ranges": set()}
    assert " segments on the disk" in (text := selecting.explain_job(result.job)), text


def test_what_is_kept_later_changes_a_plan_that_is_used_again(store: Store, address: str, selecting: Session) -> None:
    keep(address, [])
    flow, _ = flows()["rows"]
    rows = selecting.run(flow).to_arrow().num_rows
    keep(address, NAMES[:2])
    asked(store)
    assert selecting.run(flow).to_arrow().num_rows == rows
    assert asked(store)["select"] == {"2.parquet", "3.parquet"}
    shutil.rmtree(cache.root() / "chunks")
    assert selecting.run(flow).to_arrow().num_rows == rows
    assert asked(store)["select"] == {f"{part}.parquet" for part in range(PARTS)}


def test_chunks_that_go_after_the_plan_are_read_again(store: Store, address: str, selecting: Session) -> None:
    keep(address, NAMES[:2])
    flow, _ = flows()["rows"]
    rows = selecting.run(flow).to_arrow().num_rows
    removed = []

    def remove(number: int) -> str:
        if store.requests[-1][0] == "POST" and not removed:
            removed.append(shutil.rmtree(cache.root() / "chunks"))
        return ""

    store.before = remove
    try:
        assert selecting.run(flow).to_arrow().num_rows == rows and removed
    finally:
        store.before = lambda number: ""
