"""Records of the write-ahead log: a transaction's packet as it was sent, and its answer as it came back.

A record is its kind, the epoch that it counts in, the instruction that is required, and the datagram. KEPT is SENT of a
transaction whose values PostgreSQL is given.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jumpgate.errors import ConfigError
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import Guard, Instruction
from jumpgate.transactions.channel import Answer
from jumpgate.transactions.steps import Compiled

SENT, ANSWERED, KEPT = 1, 2, 3
#: array and index
Cell = tuple[int, int]
_PREFIX = struct.Struct("<BbQ")


@dataclass(frozen=True)
class SentRecord:
    """`check`: the required instruction, or -1."""

    flow: int
    sequence: int
    check: int
    instructions: tuple[Instruction, ...]
    is_kept: bool = False

    def is_done(self, answer: Answer) -> bool:
        return Compiled(self.instructions, (), self.check).is_done(answer.results)

    def seen(self, answer: Answer) -> Iterator[tuple[Cell, int]]:
        """Return what registers held before each of its steps, if it was done."""
        if self.is_done(answer):
            for at, (instruction, result) in enumerate(zip(self.instructions, answer.results, strict=True)):
                # behind a requirement only what begins a pass is unguarded, and is no step
                if self.check in (-1, at) or instruction.guard != Guard.NONE:
                    yield (instruction.array, instruction.index), result


def prefix(kind: int, epoch: int, check: int = -1) -> bytes:
    """Return what a record has before its datagram."""
    return _PREFIX.pack(kind, check, epoch)


def is_done(datagram: bytes) -> bool:
    """Tell from an answer alone if its transaction was done: what is required gives its value, and is first."""
    _, instructions = p4.unpack_sent(datagram)
    first = instructions[0] if instructions else None
    return first is None or not first.gives or first.operand >= first.bound


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
        kind, check, of = _PREFIX.unpack_from(record)
        if kind not in (SENT, ANSWERED, KEPT):
            raise ConfigError("the log is of another version of Jumpgate: release all values with that one")
        if of != epoch:
            continue
        datagram = record[_PREFIX.size :]
        if kind != ANSWERED:
            header, instructions = p4.unpack_sent(datagram)
            sent[header.id] = SentRecord(header.flow, header.sequence, check, tuple(instructions), kind == KEPT)
        else:
            number, answer = answered(datagram)
            answers[number] = answer
    return sent, answers
