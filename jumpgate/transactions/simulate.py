"""Simulates a cluster's workers with two-phase locking, without a switch and with hot rows in one.

Discrete events in virtual time. Rows are locked in the order of a transaction's accesses, shared or exclusively, and
kept to its end; a row of another node costs a round trip. Without a switch hot rows are locked as all others. With it
the hot part is one packet: it takes half a round trip, and of several passes it has the halves of the pipeline that it
touches to itself. What is not modelled: CPUs shared by workers, packets lost, the bandwidth of links.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from jumpgate.p4.programs.transactions import DEFAULT
from jumpgate.transactions.layout import Layout, arrange
from jumpgate.transactions.workloads import WORKLOADS, Access, Draw, Row, Setting, hot_part

#: transactions that the layout is made from
TRACE = 2000
#: longest wait before an aborted transaction starts again, in accesses
BACKOFF_ACCESSES = 16
#: where a transaction's time goes
PARTS = ("aborted", "locks", "prepare and log", "switch")


@dataclass(frozen=True)
class Costs:
    """Microseconds: an access with its lock, a round trip between nodes, a synced log, a pass through the switch."""

    access_us: float = 1.0
    round_trip_us: float = 10.0
    log_us: float = 5.0
    pass_us: float = 1.0


@dataclass
class Counts:
    """`hot`: transactions of one packet. `passes`: of all packets. `parts_us`: where the time of all transactions that
    committed went, and of their attempts that were aborted."""

    committed: int = 0
    aborted: int = 0
    hot: int = 0
    packets: int = 0
    passes: int = 0
    seconds: float = 0.0
    parts_us: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    @property
    def per_second(self) -> float:
        return self.committed / self.seconds


@dataclass(eq=False)
class Attempt:
    """A transaction that holds locks. `age`: when it was first tried; the lower, the older."""

    node: int
    age: int
    held: set[Row] = field(default_factory=set)


@dataclass
class Lock:
    holders: set[Attempt] = field(default_factory=set)
    is_exclusive: bool = False
    waiting: list[Generator[float | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Variant:
    """`policy`: no-wait or wait-die. `switched`: hot rows are in the switch. `one_lock`: a transaction of several
    passes has the whole pipeline to itself, not the halves that it touches."""

    policy: str = "no-wait"
    switched: bool = False
    random_layout: bool = False
    one_lock: bool = False


VARIANTS = {
    "no-wait": Variant(),
    "wait-die": Variant("wait-die"),
    "switch": Variant(switched=True),
    "switch, random layout": Variant(switched=True, random_layout=True),
    "switch, random layout, one lock": Variant(switched=True, random_layout=True, one_lock=True),
}


def compare(
    workload: str, setting: Setting, workers: int, costs: Costs, seconds: float, seed: int = 1,
    variants: Sequence[str] = tuple(VARIANTS),
) -> dict[str, Counts]:  # fmt: skip
    """Run the same with each policy of locking, with the switch, and with the switch and rows anywhere in it."""
    made: dict[str, Counts] = {}
    for name in variants:
        draw = WORKLOADS[workload](setting)
        made[name] = Cluster(draw, setting.nodes, workers, costs, VARIANTS[name], seed).run(seconds)
    return made


class Cluster:
    """One run of a variant."""

    def __init__(
        self, draw: Draw, nodes: int, workers: int, costs: Costs, variant: Variant = Variant(), seed: int = 1
    ) -> None:  # fmt: skip
        self.draw, self.nodes, self.costs, self.variant = draw, nodes, costs, variant
        self.counts, self.now = Counts(), 0.0
        self._free_from = {False: 0.0, True: 0.0}  # each half of the pipeline
        self._locks: dict[Row, Lock] = defaultdict(Lock)
        self._ages, self._order = itertools.count(), itertools.count()
        self._events: list[tuple[float, int, Generator[float | None]]] = []
        self._current: Generator[float | None] | None = None
        self._rng = random.Random(seed)
        self._layout = self._laid_out(variant.random_layout) if variant.switched else Layout(DEFAULT)
        for node in range(nodes):
            for worker in range(workers):
                self._push(0.0, self._work(node, random.Random(f"{seed} {node} {worker}")))

    def _laid_out(self, is_random: bool) -> Layout:
        works = [hot_part(self.draw(at % self.nodes, self._rng)) for at in range(TRACE)]
        layout = arrange([w for w in works if w.rows])
        if is_random:
            layout.arrays = {row: self._rng.randrange(layout.sizes.arrays) for row in layout.arrays}
        return layout

    def run(self, seconds: float) -> Counts:
        until = seconds * 1e6
        while self._events and self._events[0][0] <= until:
            self.now, _, process = heapq.heappop(self._events)
            self._current = process
            wait = next(process, None)
            if wait is not None:
                self._push(self.now + wait, process)
        self.counts.seconds = seconds
        return self.counts

    def _push(self, at: float, process: Generator[float | None]) -> None:
        heapq.heappush(self._events, (at, next(self._order), process))

    # ---- a worker ----

    def _work(self, node: int, rng: random.Random) -> Generator[float | None]:
        while True:
            accesses = self.draw(node, rng)
            packet = [a for a in accesses if a.is_hot] if self.variant.switched else []
            locked = [a for a in accesses if not (self.variant.switched and a.is_hot)]
            attempt = Attempt(node, next(self._ages))
            start = began = self.now
            while not (yield from self._locked(attempt, locked)):
                self._release(attempt)
                self.counts.aborted += 1
                yield rng.uniform(0, BACKOFF_ACCESSES * self.costs.access_us)
                began = self.now
            has_locks = self.now
            is_spread = any(a.row.node != node for a in locked)
            if is_spread:
                yield self.costs.round_trip_us  # prepare
            yield self.costs.log_us
            is_logged = self.now
            if packet:
                yield from self._switch(accesses)
            self._release(attempt)
            self.counts.committed += 1
            times = (began - start, has_locks - began, is_logged - has_locks, self.now - is_logged)
            for part, time in zip(PARTS, times, strict=True):
                self.counts.parts_us[part] += time
            self.counts.hot += not locked

    def _locked(self, attempt: Attempt, accesses: Sequence[Access]) -> Generator[float | None, None, bool]:
        """Take the locks one after the other; False if one is refused."""
        for access in accesses:
            away = self.costs.round_trip_us / 2 if access.row.node != attempt.node else 0.0
            yield away + self.costs.access_us
            while not self._take(attempt, access):
                lock = self._locks[access.row]
                if self.variant.policy == "no-wait" or any(holder.age < attempt.age for holder in lock.holders):
                    yield away
                    return False
                assert self._current is not None
                lock.waiting.append(self._current)
                yield None
            if away:
                yield away
        return True

    def _take(self, attempt: Attempt, access: Access) -> bool:
        lock = self._locks[access.row]
        others = lock.holders - {attempt}
        if others and (access.writes or lock.is_exclusive):
            return False
        lock.is_exclusive = access.writes or (lock.is_exclusive and attempt in lock.holders)
        if attempt not in lock.holders:
            lock.holders.add(attempt)
            self._wake(lock)
        attempt.held.add(access.row)
        return True

    def _release(self, attempt: Attempt) -> None:
        """Own rows' locks at once, others' when the message is there."""
        away = {row for row in attempt.held if row.node != attempt.node}
        self._free(attempt, attempt.held - away)
        if away:
            self._push(self.now + self.costs.round_trip_us / 2, self._freed(attempt, away))
        attempt.held = set()

    def _freed(self, attempt: Attempt, rows: set[Row]) -> Generator[float | None]:
        self._free(attempt, rows)
        return
        yield

    def _free(self, attempt: Attempt, rows: set[Row]) -> None:
        for row in rows:
            lock = self._locks[row]
            lock.holders.discard(attempt)
            self._wake(lock)
            if not lock.holders and not lock.waiting:
                del self._locks[row]

    def _wake(self, lock: Lock) -> None:
        """Let those who wait look again: perhaps they get the lock, perhaps an older one has it now."""
        for process in lock.waiting:
            self._push(self.now, process)
        lock.waiting = []

    # ---- the switch ----

    def _switch(self, accesses: list[Access]) -> Generator[float | None]:
        work = hot_part(accesses)
        for row in work.rows:  # those that the trace lacks lie anywhere
            self._layout.arrays.setdefault(row, self._rng.randrange(self._layout.sizes.arrays))
        passes = self._layout.passes(work) or 1
        yield self.costs.round_trip_us / 4
        halves = {self._layout.arrays[row] * 2 >= self._layout.sizes.arrays for row in work.rows}
        if self.variant.one_lock:
            halves = {False, True}
        start, took = max(self.now, *(self._free_from[half] for half in halves)), passes * self.costs.pass_us
        if passes > 1:
            self._free_from.update(dict.fromkeys(halves, start + took))
        self.counts.packets += 1
        self.counts.passes += passes
        yield start - self.now + took + self.costs.round_trip_us / 4
