"""Transactions on a switch's registers, each a packet, in the order of the pipeline (P4DB, SIGMOD 2022, section 4).

A transaction is up to eight instructions. An array of registers is accessed once in a pass, and arrays lie in levels:
`arrays = levels x columns`, array a in level a // columns and column a % columns. A pass takes instructions from the
front as long as their arrays ascend; the rest takes further passes, under a lock of two halves.

The value v of a cell is an int32. With operand x and bound b an instruction's result is the old v, and

- ADD: v + x if v >= b (b the least int32: always; -x: the sum stays >= 0); with x = 0 it reads
- SET: x if v >= b (always: writes; b = x + 1: the minimum)
- RAISE: x if v < b (b = x: the maximum)
- SWAP: x if v == b

`gives` also puts the result into its column's carry, and that of column 0 puts result - b, saturated, into `left`: not
below zero if ADD or SET was done, zero if SWAP was. It is -1 at first. `takes` n > 0: the operand is the carry of
column n - 1, as the levels before left it, in this pass or an earlier one. A guard (`Guard`) skips the instruction:
without a result, its operand comes back. All of a level see the same carries and the same `left`.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from jumpgate.p4.programs.render import environment

UDP_PORT = 9802
LEAST, GREATEST = -(1 << 31), (1 << 31) - 1
ADD, SET, RAISE, SWAP = range(4)
GIVES = 4
END = 0xFF
STALE, REPEATED, FRESH, HOLDING = 1, 2, 4, 16
INSTRUCTIONS_MAX = 8
#: a packet that came round so often, a power of two, goes before all that did not
PATIENCE = 64
#: ports on which packets come round: who holds locks, who waits, and repetitions
HOLDERS, WAITERS, REPEATS = 68, (69, 70), 71


@dataclass(frozen=True)
class TransactionSizes:
    """The sizes that the program is rendered with: 2^index_bits values an array, 2^worker_bits workers, and 2^pass_bits
    passes."""

    levels: int = 4
    columns: int = 2
    index_bits: int = 16
    worker_bits: int = 8
    pass_bits: int = 3

    @property
    def arrays(self) -> int:
        return self.levels * self.columns

    @cached_property
    def header(self) -> struct.Struct:
        """The header of a datagram's payload."""
        return struct.Struct(f">HIQQBBBBBBHHQ{4 * self.columns + 4}x")


DEFAULT = TransactionSizes()


class Guard(IntEnum):
    """Asks for `left`; an instruction with any other number is never executed."""

    NONE = 0
    DONE = 1  # left >= 0
    NOT_DONE = 2
    SWAPPED = 3  # left == 0
    NOT_SWAPPED = 4

    def holds(self, left: int) -> bool:
        return (True, left >= 0, left < 0, left == 0, left != 0)[self]


@dataclass(frozen=True)
class Instruction:
    array: int
    index: int
    action: int = ADD
    operand: int = 0
    bound: int = LEAST
    gives: bool = False
    takes: int = 0
    guard: int = 0

    FORMAT = struct.Struct(">BBHii")

    @property
    def operation(self) -> int:
        return self.action | GIVES * self.gives | self.takes << 3 | self.guard << 5

    def fields(self) -> tuple[int, int, int, int, int]:
        return self.array, self.operation, self.index, self.operand, self.bound


def passes_of(instructions: Sequence[Instruction]) -> list[list[int]]:
    """Which instructions each pass takes: runs of ascending arrays; one empty pass for none."""
    runs: list[list[int]] = [[]]
    for i, instruction in enumerate(instructions):
        if runs[-1] and instructions[runs[-1][-1]].array >= instruction.array:
            runs.append([])
        runs[-1].append(i)
    return runs


def locks_of(instructions: Iterable[Instruction], sizes: TransactionSizes = DEFAULT) -> tuple[int, int]:
    """The halves of the pipeline that a transaction touches: the arrays of its first levels, and those of its last."""
    halves = {instruction.array * 2 >= sizes.arrays for instruction in instructions}
    return int(False in halves), int(True in halves)


class Header(NamedTuple):
    """A transaction's fields as they travel; what the switch fills in is zero on the way to it."""

    flow: int
    sequence: int
    secret: int
    id: int
    locks: tuple[int, int]
    passes: int
    announce: int = 0
    state: int = 0
    recirculations: int = 0
    gid: int = 0

    def fields(self) -> tuple[int, ...]:
        return (
            self.flow, self.sequence, self.secret, self.id, *self.locks, self.passes, self.announce, self.state, 0, 0,
            self.recirculations, self.gid,
        )  # fmt: skip


