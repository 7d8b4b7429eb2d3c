"""Processes that were instances become others, where nothing is left of what they were."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jumpgate import errors
from jumpgate.hosts import instances
from jumpgate.hosts.instances import Process, Spares
from jumpgate.hosts.zygote import DESTROYED, Zygote
from jumpgate.testing.leaks import Watch, wait_until

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _none_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "REFILL_S", 3600.0)


@contextlib.asynccontextmanager
async def one_spare(program: Path) -> AsyncIterator[tuple[Spares, Process]]:
    """Spares that hold one process, and that process, taken."""
    zygote = Zygote(program)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await zygote.ready
            spares = Spares(zygote, 1)
            while (process := spares.take()) is None:
                await asyncio.sleep(0.01)
            yield spares, process
    finally:
        zygote.close()
    process.caller.close()
    await process.caller.closed


@pytest.mark.parametrize(
    ("script", "stays"),
    [("nothing", True), ("fail", False), ("leave file", False), ("leave thread", False), ("leave memory", False)],
)
def test_a_process_is_another_instance_only_if_nothing_is_left_of_the_one_before(
    script: str, stays: bool, scripted_host: Path, watch: Watch
) -> None:
    async def run() -> None:
        async with one_spare(scripted_host) as (spares, process):
            assert spares.take() is None
            process.become("a")
            await process.caller.call("configure", stages={"1": {"do": script}})
            with pytest.raises(errors.InternalError) if script == "fail" else contextlib.nullcontext():
                await process.caller.call("execute", stage=1)
            left = await process.leave(stay=True)
            assert left.get("stays", False) == stays
            if not stays:
                assert await process.ended == DESTROYED
                return
            assert await asyncio.to_thread(wait_until, lambda: not watch.processes("jg "))
            spares.keep(process)
            assert spares.take() is process
            process.become("b")
            await process.caller.call("configure", stages={"1": {"do": "nothing"}})
            assert (await process.caller.call("execute", stage=1))["stages_ended"] == 1, "its own"
            assert [p.name for p in watch.processes("jg ")] == ["jg b"]
            assert await process.leave(stay=False) == {}
            assert await process.ended == DESTROYED

    asyncio.run(run())


def test_a_process_that_is_kept_is_not_replaced(scripted_host: Path, watch: Watch) -> None:
    async def run() -> None:
        async with one_spare(scripted_host) as (spares, process):
            assert process.replaced is not None
            spares.keep(process)
            assert process.replaced.cancelled() and not spares.are_missing

    asyncio.run(run())


def test_a_process_that_comes_back_when_enough_wait_ends(scripted_host: Path, watch: Watch) -> None:
    async def run() -> None:
        async with one_spare(scripted_host) as (spares, process):
            spares.refill()
            assert await asyncio.to_thread(wait_until, lambda: len(watch.processes("jgspare")) == 2)
            while spares.are_missing:
                await asyncio.sleep(0.01)
            spares.keep(process)
            await process.ended
            assert spares.take() not in (None, process)
            assert spares.take() is None

    asyncio.run(run())
