"""Stores that fail at random, and objects that are replaced while requests ask about them: the right rows or one typed
error, and nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import Dataflow, col, read
from jumpgate.compiler.mapping import filter_edges
from jumpgate.errors import FileChanged, FileUnreadable
from jumpgate.ncas.s3_select import pushback, source, worker
from jumpgate.testing.leaks import descriptors
from tests.support.select_double import SelectDouble
from tests.support.select_lab import SelectLab, lab

ROWS = pa.table({"k": pa.array(range(3000), pa.int64()), "s": [f"v{i % 50}" for i in range(3000)]})
FEW = pa.table({"d": pa.array([*range(0, 3000, 3), None], pa.int64())})
SEEDS = 200
#: of the requests
ERROR_RATE = 0.4


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with (
        lab(tmp_path_factory.mktemp("store"), lake="hadro", cloud="aws") as found,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(filter_edges, "WORTH", -1e9)
        patch.setattr(filter_edges, "SAVED_MIN", -1e9)
        patch.setattr("jumpgate.stores.web.PAUSE_S", 0.001)
        yield found


@pytest.fixture(scope="module")
def joined(objects: SelectLab) -> dict[str, Dataflow]:
    """Filtered rows beside the keys of a few, by buckets."""
    return {
        bucket: objects.table(bucket, "t", ROWS, files=4)
        .filter(col("k") > 100)
        .join(objects.table(bucket, "few", FEW, files=1), left_on="k", right_on="d")
        for bucket in ("lake", "cloud")
    }


@pytest.mark.nightly(every=20)
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_hadros_faults(objects: SelectLab, joined: dict[str, Dataflow], seed: int) -> None:
    plan = objects.plan(joined["lake"])  # by a store that is well
    threads, opened = threading.active_count(), len(descriptors())
    with objects.store.failing(error_rate=ERROR_RATE, fault_seed=seed):
        try:
            objects.check(joined["lake"], plan)
        except FileUnreadable as error:
            assert "did not answer" in str(error) or "by S3 Select" in str(error)
    assert threading.active_count() <= threads + worker.AT_ONCE
    assert len(descriptors()) <= opened + worker.AT_ONCE


def test_an_object_that_is_replaced_between_requests_about_it(
    objects: SelectLab, joined: dict[str, Dataflow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "EXPRESSION_MAX", 3 << 10)
    objects.store.select, seen = SelectDouble(), [0]
    file = objects.folder / "cloud" / "t" / "2.parquet"
    plan, was = objects.plan(joined["cloud"]), file.read_bytes()

    def before(number: int) -> str:
        method, path, _ = objects.store.requests[-1]
        if method == "POST" and path.endswith("/t/2.parquet"):
            seen[0] += 1
            if seen[0] == 2:
                parquet.write_table(ROWS.slice(0, 10), file)
        return ""

    objects.store.before = before
    try:
        with pytest.raises(FileChanged, match="was replaced while a query read it"):
            objects.run(joined["cloud"], plan)
    finally:
        objects.store.before, objects.store.select = lambda number: "", None
        file.write_bytes(was)
    assert seen[0] >= 2 and source.ATTEMPTS > 1


def test_an_object_that_is_gone(objects: SelectLab, joined: dict[str, Dataflow]) -> None:
    file = objects.folder / "lake" / "t" / "1.parquet"
    plan, was = objects.plan(joined["lake"]), file.read_bytes()
    file.unlink()
    try:
        with pytest.raises(FileUnreadable, match="there is no such object"):
            objects.run(joined["lake"], plan)
    finally:
        file.write_bytes(was)


def test_many_objects_are_read_by_ranges_at_once(objects: SelectLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that refuses to compute: as many objects are read side by side as would be asked about. Reading Parquet
    takes no thread of Arrow's pool beside the scan's: with one thread, buffering ahead (pre_buffer=True) waits for
    ever."""
    rows, parts = 5000, 3 * pushback.AT_ONCE
    folder = objects.folder / "lake/many"
    folder.mkdir()
    for part in range(parts):
        own = {f"v{i}": [n * 2654435761 % 1_000_003 for n in range(i, rows)] + [0] * i for i in range(3)}
        numbers = pa.table({"k": pa.array(range(part * rows, (part + 1) * rows), pa.int64()), **own})
        parquet.write_table(numbers, folder / f"{part}.parquet", row_group_size=rows // 2)
    objects.store.before = lambda number: "refused" if objects.store.requests[-1][0] == "POST" else ""
    threads = pa.io_thread_count()
    set_threads = pa.set_io_thread_count
    set_threads(1)
    monkeypatch.setattr(pa, "set_io_thread_count", lambda count: None)
    try:
        found = objects.check(read("s3://lake/many/*.parquet").filter(col("k") < 900))
    finally:
        set_threads(threads)
        objects.store.before = lambda number: ""
    assert found.num_rows == 900
