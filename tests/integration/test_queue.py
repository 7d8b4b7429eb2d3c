"""Jobs for which a service has no cores wait for their turn, and their clients see where they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.progress import Progress
from jumpgate.client.session import Session
from jumpgate.hosts.config import local_hosts
from jumpgate.service import admission, embedded
from jumpgate.service.embedded import Embedded
from jumpgate.testing.leaks import wait_until

CLIENTS, JOBS_EACH = 10, 3


@pytest.fixture
def service(grpc_is_up: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedded]:
    """One job at a time."""
    monkeypatch.setattr(admission, "THREADS_PER_CORE", 1)
    monkeypatch.setattr(admission, "SMALL_S", 0.0)
    started = embedded.start(local_hosts(1))
    yield started
    started.close()


@pytest.fixture
def rows(tmp_path: Path) -> Dataflow:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": [x % 2 for x in range(400_000)], "x": range(400_000)}), file)
    return read(str(file))


def test_a_job_waits_and_its_client_sees_its_place(
    service: Embedded, rows: Dataflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Progress] = []
    display = SimpleNamespace(show=lambda _, progress: shown.append(progress), drop=lambda _: None)
    with Session(service.address) as first, Session(service.address) as second:
        endless = first.run(rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2")
                            .aggregate(s=sum_("y")))  # fmt: skip
        assert wait_until(lambda: service.engine.job(endless.job).record.state == "running", 30)
        monkeypatch.setattr("jumpgate.client.session.display", lambda: display)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: second.run(rows.aggregate(n=count())).to_pylist())
            assert wait_until(lambda: bool(service.engine.admission.waiting), 30)
            assert wait_until(lambda: bool(shown), 30) and not answer.done()
            assert [job.state for job in first.jobs()] == ["queued (1 of 1)", "running"]
            endless.cancel()
            assert answer.result(30) == [{"n": 400_000}]
    assert (shown[0].title, str(shown[0])) == ("queued", "number 1 of those that wait for their turn")


def test_a_job_that_is_cancelled_in_the_queue_is_gone(service: Embedded, rows: Dataflow) -> None:
    with Session(service.address) as session:
        pairs = rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2").aggregate(s=sum_("y"))
        endless, waiting = session.run(pairs), session.run(pairs)
        assert wait_until(lambda: service.engine.admission.waiting == [waiting.job], 30)
        waiting.cancel()
        assert wait_until(lambda: service.engine.admission.waiting == [], 30)
        assert service.engine.job(waiting.job).record.state == "cancelled"
        endless.cancel()
        assert session.run(rows.aggregate(n=count())).to_pylist() == [{"n": 400_000}]


def test_many_clients_all_get_their_answers(service: Embedded, rows: Dataflow) -> None:
    """Also of shapes that nobody has compiled yet."""

    def ask(number: int) -> list[Any]:
        found = []
        with Session(service.address) as session:
            for job in range(JOBS_EACH):
                x = col("x")
                for _ in range((number + job) % 4):
                    x = x + col("k") - col("k")
                found.append(session.run(rows.filter(x < 1000 * number).aggregate(n=count())).to_pylist())
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    assert answers == [[[{"n": 1000 * number}]] * JOBS_EACH for number in range(CLIENTS)], json.dumps(answers)


def test_small_jobs_do_not_wait_for_large_ones(rows: Dataflow, grpc_is_up: None) -> None:
    """Not even of a user who has many of them."""
    service = embedded.start(local_hosts(1))
    try:
        with Session(service.address) as heavy, Session(service.address) as small:
            pairs = rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2")
            endless = [heavy.run(pairs.aggregate(s=sum_("y"))) for _ in range(12)]
            assert wait_until(lambda: bool(service.engine.admission.waiting), 30)
            assert small.run(rows.aggregate(n=count())).to_pylist() == [{"n": 400_000}]
            assert service.engine.admission.waiting
            for job in endless:
                job.cancel()
    finally:
        service.close()
