"""Which of the waiting jobs is next, and what lets it in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Limit, Operator, Read, Skyline, Sort, SortKey, numbered
from jumpgate.dataflow.traits import column
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.errors import Cancelled
from jumpgate.nca.interface import Device, Figures, InstancePlan, JobFigures, JobPlan
from jumpgate.service import admission
from jumpgate.service.admission import THREADS_PER_CORE, Admission, Demand, User

WHOLE = Demand({"a": 2 * THREADS_PER_CORE})  #: all threads that host a has
HOSTS = (Device("a", cores=2, memory_bytes=1000), Device("b", cores=2, memory_bytes=1000))


class Queue:
    """Jobs that run until they are ended."""

    def __init__(self) -> None:
        self.admission = Admission(lambda: HOSTS)
        self.started: list[str] = []
        self.places: dict[str, list[int]] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, job: str, client: str = "c", demand: Demand = WHOLE, **more: Any) -> None:
        self.places[job], self._ends[job] = [], asyncio.Event()

        async def run() -> None:
            async with self.admission.turn(job, User(client, **more), demand, self.places[job].append):
                self.started.append(job)
                await self._ends[job].wait()

        self._tasks[job] = asyncio.create_task(run())
        await asyncio.sleep(0)

    async def end(self, job: str) -> None:
        self._ends[job].set()
        await self._tasks[job]
        await asyncio.sleep(0)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        for task in self._tasks.values():
            with contextlib.suppress(asyncio.CancelledError, Cancelled):
                await task


def run(body: Callable[[Queue], Awaitable[None]]) -> None:
    async def with_queue() -> None:
        queue = Queue()
        try:
            await body(queue)
        finally:
            await queue.close()

    asyncio.run(with_queue())


def test_clients_take_turns_and_see_their_place() -> None:
    async def body(queue: Queue) -> None:
        for job in ("many1", "many2", "many3"):
            await queue.ask(job, "many")
        await queue.ask("few1", "few")
        assert queue.started == ["many1"]
        assert queue.admission.waiting == ["few1", "many2", "many3"]
        assert queue.places == {"many1": [], "many2": [1, 2], "many3": [2, 3], "few1": [1]}
        for job in ("many1", "few1", "many2", "many3"):
            await queue.end(job)
        assert queue.started == ["many1", "few1", "many2", "many3"]
        assert queue.places["many3"] == [2, 3, 2, 1]

    run(body)


def test_a_hosts_memory_is_not_promised_twice() -> None:
    async def body(queue: Queue) -> None:
        for job, held in (("large", 500.0), ("other", 200.0), ("late", 200.0)):
            await queue.ask(job, demand=Demand({"a": 1}, {"a": held}))
        assert queue.started == ["large", "other"]
        await queue.end("large")
        assert queue.started == ["large", "other", "late"]

    run(body)


def test_other_hosts_are_not_waited_for() -> None:
    async def body(queue: Queue) -> None:
        await queue.ask("a1")
        await queue.ask("b1", demand=Demand({"b": 8}))
        assert queue.started == ["a1", "b1"]

    run(body)


def test_what_is_more_than_a_host_has_runs_alone() -> None:
    async def body(queue: Queue) -> None:
        await queue.ask("huge", demand=Demand({"a": 999}, {"a": 1e9}))
        await queue.ask("next", demand=Demand({"a": 1}))
        assert queue.started == ["huge"] and queue.places["next"] == [1]

    run(body)


def test_a_client_that_does_not_read_holds_nobody_up() -> None:
    async def body(queue: Queue) -> None:
        await queue.ask("read slowly", demand=Demand({"a": 8}, {"a": 900.0}))
        await queue.ask("small", demand=Demand({"a": 8}))
        await queue.ask("large", demand=Demand({"a": 1}, {"a": 900.0}))
        queue.admission.works("read slowly", False)
        await asyncio.sleep(0)
        assert queue.started == ["read slowly", "small"], "its cores are free, its memory is not"
        queue.admission.works("small", False)
        await asyncio.sleep(0)
        assert queue.started[-1] == "large", "who does not read may wait for it"

    run(body)


def test_a_job_that_is_cancelled_leaves_the_queue() -> None:
    async def body(queue: Queue) -> None:
        for job in ("first", "second", "third"):
            await queue.ask(job)
        queue.admission.leave("second")
        queue.admission.leave("first")  # it runs: nothing happens
        with pytest.raises(Cancelled, match="while it waited for its turn"):
            await queue._tasks["second"]
        assert queue.places["third"] == [2, 1]
        await queue.end("first")
        assert queue.started == ["first", "third"]

    run(body)


def test_users_share_the_work_by_weight_and_not_by_jobs() -> None:
    """Of jobs that cost the same, twice as many of who has twice the weight; the dear count for more."""

    async def order(costs: dict[str, float], weights: dict[str, float]) -> list[str]:
        queue = Queue()
        await queue.ask("first", "another")
        for n in range(6):
            for user, cost in costs.items():
                await queue.ask(f"{user}{n}", user, Demand(WHOLE.threads, seconds=cost), weight=weights.get(user, 1.0))
        found = [job[0] for job in queue.admission.waiting]
        await queue.close()
        return found

    assert asyncio.run(order({"a": 10, "b": 10}, {}))[:4] == ["a", "b", "a", "b"]
    assert asyncio.run(order({"a": 10, "b": 10}, {"b": 2.0}))[:6].count("b") == 4
    assert asyncio.run(order({"a": 30, "b": 10}, {}))[:4].count("b") == 3


def test_the_cheap_jobs_of_a_user_pass_the_dear_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(admission.time, "monotonic", lambda: now)

    async def body(queue: Queue) -> None:
        nonlocal now
        await queue.ask("runs")
        await queue.ask("dear", demand=Demand(WHOLE.threads, seconds=100))
        await queue.ask("cheap", demand=Demand(WHOLE.threads, seconds=2))
        now = 99.0
        await queue.ask("late", demand=Demand(WHOLE.threads, seconds=2))
        assert queue.admission.waiting == ["cheap", "dear", "late"]

    run(body)


def test_small_jobs_have_threads_of_their_own() -> None:
    async def body(queue: Queue) -> None:
        small = Demand(WHOLE.threads, seconds=0.1)
        for n in range(12):
            await queue.ask(f"heavy{n}")
        await queue.ask("small1", "other", small)
        await queue.ask("small2", "other", small)
        assert queue.started == ["heavy0", "small1"]
        await queue.end("small1")
        assert queue.started == ["heavy0", "small1", "small2"]

    run(body)


def test_small_jobs_of_a_user_do_not_wait_for_those_of_another() -> None:
    async def body(queue: Queue) -> None:
        small = Demand(WHOLE.threads, seconds=0.1)
        for user in ("u", "v", "w"):
            for n in range(3):
                await queue.ask(f"{user}{n}", user, small)
        assert queue.started == ["u0", "v0"]  # a third would have to share with them
        await queue.end("v0")
        assert queue.started == ["u0", "v0", "w0"]

    run(body)


def test_a_job_that_was_taken_for_a_small_one_is_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other users do not wait for it, and its user's own are no longer taken for small ones."""
    now = 0.0
    monkeypatch.setattr(admission.time, "monotonic", lambda: now)

    async def body(queue: Queue) -> None:
        nonlocal now
        small = Demand(WHOLE.threads, seconds=0.1)
        await queue.ask("wrong", "other", small)
        await queue.ask("next", "other", small)
        await queue.ask("third", "third", small)
        await queue.ask("small", demand=small)
        assert queue.started == ["wrong", "third"]
        now = admission.SMALL_S + 0.1
        queue.admission.works("wrong", True)  # as its instances' counters say now and then
        await asyncio.sleep(0)
        assert queue.started == ["wrong", "third", "small"]
        await queue.end("third")
        await queue.end("small")
        assert queue.started == ["wrong", "third", "small"]
        await queue.end("wrong")
        assert queue.started == ["wrong", "third", "small", "next"]

    run(body)