#: of the fields of a datagram: whether it is announced, and the first of an instruction; the fields of each instruction
ANNOUNCE, FIRST, EACH = 7, 13, 5
#: of an instruction's fields
OPERAND, BOUND = 3, 4


def fields_of(header: Header, instructions: Sequence[Instruction]) -> list[int]:
    """Return the fields of a datagram."""
    return [*header.fields(), *itertools.chain.from_iterable(i.fields() for i in instructions), END]


@cache
def forms_of(fields: int, sizes: TransactionSizes = DEFAULT) -> tuple[struct.Struct, struct.Struct]:
    """Return the forms of a datagram of so many fields, and of its answer: recirculations, gid and results."""
    count = (fields - FIRST - 1) // EACH
    assert count <= INSTRUCTIONS_MAX
    return (
        struct.Struct(f"{sizes.header.format}{count * 'BBHii'}B"),
        struct.Struct(f">30xHQ{sizes.header.size - 40}x{count * '4xi4x'}x"),
    )


def pack(header: Header, instructions: Sequence[Instruction], sizes: TransactionSizes = DEFAULT) -> bytes:
    """A datagram's payload."""
    fields = fields_of(header, instructions)
    return forms_of(len(fields), sizes)[0].pack(*fields)


def unpack(payload: bytes, sizes: TransactionSizes = DEFAULT) -> tuple[Header, list[int]] | None:
    """An answer's header and the results in the instructions' order; None if it is no answer of the switch."""
    form, step = sizes.header, Instruction.FORMAT.size
    if len(payload) < form.size + 1 or (len(payload) - form.size - 1) % step:
        return None
    flow, sequence, secret, number, left, right, passes, announce, state, _, _, laps, gid = form.unpack_from(payload)
    read = list(Instruction.FORMAT.iter_unpack(payload[form.size : -1]))
    if state not in (REPEATED, FRESH) or not all(array & 0x80 for array, *_ in read):
        return None
    header = Header(flow, sequence, secret, number, (left, right), passes, announce, state, laps, gid)
    return header, [operand for _, _, _, operand, _ in read]


def unpack_sent(payload: bytes, sizes: TransactionSizes = DEFAULT) -> tuple[Header, list[Instruction]]:
    """Return what `pack` was given."""
    form = sizes.header
    flow, sequence, secret, number, left, right, passes, announce, *_ = form.unpack_from(payload)
    header = Header(flow, sequence, secret, number, (left, right), passes, announce)
    return header, [
        Instruction(
            array, index, operation & 3, operand, bound, bool(operation & GIVES), operation >> 3 & 3, operation >> 5
        )
        for array, operation, index, operand, bound in Instruction.FORMAT.iter_unpack(payload[form.size : -1])
    ]


@dataclass
class Waiting:
    """A packet on its way through the passes of its transaction; `is_holding`: it has the locks that it wants."""

    worker: int
    locks: tuple[int, int]
    passes: int
    recirculations: int = 0
    is_holding: bool = False


class Move(Enum):
    """Tells where a pass sends a packet."""

    ANSWER = "answer"
    HOLD = "hold"
    WAIT = "wait"


class Order:
    """Decide for one database which packets execute and which wait, pass by pass, as the program does.

    A packet that came round PATIENCE times claims the next turn. While one has it, packets that did not wait so long
    wait, even if the locks that they want are free; of several the one that came round most often has it. So a packet
    waits for PATIENCE rounds, and then for those alone that hold locks or have waited longer.
    """

    def __init__(self) -> None:
        self.held = [0, 0]
        self.eldest = 0, 0  # rounds and worker

    def move(self, packet: Waiting, comes_again: bool) -> Move:
        """Decide a pass; the packet changes as its header does."""
        claims = may_run = False
        if not comes_again or not packet.is_holding and packet.recirculations < PATIENCE:
            may_run = self.eldest[0] == 0
        elif not packet.is_holding:
            claims = True
            may_run = packet.recirculations > self.eldest[0] or packet.worker == self.eldest[1]
            if may_run:
                self.eldest = packet.recirculations, packet.worker
        elif packet.worker == self.eldest[1]:
            self.eldest = 0, 0
        packet.recirculations = min(packet.recirculations + comes_again, 0xFFFF)
        if packet.is_holding:
            return self._hold(packet)
        if not may_run or any(held + wanted > 1 for held, wanted in zip(self.held, packet.locks, strict=True)):
            return Move.WAIT
        if packet.passes == 1 and not claims:
            return Move.ANSWER
        packet.is_holding = True
        if packet.passes == 1:
            packet.locks = 0, 0  # it comes round once more, to give the turn up
        else:
            self._change(packet, 1)
            packet.passes -= 1
        return Move.HOLD

    def _hold(self, packet: Waiting) -> Move:
        if packet.passes == 1:
            self._change(packet, -1)
            return Move.ANSWER
        packet.passes -= 1
        return Move.HOLD

    def _change(self, packet: Waiting, by: int) -> None:
        self.held = [held + by * wanted for held, wanted in zip(self.held, packet.locks, strict=True)]


