"""The meaning of a typed program, slowly: what the generated C++ is tested against.

Runs a packet through one gress as p4/switch/include/jgsw/program.h describes it. Tables hold their constant rows and
those in `rows`; random numbers, mirrored copies and digests are the caller's business and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.arithmetic import binary, cut, read, unary
from jumpgate.p4.compiler.elaboration.mathunits import approximate
from jumpgate.p4.compiler.walk import PARSER_ERROR_NO_MATCH, PARSER_ERROR_PARTIAL_HDR, parser_errors

Words = tuple[int, ...]


class _Failed(Exception):
    """The parser gave up."""

    def __init__(self, error: int = PARSER_ERROR_PARTIAL_HDR) -> None:
        self.error = error


class _Leave(Exception):
    def __init__(self, label: int) -> None:
        self.label = label


def crc(a: ir.Crc, data: bytes) -> int:
    """Bit by bit, as catalogues of CRCs define it.

    >>> hex(crc(ir.Crc(16, 0x1021, 0xFFFF, 0, False), b"123456789"))
    '0x29b1'
    """
    register, top, mask = a.initial, 1 << a.width - 1, (1 << a.width) - 1
    for byte in data:
        for i in range(8):
            bit = byte >> (i if a.reflect else 7 - i) & 1
            out = bool(register & top) != bool(bit)
            register = register << 1 & mask ^ (a.polynomial if out else 0)
    return (_reversed(register, a.width) if a.reflect else register) ^ a.xor_out


def _reversed(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def digest(algorithm: ir.Crc | str, data: bytes) -> int:
    """A hash of whole bytes; the result is cut by whoever asks."""
    if isinstance(algorithm, ir.Crc):
        return crc(algorithm, data)
    if algorithm == "identity":
        return int.from_bytes(data[-8:], "big")
    step = 2 if algorithm == "checksum" else int(algorithm[3:]) // 8
    if algorithm == "checksum":
        total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), step))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        return total ^ 0xFFFF
    out = 0
    for end in range(len(data), 0, -step):
        out ^= int.from_bytes(data[max(0, end - step) : end], "big")
    return out


@dataclass
class Interpreter:
    """A program's state: registers, counters (packets of each cell) and rows by table."""

    program: ir.Program
    random: Callable[[], int] = lambda: 0
    registers: list[list[list[int]]] = field(init=False)
    counters: list[list[int]] = field(init=False)
    rows: list[list[ir.Row]] = field(init=False)

    def __post_init__(self) -> None:
        self.registers = [[list(r.initial) for _ in range(r.size)] for r in self.program.registers]
        self.counters = [[0] * c.size for c in self.program.counters]
        self.rows = [list(t.rows or ()) for t in self.program.tables]

    def run(self, gress: ir.Gress, frame: bytes, given: dict[tuple[str, str], int]) -> Pass | None:
        """One pass; `given`: intrinsic metadata, (type, field) → number. None: the parser refused the frame, and the
        program does not look at parser_err."""
        here = Pass(self, gress, frame)
        for key, number in given.items():
            if key in gress.intrinsic:
                here.values[gress.intrinsic[key].id] = number
        try:
            here.parse()
        except _Failed as failed:
            errors = parser_errors(self.program, gress)
            if errors is None:
                return None
            here.values[errors.id] = failed.error
        here.statements(gress.control)
        here.statements(gress.deparser)
        return here


