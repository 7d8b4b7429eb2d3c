"""Filters and columns that a store computes by S3 Select are those that a reader of its objects would give."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import Dataflow, col, read
from jumpgate.client.session import Session
from jumpgate.errors import FileChanged
from jumpgate.stores import settings
from tests.support.object_store import KEY, SECRET, Store, credentials

ROWS = pa.table(
    {
        "a": pa.array([None, 0, -5, 2**62, *range(1000)], pa.int64()),
        "s": pa.array(["", None, "é\n\"q' --", "x", *(f"v{i % 7}" for i in range(1000))]),
        "small": pa.array([-128, 127, None, 0, *(i % 100 for i in range(1000))], pa.int8()),
    }
)
#: predicates by what they are about
CONDITIONS = {
    "a comparison": col("a") > 990,
    "the least and the greatest": (col("a") == 2**62) | (col("small") == -128),
    "text": col("s") == "é\n\"q' --",
    "empty text": col("s") == "",
    "what is not": ~(col("s") == "v3") & (col("a") < 20),
    "NULL": col("a").is_null() | col("s").is_null() | col("small").is_null(),
    "no NULL": col("a").is_not_null() & (col("a") <= 3),
    "a list": col("s").isin(["v1", "x", "'"]) & (col("small") != 1),
    "columns": col("a") == col("small"),
    "nothing": col("a") < -10,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("store")
    (folder / "lake" / "t").mkdir(parents=True)
    for part in range(3):
        parquet.write_table(ROWS.slice(part * 400, 400), folder / "lake" / "t" / f"{part}.parquet", row_group_size=100)
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    config = folder / "jumpgate.toml"
    config.write_text('[[store]]\nurl = "s3://lake"\nselect = true\n')
    with credentials(found.endpoint), pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPGATE_CONFIG", str(config))
        yield found
    settings.configure([])
    found.close()


@pytest.fixture(scope="module")
def session(store: Store) -> Iterator[Session]:
    with Session(prefer=("s3_select",), parallelism=1) as found:
        yield found


@pytest.fixture(scope="module")
def reader(store: Store) -> Iterator[Session]:
    """A session whose plans read objects whole."""
    with Session() as found:
        yield found


@pytest.fixture(autouse=True)
def calm(store: Store) -> Iterator[None]:
    yield
    store.before = lambda number: ""
    store.requests.clear()


def table() -> Dataflow:
    return read("s3://lake/t/*.parquet")


def rows(found: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def selects(store: Store) -> int:
    return sum(method == "POST" for method, _, _ in store.requests)


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_answers_are_those_of_a_reader(store: Store, session: Session, reader: Session, condition: object) -> None:
    flow = table().filter(condition).select("s", "a")  # type: ignore[arg-type]
    assert "fragment f0: s3_select" in session.explain(flow)
    found = session.run(flow).to_arrow()
    assert selects(store) == 3
    assert "fragment f0: s3_select" not in reader.explain(flow)
    assert rows(found) == rows(reader.run(flow).to_arrow())
    assert (len(found) > 0) == (condition is not CONDITIONS["nothing"])


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (col("s") < "v3", "may compute 'lt(#1:s"),
        (col("a") + 1 > 3, "in another way"),
    ],
)
def test_what_the_store_may_compute_otherwise_is_not_pushed(session: Session, condition: object, reason: str) -> None:
    said = session.explain(table().filter(condition))  # type: ignore[arg-type]
    assert "fragment f0: cpp" in said and reason in said


def test_stores_are_asked_only_where_they_may(store: Store, session: Session) -> None:
    (store.folder / "pond").mkdir()
    parquet.write_table(ROWS, store.folder / "pond" / "t.parquet")
    assert "only where select = true" in session.explain(read("s3://pond/t.parquet").filter(col("a") > 990))


def test_a_store_that_breaks_off_is_asked_again_and_one_that_is_busy_is_spared(store: Store, session: Session) -> None:
    flow = table().filter(col("a") > 10)
    plan = session.run(flow).to_arrow()
    asked = selects(store)

    kinds = ["busy", "cut", "lost", "cut"]

    def before(number: int) -> str:
        return kinds.pop() if kinds and store.requests[-1][0] == "POST" else ""

    store.before = before
    assert rows(session.run(flow).to_arrow()) == rows(plan)
    assert not kinds and selects(store) >= asked + 4


def test_a_store_that_always_breaks_off_is_read_by_ranges(store: Store, session: Session, reader: Session) -> None:
    flow = table().filter(col("a") > 10).select("s", "a")
    store.before = lambda number: "cut" if store.requests[-1][0] == "POST" else ""
    assert rows(session.run(flow).to_arrow()) == rows(reader.run(flow).to_arrow())
    assert selects(store) == 9


def test_an_object_that_changes_is_an_error(store: Store, session: Session) -> None:
    path, asked = store.folder / "lake" / "changing.parquet", []
    parquet.write_table(ROWS.slice(0, 10), path)

    def before(number: int) -> str:
        if store.requests[-1][0] == "POST" and not asked:
            asked.append(number)
            parquet.write_table(ROWS.slice(5, 100), path)
        return ""

    store.before = before
    with pytest.raises(FileChanged, match="was replaced while a query read it"):
        session.run(read("s3://lake/changing.parquet").filter(col("small") > 0)).to_arrow()
    assert asked
