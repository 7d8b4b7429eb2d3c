"""A worker's way to the switch: one transaction at a time, sent until it is answered."""

from __future__ import annotations

import ctypes as c
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jumpgate.errors import Unreachable
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import DEFAULT, Header, Instruction
from jumpgate.transactions import native
from jumpgate.transactions.log import Log
from jumpgate.transactions.mirror import Held, Mirror

#: the first repetition comes after so long; worker.cpp has the same
TIMEOUT_FIRST_US = 20_000
#: without any answer for so long the switch counts as lost
LOST_S = 10.0
DATAGRAM_BYTES_MAX = 2048

_HEADER_BYTES = DEFAULT.header.size

Address = tuple[str, int]


@dataclass(frozen=True)
class Lease:
    """A worker's access to a switch: a flow, known by its secret, in the region of a database."""

    flow: int
    secret: int


class Answer(NamedTuple):
    """`gid` is the transaction's number: greater than that of each one that was executed before."""

    gid: int
    results: tuple[int, ...]
    recirculations: int


class Records(NamedTuple):
    """How a transaction is logged: what is put before its packet and before its answer; `is_synced`: the packet's
    record is on the disk before it is sent. `reach` is called with "logged" and "answered"; what it raises ends it.
    With a `mirror` they are also there, or there alone if there is no `log`, with what `held` says of an answer."""

    log: Log | None
    sent: bytes
    answered: bytes
    is_synced: bool
    reach: Callable[[str], None] | None = None
    mirror: Mirror | None = None
    held: Callable[[Answer], Iterable[Held]] | None = None


class Channel:
    """Sends a worker's transactions; each is executed once, however often its packet is lost or repeated.

    Not for several threads: a worker has one transaction on the way. Waits in worker.cpp, without Python's lock.
    `datagram` is the last answer as it came.
    """

    def __init__(self, switch: Address, lease: Lease, lost_s: float = LOST_S) -> None:
        self.switch, self.lease, self.lost_s = switch, lease, lost_s
        self.sequence, self.datagram = 0, b""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", 0, TIMEOUT_FIRST_US))
        self._socket.connect(switch)
        self._library = native.load()
        self._answer = c.create_string_buffer(DATAGRAM_BYTES_MAX)

    def execute(self, instructions: Sequence[Instruction], transaction: int = 0, announce: bool = False) -> Answer:
        """Until it is answered. Raises Unreachable: then it may or may not have been executed."""
        return self.ask(self.sequence + 1, instructions, transaction, announce)

    def ask(
        self, sequence: int, instructions: Sequence[Instruction], transaction: int = 0, announce: bool = False
    ) -> Answer:
        """Likewise with the sequence number of the worker's last transaction, which may have been sent, or the next."""
        return self._ask(self._packet(sequence, instructions, transaction, announce), transaction)

    def execute_logged(
        self, instructions: Sequence[Instruction], transaction: int, records: Records, announce: bool = False
    ) -> Answer:
        """Likewise, with records of it and of its answer in a log. Raises ConfigError if that cannot be written."""
        packet = self._packet(self.sequence + 1, instructions, transaction, announce)
        if records.mirror is not None or records.log is None:
            return self._execute_mirrored(packet, transaction, records)
        raised: list[BaseException] = []

        def reached(point: int) -> int:
            try:
                assert records.reach is not None
                records.reach("logged" if point == 1 else "answered")
            except BaseException as error:  # it cannot pass through C
                raised.append(error)
            return len(raised)

        outcome = self._library.jgtx_execute(
            records.log.handle, self._socket.fileno(), records.sent, records.answered, len(records.sent), packet,
            len(packet), _HEADER_BYTES, records.is_synced, int(self.lost_s * 1e6),
            native.REACH(reached) if records.reach is not None else native.REACH(), self._answer,
        )  # fmt: skip
        if raised:
            raise raised[0]
        if outcome > 0:
            records.log.check(outcome)
        return self._answered(outcome, packet, transaction)

    def _execute_mirrored(self, packet: bytes, transaction: int, records: Records) -> Answer:
        assert records.mirror is not None and records.held is not None
        reach = records.reach or (lambda _: None)
        if records.log is not None:
            records.log.append(records.sent + packet, records.is_synced)
        records.mirror.append(records.sent + packet, records.is_synced)
        reach("logged")
        answer = self._ask(packet, transaction)
        reach("answered")
        if records.log is not None:
            records.log.append(records.answered + self.datagram)
        records.mirror.append(records.answered + self.datagram, held=records.held(answer))
        return answer

    def _ask(self, packet: bytes, transaction: int) -> Answer:
        outcome = self._library.jgtx_ask(
            self._socket.fileno(), packet, len(packet), _HEADER_BYTES, int(self.lost_s * 1e6), self._answer
        )
        return self._answered(outcome, packet, transaction)

    def _packet(self, sequence: int, instructions: Sequence[Instruction], transaction: int, announce: bool) -> bytes:
        self.sequence = sequence
        passes, locks = len(p4.passes_of(instructions)), p4.locks_of(instructions)
        return p4.pack(
            Header(self.lease.flow, sequence, self.lease.secret, transaction, locks, passes, int(announce)),
            instructions,
        )

    def _answered(self, outcome: int, packet: bytes, transaction: int) -> Answer:
        if outcome == native.LOST:
            host, port = self.switch
            raise Unreachable(
                f"the switch at {host}:{port} did not answer transaction {transaction} for {self.lost_s:g} s. It may "
                "have been executed: open the database again, which recovers",
                host=host,
            )
        self.datagram = c.string_at(self._answer, len(packet))
        found = p4.unpack(self.datagram)
        assert found is not None
        header, results = found
        return Answer(header.gid, tuple(results), header.recirculations)

    def close(self) -> None:
        self._socket.close()
