"""The meaning of names: types, and the values behind names (scalars, headers, structs, stacks, externs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Mistake, Position

#: the field at the end of a header that is not whole bytes: with @flexible fields, or resubmitted
PADDING = "$padding"

# ---- types ----


@dataclass(frozen=True)
class Composite:
    """A header or struct type. `flexible`: it, or something in it, is `@flexible`."""

    kind: str
    name: str
    fields: tuple[tuple[str, Type], ...]
    flexible: bool = False


@dataclass(frozen=True)
class Stack:
    element: Composite
    size: int


@dataclass(frozen=True)
class EnumType:
    """Members are constants; without an underlying type they count from 0 and have no bits on the wire."""

    name: str
    bits: ir.Bits
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ExternType:
    name: str
    arguments: tuple[Type, ...]


Type = ir.Bits | Composite | Stack | EnumType | ExternType

# ---- values ----


@dataclass(frozen=True)
class Group:
    """A header or struct as slots; `valid` is None for a struct. `stack` and `position` for a stack's element."""

    type: Composite
    fields: dict[str, Value]
    valid: ir.Slot | None = None


@dataclass(frozen=True)
class StackValue:
    type: Stack
    elements: tuple[Group, ...]


@dataclass(frozen=True)
class Instance:
    """An extern. `number` is its place in the program's list of its kind, `data` what else is known of it."""

    type: ExternType
    name: str
    number: int = -1
    data: object = None


@dataclass(frozen=True)
class Hashing:
    """The data of a Hash. `symmetric`: pairs of names of inputs, which may change places."""

    algorithm: ir.Crc | str
    symmetric: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Closure:
    """An action, function, table or control, with the names that it sees."""

    node: ast.Action | ast.Table | ast.Control | ast.Parser
    scope: Scope
    name: str


@dataclass(frozen=True)
class RegisterAction:
    register: int
    apply: ast.Action
    scope: Scope
    name: str


@dataclass(frozen=True)
class Broken:
    """The value of a wrong declaration: its uses raise no errors of their own."""


@dataclass(frozen=True)
class Packet:
    """packet_in or packet_out."""


@dataclass(frozen=True)
class Listed:
    """`{a, b}`, or `{x = a, y = b}` with the names of its fields."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()


Value = (
    ir.Const | ir.Get | ir.Unary | ir.Binary | ir.Slice | ir.Cast | ir.Mux | ir.Lookahead | ir.Hash | ir.Random
    | ir.Approximation | Group | StackValue | Instance | Closure | RegisterAction | Packet | Listed | EnumType | Broken
)  # fmt: skip


@dataclass
class Scope:
    """Names of one block, then of those around it. `prefix` makes full names."""

    outer: Scope | None = None
    values: dict[str, Value] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    prefix: str = ""

    def inner(self) -> Scope:
        return Scope(self, prefix=self.prefix)

    def value(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None

    def type(self, name: str) -> Type | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.outer
        return None

    def add(self, name: str, value: Value, position: Position) -> None:
        if name in self.values:
            raise Mistake(position, f"'{name}' is declared twice")
        self.values[name] = value


def in_order(
    arguments: Sequence[ast.Expression], names: Sequence[str], position: Position
) -> tuple[ast.Expression, ...]:
    """Arguments in the order of their parameters, given by place or by name; those at the end may be left out."""
    named = [a for a in arguments if isinstance(a, ast.Named)]
    if not named:
        return tuple(arguments)
    if len(named) < len(arguments):
        raise Mistake(position, "arguments are given all by name, or all in order")
    given = {a.name: a.value for a in named}
    for a in named:
        if a.name not in names:
            raise Mistake(a.position, f"there is no parameter '{a.name}'; there are {', '.join(names) or 'none'}")
    if len(given) < len(named):
        raise Mistake(position, "two arguments are for one parameter")
    left_out = [n for n in names[: len(given)] if n not in given]
    if left_out:
        raise Mistake(position, f"no argument is for parameter '{left_out[0]}'")
    return tuple(given[n] for n in names[: len(given)])


def scalars(value: Value) -> list[ir.Expr]:
    """All scalars of a value in order, without validity bits."""
    if isinstance(value, Group):
        return [e for f in value.fields.values() for e in scalars(f)]
    if isinstance(value, StackValue):
        return [e for element in value.elements for e in scalars(element)]
    if isinstance(value, Listed):
        return [e for item in value.items for e in scalars(item)]
    if isinstance(value, Instance | Closure | RegisterAction | Packet | EnumType | Broken):
        return []
    return [value]


def slots(value: Value) -> tuple[ir.Slot, ...]:
    return tuple(e.slot for e in scalars(value) if isinstance(e, ir.Get))


def describe(value: Value) -> str:
    if isinstance(value, Group):
        return f"{value.type.kind} {value.type.name}"
    if isinstance(value, Instance):
        return value.type.name
    if isinstance(value, StackValue | Listed | Closure | RegisterAction | Packet | EnumType | Broken):
        return type(value).__name__.lower()
    return str(value.type)


def flat_fields(kind: Type, prefix: str = "") -> tuple[tuple[str, ir.Bits], ...]:
    """(name, type) of all scalars of a type; the name of a plain number is empty."""
    if isinstance(kind, ir.Bits):
        return ((prefix, kind),)
    if isinstance(kind, Composite):
        return tuple(f for n, t in kind.fields for f in flat_fields(t, f"{prefix}.{n}" if prefix else n))
    bits = getattr(kind, "bits", None)
    return ((prefix, bits),) if isinstance(bits, ir.Bits) else ()
