"""The instances of an agent: processes that its zygote forked, some of them before anybody needs them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from typing import Any

from jumpgate.errors import Cancelled, InstanceFailed
from jumpgate.hosts.wire import Caller
from jumpgate.hosts.zygote import LOST, End, Forked, Zygote

#: processes that wait to become instances: a job of so many finds them there
SPARES = 4
#: their name at the zygote, and at a module's worker; their processes are called jgspare
SPARE = "*"
#: until one that was taken is replaced, if no instance ends before: forking takes a core that the job may use
REFILL_S = 0.1


class Process:
    """A process of the zygote, which is an instance or will be one."""

    def __init__(self, forked: Forked, instance: str, is_runtime: bool) -> None:
        self.pid, self.ended, self.instance = forked.pid, forked.ended, instance
        self.is_runtime = is_runtime  #: not a Python module
        self._on_end: Callable[[End], None] = lambda _: None
        self._has_ended = False
        self.replaced: asyncio.TimerHandle | None = None  #: when another one will wait in its stead
        self.caller = Caller(
            lambda: died(self.instance, self.ended.result() if self.ended.done() else None), explained=forked.ended
        )
        forked.ended.add_done_callback(self._end)

    @staticmethod
    async def fork(zygote: Zygote, instance: str, module: str = "") -> Process:
        """Fork an instance of the runtime, or of the Python module. Raises InstanceFailed."""
        forked = await zygote.fork(instance, (sys.executable, "-m", module, instance) if module else ())
        process = Process(forked, instance, not module)
        lines = process.caller.lines
        await asyncio.get_running_loop().create_connection(lambda: lines, sock=forked.control)
        return process

    def watch(self, on_end: Callable[[End], None]) -> None:
        """Have this, and nobody else any more, called once with how the process ended."""
        self._on_end = on_end
        if self._has_ended:
            on_end(self.ended.result())

    def _end(self, end: asyncio.Future[End]) -> None:
        self._has_ended = True
        self._on_end(end.result())

    @property
    def is_alive(self) -> bool:
        """As far as we have heard."""
        return not self.ended.done() and self.caller.lines.is_open

    def become(self, instance: str) -> None:
        """A spare is an instance from now on."""
        self.instance = instance
        self.caller.send("name", {"name": instance})

    def leave(self, stay: bool) -> asyncio.Future[dict[str, Any]]:
        """Have the instance end. The answer has `stays` if its process does, as fit as a spare one: only if asked."""
        return self.caller.call("destroy", stay=stay)


class Spares:
    """Processes of one zygote that wait to become instances of the runtime, or of a Python module."""

    def __init__(self, zygote: Zygote, count: int = SPARES, module: str = "") -> None:
        self._zygote, self._count, self._module = zygote, count, module
        self._idle: list[Process] = []
        self._filling: asyncio.Task[None] | None = None
        self.refill()

    def take(self) -> Process | None:
        """One that lives; None if there is none left."""
        refill = None
        if not self._module:  # to start a module takes longer than many a job, at whose end there is a refill
            refill = asyncio.get_running_loop().call_later(REFILL_S, self.refill)
        while self._idle:
            process = self._idle.pop()  # the one that has its memory at hand
            if process.is_alive:
                process.replaced = refill
                return process
        return None

    def keep(self, process: Process) -> None:
        """Take back one that was taken, and is as good as new. It ends if others have come in its stead."""
        process.instance = SPARE
        process.watch(lambda _: None)
        if process.replaced is not None:
            process.replaced.cancel()
        self._add(process)

    @property
    def are_missing(self) -> bool:
        return len(self._idle) < self._count

    def refill(self) -> None:
        """Forks as many as are missing, in the background."""
        if self.are_missing and (self._filling is None or self._filling.done()):
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        with contextlib.suppress(InstanceFailed):  # who needs one now is told
            while self.are_missing:
                self._add(await Process.fork(self._zygote, SPARE, self._module))

    def _add(self, process: Process) -> None:
        """Let it wait, unless enough do: forks and processes that come back are counted once they are here."""
        if self.are_missing:
            self._idle.append(process)
        else:
            process.caller.close()


class Instance:
    """An instance of a connection, from before it has a process until that is gone."""

    def __init__(self, job: str, id: str) -> None:
        self.job, self.id, self.name = job, id, f"{job}/{id}"
        self.process: Process | None = None
        self.forking = self.unwanted = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()


def released(instance: Instance) -> Cancelled:
    return Cancelled(f"job {instance.job} was released while its instance {instance.id} started")


def died(instance: str, end: End | None) -> InstanceFailed:
    """The error for an instance whose process has ended, with the kernel's reason where it is known."""
    fields: dict[str, object] = {"instance": instance}
    if end is None:
        how = "closed its control connection"
    elif end == LOST:
        how = "was lost: its host's agent or zygote process (jghost) has ended"
    elif end.stopped:
        how = "was stopped by a signal, and ended by its host's agent, as its job would wait for it"
    elif end.signal:
        fields["signal"] = how = signal.Signals(end.signal).name
        how = f"was killed by {how}"
        if end.signal == signal.SIGKILL:
            how += " (by hand, or by the system for lack of memory)"
    else:
        fields["status"] = end.status
        how = f"exited with status {end.status}"
    return InstanceFailed(f"instance {instance} {how}", **fields)
