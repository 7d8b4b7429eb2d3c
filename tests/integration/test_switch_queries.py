"""Queries through switches, end to end: software fragments, a software switch for each program, DuckDB's answers."""

from __future__ import annotations

import asyncio
import datetime
import functools
import os
import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import avg, col, count, max_, min_, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.interface import Property
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.ncas.switch import client as switch_client
from jumpgate.ncas.switch import driver as drivers
from jumpgate.ncas.switch.child import Child
from jumpgate.ncas.switch.driver import SwitchDriver
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch_aggregate import SwitchAggregate
from jumpgate.ncas.switch_prune import SwitchPrune
from jumpgate.service import embedded, engine
from jumpgate.service.embedded import Embedded
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import wait_until
from tests.support.datagrams import Chaos, Lossy

PROGRAMS = ("aggregate", "prune", "prune_topn", "prune_groupby", "prune_join", "prune_skyline")
PREFER = ("switch_aggregate", "switch_prune")
ROWS = 20_000
TYPES = {
    "item": "int32", "store": "int16", "day": "date", "at": "timestamp", "price": "decimal(7, 2)", "n": "int64",
    "name": "string",
}  # fmt: skip


@functools.cache
def rows(count: int, items: int, seed: int = 1) -> list[tuple[Any, ...]]:
    r = random.Random(seed)
    return [
        (
            None if r.random() < 0.02 else r.randrange(items),
            r.randrange(-5, 5),
            datetime.date(2020, 1, 1) + datetime.timedelta(r.randrange(300)),
            datetime.datetime(2020, 1, 1) + datetime.timedelta(microseconds=r.randrange(10**12)),
            None if r.random() < 0.05 else Decimal(r.randrange(-100000, 999999)) / 100,
            r.randrange(-(2**60), 2**60),
            f"n{r.randrange(40)}" * r.randrange(4),
        )
        for _ in range(count)
    ]


def config(hosts: int, **properties: Property) -> Config:
    devices = tuple(SWITCH.device(f"tor-{p}", program=p, jobs=2, **properties) for p in PROGRAMS)
    return Config(local_hosts(hosts).hosts, devices)