@dataclass
class Pass:
    """One packet in one gress: values of the slots, and the parser's place in the frame."""

    state: Interpreter
    gress: ir.Gress
    frame: bytes
    cursor: int = 0
    values: dict[int, int] = field(default_factory=dict)
    out: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.values = {s.id: s.initial for s in self.gress.slots}

    @property
    def deparsed(self) -> bytes:
        """Return the headers that were emitted, then the rest of the frame."""
        return bytes(self.out) + self.frame[self.cursor :]

    def field(self, kind: str, name: str) -> int:
        """Intrinsic metadata as the program left it."""
        return self.values[self.gress.intrinsic[kind, name].id]

    # ---- parser ----

    def parse(self) -> None:
        at = 0
        while at != ir.ACCEPT:
            if at == ir.REJECT:
                raise _Failed(PARSER_ERROR_NO_MATCH)
            state = self.gress.states[at]
            self.statements(state.body)
            subjects = [self.value(s) for s in state.subjects]
            at = next((c.target for c in state.cases if _matches(c, subjects)), ir.REJECT)

    def _take(self, offset: int, bits: int) -> int:
        """Bits of the frame behind the cursor."""
        last = offset + bits
        if self.cursor + (last + 7) // 8 > len(self.frame):
            raise _Failed
        number = int.from_bytes(self.frame[self.cursor : self.cursor + (last + 7) // 8], "big")
        return number >> -last % 8 & (1 << bits) - 1

    def _extract(self, s: ir.Extract) -> None:
        if s.source == "packet":
            offset = 0
            if self.cursor + s.bits // 8 > len(self.frame):
                raise _Failed
            for f in s.fields:
                self.values[f.id] = self._take(offset, f.type.width)
                offset += f.type.width
            self.cursor += s.bits // 8
        if s.valid:
            self.values[s.valid.id] = 1

    # ---- statements ----

    def statements(self, body: Sequence[ir.Stmt]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: ir.Stmt) -> None:
        match s:
            case ir.Set():
                self.values[s.slot.id] = self.value(s.value)
            case ir.If():
                self.statements(s.then if self.value(s.condition) else s.otherwise)
            case ir.Scope():
                try:
                    self.statements(s.body)
                except _Leave as leave:
                    if leave.label != s.label:
                        raise
            case ir.Leave():
                raise _Leave(s.label)
            case ir.Apply():
                self._apply(s)
            case ir.Execute():
                self._execute(s)
            case ir.Count():
                cells, index = self.state.counters[s.counter], self.value(s.index)
                if index < len(cells):
                    cells[index] += 1
            case ir.Measure():  # nobody sets it
                self.values[s.output.id] = self.state.program.meters[s.meter].colours[0]
            case ir.Extract():
                self._extract(s)
            case ir.Advance():
                if self.cursor + s.bytes > len(self.frame):
                    raise _Failed
                self.cursor += s.bytes
            case ir.Fail():
                if self.value(s.condition):
                    raise _Failed
            case ir.Emit():
                if self.values[s.valid.id]:
                    self.out += self._pack([ir.Get(f) for f in s.fields])
            case ir.Mirror() | ir.Resubmit() | ir.Digest():
                pass

    def _apply(self, s: ir.Apply) -> None:
        table = self.state.program.tables[s.table]
        keys = [self.value(k.value) for k in table.keys]
        found = [
            (_precedence(table, row), -at, at, row)
            for at, row in enumerate(self.state.rows[s.table])
            if all(
                _key_matches(k.match, *x)
                for k, x in zip(table.keys, zip(keys, row.values, row.masks, strict=True), strict=True)
            )
        ]
        if found:
            *_, slot, row = max(found, key=lambda f: f[:2])
            hit, number, data = 1, row.action, row.data
        else:
            hit, number, data, slot = 0, table.default, table.default_data, table.size
        action = table.actions[number]
        self.values.update({s.hit.id: hit, s.action.id: number, s.entry.id: slot})
        self.values.update({p.id: x for p, x in zip(action.parameters, data, strict=True)})
        self.statements(action.body)

    def _execute(self, s: ir.Execute) -> None:
        cells, index = self.state.registers[s.register], self.value(s.index)
        if index >= len(cells):
            return
        for slot, x in zip(s.values, cells[index], strict=True):
            self.values[slot.id] = x
        self.statements(s.body)
        cells[index] = [self.values[slot.id] for slot in s.values]

    # ---- expressions ----

    def value(self, e: ir.Expr) -> int:
        match e:
            case ir.Const():
                return e.value
            case ir.Get():
                return self.values[e.slot.id]
            case ir.Unary():
                return unary(e.op, self.value(e.operand), e.type)
            case ir.Binary():
                return binary(e.op, self.value(e.left), self.value(e.right), e.left.type, e.right.type)
            case ir.Slice():
                return self.value(e.operand) >> e.low & (1 << e.high - e.low + 1) - 1
            case ir.Cast():
                return cut(read(self.value(e.operand), e.operand.type), e.type)
            case ir.Mux():
                return self.value(e.yes if self.value(e.condition) else e.no)
            case ir.Lookahead():
                return self._take(e.offset, e.type.width)
            case ir.Hash():
                return cut(digest(e.algorithm, self._pack(e.inputs)), e.type)
            case ir.Approximation():
                return cut(approximate(e.unit, self.value(e.operand)), e.type)
            case ir.Random():
                return cut(self.state.random(), e.type)

    def _pack(self, fields: Sequence[ir.Expr]) -> bytes:
        """The concatenation, filled up with zero bits in front."""
        bits = number = 0
        for f in fields:
            number = number << f.type.width | self.value(f)
            bits += f.type.width
        return number.to_bytes((bits + 7) // 8, "big")


def _matches(case: ir.Case, subjects: Sequence[int]) -> bool:
    return all(
        a <= x <= b if kind == "range" else x & b == a for x, (kind, a, b) in zip(subjects, case.matches, strict=False)
    )


def _key_matches(kind: str, key: int, value: int, mask: int) -> bool:
    if kind == "range":
        return value <= key <= mask
    return key == value if kind == "exact" else key & mask == value


def _precedence(table: ir.Table, row: ir.Row) -> int:
    """Return a row's rank among rows that match: the longest prefix, else the priority."""
    prefixes = [mask for k, mask in zip(table.keys, row.masks, strict=True) if k.match == "lpm"]
    return max(prefixes) if prefixes else row.priority
