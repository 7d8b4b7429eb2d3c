"""Aggregates, groups and first rows that a store computes, and a store that is busy: answers are those of a reader.

hadro's S3 Select has no aggregates: SelectDouble answers in its place, which is a double of tests.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import Dataflow, avg, col, count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.compiler.mapping import filter_edges
from jumpgate.stores import settings
from tests.support.object_store import KEY, SECRET, Store, credentials
from tests.support.select_double import SelectDouble

FILES, EACH = 3, 2000
ROWS = FILES * EACH
TABLE = pa.table(
    {
        "g": pa.array([None if i % 97 == 0 else f"o'{i % 3}" if i % 5 else f"rare {i % 400}" for i in range(ROWS)]),
        "k": pa.array([i % 4 for i in range(ROWS)], pa.int32()),
        "v": pa.array([None if i % 11 == 0 else (i * 7919) % 10_007 - 5000 for i in range(ROWS)], pa.int64()),
        "big": pa.array([2**40 + i for i in range(ROWS)], pa.int64()),
    }
)
CONFIG = """
[[store]]
url = "s3://lake"
select = true
select_dialect = "aws"
[[store]]
url = "s3://lake/minio"
select = true
select_dialect = "minio"
[[store]]
url = "s3://lake/plain"
select = true
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("store")
    (folder / "lake" / "t").mkdir(parents=True)
    for part in range(FILES):
        parquet.write_table(TABLE.slice(part * EACH, EACH), folder / "lake" / "t" / f"{part}.parquet")
    (folder / "lake" / "many").mkdir()
    for part in range(24):
        parquet.write_table(TABLE.slice(part * 10, 10), folder / "lake" / "many" / f"{part:02d}.parquet")
    for other in ("minio", "plain"):
        shutil.copytree(folder / "lake" / "t", folder / "lake" / other / "t")
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    (folder / "jumpgate.toml").write_text(CONFIG)
    with credentials(found.endpoint), pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPGATE_CONFIG", str(folder / "jumpgate.toml"))
        yield found
    settings.configure([])
    found.close()


@pytest.fixture(scope="module")
def session(store: Store) -> Iterator[Session]:
    with Session(prefer=("s3_select",), parallelism=1) as found:
        yield found


@pytest.fixture(scope="module")
def reader(store: Store) -> Iterator[Session]:
    """A session whose plans read objects by ranges."""
    with Session() as found:
        yield found


@pytest.fixture(autouse=True)
def double(store: Store) -> Iterator[SelectDouble]:
    """The double in the place of hadro's S3 Select."""
    store.select = found = SelectDouble()
    yield found
    store.select, store.before = None, lambda number: ""
    store.requests.clear()