def test_those_that_follow_it_count_among_the_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(admission.time, "monotonic", lambda: now)

    async def body(queue: Queue) -> None:
        nonlocal now
        for n in range(6):
            await queue.ask(f"wrong{n}", "other", Demand({"a": THREADS_PER_CORE}, seconds=0.1))
        assert queue.started == ["wrong0", "wrong1"]
        now = admission.SMALL_S + 0.1
        await queue.end("wrong0")
        assert queue.started == ["wrong0", "wrong1", "wrong2"]  # beside wrong1 there is room for one

    run(body)


def test_a_higher_priority_is_before_all_others() -> None:
    async def body(queue: Queue) -> None:
        await queue.ask("runs")
        for n in range(3):
            await queue.ask(f"low{n}", "low")
            await queue.ask(f"high{n}", "high", priority=1)
        assert queue.admission.waiting == ["high0", "high1", "high2", "low0", "low1", "low2"]
        for job in ("runs", "high0", "high1"):
            await queue.end(job)
        # what those of another priority have had puts nobody behind its peers
        await queue.ask("new", "new")
        assert queue.admission.waiting == ["low0", "new", "low1", "low2"]

    run(body)


def test_who_may_run_few_jobs_at_a_time_holds_nobody_up() -> None:
    async def body(queue: Queue) -> None:
        light = Demand({"a": 1}, seconds=100)
        for n in range(4):
            await queue.ask(f"a{n}", "a", light, running=2)
        await queue.ask("b", "b", light)
        assert queue.started == ["a0", "a1", "b"] and queue.admission.waiting == ["a2", "a3"]
        await queue.end("b")
        assert queue.started == ["a0", "a1", "b"]
        await queue.end("a0")
        assert queue.started == ["a0", "a1", "b", "a2"]

    run(body)


A, B = (Read((f"/{n}",), "csv", Schema((Field("k", int64),)), (0,)) for n in "ab")
KEY = (column(A.schema, 0),)


@pytest.mark.parametrize(
    ("root", "held"),
    [
        (Join(A, B, JoinType.INNER, KEY, KEY), 30.0),
        (Join(A, B, JoinType.INNER, KEY, KEY, builds_left=True), 20.0),
        (Skyline(A, (SortKey(KEY[0]),)), 10.0),
        (Sort(A, (SortKey(KEY[0]),)), 10.0),
        (Limit(A, 1), 0.0),
    ],
)
def test_a_job_holds_the_rows_of_what_keeps_them(root: Operator, held: float) -> None:
    figures = {("f0", i): Figures(1.0, 10.0 * (i + 1), 1.0, 0.0, {}) for i in range(len(numbered(root)))}
    instance = InstancePlan("f0.0", "f0", "cpp", HOSTS[0], root)
    plan = JobPlan((instance,), (), 1, "e0", figures=JobFigures(figures))
    assert admission.demand_of(plan).bytes == {"a": held}
