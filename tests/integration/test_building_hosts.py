"""Hosts that build their runtime, as new ones do: they answer at once, and a job waits and says how far they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate import errors
from jumpgate.client import Dataflow, count, read
from jumpgate.client import session as sessions
from jumpgate.client.progress import Progress
from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.hosts.agent import Agent, _start
from jumpgate.hosts.config import Config, HostConfig
from jumpgate.nca.interface import Device
from jumpgate.service import embedded


class Shown:
    """What a client shows; somebody waits for its first word."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.some = threading.Event()

    def show(self, job: str, progress: Progress) -> None:
        self.texts.append(f"{progress.title}: {progress}")
        self.some.set()

    def drop(self, job: str) -> None:
        pass


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    monkeypatch.setattr(sessions, "display", lambda: shown)
    return shown


def three(folder: Path) -> Dataflow:
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "three.parquet")
    return read(str(folder / "three.parquet")).aggregate(n=count())


def with_new_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event, work: Callable[[str], None]
) -> None:
    """`work` gets the address of a service whose one host builds its runtime until `release`."""
    ready = toolchain.runtime()

    def runtime(variant: str | None = None) -> toolchain.Runtime:
        if not release.is_set():
            toolchain.building = toolchain.Building(12, 55)
            assert release.wait(60)
            toolchain.building = None
        return ready

    monkeypatch.setattr(toolchain, "runtime", runtime)
    monkeypatch.setattr(toolchain, "is_built", lambda: False)
    (tmp_path / "token").write_text("secret\n")

    async def run() -> None:
        agent = Agent("secret")
        try:
            port = await asyncio.wait_for(_start(agent, "127.0.0.1:0", None), 10)
            host = HostConfig(Device("new", "host", 1, 1 << 30), f"127.0.0.1:{port}", str(tmp_path / "token"))
            service = await asyncio.to_thread(embedded.start, Config((host,)))
            try:
                await asyncio.to_thread(work, service.address)
            finally:
                release.set()
                await asyncio.to_thread(service.close)
        finally:
            release.set()
            agent.close()

    asyncio.run(run())


def test_a_job_waits_and_its_client_sees_how_far_the_build_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    release = threading.Event()

    def work(address: str) -> None:
        with Session(address) as session:
            result = session.run(three(tmp_path))  # it is submitted at once
            threading.Thread(target=lambda: shown.some.wait(30) and release.set()).start()
            assert result.to_pylist() == [{"n": 3}]
            assert session.describe(result.job).record["state"] == "done"

    with_new_host(tmp_path, monkeypatch, release, work)
    assert shown.texts[0] == "building: the runtime, one time: 12 of 55 on new"


def test_a_job_that_waits_for_a_build_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    release = threading.Event()

    def work(address: str) -> None:
        with Session(address) as session:
            result = session.run(three(tmp_path))
            threading.Thread(target=lambda: shown.some.wait(30) and session.cancel(result.job)).start()
            with pytest.raises(errors.Cancelled):
                result.to_arrow()
            assert not release.is_set()

    with_new_host(tmp_path, monkeypatch, release, work)
