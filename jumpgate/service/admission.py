"""Which jobs may run: as many at a time as the cores and the memory of their hosts are good for. The others wait.

Turns are fair by user and cost (start-time fair queueing, Goyal et al. 1996): whoever has had less of the estimated
seconds, for its weight, is next, however many connections others have. Of one user's jobs the cheap pass the dear, for
as long as these cost more. Small jobs have threads of their own: they never wait for large ones. One that works for
longer than a small one may is large from then on, as are its user's next jobs until it ends: an estimate may be wrong.
So the small jobs of a user do not wait for those of one other user either.
Users of a higher priority are before all of a lower one; who may only run so many jobs at a time holds nobody else up.

A job that only waits for its client to read needs no cores; and where all that run do so, the next one is admitted
whatever it needs: its client may be who they wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from jumpgate.dataflow.operators import Join, Operator, numbered
from jumpgate.dataflow.traits import State
from jumpgate.errors import Cancelled
from jumpgate.nca.interface import Device, InstancePlan, JobFigures, JobPlan

#: threads for each core that jobs may have at a time: they also wait for storage and for each other
THREADS_PER_CORE = 4
#: times as many for small jobs of several users
SMALL_FACTOR = 2
#: as estimated, a job that is small; and what one is taken to cost of which too little is known
SMALL_S, UNKNOWN_S = 1.0, 10.0
#: of a host's memory, for what is estimated to be held
MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Demand:
    """The needs of a job on each host, by its name: threads, and bytes that its tables are estimated to hold; the
    seconds that it is estimated to take, None if too little is known."""

    threads: Mapping[str, int]
    bytes: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def cost(self) -> float:
        return UNKNOWN_S if self.seconds is None else self.seconds

    @property
    def is_small(self) -> bool:
        return self.seconds is not None and self.seconds <= SMALL_S


#: by the figures of plans, which those that are used again share
_demands: WeakKeyDictionary[JobFigures, tuple[tuple[InstancePlan, ...], Demand | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class User:
    """A user that takes turns. weight: twice as much, twice the work while others of the same priority wait. running:
    how many jobs may run at a time (0: as many as fit)."""

    name: str = ""
    weight: float = 1.0
    priority: int = 0
    running: int = 0


def demand_of(plan: JobPlan) -> Demand:
    """Return the needs of the plan's instances on hosts."""
    instances, demand = _demands.get(plan.figures, ((), None))
    if demand is None or instances is not plan.instances:
        demand = _demand_of(plan)
        _demands[plan.figures] = plan.instances, demand
    return demand


def _demand_of(plan: JobPlan) -> Demand:
    threads: Counter[str] = Counter()
    held: dict[str, float] = {}
    each: dict[str, float] = {}  # of an instance, by its fragment
    for instance in plan.instances:
        if instance.device.kind != "host":
            continue
        if instance.fragment not in each:
            each[instance.fragment] = (
                instance.memory_limit_bytes or _held(plan, instance.fragment, instance.root) / instance.count
            )
        host = instance.device.name
        threads[host] += instance.threads
        held[host] = held.get(host, 0.0) + each[instance.fragment]
    return Demand(threads, held, plan.figures.seconds)


def _held(plan: JobPlan, fragment: str, root: Operator) -> float:
    """Bytes in tables, as far as they are known."""
    numbers = {id(node): number for number, node in enumerate(numbered(root))}

    def bytes_of(node: Operator) -> float:
        figures = plan.figures.operators.get((fragment, numbers[id(node)]))
        return 0.0 if figures is None else figures.bytes

    found = 0.0
    for node in numbered(root):
        if isinstance(node, Join):
            found += bytes_of(node.build)
        elif node.state is State.ROWS:
            found += bytes_of(node)
    return found


@dataclass(eq=False)
class _Entry:
    job: str
    user: User
    demand: Demand
    due: float  #: of one user's jobs the first by this is next
    serial: int
    told: Callable[[int], None]
    admitted: asyncio.Future[None]
    place: int = 0
    works: bool = True
    began: float = 0.0  #: when it was let in
    was_small: bool = False  #: it was let in as a small one

    @property
    def overran(self) -> bool:
        """Return whether a job that runs was estimated as a small one, and works for longer."""
        return self.demand.is_small and self.works and time.monotonic() - self.began > SMALL_S

    @property
    def is_small(self) -> bool:
        """Return whether a job that runs counts among the small ones."""
        return self.was_small and not self.overran


