"""Cards whose driver has one mistake: the conformance kit must find it as it breaks jobs off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from bench._measure import remark
from jumpgate.errors import CapacityExceeded
from jumpgate.nca.conformance import Report, check
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.testing.rig import LocalRig
from tests.support.fakes import SWITCH, Filters, Runs
from tests.support.plans import host

#: jobs that have one of the card's tables at a time
TABLES = 4
CASES = 16


class Driver:
    """The card between jobs: a table is its job's until it is released."""

    def __init__(self) -> None:
        self.jobs: set[str] = set()

    async def watch(self, job: str) -> None:
        await asyncio.Event().wait()

    async def release(self, job: str) -> None:
        self.jobs.discard(job)

    async def close(self) -> None:
        pass


class ReleasesNothing(Driver):
    async def release(self, job: str) -> None:
        pass


class WatchesNothing(Driver):
    async def watch(self, job: str) -> None:
        pass


class CardRuns(Runs):
    """Takes a table for each job."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    async def reach(self, device: Any) -> Driver:
        return self.driver

    async def allocate(self, instance: Any, context: Any) -> Any:
        self.driver.jobs.add(context.job)
        if len(self.driver.jobs) > TABLES:
            raise CapacityExceeded(f"card '{instance.device.name}' has no table left", device=instance.device.name)
        return await super().allocate(instance, context)


DRIVER_MUTANTS: dict[str, type[Driver]] = {
    "a card's release does nothing": ReleasesNothing,
    "a card's watch does nothing": WatchesNothing,
}


def missed_drivers() -> Iterator[str]:
    """Yield the names of those that pass. Raises SystemExit if the right one fails."""
    right = _checked(Driver)
    if right.findings:
        raise SystemExit(f"a card fails without a mistake: {right.findings[0]}")
    for name, driver in DRIVER_MUTANTS.items():
        found = [f for f in _checked(driver).findings if f.part == "life-cycle"]
        remark(f"{name}: {found[0] if found else 'NOT FOUND'}"[:200])
        if not found:
            yield name


def _checked(driver: type[Driver]) -> Report:
    nca = Filters("card", runs=CardRuns(driver()))
    registry = Registry([*default_registry(), nca])
    with LocalRig(registry, (host("a"), SWITCH), formats=("parquet",), directed=6) as rig:
        return check(nca, rig, CASES)
