"""Records of the write-ahead log: a transaction's packet as it was sent, and its answer as it came back.

A record is its kind, the epoch that it counts in, and the datagram. KEPT is SENT of a transaction whose values
PostgreSQL is given.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jumpgate.errors import ConfigError
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import Instruction
from jumpgate.transactions.channel import Answer
from jumpgate.transactions.steps import Executed

SENT, ANSWERED, KEPT = 4, 5, 6
#: array and index
Cell = tuple[int, int]
_PREFIX = struct.Struct("<BQ")


@dataclass(frozen=True)
class SentRecord:
    """A transaction's packet as the log has it."""

    flow: int
    sequence: int
    instructions: tuple[Instruction, ...]
    is_kept: bool = False

    def is_done(self, answer: Answer) -> bool:
        return Executed(self.instructions).is_done(answer.results)

    def seen(self, answer: Answer) -> Iterator[tuple[Cell, int]]:
        """Return what registers held before each of its steps, if it was done."""
        if self.is_done(answer):
            for at in Executed(self.instructions).accesses():
                yield (self.instructions[at].array, self.instructions[at].index), answer.results[at]


def prefix(kind: int, epoch: int) -> bytes:
    """Return what a record has before its datagram."""
    return _PREFIX.pack(kind, epoch)


def is_done(datagram: bytes) -> bool:
    """Tell from an answer alone if its transaction was done; its operands are the results."""
    _, instructions = p4.unpack_sent(datagram)
    return Executed(tuple(instructions)).is_done([i.operand for i in instructions])


def answered(datagram: bytes) -> tuple[int, Answer]:
    """Return a transaction's number and its answer, from the datagram as it came."""
    found = p4.unpack(datagram)
    assert found is not None
    header, results = found
    return header.id, Answer(header.gid, tuple(results), header.recirculations)


def read_records(records: Iterable[bytes], epoch: int) -> tuple[dict[int, SentRecord], dict[int, Answer]]:
    """Return what an epoch's records say was sent and what was answered, by the transactions' ids."""
    sent, answers = dict[int, SentRecord](), dict[int, Answer]()
    for record in records:
        kind, of = _PREFIX.unpack_from(record)
        if kind not in (SENT, ANSWERED, KEPT):
            raise ConfigError("the log is of another version of Jumpgate: release all values with that one")
        if of != epoch:
            continue
        datagram = record[_PREFIX.size :]
        if kind != ANSWERED:
            header, instructions = p4.unpack_sent(datagram)
            sent[header.id] = SentRecord(header.flow, header.sequence, tuple(instructions), kind == KEPT)
        else:
            number, answer = answered(datagram)
            answers[number] = answer
    return sent, answers
