"""Runs the in-memory store of store.cpp: workers of several nodes, with hot rows locked as others, locked in a switch,
or kept in one. Checks that what committed transactions added is what is there."""

from __future__ import annotations

import itertools
import json
import random
import struct
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, INSTRUCTIONS_MAX, SWAP, Header, Instruction
from jumpgate.transactions.channel import Lease
from jumpgate.transactions.layout import arrange
from jumpgate.transactions.registers import LocalSwitch
from jumpgate.transactions.simulate import Costs
from jumpgate.transactions.workloads import WORKLOADS, Access, Row, Setting, hot_part
from tests.support import cpp

SOURCE = Path(__file__).with_name("store.cpp")
#: transactions of a worker, which it repeats
EACH = 200
_ACCESS = struct.Struct("<QiBBxx")


@dataclass(frozen=True)
class Run:
    """`parts_us`: where the time of a committed transaction went, in microseconds."""

    committed: int
    aborted: int
    seconds: float
    parts_us: dict[str, float]

    @property
    def per_second(self) -> float:
        return self.committed / self.seconds


class Store:
    """A workload on `nodes` of so many workers. `is_random`: hot rows lie anywhere in the switch."""

    def __init__(self, workload: str, setting: Setting, workers: int, folder: Path, is_random: bool = False) -> None:
        self.folder, self.setting, self.workers = folder, setting, workers
        self.program = cpp.build("store", [SOURCE], cpp.RELEASE)
        draw, rng = WORKLOADS[workload](setting), random.Random(1)
        self.drawn = [
            [_merged(draw(at % setting.nodes, rng)) for _ in range(EACH)] for at in range(setting.nodes * workers)
        ]
        works = [hot_part(accesses) for one in self.drawn for accesses in one[:20]]
        self.layout = arrange([work for work in works if work.rows])
        rows = sorted({a.row for one in self.drawn for accesses in one for a in accesses if a.is_hot})
        for row in rows:  # those that the trace lacks lie anywhere
            if is_random or row not in self.layout.arrays:
                self.layout.arrays[row] = rng.randrange(self.layout.sizes.arrays)
        free = [itertools.count(1) for _ in range(self.layout.sizes.arrays)]
        self.places = {row: (self.layout.arrays[row], next(free[self.layout.arrays[row]])) for row in rows}

    def run(self, mode: str, policy: str, costs: Costs, seconds: float) -> Run:
        """Wait as long as `costs` say, except for a pass, which takes the software switch's own time.

        Raises AssertionError if anything was lost or done twice.
        """
        with LocalSwitch() as switch:
            leases = switch.lease(0, len(self.drawn), "store")
            files = [self._write(at, lease) for at, lease in enumerate(leases)]
            waits = [costs.round_trip_us / 2, costs.access_us, costs.log_us]
            command = [self.program, mode, policy, *waits, seconds, switch.address[1], *files]
            done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            in_switch = sum(switch.read(0, *place) for place in self.places.values())
        if mode == "locks":
            assert in_switch == 0, "locks were left"
        assert found["held"] + in_switch == found["written"], (mode, policy, found, in_switch)
        return Run(found["committed"], found["aborted"], found["seconds"], found["parts_us"])

    def _write(self, at: int, lease: Lease) -> Path:
        path = self.folder / f"worker-{at}"
        with path.open("wb") as file:
            file.write(struct.pack("<II", self.setting.nodes, EACH))
            for accesses in self.drawn[at]:
                file.write(struct.pack("<I", len(accesses)))
                for a in accesses:
                    file.write(_ACCESS.pack(_key(a.row), int(a.writes), a.row.node, a.is_hot))
                for packet in self._packets(accesses, lease):
                    file.write(struct.pack("<I", len(packet)) + packet)
        return path

    def _packets(self, accesses: Sequence[Access], lease: Lease) -> tuple[bytes, bytes, bytes]:
        """Make the packets of a transaction's hot part, of taking its locks in the switch, and of giving them back."""
        passes = self.layout.rows_of_passes(hot_part(list(accesses)))
        if not passes:
            return b"", b"", b""
        writes = {a.row for a in accesses if a.writes}
        act: list[Instruction] = []
        for rows in passes:
            if act and self.places[rows[0]][0] > act[-1].array:
                act.append(Instruction(0, 0))  # a pass of its own begins with an array that does not ascend
            act += [Instruction(*self.places[row], ADD, int(row in writes)) for row in rows]
        assert len(act) <= INSTRUCTIONS_MAX
        rows = sorted((row for part in passes for row in part), key=lambda row: self.places[row])
        take = [
            Instruction(*self.places[row], SWAP, -1, 0) if row in writes else Instruction(*self.places[row], ADD, 1, 0)
            for row in rows
        ]
        give = [Instruction(*self.places[row], ADD, 1 if row in writes else -1) for row in rows]
        return _packet(lease, act), _packet(lease, take), _packet(lease, give)


def _packet(lease: Lease, instructions: Sequence[Instruction]) -> bytes:
    """Make a packet whose sequence number is written where it is sent."""
    passes, locks = len(p4.passes_of(instructions)), p4.locks_of(instructions)
    return p4.pack(Header(lease.flow, 0, lease.secret, 0, locks, passes), instructions)


def _merged(accesses: Sequence[Access]) -> list[Access]:
    """Return one access of each row."""
    writes, needs = Counter[Row](), Counter[Row]()
    for a in accesses:
        writes[a.row] += a.writes
        needs[a.row] += a.needs_earlier
    first = {a.row: a for a in reversed(accesses)}
    rows = dict.fromkeys(a.row for a in accesses)
    return [first[row]._replace(writes=bool(writes[row]), needs_earlier=bool(needs[row])) for row in rows]


_KEYS: dict[Row, int] = {}


def _key(row: Row) -> int:
    return _KEYS.setdefault(row, len(_KEYS))
