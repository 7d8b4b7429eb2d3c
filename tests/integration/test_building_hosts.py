"""Hosts that build their runtime, as new ones do: they answer at once, and a job waits and says how far they are."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
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
    """What a client shows; somebody waits for its first word, or until a step of a build is done."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.some, self.step = threading.Event(), threading.Event()

    def show(self, job: str, progress: Progress) -> None:
        self.texts.append(f"{progress.title}: {progress}")
        self.some.set()
        if re.fullmatch(r"building: the runtime, one time: [1-9]\d* of [1-9]\d+ on new", self.texts[-1]):
            self.step.set()

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

    def runtime(variant: str | None = None, *, at_leisure: bool = False) -> toolchain.Runtime:
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


COMPILER = """#!/bin/sh
# The runtime's compiler: after the first object it waits for the file `go`, or `fail`. What it links is there already.
# At leisure it compiles nothing: somebody waits, so the build must go on at full speed.
for word; do
  [ "$last" = -o ] && out=$word
  last=$word
done
case $out in
  *jgruntime.dir/*.o | *jghost.dir/*.o)
    if [ "$(nice)" != NICE ]; then exec sleep 60; fi
    mkdir FOLDER/first 2>/dev/null || until [ -e FOLDER/go ]; do
      if [ -e FOLDER/fail ]; then echo "a.cpp:1:2: error: a full moon" >&2; exit 1; fi
      sleep 0.05
    done
    : >"$out" ;;
  libjgruntime.so | jghost) cp READY/"$out" "$out" ;;
  *) exec g++ "$@" ;;
esac
"""


@contextlib.contextmanager
def building_host(folder: Path) -> Iterator[str]:
    """The address of a service whose one host has an empty cache, and that compiler in `folder`."""
    compiler = folder / "c++"
    ready = toolchain.runtime().host_program.parent
    compiler.write_text(
        COMPILER.replace("FOLDER", str(folder)).replace("READY", str(ready)).replace("NICE", str(os.nice(0)))
    )
    compiler.chmod(0o755)
    (folder / "token").write_text("secret\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "jumpgate.hosts.agent", "--token-file", str(folder / "token")],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "JUMPGATE_CACHE_DIR": str(folder / "cache"), "JUMPGATE_CXX": str(compiler)},
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(b":")[1].strip(b" }\n"))
        host = HostConfig(Device("new", "host", 1, 1 << 30), f"127.0.0.1:{port}", str(folder / "token"))
        service = embedded.start(Config((host,)))
        try:
            yield service.address
        finally:
            service.close()
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_the_steps_of_a_build_are_shown_as_they_are_done(tmp_path: Path, shown: Shown) -> None:
    with building_host(tmp_path) as address, Session(address) as session:
        result = session.run(three(tmp_path))
        threading.Thread(target=lambda: shown.step.wait(60) and (tmp_path / "go").touch()).start()
        assert result.to_pylist() == [{"n": 3}]
    assert shown.step.is_set()


def test_a_build_that_fails_is_the_error_of_who_waited_for_it(tmp_path: Path, shown: Shown) -> None:
    with building_host(tmp_path) as address, Session(address) as session:
        result = session.run(three(tmp_path))
        threading.Thread(target=lambda: shown.step.wait(60) and (tmp_path / "fail").touch()).start()
        with pytest.raises(errors.BuildError, match="runtime library did not compile: .*a full moon") as failed:
            result.to_arrow()
        assert failed.value.fields["host"] == "new"
        (tmp_path / "go").touch()  # what was wrong is mended
        assert session.run(three(tmp_path)).to_pylist() == [{"n": 3}]
    assert shown.step.is_set()
