"""Breaks life-cycles off after every verb, by destroy and by SIGKILL, and misuses them: nothing may hang or be left
behind."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import Device, Driver, Host, InstancePlan, JobContext, JobPlan, LifeCycle, Reaches

VERBS = ("compile", "allocate", "configure", "execute")
#: for all calls to one instance after compilation, and again for its end
LIMIT_S = 10.0
#: or this many times the time to allocate and destroy an instance, but no more than that
ROUND_TRIPS, LIMIT_S_MAX = 50, 60.0
#: for a program to be compiled
COMPILE_S = 600.0
#: for the resources of an ended instance to disappear
GONE_S = 5.0
#: for a driver that does not watch to return
WATCH_S = 0.05
POLL_S = 0.01


class Way(NamedTuple):
    """The verb after which an instance is given up, and how: destroyed, killed first, or misused first."""

    verb: str
    end: str

    def __str__(self) -> str:
        return f"{self.end} after {self.verb}"


#: `execute` is interrupted while it runs; after `compile` there is no instance yet
WAYS = (
    *(Way(verb, "destroyed") for verb in VERBS),
    *(Way(verb, end) for end in ("killed", "misused") for verb in VERBS[1:]),
)


class LiveHosts(Protocol):
    """Hosts to drive life-cycles on."""

    @property
    def hosts(self) -> Mapping[str, Host]:
        """By device name."""

    async def reach(self, lifecycle: Reaches, device: Device) -> Driver:
        """Connect to a device without an agent; all interrupted life-cycles share the connection."""

    def kill(self) -> None:
        """Kill every instance process with SIGKILL, without notice."""

    def leftovers(self) -> Sequence[str]:
        """Return the processes, sockets and files of instances that exist now."""


async def break_off(
    lifecycle: LifeCycle, plan: JobPlan, nca: str, way: Way, live: LiveHosts, limit_s: float = LIMIT_S
) -> list[str]:
    """Drive the accelerator's instances of `plan` up to a verb and break them off. Return the problems found.

    Their neighbours accept connections and never send anything, so that no stage can end.
    """
    problems: list[str] = []
    job = f"conformance-{way.end}-{way.verb}"
    drivers: dict[str, Driver] = {}
    if isinstance(lifecycle, Reaches):
        for device in dict.fromkeys(d for i in plan.instances if i.nca == nca for d in i.device.chain):
            try:
                drivers[device.name] = await asyncio.wait_for(live.reach(lifecycle, device), limit_s)
            except Exception as error:
                return [raised("reach", error)]
    with socket.create_server(("127.0.0.1", 0), backlog=128) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        edges = tuple(e if e.consumers else replace(e, endpoints=(address,)) for e in plan.edges)
        context = JobContext(job, "0" * 32, replace(plan, edges=edges), dict(live.hosts), drivers)
        context.addresses.update({i.id: address for i in plan.instances})
        context.sockets.update({(i, e.id): address for e in edges for i in (*e.producers, *e.consumers)})
        for instance in (i for i in plan.instances if i.nca == nca):
            problems += await _one(lifecycle, instance, way, context, live, limit_s)
    problems += [f"left behind: {thing}" for thing in await _left(live)]
    for lent in (*live.hosts.values(), *drivers.values()):
        try:
            await asyncio.wait_for(lent.release(job), limit_s)
        except Exception as error:
            problems.append(raised("release", error))
    return problems


async def _one(
    lifecycle: LifeCycle, instance: InstancePlan, way: Way, context: JobContext, live: LiveHosts, limit_s: float
) -> list[str]:
    host: Any = context.hosts.get(instance.device.name)  # None for a device without an agent
    problems: list[str] = []
    try:
        artifact = await asyncio.wait_for(lifecycle.compile(instance, host), COMPILE_S)
        if await asyncio.wait_for(lifecycle.compile(instance, host), COMPILE_S) != artifact:
            problems.append("compile gives another artifact the second time")
        if way.verb == "compile":
            return problems
        handle = await asyncio.wait_for(lifecycle.allocate(instance, context), limit_s)
    except Exception as error:  # any exception of a verb is the finding
        return [*problems, raised("the way to allocate", error)]
    running: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(limit_s):
            if way.verb != "allocate":
                await lifecycle.configure(handle, instance, artifact, context)
            if way.verb == "execute":
                running = asyncio.create_task(_stages(lifecycle, handle, context.plan.stages))
                await asyncio.sleep(0)  # let it ask
                await lifecycle.stats(handle)  # answered while it runs, and after the request to execute
                problems += await _watched(instance, context)
            if way.end == "misused":
                again = lifecycle.configure(handle, instance, artifact, context)
                problems += await _misused(lifecycle, handle, way.verb, again, limit_s)
            if way.end == "killed":
                live.kill()
    except Exception as error:
        problems.append(raised(f"the way to {way.verb}", error))
    problems += await _destroyed(lifecycle, handle, limit_s)
    if way.end == "misused":
        problems += await _refused("execute after destroy", lifecycle.execute(handle, 1), limit_s)
    if running is not None:
        problems += await _ended(running, limit_s)
    return problems


async def _watched(instance: InstancePlan, context: JobContext) -> list[str]:
    """A driver must watch as long as a stage runs: one that returns would miss its device's end."""
    driver = context.drivers.get(instance.device.name)
    if driver is None:
        return []
    watching = asyncio.ensure_future(driver.watch(context.job))
    ended, _ = await asyncio.wait([watching], timeout=WATCH_S)
    if not ended:
        watching.cancel()
        await asyncio.wait([watching])
        return []
    error = watching.exception()
    return ["watch returns while a stage runs" if error is None else f"watch raises {type(error).__name__}: {error}"]


