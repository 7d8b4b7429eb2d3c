"""Which jobs may run: as many at a time as the cores and the memory of their hosts are good for. The others wait, and
clients take turns, so that one with many jobs does not hold up the others.

A job that only waits for its client to read needs no cores; and where all that run do so, the next one is admitted
whatever it needs: its client may be who they wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from jumpgate.dataflow.operators import Aggregate, Join, Operator, Sort, Window, numbered
from jumpgate.errors import Cancelled
from jumpgate.nca.interface import Device, JobPlan

#: threads for each core that jobs may have at a time: they also wait for storage and for each other
THREADS_PER_CORE = 4
#: of a host's memory, for what is estimated to be held
MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Demand:
    """What a job needs of each host, by its name: threads, and bytes that its tables are estimated to hold."""

    threads: Mapping[str, int]
    bytes: Mapping[str, float] = field(default_factory=dict)


def demand_of(plan: JobPlan) -> Demand:
    """What the plan's instances need of hosts."""
    threads: Counter[str] = Counter()
    held: dict[str, float] = {}
    each: dict[str, float] = {}  # of an instance, by its fragment
    for instance in plan.instances:
        if instance.device.kind != "host":
            continue
        if instance.fragment not in each:
            limit = float(dict(instance.options).get("memory_limit_bytes", 0))
            each[instance.fragment] = limit or _held(plan, instance.fragment, instance.root) / instance.count
        host = instance.device.name
        threads[host] += instance.threads
        held[host] = held.get(host, 0.0) + each[instance.fragment]
    return Demand(threads, held)


def _held(plan: JobPlan, fragment: str, root: Operator) -> float:
    """Bytes in tables, as far as they are known."""
    numbers = {id(node): number for number, node in enumerate(numbered(root))}

    def bytes_of(node: Operator) -> float:
        figures = plan.figures.operators.get((fragment, numbers[id(node)]))
        return 0.0 if figures is None else figures.bytes

    found = 0.0
    for node in numbered(root):
        if isinstance(node, Join):
            found += bytes_of(node.right)
        elif isinstance(node, Aggregate | Sort | Window):
            found += bytes_of(node)
    return found


@dataclass(eq=False)
class _Entry:
    job: str
    client: str
    demand: Demand
    serial: int
    told: Callable[[int], None]
    admitted: asyncio.Future[None]
    place: int = 0
    works: bool = True


class Admission:
    """Of one service; on its event loop. `devices` are the hosts at the time."""

    def __init__(self, devices: Callable[[], Iterable[Device]]) -> None:
        self._devices = devices
        self._serials = itertools.count()
        self._waiting: dict[str, _Entry] = {}
        self._running: dict[str, _Entry] = {}
        self._served: dict[str, int] = {}  # when each client that has jobs here had its last turn

    @contextlib.asynccontextmanager
    async def turn(self, job: str, client: str, demand: Demand, told: Callable[[int], None]) -> AsyncIterator[None]:
        """Within it the job may run. Until then `told` gets its place in the queue, from 1, whenever that changes.
        Raises Cancelled if it was made to `leave`."""
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[job] = _Entry(job, client, demand, next(self._serials), told, admitted)
        self._admit()
        try:
            await admitted
            yield
        finally:
            self._waiting.pop(job, None)
            self._running.pop(job, None)
            if not any(entry.client == client for entry in (*self._waiting.values(), *self._running.values())):
                self._served.pop(client, None)
            self._admit()

    def leave(self, job: str) -> None:
        """A job that waits shall not run any more; nothing happens to others."""
        entry = self._waiting.pop(job, None)
        if entry is not None:
            entry.admitted.set_exception(Cancelled(f"job {job} was cancelled while it waited for its turn", job=job))
            self._admit()

    def works(self, job: str, works: bool) -> None:
        """Whether a job that runs does more than wait for its client."""
        entry = self._running.get(job)
        if entry is not None and entry.works != works:
            entry.works = works
            self._admit()

    @property
    def waiting(self) -> list[str]:
        """Jobs in the order in which they will run."""
        return [entry.job for entry in self._order()]

    def _order(self) -> list[_Entry]:
        """Those first whose clients have the fewest jobs before them, then those whose had no turn for the longest."""
        before = Counter(entry.client for entry in self._running.values())
        ranked: list[tuple[int, int, int, _Entry]] = []
        for entry in self._waiting.values():  # in the order in which they came
            ranked.append((before[entry.client], self._served.get(entry.client, -1), entry.serial, entry))
            before[entry.client] += 1
        return [entry for *_, entry in sorted(ranked, key=lambda rank: rank[:3])]

    def _admit(self) -> None:
        order = self._order()
        while order and self._fits(order[0].demand):
            entry = self._waiting.pop(order[0].job)
            if entry.admitted.done():  # nobody waits any more
                order.pop(0)
                continue
            self._running[entry.job] = entry
            self._served[entry.client] = next(self._serials)
            entry.admitted.set_result(None)
            order = self._order()
        for place, entry in enumerate(order, 1):
            if entry.place != place:
                entry.place = place
                entry.told(place)

    def _fits(self, demand: Demand) -> bool:
        working = [entry for entry in self._running.values() if entry.works]
        if not working:
            return True
        for device in self._devices():
            threads = demand.threads.get(device.name, 0)
            used = sum(entry.demand.threads.get(device.name, 0) for entry in working)
            if threads and used and used + threads > THREADS_PER_CORE * device.cores:
                return False
            held = sum(entry.demand.bytes.get(device.name, 0.0) for entry in self._running.values())
            wanted = demand.bytes.get(device.name, 0.0)
            if wanted and held and device.memory_bytes and held + wanted > MEMORY_SHARE * device.memory_bytes:
                return False
        return True