def rows(found: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def measured(flow: Dataflow, *by: str) -> Dataflow:
    return flow.aggregate(
        by=list(by), n=count(), values=count("v"), texts=count("g"), total=sum_("v"), mean=avg("v"), low=min_("v"),
        high=max_("v"), twice=sum_("k"),
    )  # fmt: skip


def flow(bucket: str) -> Dataflow:
    return read(f"s3://{bucket}/t/*.parquet")


SHAPES = {
    "all rows": lambda t: measured(t),
    "filtered rows": lambda t: measured(t.filter(col("k") >= 2)),
    "no row": lambda t: measured(t.filter(col("k") > 5)),
    "groups of text": lambda t: measured(t.filter(col("v") > -4000), "g"),
    "groups of numbers": lambda t: measured(t, "k"),
    "two keys": lambda t: measured(t, "k", "g"),
    "first rows": lambda t: t.top(5, "v", "g", "big"),
    "last rows": lambda t: t.filter(col("k") != 1).top(7, col("v").desc(), "big", offset=3),
    "NULL first": lambda t: t.top(600, col("v").asc(nulls_first=True), "big"),
}


@pytest.mark.parametrize("shape", [*SHAPES, "groups of text without CASE"])
def test_answers_are_those_of_a_reader(session: Session, reader: Session, double: SelectDouble, shape: str) -> None:
    double.cases = "CASE" not in shape
    wanted = SHAPES[shape.removesuffix(" without CASE")](flow("lake" if double.cases else "lake/minio"))
    plan = session.explain(wanted)
    assert "fragment f1: s3_select" in plan or "fragment f0: s3_select" in plan
    assert rows(session.run(wanted).to_arrow()) == rows(reader.run(wanted).to_arrow())
    assert len(double.statements) >= FILES


def test_large_groups_are_computed_by_the_store(session: Session, double: SelectDouble) -> None:
    session.run(measured(flow("lake"), "g")).to_arrow()
    assert len(double.statements) == 3 * FILES  # a sample, the large groups, the others' rows
    others = next(s for s in double.statements if " OR NOT (" in s)
    assert "(s.\"g\" = 'o''1')" in others and 's."g" IS NULL' in others
    assert sum("SUM(CASE WHEN (s.\"g\" = 'o''1') THEN" in s for s in double.statements) == FILES


def test_a_sample_prunes_first_rows(session: Session, double: SelectDouble) -> None:
    session.run(flow("lake").top(5, "v", "big")).to_arrow()
    assert sum(" LIMIT " in s for s in double.statements) == FILES
    assert sum('(s."v" <= -' in s for s in double.statements) == FILES
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    ((asked, sent),) = [
        (c["asked"], c["sinks"][0]) for c in record["counters"].values() if c.get("asked", {}).get("scanned_bytes")
    ]
    assert sent["rows"] < ROWS / 4
    assert asked["requests"] == 4 * FILES and asked["scanned_bytes"] > 0 and asked["returned_bytes"] > 0
    assert asked["cost"] == pytest.approx(asked["requests"] * 4e-7, rel=0.1) and not asked["ranged_objects"]


def test_keys_of_a_join_prune_its_other_side(
    store: Store, session: Session, reader: Session, double: SelectDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_edges, "SAVED_MIN", -1.0)  # it pays, however little that is
    few = pa.table({"b": pa.array([*range(2**40, 2**40 + ROWS, 20), None], pa.int64())})
    parquet.write_table(few, store.folder / "lake" / "few.parquet")
    wanted = flow("lake").join(read("s3://lake/few.parquet"), left_on="big", right_on="b")
    assert "filter edge k0: " in session.explain(wanted)
    found = session.run(wanted).to_arrow()
    assert rows(found) == rows(reader.run(wanted).to_arrow()) and len(found) == ROWS / 20
    assert sum("SUBSTRING('" in s for s in double.statements) == FILES
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    sent = [c["sinks"][0]["rows"] for c in record["counters"].values() if c.get("asked", {}).get("scanned_bytes")]
    assert [len(found) <= of < 2 * len(found) for of in sent] == [True]
    nobody = wanted.filter(col("b") < 0)
    assert len(session.run(nobody).to_arrow()) == 0


def test_sums_that_doubles_do_not_hold_are_computed_here(
    session: Session, reader: Session, double: SelectDouble
) -> None:
    wanted = flow("lake").aggregate(total=sum_("big"), low=min_("big"))
    assert rows(session.run(wanted).to_arrow()) == rows(reader.run(wanted).to_arrow())
    by = flow("lake").aggregate(by=["k"], total=sum_("big"))
    assert rows(session.run(by).to_arrow()) == rows(reader.run(by).to_arrow())


def test_what_a_dialect_lacks_is_not_pushed(session: Session) -> None:
    said = session.explain(flow("lake/plain").filter(col("k") > 1).aggregate(n=count()))
    assert "this store's S3 Select has no aggregates" in said
    texts = session.explain(flow("lake").aggregate(least=min_("g")))
    assert "may compute least = min(" in texts and "in another way" in texts


@pytest.mark.parametrize("kind", ["busy", "refused"])
def test_a_store_that_does_not_compute_is_read_by_ranges(
    store: Store, session: Session, reader: Session, kind: str
) -> None:
    many = read("s3://lake/many/*.parquet")
    store.before = lambda number: kind if store.requests[-1][0] == "POST" else ""
    for wanted in (many.filter(col("k") == 3), measured(many, "g")):
        store.requests.clear()
        found = rows(session.run(wanted).to_arrow())
        assert 0 < sum(method == "POST" for method, _, _ in store.requests) < 20  # of 24 objects
        assert found == rows(reader.run(wanted).to_arrow())