async def _stages(lifecycle: LifeCycle, handle: Any, count: int) -> None:
    for stage in range(1, count + 1):
        await lifecycle.execute(handle, stage)


async def _misused(
    lifecycle: LifeCycle, handle: Any, verb: str, configure: Awaitable[None], limit_s: float
) -> list[str]:
    """Call verbs that cannot follow `verb`; `configure` is that verb, not yet awaited."""
    if verb == "allocate":
        problems = await _refused("execute before configure", lifecycle.execute(handle, 1), limit_s)
        await configure  # in order now, too
        return problems
    problems = await _refused("a second configure", configure, limit_s)
    if verb == "configure":
        problems += await _refused("stage 2 before stage 1", lifecycle.execute(handle, 2), limit_s)
    else:
        problems += await _refused("execute while a stage runs", lifecycle.execute(handle, 1), limit_s)
        await lifecycle.stats(handle)  # it still runs
    return problems


async def _refused(what: str, call: Awaitable[Any], limit_s: float) -> list[str]:
    """A verb out of order must raise a typed error at once."""
    try:
        await asyncio.wait_for(call, limit_s)
    except JumpgateError:
        return []
    except TimeoutError:
        return [f"{what} does not return"]
    except Exception as error:
        return [f"{what} raises {type(error).__name__}, which is not a JumpgateError: {error}"]
    return [f"{what} is not refused"]


async def _destroyed(lifecycle: LifeCycle, handle: Any, limit_s: float) -> list[str]:
    problems = []
    for time in ("first", "second"):
        try:
            await asyncio.wait_for(lifecycle.destroy(handle), limit_s)
        except Exception as error:  # any other exception is a finding
            problems.append(raised(f"destroy (the {time} time)", error))
    return problems


async def _ended(running: asyncio.Task[None], limit_s: float) -> list[str]:
    """An execute whose instance was ended must return counters or raise a typed error."""
    try:
        await asyncio.wait_for(running, limit_s)
    except JumpgateError:
        return []
    except TimeoutError:
        return ["execute does not return when its instance has ended"]
    except Exception as error:
        return [f"execute raises {type(error).__name__} when it is ended, which is not a JumpgateError: {error}"]
    return []


def raised(what: str, error: Exception) -> str:
    """Return the finding of a verb that raised."""
    if isinstance(error, TimeoutError):
        return f"{what} does not return"
    return f"{what} raises {type(error).__name__}: {error}"


async def _left(live: LiveHosts) -> Sequence[str]:
    """Return the resources that are still there after a moment."""
    deadline = asyncio.get_running_loop().time() + GONE_S
    while (left := live.leftovers()) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(POLL_S)
    return left
