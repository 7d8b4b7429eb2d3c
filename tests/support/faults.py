"""Takes away a part of Jumpgate, or of a client, when a job comes to a phase."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpgate.hosts.config import Config, local_hosts
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from jumpgate.testing.leaks import Watch, marked, wait_until

#: while it is planned and compiled, when it is executed, while rows come, and when all are there
PHASES = ("plan", "execute", "stream", "commit")
#: seconds to wait for processes to end
END_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Fault:
    """The victim is the service, an agent, an instance, or a process of the client's by another name."""

    victim: str
    phase: str

    def __str__(self) -> str:
        return f"{self.victim} at {self.phase}"


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    """Raises AssertionError if a process that was started in the block outlives it for long."""
    with marked() as watch:
        yield watch
    assert wait_until(lambda: not watch.processes(), END_TIMEOUT_S), f"left behind: {watch.processes()}"


@contextlib.contextmanager
def sabotaged(
    fault: Fault, others: Callable[[], list[int]], config: Config | None = None, port: int = 0
) -> Iterator[tuple[embedded.Embedded, list[Fault]]]:
    """A service whose next job meets the fault, and a list that has it once it was injected. others: processes of which
    the first one is a victim that is nothing of Jumpgate's."""
    with watched() as watch:
        service = embedded.start(config or local_hosts(1), port=port)
        try:
            yield service, _prepared(service, fault, others, watch)
        finally:
            service.close()


def _prepared(service: embedded.Embedded, fault: Fault, others: Callable[[], list[int]], watch: Watch) -> list[Fault]:
    """The service's next job meets the fault; the list has it from then on."""
    injected: list[Fault] = []
    prepare, execute = service.engine.prepare, service.engine.execute

    def strike() -> None:
        if injected:
            return
        injected.append(fault)
        if fault.victim == "service":
            service.close()
        elif fault.victim == "agent":
            kill([p.pid for p in watch.processes() if b"jumpgate.hosts.agent" in read(p.pid, "cmdline")])
        elif fault.victim == "instance":
            assert wait_until(lambda: bool(watch.processes("jg ")))
            kill([p.pid for p in watch.processes("jg ")])
        else:
            kill(others()[:1])

    async def prepared(*arguments: Any) -> Any:
        if fault.phase == "plan":
            await service.engine.agents.lend(
                {service.engine.config.hosts[0].device.name}, []
            )  # else there may be no agent yet
            await asyncio.to_thread(strike)
        return await prepare(*arguments)

    async def executed(id: str, *more: Any) -> AsyncGenerator[Event, None]:
        if fault.phase == "execute" and fault.victim != "instance":
            await asyncio.to_thread(strike)
        async with contextlib.aclosing(execute(id, *more)) as events:
            async for event in events:
                at = {"configuring": "execute", "running": "stream", "done": "commit"}.get(event.state)
                if at == fault.phase:
                    await asyncio.to_thread(strike)
                yield event

    service.engine.prepare, service.engine.execute = prepared, executed  # type: ignore[method-assign, assignment]
    return injected


def kill(pids: list[int]) -> None:
    assert pids, "there is nobody to kill"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(read(pid, "cmdline") for pid in pids))


def read(pid: int, name: str) -> bytes:
    """A file of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
