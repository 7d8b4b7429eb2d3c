"""Many instances, one error: runs a verb on all of them, and of several failures raises the one that explains them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from jumpgate import errors
from jumpgate.errors import InstanceFailed, JumpgateError
from jumpgate.nca.interface import InstancePlan

#: after a failure that may be only a consequence, how long to wait for its cause: a busy host is slow to say who died,
#: a busy service to hear that its client has gone
CAUSE_WAIT_S = 3.0
#: errors of this weight and more may be only consequences
CONSEQUENCE = 2
#: the only host of a service without a configuration file
THIS_MACHINE = "local"


def weight(error: BaseException) -> int:
    """Smaller explains more. When an instance fails or dies, its peers see connections that break off (protocol,
    unreachable), and what is then stopped says so (cancelled)."""
    if isinstance(error, errors.Cancelled):
        return 4
    if isinstance(error, errors.Unreachable):
        return 3
    if isinstance(error, errors.ProtocolError):
        return 2
    return 1 if isinstance(error, InstanceFailed) else 0


def located(error: JumpgateError, instance: InstancePlan, phase: str) -> JumpgateError:
    """The error with the fields that say where it happened; the sentences of dead instances and missing files
    say so, too."""
    error.fields.setdefault("instance", instance.id)
    error.fields.setdefault("host", instance.device.name)
    if phase.startswith("stage "):
        error.fields.setdefault("stage", phase.removeprefix("stage "))
    if isinstance(error, InstanceFailed):
        host = f"'{instance.device.name}'"
        place = "" if host in error.message else f" on host {host}"
        _say(error, f"{error.message},{place} {'in' if 'stage' in error.fields else 'during'} {phase}")
    elif isinstance(error, errors.FileUnreadable) and instance.device.name != THIS_MACHINE:
        _say(error, f"on host '{instance.device.name}': {error.message}")
    return error


def _say(error: JumpgateError, message: str) -> None:
    error.message = message
    error.args = (message,)


async def on_all(verbs: Iterable[tuple[InstancePlan, Awaitable[Any]]], phase: str, *watchers: Awaitable[None]) -> None:
    """Awaits a verb on all instances at once, beside watchers that only end by failing.

    Raises the likeliest cause of a failure: at once where it is one, else after CAUSE_WAIT_S. What still runs then is
    cancelled, and not waited for. A verb of several instances is named by one of them. Without a phase, the verbs'
    errors say where they happened.
    """
    running: dict[asyncio.Future[Any], InstancePlan | None] = {asyncio.ensure_future(v): i for i, v in verbs}
    count = len(running)
    running |= {asyncio.ensure_future(w): None for w in watchers}
    try:
        await _until_failure(running, count, phase)
    finally:
        for task in running:
            task.add_done_callback(retrieve)
            task.cancel()


async def on_one(instance: InstancePlan, verb: Awaitable[Any], phase: str) -> None:
    """The same of a verb that is ours, and ends when it is cancelled: it needs no task."""
    try:
        await verb
    except JumpgateError as error:
        raise located(error, instance, phase) from None


async def _until_failure(running: Mapping[asyncio.Future[Any], InstancePlan | None], count: int, phase: str) -> None:
    """Until `count` have ended that are of instances. Each end costs the same, however many there are."""
    if not count:
        return
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    failures: list[tuple[int, BaseException]] = []
    left = count

    def end() -> None:
        if not over.done():
            over.set_result(None)

    def ended(task: asyncio.Future[Any]) -> None:
        nonlocal left
        instance = running[task]
        left -= instance is not None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, JumpgateError) and instance is not None and phase:
            error = located(error, instance, phase)
        if error is not None:  # a watcher sees for itself: what it says is a cause
            failures.append((weight(error) if instance is not None else min(weight(error), CONSEQUENCE - 1), error))
        if not left or (error is not None and failures[-1][0] < CONSEQUENCE):
            end()
        elif error is not None and len(failures) == 1:
            loop.call_later(CAUSE_WAIT_S, end)

    for task in running:
        task.add_done_callback(ended)
    await over
    if failures:
        raise min(failures, key=itemgetter(0))[1]


async def all_of(verbs: Iterable[Awaitable[Any]]) -> list[Any]:
    """All results, or the first error once everything has ended."""
    results = await asyncio.gather(*verbs, return_exceptions=True)
    for r in results:
        if isinstance(r, BaseException):
            raise r
    return results


def retrieve(task: asyncio.Future[Any]) -> None:
    """Marks a failure that nobody asks for any more as seen."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
