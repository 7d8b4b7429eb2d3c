"""The syntax tree: what was written, with positions, before any name has a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from jumpgate.p4.compiler.frontend.source import Position


@dataclass(frozen=True, slots=True)
class Node:
    position: Position


# ---- types ----


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """`name<arguments>`, with `[size]` for a stack. bit, int, bool, tuple, void are names too."""

    name: str
    arguments: tuple[TypeName | Expression, ...] = ()
    size: Expression | None = None


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Number(Node):
    value: int
    width: int | None
    signed: bool


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Member(Node):
    base: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`base[high:low]`, or `base[high]` if `low` is None."""

    base: Expression
    high: Expression
    low: Expression | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: Expression
    types: tuple[TypeName, ...]
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Also `&&&` (value and mask) and `..` (range) of key sets."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Cast(Node):
    type: TypeName
    operand: Expression


@dataclass(frozen=True, slots=True)
class ListExpression(Node):
    """`{a, b}`; also the tuple of a select or of a key set."""

    items: tuple[Expression, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named(Node):
    """`name = value` of arguments."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Anything(Node):
    """`default` or `_` of a key set."""


Expression = (
    Number
    | Boolean
    | Name
    | Member
    | Index
    | Call
    | Unary
    | Binary
    | Conditional
    | Cast
    | ListExpression
    | Named
    | Anything
)

# ---- statements ----


@dataclass(frozen=True, slots=True)
class Assign(Node):
    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    call: Call


@dataclass(frozen=True, slots=True)
class If(Node):
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True, slots=True)
class Block(Node):
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Exit(Node):
    pass


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """Labels without a body share the next one's."""

    subject: Expression
    cases: tuple[tuple[tuple[Expression, ...], Block], ...]


@dataclass(frozen=True, slots=True)
class Variable(Node):
    type: TypeName
    name: str
    value: Expression | None
    constant: bool = False


# ---- declarations ----


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    direction: str  # in, out, inout, or empty
    type: TypeName
    name: str
    default: Expression | None = None  # of a constructor's


@dataclass(frozen=True, slots=True)
class FieldDeclaration(Node):
    """`flexible`: the compiler may choose its place."""

    type: TypeName
    name: str
    flexible: bool = False


@dataclass(frozen=True, slots=True)
class Typedef(Node):
    name: str
    type: TypeName


@dataclass(frozen=True, slots=True)
class Enum(Node):
    """`values` are None for an enum without an underlying type. Also `error` and `match_kind`, under these names."""

    name: str
    underlying: TypeName | None
    members: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    kind: str  # header or struct
    name: str
    fields: tuple[FieldDeclaration, ...]


@dataclass(frozen=True, slots=True)
class Instance(Node):
    type: TypeName
    arguments: tuple[Expression, ...]
    name: str
    body: tuple[Action, ...] = ()  # apply of a RegisterAction
    symmetric: tuple[tuple[str, ...], ...] = ()  # of a Hash: pairs of inputs, which may change places


@dataclass(frozen=True, slots=True)
class Action(Node):
    """Also a function, whose `result` is not None."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    result: TypeName | None = None


@dataclass(frozen=True, slots=True)
class Key(Node):
    expression: Expression
    match: str
    name: str | None  # of an @name annotation


@dataclass(frozen=True, slots=True)
class ActionUse(Node):
    name: str
    arguments: tuple[Expression, ...]
    annotations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EntryDeclaration(Node):
    keys: tuple[Expression, ...]
    action: ActionUse


@dataclass(frozen=True, slots=True)
class Table(Node):
    name: str
    keys: tuple[Key, ...] = ()
    actions: tuple[ActionUse, ...] = ()
    default: ActionUse | None = None
    default_constant: bool = False
    entries: tuple[EntryDeclaration, ...] | None = None
    size: Expression | None = None
    properties: tuple[tuple[str, Expression], ...] = ()  # counters, registers, …


@dataclass(frozen=True, slots=True)
class SelectCase(Node):
    keys: tuple[Expression, ...]
    state: str


@dataclass(frozen=True, slots=True)
class State(Node):
    """`target` (a name) or `select` (what to compare) with `cases`."""

    name: str
    body: tuple[Statement, ...]
    target: str | None
    select: tuple[Expression, ...]
    cases: tuple[SelectCase, ...]


@dataclass(frozen=True, slots=True)
class Parser(Node):
    """`given`: what its instances are made with."""

    name: str
    parameters: tuple[Parameter, ...]
    given: tuple[Parameter, ...]
    locals: tuple[Declaration, ...]
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Control(Node):
    """`given`: what its instances are made with."""

    name: str
    parameters: tuple[Parameter, ...]
    given: tuple[Parameter, ...]
    locals: tuple[Declaration, ...]
    body: Block


Declaration = Typedef | Enum | Aggregate | Instance | Action | Table | Parser | Control | Variable
Statement = Assign | CallStatement | If | Block | Return | Exit | Switch | Variable


@dataclass
class Source:
    """A whole program."""

    declarations: list[Declaration] = field(default_factory=list)


def walk(node: object) -> Iterator[Node]:
    """Yield the nodes in a node, or in a tuple of such, itself first.

    >>> at = Position("", 1, 1)
    >>> [type(n).__name__ for n in walk(Member(at, Name(at, "hdr"), "x"))]
    ['Member', 'Name']
    """
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif isinstance(node, Node):
        yield node
        for f in fields(node):
            yield from walk(getattr(node, f.name))
