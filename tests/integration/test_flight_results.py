"""Results of Flight SQL that accelerators compute: read as they arise, and ended with who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from jumpgate.client.duckdb import streams
from jumpgate.client.duckdb.streams import HELD_BYTES, Stream
from jumpgate.client.result import Result
from jumpgate.errors import ComputeError
from jumpgate.flight import parts, sessions
from jumpgate.v1 import flight_sql_pb2 as sql
from tests.support.flight import Shop, ended, eventually, opened


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with opened(tmp_path_factory.mktemp("flight")) as found:
        yield found


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Two hosts, whose instances both send results."""
    with opened(tmp_path_factory.mktemp("chain"), hosts=2) as found:
        yield found


def job_states(shop: Shop) -> list[str]:
    return [record.state for record in shop.service.engine.jobs()]


#: a result of 24 GB, of accelerators
HUGE = "SELECT l.a, r.a AS other, l.b FROM t l JOIN t r ON l.b = r.b"


def test_offloaded_results_wait_for_who_reads_them(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Stream] = []
    begin = Stream.__init__

    def begun(self: Stream, *arguments: Any) -> None:
        seen.append(self)
        begin(self, *arguments)

    monkeypatch.setattr(Stream, "__init__", begun)
    raw, sent = shop.raw("guest"), 0
    raw.option("offload", "always")
    reader = raw.get(raw.info(HUGE))
    while sent < 2 * HELD_BYTES:
        sent += reader.read_chunk().data.nbytes
        assert seen[0].result.received_bytes - sent < 64 << 20  # what waits in buffers, of 24 GB
    reader.cancel()
    eventually(lambda: ended(shop))
    eventually(lambda: job_states(shop)[0] == "cancelled")


def test_a_result_that_nobody_fetches_ends_its_job(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "UNREAD_S_MAX", 0.0)
    raw = shop.raw("guest")
    raw.option("offload", "always")
    info = raw.info(HUGE)
    eventually(lambda: job_states(shop)[0] == "cancelled")
    reader = raw.get(info)  # runs it again
    assert reader.read_chunk().data.num_rows
    request = sql.CancelFlightInfoRequest(info=info.serialize())
    raw.action("CancelFlightInfo", request, wrapped=False)
    eventually(lambda: ended(shop))
    eventually(lambda: job_states(shop)[0] == "cancelled")


@pytest.mark.parametrize("columns", ["a", "b"])  # as they are, and converted
def test_a_job_that_fails_amid_its_result(shop: Shop, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    whole = Result.batches

    def failing(self: Result, *, watched: bool = False) -> Iterator[pa.RecordBatch]:
        yield next(whole(self, watched=watched))
        raise ComputeError("a value is too large")

    raw = shop.raw()
    raw.option("offload", "always")
    monkeypatch.setattr(Result, "batches", failing)
    raw.get(raw.info("CREATE OR REPLACE TABLE small AS SELECT i AS a, CAST(i AS UTINYINT) AS b FROM range(200) r(i)"))
    text = f"SELECT {columns} FROM small"
    assert raw.get(raw.info(text)).read_all().num_rows == 200  # by DuckDB, as no row was sent before
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    told = 'failed amid its result.* a value is too large. Run the query again with offload = "never"'
    with pytest.raises(pa.ArrowInvalid, match=told):
        raw.get(raw.info(text)).read_all()


#: 2 million rows of two instances
LARGE = "SELECT l.a, r.a AS other FROM t l JOIN t r ON l.b = r.b WHERE r.a < 200"


def rows_of(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables).sort_by([("other", "ascending"), ("a", "ascending")])


@pytest.fixture(scope="module")
def expected(chain: Shop) -> pa.Table:
    raw = chain.raw()
    raw.option("offload", "never")
    info = raw.info(LARGE)
    assert len(info.endpoints) == 1
    return rows_of(raw.get(info).read_all())


def asked(chain: Shop, text: str = LARGE) -> tuple[Any, flight.FlightInfo]:
    raw = chain.raw("guest")
    raw.option("offload", "always")
    return raw, raw.info(text)


def test_endpoints_of_several_instances_divide_the_rows(chain: Shop, expected: pa.Table) -> None:
    raw, info = asked(chain)
    assert len(info.endpoints) == 2
    assert not info.ordered
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda part: raw.get(info, part).read_all(), range(2)))
    assert rows_of(*found).equals(expected)
    eventually(lambda: ended(chain))


def test_endpoints_can_be_read_one_after_the_other(chain: Shop, expected: pa.Table) -> None:
    raw, info = asked(chain)
    first, last = (raw.get(info, part).read_all() for part in (1, 0))
    assert rows_of(first, last).equals(expected)
    assert last.num_rows == 0
    with chain.connect("guest") as connection, connection.cursor() as cursor:  # it reads them at once
        cursor.execute(LARGE)
        assert rows_of(cursor.fetch_arrow_table()).equals(expected)


def test_a_ticket_is_used_again_after_its_connection_broke(chain: Shop, expected: pa.Table) -> None:
    raw, info = asked(chain)
    broken, whole = raw.get(info, 0), raw.get(info, 1)
    assert broken.read_chunk().data.num_rows
    broken.cancel()
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda reader: reader.read_all(), (whole, raw.get(info, 0))))
    assert rows_of(*found).equals(expected)


def test_an_ordered_result_has_one_endpoint(chain: Shop) -> None:
    raw, info = asked(chain, f"{LARGE} ORDER BY r.a, l.a")
    assert len(info.endpoints) == 1
    assert info.ordered
    assert raw.get(info).read_chunk().data["a"].to_pylist()[:2] == [0, 10]


def test_a_result_in_parts_that_is_read_no_further_ends_its_job(chain: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, info = asked(chain, HUGE)
    reader = raw.get(info, 1)
    assert reader.read_chunk().data.num_rows
    monkeypatch.setattr(parts, "RETRY_S_MAX", 0.0)
    reader.cancel()
    eventually(lambda: ended(chain))
    eventually(lambda: job_states(chain)[0] == "cancelled")
    with pytest.raises((flight.FlightCancelledError, pa.ArrowKeyError)):
        rest = raw.get(info, 0)
        while True:  # what had arrived before may be its first rows
            rest.read_chunk()