class Reference:
    """The arrays of one database: what the program does with whole transactions, one after the other."""

    def __init__(self, sizes: TransactionSizes = DEFAULT) -> None:
        self.sizes = sizes
        self.gid = 0
        self.cells: dict[tuple[int, int], int] = {}

    def run(self, instructions: Sequence[Instruction]) -> list[int]:
        """Executes a transaction; returns its results."""
        self.gid += 1
        results = [instruction.operand for instruction in instructions]
        carry, left = [0] * self.sizes.columns, -1
        for taken in passes_of(instructions):
            for level in range(self.sizes.levels):
                seen, at = list(carry), left
                for i in taken:
                    if instructions[i].array // self.sizes.columns != level:
                        continue
                    gave = self._execute(i, instructions[i], results, seen, at)
                    column = instructions[i].array % self.sizes.columns
                    if gave:
                        carry[column] = results[i]
                        if column == 0:
                            left = max(LEAST, min(GREATEST, results[i] - instructions[i].bound))
        return results

    def _execute(self, i: int, instruction: Instruction, results: list[int], carry: list[int], left: int) -> bool:
        """Puts the result, or the operand of what was skipped, into `results`; True if it gives."""
        if 0 < instruction.takes <= self.sizes.columns:
            results[i] = carry[instruction.takes - 1]
        if instruction.guard > max(Guard) or not Guard(instruction.guard).holds(left):
            return False
        cell = instruction.array, instruction.index
        old = self.cells.get(cell, 0)
        self.cells[cell] = changed(old, replace(instruction, operand=results[i]))
        results[i] = old
        return instruction.gives


def changed(old: int, instruction: Instruction) -> int:
    """Return a cell's next value; sums wrap as an int32."""
    x, b = instruction.operand, instruction.bound
    match instruction.action:
        case 0:
            return (old + x - LEAST) % (1 << 32) + LEAST if old >= b else old
        case 1:
            return x if old >= b else old
        case 2:
            return x if old < b else old
        case _:
            return x if old == b else old


def _guard(i: int) -> str:
    """The condition, as P4, under which array i's instruction is executed."""
    operation, left = f"hdr.slot_{i}.operation[7:5]", "hdr.transaction.left"
    conditions = {
        Guard.DONE: f"{left}[31:31] == 0",
        Guard.NOT_DONE: f"{left}[31:31] == 1",
        Guard.SWAPPED: f"{left} == 0",
        Guard.NOT_SWAPPED: f"{left} != 0",
    }
    terms = [f"({operation} == {int(guard)} && {condition})" for guard, condition in conditions.items()]
    return f"({operation} == 0 || {' || '.join(terms)})"


def render(sizes: TransactionSizes = DEFAULT) -> str:
    """P4-16 source of the program of these sizes; equal sizes give equal bytes."""
    words = [{"name": str(i), "field": f"hdr.slot_{i}.operand", "type": "int<32>"} for i in range(sizes.arrays)]
    words += [{"name": n, "field": f"hdr.transaction.{n}", "type": "bit<32>"} for n in ("gid_low", "gid_high")]
    return environment().get_template("transactions.p4.j2").render(
        levels=sizes.levels, columns=sizes.columns, arrays=sizes.arrays, index_bits=sizes.index_bits,
        worker_bits=sizes.worker_bits, pass_bits=sizes.pass_bits, instructions=INSTRUCTIONS_MAX,
        patience=PATIENCE, holders=HOLDERS, waiters=WAITERS, repeats=REPEATS, udp_port=UDP_PORT,
        kept=words, guard=_guard,
    )  # fmt: skip


def write(folder: Path = Path(__file__).parent) -> None:
    """Writes the source of the default sizes, which the repository keeps for review and for other compilers."""
    (folder / "transactions.p4").write_text(render())


if __name__ == "__main__":
    write()
