"""The typed program: everything is inlined and scalar. Headers, structs and stacks are slots; widths are resolved.

All values are unsigned bit patterns of their width; `int<N>` says only how operators read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jumpgate.p4.compiler.frontend.source import Position


@dataclass(frozen=True, slots=True)
class Bits:
    """bit<width>, int<width> (`signed`), bool (`boolean`, width 1), or an integer without width (width 0)."""

    width: int
    signed: bool = False
    boolean: bool = False

    def __str__(self) -> str:
        if self.boolean:
            return "bool"
        return f"{'int' if self.signed else 'bit'}<{self.width}>" if self.width else "int"


BOOL = Bits(1, boolean=True)
INTEGER = Bits(0)


@dataclass(frozen=True, slots=True)
class Slot:
    """A scalar of one pass through the pipeline; `initial` holds before anything is written."""

    id: int
    name: str
    type: Bits
    initial: int = 0


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Const:
    value: int
    type: Bits


@dataclass(frozen=True, slots=True)
class Get:
    slot: Slot

    @property
    def type(self) -> Bits:
        return self.slot.type


@dataclass(frozen=True, slots=True)
class Unary:
    """`!`, `~`, `-`."""

    op: str
    operand: Expr
    type: Bits


@dataclass(frozen=True, slots=True)
class Binary:
    """P4's operators, and `min`, `max`. Operands of a comparison have one type; a shift's right one is unsigned."""

    op: str
    left: Expr
    right: Expr
    type: Bits


@dataclass(frozen=True, slots=True)
class Slice:
    operand: Expr
    high: int
    low: int

    @property
    def type(self) -> Bits:
        return Bits(self.high - self.low + 1)


@dataclass(frozen=True, slots=True)
class Cast:
    """Cuts, or extends by the sign if the operand is signed."""

    operand: Expr
    type: Bits


@dataclass(frozen=True, slots=True)
class Mux:
    condition: Expr
    yes: Expr
    no: Expr

    @property
    def type(self) -> Bits:
        return self.yes.type


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Bits of the packet, `offset` bits behind the parser's cursor."""

    offset: int
    type: Bits


@dataclass(frozen=True, slots=True)
class Crc:
    width: int
    polynomial: int
    initial: int
    xor_out: int
    reflect: bool


@dataclass(frozen=True, slots=True)
class Hash:
    """`algorithm`: a Crc, "identity", "xor8", "xor16", "xor32", or "checksum" (RFC 1071, inverted)."""

    algorithm: Crc | str
    inputs: tuple[Expr, ...]
    type: Bits


@dataclass(frozen=True, slots=True)
class Random:
    type: Bits


@dataclass(frozen=True, slots=True)
class MathUnit:
    """A function of one number that a stateful ALU looks up. `values`: by the four bits from the number's highest set
    bit on. They are shifted by `scale` and the place of that bit: doubled (`shift` 1), halved (-1), negated."""

    invert: bool
    shift: int
    scale: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Approximation:
    unit: MathUnit
    operand: Expr
    type: Bits


Expr = Const | Get | Unary | Binary | Slice | Cast | Mux | Lookahead | Hash | Random | Approximation

# ---- statements ----


@dataclass(frozen=True, slots=True)
class Set:
    slot: Slot
    value: Expr
    position: Position


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class Scope:
    """Leave(label) inside goes on behind it. `is_call`: the body of an action that a control calls."""

    label: int
    body: tuple[Stmt, ...]
    is_call: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    label: int


@dataclass(frozen=True, slots=True)
class Apply:
    """Looks the table up and runs the action; `hit`, `action` (index) and `entry` (slot number) say what happened."""

    table: int
    hit: Slot
    action: Slot
    entry: Slot
    position: Position


