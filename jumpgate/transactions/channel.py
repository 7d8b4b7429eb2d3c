"""A worker's way to the switch: one transaction at a time, sent until it is answered."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jumpgate.errors import Unreachable
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import Header, Instruction

#: a repetition after so long, doubled each time up to the greatest
TIMEOUT_FIRST_S, TIMEOUT_MAX_S = 0.02, 0.5
#: without any answer for so long the switch counts as lost
LOST_S = 10.0
DATAGRAM_BYTES_MAX = 2048

_TIME = struct.Struct("@ll")

Address = tuple[str, int]


@dataclass(frozen=True)
class Lease:
    """A worker's access to a switch: a flow, known by its secret, in the region of a database."""

    flow: int
    secret: int


@dataclass(frozen=True)
class Answer:
    """`gid` is the transaction's number: greater than that of each one that was executed before."""

    gid: int
    results: tuple[int, ...]
    recirculations: int


class Channel:
    """Sends a worker's transactions; each is executed once, however often its packet is lost or repeated.

    Not for several threads: a worker has one transaction on the way.
    """

    def __init__(self, switch: Address, lease: Lease, lost_s: float = LOST_S) -> None:
        self.switch, self.lease, self.lost_s = switch, lease, lost_s
        self.sequence = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(switch)
        self._send: Callable[[bytes], object] = self._socket.send

    def execute(self, instructions: Sequence[Instruction], transaction: int = 0, announce: bool = False) -> Answer:
        """Until it is answered. Raises Unreachable: then it may or may not have been executed."""
        return self.ask(self.sequence + 1, instructions, transaction, announce)

    def ask(
        self, sequence: int, instructions: Sequence[Instruction], transaction: int = 0, announce: bool = False
    ) -> Answer:
        """Likewise with the sequence number of the worker's last transaction, which may have been sent, or the next."""
        self.sequence = sequence
        passes = len(p4.passes_of(instructions))
        locks = p4.locks_of(instructions)
        header = Header(
            self.lease.flow, self.sequence, self.lease.secret, transaction, locks, passes, announce=int(announce)
        )
        packet = p4.pack(header, instructions)
        deadline, timeout = time.monotonic() + self.lost_s, TIMEOUT_FIRST_S
        while time.monotonic() < deadline:
            self._try_send(packet)
            answer = self._await(time.monotonic() + timeout, len(instructions))
            if answer is not None:
                return answer
            timeout = min(2 * timeout, TIMEOUT_MAX_S)
        host, port = self.switch
        raise Unreachable(
            f"the switch at {host}:{port} did not answer transaction {transaction} for {self.lost_s:g} s. It may have "
            "been executed: open the database again, which recovers",
            host=host,
        )

    def _try_send(self, packet: bytes) -> None:
        try:
            self._send(packet)
        except OSError:  # nobody listens just now; the next repetition may find somebody
            return

    def _await(self, until: float, count: int) -> Answer | None:
        while (left := until - time.monotonic()) > 0:
            # One call, not a select and a recv: threads of Python contend for what each call gives up and takes again.
            wait = _TIME.pack(*divmod(int(left * 1e6) + 1, 1_000_000))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, wait)
            try:
                data = self._socket.recv(DATAGRAM_BYTES_MAX)
            except BlockingIOError:
                return None
            except OSError:  # the switch is not there
                time.sleep(min(left, TIMEOUT_FIRST_S))
                continue
            found = p4.unpack(data)
            if found is None:
                continue
            header, results = found
            mine = (header.flow, header.sequence, header.secret) == (self.lease.flow, self.sequence, self.lease.secret)
            if mine and len(results) == count:
                return Answer(header.gid, tuple(results), header.recirculations)
        return None

    def close(self) -> None:
        self._socket.close()