class Admission:
    """The admission of one service, on its event loop. `devices` are the hosts at the time."""

    def __init__(self, devices: Callable[[], Iterable[Device]]) -> None:
        self._devices = devices
        self._serials = itertools.count()
        self._waiting: dict[str, _Entry] = {}
        self._running: dict[str, _Entry] = {}
        self._had: dict[str, float] = {}  # the cost, by weight, of what each user that has jobs here was let in with
        self._virtual: dict[int, float] = {}  # by priority: what the user had whose job was let in last

    @contextlib.asynccontextmanager
    async def turn(self, job: str, user: User, demand: Demand, told: Callable[[int], None]) -> AsyncIterator[None]:
        """Within it the job may run. Until then `told` gets its place in the queue, from 1, whenever that changes.
        Raises Cancelled if it was made to `leave`."""
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        due = time.monotonic() + demand.cost
        self._waiting[job] = _Entry(job, user, demand, due, next(self._serials), told, admitted)
        self._had.setdefault(user.name, self._virtual.get(user.priority, 0.0))
        self._admit()
        try:
            await admitted
            yield
        finally:
            self._waiting.pop(job, None)
            self._running.pop(job, None)
            if not any(e.user.name == user.name for e in (*self._waiting.values(), *self._running.values())):
                self._had.pop(user.name, None)
            self._admit()

    def leave(self, job: str) -> None:
        """A job that waits shall not run any more; nothing happens to others."""
        entry = self._waiting.pop(job, None)
        if entry is not None:
            entry.admitted.set_exception(Cancelled(f"job {job} was cancelled while it waited for its turn", job=job))
            self._admit()

    def works(self, job: str, works: bool) -> None:
        """Return whether a job that runs does more than wait for its client."""
        entry = self._running.get(job)
        if entry is not None and (entry.works != works or self._waiting):
            entry.works = works
            self._admit()

    @property
    def waiting(self) -> list[str]:
        """Jobs in the order in which they will run."""
        return [entry.job for entry in self._order()]

    @property
    def running(self) -> list[tuple[str, Demand]]:
        """Jobs that were let in, and what they need."""
        return [(job, entry.demand) for job, entry in self._running.items()]

    def _order(self) -> list[_Entry]:
        """Order by priority, then by what the users have had, least first, as if each took its turn."""
        waiting: dict[str, list[_Entry]] = {}
        for entry in sorted(self._waiting.values(), key=lambda entry: (entry.due, entry.serial)):
            waiting.setdefault(entry.user.name, []).append(entry)
        had = dict(self._had)
        found: list[_Entry] = []
        while waiting:
            user = min(waiting, key=lambda u: (-waiting[u][0].user.priority, had[u], waiting[u][0].serial))
            entry = waiting[user].pop(0)
            had[user] += entry.demand.cost / entry.user.weight
            found.append(entry)
            if not waiting[user]:
                del waiting[user]
        return found

    def _admit(self) -> None:
        """Lets in who is first, among the small jobs and among the others."""
        blocked: set[str | None] = set()  # users whose small jobs wait, and None for large ones
        late = {entry.user.name for entry in self._running.values() if entry.overran}
        order = self._order()
        for entry in order:
            if entry.admitted.done():  # nobody waits any more
                del self._waiting[entry.job]
                continue
            if self._has_enough(entry.user):
                continue
            is_small = entry.demand.is_small and entry.user.name not in late
            lane = entry.user.name if is_small else None
            if lane not in blocked and self._fits(entry.demand, lane):
                del self._waiting[entry.job]
                self._running[entry.job] = entry
                entry.began, entry.was_small = time.monotonic(), is_small
                self._virtual[entry.user.priority] = self._had[entry.user.name]
                self._had[entry.user.name] += entry.demand.cost / entry.user.weight
                entry.admitted.set_result(None)
            else:
                blocked.add(lane)
        order = [entry for entry in order if entry.job in self._waiting]
        for place, entry in enumerate(order, 1):
            if entry.place != place:
                entry.place = place
                entry.told(place)

    def _has_enough(self, user: User) -> bool:
        """Return whether as many of the user's jobs run as may at a time."""
        return 0 < user.running <= sum(entry.user.name == user.name for entry in self._running.values())

    def _fits(self, demand: Demand, small_of: str | None) -> bool:
        """Return whether hosts have room for a small job of that user, or for a large one (None)."""
        working = [entry for entry in self._running.values() if entry.works]
        if not working:
            return True
        is_small = small_of is not None
        alike = [entry for entry in working if entry.is_small == is_small]
        own = [entry for entry in alike if not is_small or entry.user.name == small_of]
        for device in self._devices():
            threads = demand.threads.get(device.name, 0)
            for beside, most in ((own, THREADS_PER_CORE), (alike, SMALL_FACTOR * THREADS_PER_CORE)):
                used = sum(entry.demand.threads.get(device.name, 0) for entry in beside)
                if threads and used and used + threads > most * device.cores:
                    return False
            held = sum(entry.demand.bytes.get(device.name, 0.0) for entry in self._running.values())
            wanted = demand.bytes.get(device.name, 0.0)
            if wanted and held and device.memory_bytes and held + wanted > MEMORY_SHARE * device.memory_bytes:
                return False
        return True
