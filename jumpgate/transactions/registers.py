"""The control of a switch that runs the program: who may send, in which region, and what registers hold at first."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from jumpgate.errors import CapacityExceeded, ConfigError
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import HOLDERS
from jumpgate.p4.switch.build import build
from jumpgate.p4.switch.switch import Entry, PortSpec, Switch
from jumpgate.transactions.channel import Address, Lease

PORT = 1
DATABASES_MAX = 256
WORD = 1 << 32


class LocalSwitch:
    """A software switch of this process. Databases share it, each with 2^index_bits values an array.

    `incarnation` differs from that of every other switch, also of this one before it lost its registers, or a packet
    that waited for another pass: then locks may be held by nobody, and what a transaction did may be half of it.
    """

    def __init__(self, index_bits: int = 12, profile: str = "tofino1") -> None:
        self.index_bits = index_bits
        self._name = secrets.token_hex(8)
        source = Path(p4.__file__).with_name("transactions.p4")
        self.switch = Switch(build(source, profile).program)
        port = self.switch.add_port(PortSpec.parse(f"{PORT}=127.0.0.1:0,as={p4.UDP_PORT}"))
        self.address: Address = ("127.0.0.1", port)
        self.switch.start()
        self._lock = threading.Lock()
        self._leases: dict[int, list[Lease]] = {}
        self._owners: dict[int, str] = {}
        self._workers = 0
        self._ports: dict[Address, int] = {}

    @property
    def incarnation(self) -> str:
        return f"{self._name}.{self.switch.counts()['loop_full']}"

    def lease(self, database: int, workers: int, owner: str) -> list[Lease]:
        """Flows of at least so many workers of a database: those that its owner has already, and new ones.

        Raises CapacityExceeded, or ConfigError if the number is another owner's.
        """
        with self._lock:
            made = self._leases.get(database, [])
            if self._owners.get(database, owner) != owner:
                raise ConfigError(f"database {database} of the switch is another one's: open yours with another number")
            workers -= len(made)
            regions = 1 << p4.DEFAULT.index_bits - self.index_bits
            if database >= min(regions, DATABASES_MAX):
                raise CapacityExceeded(f"the switch has regions of 2^{self.index_bits} values for {regions} databases")
            if self._workers + workers > 1 << p4.DEFAULT.worker_bits:
                raise CapacityExceeded(f"the switch has {1 << p4.DEFAULT.worker_bits} workers, {self._workers} in use")
            for _ in range(workers):
                made.append(self._admit(self._workers, database))
                self._workers += 1
            self._leases[database], self._owners[database] = made, owner
            return list(made)

    def _admit(self, flow: int, database: int) -> Lease:
        """Give a flow a secret."""
        lease = Lease(flow, secrets.randbits(64))
        data = (flow, database, database << self.index_bits, (1 << self.index_bits) - 1, database + 1)
        self.switch.insert(self.switch.table("flow"), self._entry(lease, data))
        return lease

    def _entry(self, lease: Lease, data: tuple[int, ...] = ()) -> Entry:
        table = self.switch.table("flow")
        return Entry((lease.flow, lease.secret), (0xFFFF, (1 << 64) - 1), 0, table.action("serve"), data)

    def evict(self, database: int) -> None:
        """End what a database has on the way: its locks, turns, and flows, which get other secrets."""
        with self._lock:
            for lease in self._leases[database]:
                self.switch.delete(self.switch.table("flow"), self._entry(lease))
            for name in ("locks", "eldest"):
                self.switch.write_register(self.switch.register(name), database, [(0, 0)])
            self._leases[database] = [self._admit(lease.flow, database) for lease in self._leases[database]]

    def announce(self, database: int, agents: Sequence[Address]) -> None:
        """Multicast a database's decisions to these addresses alone. Raises CapacityExceeded."""
        with self._lock:
            for address in agents:
                if address not in self._ports:
                    number = PORT + 1 + len(self._ports)
                    if number >= HOLDERS:
                        raise CapacityExceeded(f"the switch has {HOLDERS - PORT - 1} ports for agents, all in use")
                    self.switch.add_port(PortSpec(number, "0.0.0.0", 0, address))
                    self._ports[address] = number
            self.switch.set_multicast(database + 1, [(self._ports[address], 0) for address in agents])

    def load(self, database: int, cells: Mapping[tuple[int, int], int], gid: int | None = None) -> None:
        """Sets values by (array, index of the database), and the last transaction's number, while nobody sends."""
        for (array, index), value in cells.items():
            register = self.switch.register(f"array_{array}")
            self.switch.write_register(register, (database << self.index_bits) + index, [(value % WORD,)])
        if gid is not None:
            self.switch.write_register(self.switch.register("gid_low"), database, [(gid % WORD,)])
            self.switch.write_register(self.switch.register("gid_high"), database, [(gid // WORD,)])

    def read(self, database: int, array: int, index: int) -> int:
        register = self.switch.register(f"array_{array}")
        word = self.switch.read_register(register, (database << self.index_bits) + index, 1)[0][0]
        return word - WORD if word > p4.GREATEST else word

    def sequence(self, lease: Lease) -> int:
        """That of the last transaction of a worker that the switch has seen."""
        return self.switch.read_register(self.switch.register("sequences"), lease.flow, 1)[0][0]

    def last(self, database: int) -> int:
        """The number of the last transaction of a database."""
        high, low = (
            self.switch.read_register(self.switch.register(name), database, 1)[0][0] for name in ("gid_high", "gid_low")
        )
        return high * WORD + low

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The registers are lost."""
        self.switch.close()
