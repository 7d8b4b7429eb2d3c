"""Where registers lie in the software switch's memory: those that a packet reaches with one index lie together, element
by element, so that what it does to all of them costs one line of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.walk import walk

LINE_BYTES = 64


@dataclass(frozen=True)
class Place:
    """In the memory of register `home`, `offset` bytes into its elements, which are `stride` bytes apart."""

    home: int
    offset: int
    stride: int


def field_bytes(register: ir.Register) -> int:
    return max(1, register.fields[0][1].width // 8)


def places(program: ir.Program) -> list[Place]:
    """Return the places of all registers, in order."""
    indices: list[set[ir.Expr]] = [set() for _ in program.registers]
    for s in _statements(program):
        if isinstance(s, ir.Execute):
            indices[s.register].add(s.index)
    open_: dict[tuple[int, ir.Expr], list[int]] = {}  # registers that share a line so far
    lines: list[list[int]] = []
    for number, register in enumerate(program.registers):
        if register.table >= 0 or len(indices[number]) != 1:
            lines.append([number])
            continue
        (index,) = indices[number]
        key = register.size, index
        line = open_.get(key)
        if line is None or _ends(program, [*line, number])[-1] > LINE_BYTES:
            line = open_[key] = []
            lines.append(line)
        line.append(number)
    found: dict[int, Place] = {}
    for line in lines:
        ends = _ends(program, line)
        stride = ends[-1] if len(line) == 1 else 1 << (ends[-1] - 1).bit_length()
        for number, end in zip(line, ends, strict=True):
            found[number] = Place(line[0], end - _bytes(program.registers[number]), stride)
    return [found[number] for number in range(len(program.registers))]


def _bytes(register: ir.Register) -> int:
    return len(register.fields) * field_bytes(register)


def _ends(program: ir.Program, line: list[int]) -> list[int]:
    """Where the elements of these registers end, each at a multiple of its own size."""
    ends: list[int] = []
    for number in line:
        size = _bytes(program.registers[number])
        ends.append(-(-(ends[-1] if ends else 0) // size) * size + size)
    return ends


def _statements(program: ir.Program) -> Iterator[ir.Stmt]:
    for gress in program.gresses:
        yield from walk(gress.control)
    for table in program.tables:
        for action in table.actions:
            yield from walk(action.body)