@pytest.fixture(scope="module", params=[1, 2])
def switched(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session with switches of all programs, which are used wherever they match."""
    service = embedded.start(config(request.param))
    with Session(service.address, parallelism=request.param, prefer=PREFER) as session:
        yield session
    service.close()


@pytest.fixture
def table(switched: Session, tmp_path: Path) -> tuple[Lab, Dataflow]:
    lab = Lab(switched, tmp_path)
    return lab, lab.table(TYPES, rows(ROWS, 3000), files=4)


@pytest.fixture
def pruned(switched: Session, tmp_path: Path) -> Iterator[tuple[Lab, Dataflow]]:
    """The table in a session in which only pruning is preferred: what aggregates also matches would go there."""
    with Session(switched.address, parallelism=switched._options.parallelism, prefer=("switch_prune",)) as session:
        lab = Lab(session, tmp_path)
        yield lab, lab.table(TYPES, rows(ROWS, 3000), files=4)


Make = Callable[[Dataflow], Dataflow]
AGGREGATES: dict[str, Make] = {
    "all measures": lambda t: t.aggregate(
        by=["item"], s=sum_("price"), n=count("price"), lo=min_("price"), hi=max_("price"), m=avg("price")
    ),
    "by day": lambda t: t.aggregate(by=["day"], lo=min_("at"), hi=max_("at"), n=count("at")),
    "by decimals": lambda t: t.aggregate(by=["price"], lo=min_("n"), hi=max_("n")),
    "rows": lambda t: t.aggregate(by=["store"], n=count()),
    "few rows": lambda t: t.filter(col("item") == 7).aggregate(by=["at"], n=count()),
    "no rows": lambda t: t.filter(col("item") < 0).aggregate(by=["item"], s=sum_("price")),
}
PRUNINGS: dict[str, Make] = {
    "distinct": lambda t: t.select("store", "day").distinct(),
    "distinct keys with nulls": lambda t: t.select("item").distinct(),
    "top": lambda t: t.select("price", "n", "name").top(50, col("price").desc(), "n"),
    "bottom": lambda t: t.select("at", "n").top(20, "at", "n", offset=5),
    "nulls first": lambda t: t.select("item", "n").top(500, col("item").asc(nulls_first=True), "n"),
    "skyline": lambda t: t.select("price", "item", "name").skyline(col("price").desc(), "item"),
    "max": lambda t: t.aggregate(by=["item"], hi=max_("price")),
    "min": lambda t: t.aggregate(by=["store"], lo=min_("item")),
    "max of 64 bits": lambda t: (
        t.select("item", x=col("item").cast("int64") - 1500).aggregate(by=["item"], hi=max_("x"))
    ),
    "min of days": lambda t: t.aggregate(by=["store"], lo=min_("day")),
    "max beyond 32 bits": lambda t: t.aggregate(by=["store"], hi=max_("n")),
    "min beyond 32 bits": lambda t: t.aggregate(by=["item"], lo=min_("n")),
    "max by two keys": lambda t: t.select("price", "store", s=(col("store") * 7).cast("int8")).aggregate(
        by=["s", "store"], hi=max_("price")
    ),
    "join": lambda t: t.join(
        t.filter(col("n") > 2**60 - 2**53).select(i=col("item"), x=col("n")), left_on=col("item"), right_on=col("i")
    ).aggregate(by=["store"], n=count(), s=sum_("price")),
    "semi join": lambda t: t.join(
        t.filter(col("n") > 2**60 - 2**53).select(d=col("day"), s=col("store")),
        left_on=[col("day"), col("store")], right_on=[col("d"), col("s")], how="semi",
    ).select("item", "name", "n"),
    "having sum": lambda t: t.aggregate(by=["item"], s=sum_("price")).filter(col("s") > Decimal("60000.25")),
    "having count": lambda t: t.aggregate(by=["day"], n=count()).filter(col("n") >= 75),
    "join on text": lambda t: t.join(
        t.filter(col("n") > 2**60 - 2**51).select(d=col("name"), x=col("n")), left_on=col("name"), right_on=col("d")
    ).aggregate(by=["store"], n=count(), hi=max_("x")),
    "semi join on wide keys": lambda t: t.join(
        t.filter(col("n") > 2**60 - 2**53).select(i=col("item"), d=col("name"), x=col("n")),
        left_on=[col("item"), col("name"), col("n")], right_on=[col("i"), col("d"), col("x")], how="semi",
    ),
    "having by text": lambda t: t.aggregate(by=["name", "store"], n=count(), s=sum_("price")).filter(col("n") > 100),
    "filter": lambda t: t.filter((col("item") < 600) & (col("price") > Decimal("17.5")) & (col("name") != "n7")),
    "filter of two": lambda t: t.filter(
        (col("day") < datetime.date(2020, 1, 20)) | ~(col("item") < 2900)
    ),
    "filter for one": lambda t: t.filter(col("item") == 17).select("item", "n"),
}  # fmt: skip

#: the deterministic top-n does little where values are below zero, or the smallest are wanted; and few values of 61
#: bits are among 2^32
HARDLY = ("top", "bottom", "nulls first", "max beyond 32 bits", "min beyond 32 bits")


def passed(session: Session) -> tuple[int, int]:
    """Rows that the last job sent to switches, and rows that came from them."""
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    arriving = {e["id"] for e in record["edges"] if e["transport"] == DATAGRAMS.name}
    sent = sum(s["rows"] for c in record["counters"].values() for s in c["sinks"] if s["edge"] in arriving)
    got = sum(s["rows"] for c in record["counters"].values() for s in c["sources"] if s["name"] in arriving)
    return sent, got


@pytest.mark.parametrize("case", AGGREGATES)
def test_partial_aggregates(table: tuple[Lab, Dataflow], case: str) -> None:
    lab, flow = table
    answer = lab.check(AGGREGATES[case](flow))
    sent, got = passed(lab.session)
    if "few" not in case and "no rows" not in case:
        assert sent == ROWS, "all rows pass the switch"
    assert answer.num_rows <= got <= max(sent, 1), "each group comes once at least"


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("case", PRUNINGS)
def test_pruning(pruned: tuple[Lab, Dataflow], case: str) -> None:
    lab, flow = pruned
    lab.check(PRUNINGS[case](flow))
    record = lab.session.describe(lab.session.jobs()[0].id).record
    assert record is not None and "switch_prune" in [i["nca"] for i in record["instances"]]
    sent, got = passed(lab.session)
    assert sent >= ROWS and got <= ROWS
    assert case in HARDLY or got < 0.6 * sent, "many rows were pruned"


#: query → what explain says of it where certainty is wanted, and where it is not
FINGERPRINTED: dict[str, tuple[Make, str, str]] = {
    "distinct": (lambda t: t.select("name", "store").distinct(), "might lose a row", "64 bits"),
    "max": (lambda t: t.aggregate(by=["name", "store"], hi=max_("price")), "might be lost", "32 bits"),
    "min": (lambda t: t.aggregate(by=["name"], lo=min_("item")), "might be lost", "32 bits"),
}


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("case", FINGERPRINTED)
@pytest.mark.parametrize("success", [1.0, 0.9999])
def test_texts_need_an_accepted_probability(tmp_path: Path, success: float, case: str) -> None:
    make, refusal, bits = FINGERPRINTED[case]
    count = 2 * ROWS  # so many that most are pruned, in whatever order packets come
    device = SWITCH.device("tor", program="prune", success=success)
    service = embedded.start(Config(local_hosts(1).hosts, (device,)))
    try:
        with Session(service.address, prefer=PREFER) as session:
            lab = Lab(session, tmp_path)
            flow = make(lab.table(TYPES, rows(count, 3000)))
            lab.check(flow)
            sent, got = passed(session)
            explained = str(session.explain(flow))
    finally:
        service.close()
    if success == 1:
        assert sent == 0 and refusal in explained
    else:
        assert sent == count > 3 * got
        assert f"fingerprints of {bits}: wrong with a probability of at most" in explained


# ---- bad networks, switches that die, several jobs and switches ----------------------------------------------------

BadNetwork = tuple[Session, "tuple[Lossy, ...]", Embedded]


@pytest.fixture(scope="module")
def bad_network() -> Iterator[BadNetwork]:
    """A session with switches of all programs, behind a network of the test's choice."""
    ncas = SwitchAggregate(), SwitchPrune()
    lossy = tuple(Lossy(nca.lifecycle, Chaos()) for nca in ncas)
    for nca, lifecycle in zip(ncas, lossy, strict=True):
        nca.__dict__["lifecycle"] = lifecycle
    names = [nca.name for nca in ncas]
    service = embedded.start(config(1), Registry([*(n for n in default_registry() if n.name not in names), *ncas]))
    with Session(service.address, prefer=PREFER) as session:
        yield session, lossy, service
    service.close()


#: one query of each kind; of the four ways from a sender to the receiver and back each loses this share of packets
WORSE = "all measures", "distinct", "top", "max", "join", "having sum", "skyline"
LOSS = 0.3


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("case", WORSE)
def test_answers_are_exact_though_packets_are_lost(bad_network: BadNetwork, tmp_path: Path, case: str) -> None:
    _, lossy, service = bad_network
    for lifecycle in lossy:
        lifecycle.chaos = Chaos(loss=LOSS, repeat=0.1, delay=0.2)
    used = "switch_aggregate" if case in AGGREGATES else "switch_prune"
    try:
        with Session(service.address, prefer=(used,)) as session:
            lab = Lab(session, tmp_path)
            lab.check((AGGREGATES | PRUNINGS)[case](lab.table(TYPES, rows(1000, 60))))
            sent, got = passed(session)
            record = session.describe(session.jobs()[0].id).record
        assert got <= sent >= 1000
        assert record is not None and used in {i["nca"] for i in record["instances"]}
        assert sum(relay.lost for lifecycle in lossy for relay in lifecycle.relays.values()) > 20
    finally:
        for lifecycle in lossy:
            lifecycle.close()


def planned_around(session: Session, said: str) -> None:
    """The last job ran by hosts, behind one that failed with such a message."""
    around, failed = session.jobs()[:2]
    failure, record = (session.describe(job.id).record for job in (failed, around))
    assert failure is not None and re.search(said, failure["error"]["message"])
    assert record is not None and not {i["nca"] for i in record["instances"]} & {*PREFER}


def test_a_job_whose_switch_dies_is_planned_around_it(bad_network: BadNetwork, tmp_path: Path) -> None:
    session, (lossy, _), service = bad_network
    lossy.chaos = Chaos(loss=1.0)  # a job that cannot end by itself
    lab = Lab(session, tmp_path)
    flow = AGGREGATES["all measures"](lab.table(TYPES, rows(100, 9)))

    def kill() -> None:
        assert wait_until(lambda: any(relay.lost for relay in lossy.relays.values()))
        driver = service.engine.drivers["tor-aggregate"]
        assert isinstance(driver, SwitchDriver) and driver.child is not None
        os.kill(driver.child.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        lab.check(flow)
    finally:
        killer.join()
        lossy.close()
    planned_around(session, "switch 'tor-aggregate' at .* ended while jobs used it")
    lossy.chaos = Chaos()
    try:
        lab.check(flow)
        assert passed(session)[0] == 100, "it is used again"
    finally:
        lossy.close()


def test_a_switch_that_is_full_is_planned_around(
    bad_network: BadNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _, _ = bad_network
    monkeypatch.setattr(drivers, "LEASE_TIMEOUT_S", 0.1)
    monkeypatch.setattr(SwitchDriver, "regions", lambda *_: [])
    lab = Lab(session, tmp_path)
    lab.check(AGGREGATES["all measures"](lab.table(TYPES, rows(100, 9))))
    planned_around(session, "switch 'tor-aggregate' is busy")


@pytest.mark.nightly(like="tests/integration/test_switch_queries.py::test_a_job_whose_switch_dies_is_planned_around_it")
def test_a_switch_that_answers_nothing_is_planned_around(bad_network: BadNetwork, tmp_path: Path) -> None:
    session, (lossy, _), _ = bad_network
    lossy.chaos = Chaos(loss=1.0)
    lab = Lab(session, tmp_path)
    try:
        lab.check(AGGREGATES["all measures"](lab.table(TYPES, rows(100, 9))))
    finally:
        lossy.close()
    planned_around(session, "packet 1 was sent at least .* times without an answer")


def test_a_switch_that_died_is_planned_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of somebody else's, which does not come back by itself: jobs that are sent again run without it."""
    monkeypatch.setattr(switch_client, "CONNECT_TIMEOUT_S", 3.0)
    monkeypatch.setattr(engine, "SILENT_S", 600.0)

    async def started() -> Child:
        return await Child.start("far", "aggregate", "none")

    loop = asyncio.new_event_loop()
    child = loop.run_until_complete(started())
    far = SWITCH.device("far", program="aggregate", p4runtime=child.p4runtime, data=child.data)
    service = embedded.start(Config(local_hosts(1).hosts, (far,)))
    try:
        with Session(service.address, prefer=PREFER) as session:
            lab = Lab(session, tmp_path)
            flow = AGGREGATES["all measures"](lab.table(TYPES, rows(1000, 60)))

            def used() -> set[str]:
                record = session.describe(session.jobs()[0].id).record
                assert record is not None
                return {i["host"] for i in record["instances"]}

            lab.check(flow)
            assert "far" in used()
            os.kill(child.pid, signal.SIGKILL)
            assert wait_until(lambda: not service.engine.drivers["far"].alive)
            for _ in range(2):  # found out, and known
                lab.check(flow)
                assert "far" not in used()
            assert "far: it does not answer; planned without it" in session.explain(flow)
    finally:
        service.close()
        loop.run_until_complete(child.close())
        loop.close()


@pytest.mark.parametrize("ours", [True, False], ids=["started by the service", "somebody else's"])
def test_a_job_whose_switch_dies_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    """With `retries`: our switch is started anew, without somebody else's the hosts compute."""
    monkeypatch.setattr(switch_client, "CONNECT_TIMEOUT_S", 3.0)
    monkeypatch.setattr(engine, "SILENT_S", 600.0)
    nca = SwitchAggregate()
    lossy = nca.__dict__["lifecycle"] = Lossy(nca.lifecycle, Chaos(loss=1.0))  # the first job cannot end by itself
    loop = asyncio.new_event_loop()
    child = None if ours else loop.run_until_complete(Child.start("tor", "aggregate", "none"))
    there = {"p4runtime": child.p4runtime, "data": child.data} if child else {}
    device = SWITCH.device("tor", program="aggregate", **there)
    others = [other for other in default_registry() if other.name != nca.name]
    service = embedded.start(Config(local_hosts(1).hosts, (device,)), Registry([*others, nca]))

    def kill() -> None:
        assert wait_until(lambda: any(relay.lost for relay in list(lossy.relays.values())))
        driver = service.engine.drivers["tor"]
        assert isinstance(driver, SwitchDriver)
        running = child or driver.child
        assert running is not None
        lossy.chaos = Chaos()
        os.kill(running.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    try:
        with Session(service.address, prefer=PREFER, retries=1) as session:
            lab = Lab(session, tmp_path)
            flow = AGGREGATES["all measures"](lab.table(TYPES, rows(1000, 60)))
            killer.start()
            lab.check(flow)
            killer.join()
            again, failed = session.jobs()[:2]
            assert (failed.state, again.state) == ("failed", "done")
            record = session.describe(again.id).record
            assert record is not None and ("tor" in {i["host"] for i in record["instances"]}) == ours
    finally:
        service.close()
        lossy.close()
        if child is not None:
            loop.run_until_complete(child.close())
        loop.close()


def test_several_jobs_at_once(switched: Session, tmp_path: Path) -> None:
    """Two share the registers, the others wait for them."""
    lab = Lab(switched, tmp_path)
    flows = [AGGREGATES["all measures"](lab.table(TYPES, rows(2000, 300, seed))) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lab.run, flows))
    for answer, flow in zip(answers, flows, strict=True):
        oracle.assert_same(answer, lab.truth(flow.root))


def test_several_switches(tmp_path: Path) -> None:
    devices = tuple(SWITCH.device(f"tor{i}", program="aggregate", pool="tors") for i in range(2))
    service = embedded.start(Config(local_hosts(2).hosts, devices))
    try:
        with Session(service.address, parallelism=2, prefer=PREFER) as session:
            lab = Lab(session, tmp_path)
            lab.check(AGGREGATES["all measures"](lab.table(TYPES, rows(5000, 900), files=4)))
            record = session.describe(session.jobs()[0].id).record
            assert record is not None
            used = {i["host"] for i in record["instances"]}
            assert {"tor0", "tor1"} <= used
    finally:
        service.close()
