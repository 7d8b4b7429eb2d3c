"""Queries over trees of switches: hosts below switches of racks, which are below another one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpgate.client import avg, col, count, max_, min_, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import Config, parse
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.ncas.switch.driver import SwitchDriver, lease_all
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch_aggregate import SwitchAggregate
from jumpgate.ncas.switch_prune import SwitchPrune
from jumpgate.service import embedded
from jumpgate.service.embedded import Embedded
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import wait_until
from tests.integration.test_switch_queries import TYPES, rows
from tests.support.datagrams import Chaos, Lossy

TORS = ("tor0", "tor1")
ROWS = 8_000


def tree(program: str) -> Config:
    """Two hosts below each of two switches, whose links to the third are slow."""
    switch = {"kind": "switch", "program": program, "link_bits_per_s": 10_000_000}
    hosts = [{"name": f"h{i}", "cores": 1, "network": TORS[i // 2]} for i in range(4)]
    tors = [{"name": name, "network": "spine", **switch} for name in TORS]
    return parse({"host": hosts, "device": [{"name": "spine", **switch}, *tors]})


@contextlib.contextmanager
def served(program: str, chaos: Chaos | None = None, retries: int = 0) -> Iterator[tuple[Embedded, Session]]:
    """A service with a tree of switches, over a bad network."""
    ncas = SwitchAggregate(), SwitchPrune()
    lossy = [Lossy(nca.lifecycle, chaos) for nca in ncas] if chaos else []
    for nca, lifecycle in zip(ncas, lossy, strict=False):
        nca.__dict__["lifecycle"] = lifecycle
    names = [nca.name for nca in ncas]
    others = [nca for nca in default_registry() if nca.name not in names]
    service = embedded.start(tree(program), Registry([*others, *ncas]))
    try:
        with Session(service.address, parallelism=4, prefer=tuple(names), retries=retries) as session:
            yield service, session
    finally:
        service.close()
        for lifecycle in lossy:
            lifecycle.close()


def passed(session: Session) -> tuple[list[str], int, int]:
    """The switches of racks that the last job's rows passed first; rows that were sent, and that arrived."""
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    edges = {e["id"] for e in record["edges"] if e["transport"] == DATAGRAMS.name}
    sent = sum(s["rows"] for c in record["counters"].values() for s in c["sinks"] if s["edge"] in edges)
    came = sum(s["rows"] for c in record["counters"].values() for s in c["sources"] if s["name"] in edges)
    return record["explain"]["below"].get("spine", []), sent, came


Make = Callable[[Dataflow], Dataflow]
SUMS: Make = lambda t: t.aggregate(  # noqa: E731
    by=["item"], s=sum_("price"), n=count("price"), lo=min_("price"), hi=max_("price"), m=avg("price")
)
QUERIES: dict[str, dict[str, Make]] = {
    "aggregate": {
        "sums": SUMS,
        "each group once": lambda t: t.aggregate(by=["n"], rows=count()),
    },
    "prune": {"distinct": lambda t: t.select("store").distinct()},
    "prune_topn": {"top": lambda t: t.select("item", "n").top(50, col("item").desc(), "n")},
}


@pytest.mark.parametrize("program", QUERIES)
def test_answers_of_trees_are_exact(program: str, tmp_path: Path) -> None:
    with served(program) as (_, session):
        lab = Lab(session, tmp_path)
        table = lab.table(TYPES, rows(ROWS, 60), files=8)
        for name, make in QUERIES[program].items():
            lab.check(make(table))
            below, sent, came = passed(session)
            assert sent == ROWS
            if name == "each group once":  # switches of racks would save nothing
                assert below == []
            else:
                assert below == [*TORS] and (came < sent / 4 or name == "top"), name


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("chaos", [Chaos(0.1, 0.2, 0.2), Chaos(burst_loss=0.2)])
def test_answers_are_exact_though_packets_are_lost(chaos: Chaos, tmp_path: Path) -> None:
    """On all ways between hosts and switches; those between switches are lost in test_datagrams.py."""
    with served("aggregate", chaos) as (_, session):
        lab = Lab(session, tmp_path)
        lab.check(SUMS(lab.table(TYPES, rows(1_000, 60), files=8)))
        assert passed(session)[0] == [*TORS]


@pytest.mark.parametrize("name", ["tor1", "spine"])
def test_a_job_that_loses_a_switch_of_its_tree_is_run_again(name: str, tmp_path: Path) -> None:
    with served("aggregate", Chaos(loss=1.0), retries=1) as (service, session):  # the first job cannot end by itself
        lossy = service.engine.registry.lifecycle("switch_aggregate")
        assert isinstance(lossy, Lossy)

        def kill() -> None:
            assert wait_until(lambda: any(relay.lost for relay in list(lossy.relays.values())))
            driver = service.engine.drivers[name]
            assert isinstance(driver, SwitchDriver) and driver.child is not None
            lossy.chaos = Chaos()
            os.kill(driver.child.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        lab = Lab(session, tmp_path)
        lab.check(SUMS(lab.table(TYPES, rows(1_000, 60), files=8)))
        killer.join()
        again, failed = session.jobs()[:2]
        assert (failed.state, again.state) == ("failed", "done")
        failure = session.describe(failed.id).record
        assert failure is not None and f"switch '{name}'" in failure["error"]["message"]
        assert passed(session)[0] == [*TORS], "our own switch is started anew"


def test_leases_of_a_way_are_taken_together() -> None:
    async def main() -> None:
        devices = tree("aggregate").devices
        drivers = [await SwitchDriver.reach(device) for device in devices]
        try:
            (alone,) = await lease_all(drivers[1:2], "a", "f1.0", 3, ("buckets",), 14)
            waiting = asyncio.create_task(lease_all(drivers, "b", "f1.0", 2, ("buckets",), 14))
            await asyncio.sleep(0.05)
            assert not waiting.done() and drivers[0].regions(frozenset(("buckets",)), 14) == [0], "it holds nothing yet"
            await drivers[1].give_back(alone)
            leases = await waiting
            assert len({lease.flows for lease in leases}) == len({lease.secret for lease in leases}) == 1
            assert not {*alone.flows} & {*leases[0].flows}, "late packets of the other job find no entry"
        finally:
            for driver in drivers:
                await driver.close()

    asyncio.run(main())