@dataclass(frozen=True, slots=True)
class Execute:
    """Reads the register's element into `values`, runs the body, writes them back. Beyond its end nothing happens."""

    register: int
    name: str
    index: Expr
    values: tuple[Slot, ...]
    output: Slot | None
    body: tuple[Stmt, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class Count:
    """`adjust` is subtracted from the packet's bytes."""

    counter: int
    index: Expr
    position: Position
    adjust: Expr | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """Runs a meter. `before`: the colour that an earlier one gave, in this meter's numbers; `adjust` is subtracted from
    the packet's bytes."""

    meter: int
    index: Expr
    before: Expr | None
    adjust: Expr | None
    output: Slot
    position: Position


@dataclass(frozen=True, slots=True)
class Extract:
    """Reads a header's fields from the packet, or from the intrinsic prefix (`resubmit`: its last 8 bytes)."""

    fields: tuple[Slot, ...]
    valid: Slot | None
    position: Position
    source: str = "packet"  # packet, intrinsic, resubmit

    @property
    def bits(self) -> int:
        return sum(f.type.width for f in self.fields)


@dataclass(frozen=True, slots=True)
class Advance:
    bytes: int


@dataclass(frozen=True, slots=True)
class Fail:
    """The parser gives up with an error."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Emit:
    fields: tuple[Slot, ...]
    valid: Slot


@dataclass(frozen=True, slots=True)
class Mirror:
    session: Expr
    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Resubmit:
    fields: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    digest: int
    fields: tuple[Expr, ...]


Stmt = (
    Set | If | Scope | Leave | Apply | Execute | Count | Measure | Extract | Advance | Fail | Emit | Mirror | Resubmit
    | Digest
)  # fmt: skip

# ---- what a program declares ----


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    value: Expr
    match: str


@dataclass(frozen=True, slots=True)
class TableAction:
    name: str
    id: int
    parameters: tuple[Slot, ...]
    names: tuple[str, ...]
    body: tuple[Stmt, ...]
    scope: str  # "", tableonly, defaultonly


@dataclass(frozen=True, slots=True)
class Row:
    values: tuple[int, ...]
    masks: tuple[int, ...]
    priority: int
    action: int
    data: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    id: int
    keys: tuple[Key, ...]
    actions: tuple[TableAction, ...]
    size: int
    default: int
    default_data: tuple[int, ...]
    default_constant: bool
    rows: tuple[Row, ...] | None
    position: Position
    is_value_set: bool = False  # of a parser


@dataclass(frozen=True, slots=True)
class Register:
    """`table`: of a DirectRegister, whose size is one more than the table's."""

    name: str
    id: int
    size: int
    fields: tuple[tuple[str, Bits], ...]
    initial: tuple[int, ...]
    index_width: int
    table: int
    position: Position


@dataclass(frozen=True, slots=True)
class Counter:
    name: str
    id: int
    size: int
    kind: str  # packets, bytes, both
    table: int
    position: Position


@dataclass(frozen=True, slots=True)
class Meter:
    """`colours`: the numbers that stand for green, yellow and red."""

    name: str
    id: int
    size: int
    kind: str  # packets, bytes
    colours: tuple[int, int, int]
    table: int
    position: Position


@dataclass(frozen=True, slots=True)
class DigestInfo:
    name: str
    id: int
    fields: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Each subject is compared: (value, mask), or ("range", low, high); an empty tuple matches all."""

    matches: tuple[tuple[str, int, int], ...]
    target: int


@dataclass(frozen=True, slots=True)
class State:
    """Targets are positions in Gress.states; ACCEPT and REJECT are negative."""

    name: str
    body: tuple[Stmt, ...]
    subjects: tuple[Expr, ...]
    cases: tuple[Case, ...]
    position: Position


ACCEPT, REJECT = -1, -2


@dataclass
class Gress:
    """Ingress or egress of a pipe. `intrinsic` has the slots of intrinsic metadata: (type, field) → slot."""

    name: str
    slots: list[Slot] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    control: tuple[Stmt, ...] = ()
    deparser: tuple[Stmt, ...] = ()
    intrinsic: dict[tuple[str, str], Slot] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if packets pass as they are."""
        packet = [s for state in self.states for s in state.body if getattr(s, "source", "") != "intrinsic"]
        return not packet and not self.control and not self.deparser and all(len(s.cases) == 1 for s in self.states)


@dataclass
class Pipe:
    """A pipeline. `name` is empty where the program has one only."""

    name: str = ""
    ingress: Gress = field(default_factory=lambda: Gress("ingress"))
    egress: Gress = field(default_factory=lambda: Gress("egress"))


@dataclass
class Program:
    """`pipes`: the pipeline of port p is number p / 128, from the first on again where there are fewer."""

    name: str
    tables: list[Table] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)
    digests: list[DigestInfo] = field(default_factory=list)
    pipes: list[Pipe] = field(default_factory=lambda: [Pipe()])

    @property
    def ingress(self) -> Gress:
        """Return the first pipeline's ingress."""
        return self.pipes[0].ingress

    @property
    def egress(self) -> Gress:
        """Return the first pipeline's egress."""
        return self.pipes[0].egress

    @property
    def gresses(self) -> list[Gress]:
        return [g for pipe in self.pipes for g in (pipe.ingress, pipe.egress)]

    @property
    def bodies(self) -> list[tuple[Stmt, ...]]:
        """Yield the bodies of the controls and of all actions of tables."""
        return [*(g.control for g in self.gresses), *(a.body for t in self.tables for a in t.actions)]

    def alone(self, pipe: Pipe) -> Program:
        """One of its pipelines, with all tables and registers."""
        return replace(self, pipes=[pipe])
