"""A worker's way to the switch: one transaction at a time, sent until it is answered."""

from __future__ import annotations

import ctypes as c
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from jumpgate.errors import Unreachable
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import DEFAULT, Header, Instruction
from jumpgate.transactions import native
from jumpgate.transactions.log import Log
from jumpgate.transactions.mirror import Held, Mirror

#: without any answer for so long the switch counts as lost
LOST_S = 10.0
#: of the longest transaction
DATAGRAM_BYTES_MAX = 256

_UNREACHED = native.REACH()
#: a call of worker.cpp begins with the packet's size, if its record is synced, and what both records begin with; then
#: come the packet and the answer
_RECORDS = struct.Struct("=IB9s9s")
_ANSWER_AT = _RECORDS.size + DATAGRAM_BYTES_MAX

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


def plain_fields(instructions: Sequence[Instruction]) -> list[int]:
    """Return the fields of a packet of any worker and transaction."""
    header = Header(0, 0, 0, 0, p4.locks_of(instructions), len(p4.passes_of(instructions)))
    return p4.fields_of(header, instructions)


class Records(NamedTuple):
    """How the transactions of an epoch are logged: what is put before a packet, before that of a transaction whose
    values are kept, and before an answer. With a `mirror` they are also there, or there alone if there is no `log`."""

    log: Log | None
    mirror: Mirror | None
    sent: bytes
    kept: bytes
    answered: bytes


class Sender:
    """The way to a switch that workers share, whose packets travel in bursts: worker/sender.h. `close` it once none has
    a transaction on the way, or use it as a context manager."""

    def __init__(self, switch: Address, lost_s: float = LOST_S) -> None:
        self.switch, self.lost_s = switch, lost_s
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(switch)
        self.library = native.load()
        self.handle: int = self.library.jgtx_sender_open(self._socket.fileno(), DEFAULT.header.size, int(lost_s * 1e6))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.library.jgtx_sender_close(self.handle)
        self._socket.close()


class Channel:
    """Sends a worker's transactions; each is executed once, however often its packet is lost or repeated.

    Not for several threads: a worker has one transaction on the way. Waits in C++, without Python's lock. `sequence` is
    the number of the last transaction.
    """

    def __init__(self, sender: Sender, lease: Lease, sequence: int = 0) -> None:
        self.lease, self.sequence = lease, sequence
        self._sender = sender
        self._call = (c.c_uint8 * (_ANSWER_AT + DATAGRAM_BYTES_MAX))()
        self._address = c.addressof(self._call)
        self._size = 0  # of the packet, whose answer has a form
        self._answer = struct.Struct("")

    @property
    def datagram(self) -> bytes:
        """The last answer as it came."""
        return bytes(self._call[_ANSWER_AT : _ANSWER_AT + self._size])

    def execute(self, instructions: Sequence[Instruction], transaction: int = 0) -> Answer:
        """Until it is answered. Raises Unreachable: then it may or may not have been executed."""
        return self.ask(self.sequence + 1, instructions, transaction)

    def ask(self, sequence: int, instructions: Sequence[Instruction], transaction: int = 0) -> Answer:
        """Likewise with the sequence number of the worker's last transaction, which may have been sent, or the next."""
        self._write(sequence, plain_fields(instructions), transaction)
        return self._ask(transaction)

    def execute_logged(
        self, fields: list[int], transaction: int, records: Records, *, is_kept: bool, is_synced: bool,
        reach: Callable[[str], None] | None, held: Callable[[Answer], Iterable[Held]],
    ) -> Answer:  # fmt: skip
        """Likewise, with records of it and of its answer in a log. Raises ConfigError if that cannot be written.

        `is_synced`: the packet's record is on the disk before it is sent. `reach` is called with "logged" and
        "answered"; what it raises ends the transaction. `held`: what registers hold after an answer.
        """
        self._write(self.sequence + 1, fields, transaction)
        sent = records.kept if is_kept else records.sent
        if records.mirror is not None:
            return self._execute_mirrored(transaction, records, sent, is_synced, reach, held)
        assert records.log is not None
        _RECORDS.pack_into(self._call, 0, self._size, is_synced, sent, records.answered)
        raised: list[BaseException] = []
        outcome = self._sender.library.jgtx_execute(
            self._sender.handle, records.log.handle, self._address,
            _UNREACHED if reach is None else _reached(reach, raised),
        )  # fmt: skip
        if raised:
            raise raised[0]
        if outcome > 0:
            records.log.check(outcome)
        return self._answered(outcome, transaction)

    def _execute_mirrored(
        self, transaction: int, records: Records, sent: bytes, is_synced: bool,
        reach: Callable[[str], None] | None, held: Callable[[Answer], Iterable[Held]],
    ) -> Answer:  # fmt: skip
        assert records.mirror is not None
        reach = reach or (lambda _: None)
        record = sent + bytes(self._call[_RECORDS.size : _RECORDS.size + self._size])
        if records.log is not None:
            records.log.append(record, is_synced)
        records.mirror.append(record, is_synced)
        reach("logged")
        answer = self._ask(transaction)
        reach("answered")
        record = records.answered + self.datagram
        if records.log is not None:
            records.log.append(record)
        records.mirror.append(record, held=held(answer))
        return answer

    def _ask(self, transaction: int) -> Answer:
        _RECORDS.pack_into(self._call, 0, self._size, False, b"", b"")
        return self._answered(self._sender.library.jgtx_ask(self._sender.handle, self._address), transaction)

    def _write(self, sequence: int, fields: list[int], transaction: int) -> None:
        fields[:4] = self.lease.flow, sequence, self.lease.secret, transaction
        form, self._answer = p4.forms_of(len(fields))
        form.pack_into(self._call, _RECORDS.size, *fields)
        self.sequence, self._size = sequence, form.size

    def _answered(self, outcome: int, transaction: int) -> Answer:
        if outcome == native.LOST:
            host, port = self._sender.switch
            raise Unreachable(
                f"the switch at {host}:{port} did not answer transaction {transaction} for {self._sender.lost_s:g} s. "
                "It may have been executed: open the database again, which recovers",
                host=host,
            )
        found = self._answer.unpack_from(self._call, _ANSWER_AT)
        return Answer(found[1], found[2:], found[0])


def _reached(reach: Callable[[str], None], raised: list[BaseException]) -> c._FuncPointer:
    """Return a function for C, which no exception passes through."""

    def reached(point: int) -> int:
        try:
            reach("logged" if point == 1 else "answered")
        except BaseException as error:
            raised.append(error)
        return len(raised)

    return native.REACH(reached)
