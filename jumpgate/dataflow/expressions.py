"""Typed expression trees with SQL's three-valued logic. Immutable, compared by content, resolved to column positions.

The untyped, name-based expressions that people write live in builder.py; everything past the builder sees these.
"""

from __future__ import annotations

import datetime
import decimal as pydecimal
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from jumpgate.dataflow.types import DataType, bool_

#: of a list of values, which may be thousands, those that tell it from others in tables
OPTIONS_HASHED = 8


@dataclass(frozen=True)
class Expression:
    type: DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return self

    def walk(self) -> Iterator[Expression]:
        """Yield this expression and all below it, parents first."""
        pending: list[Expression] = [self]
        while pending:
            expression = pending.pop()
            yield expression
            pending += reversed(expression.children)

    def columns(self) -> frozenset[int]:
        """Return the positions of all input columns that this expression reads."""
        return frozenset(e.index for e in self.walk() if isinstance(e, ColumnRef))

    def remap(self, where: Callable[[int], Expression]) -> Expression:
        """Replace each column reference by `where(index)`."""
        if isinstance(self, ColumnRef):
            return where(self.index)
        if not self.children:
            return self
        return self.with_children(tuple(c.remap(where) for c in self.children))


@dataclass(frozen=True)
class ColumnRef(Expression):
    """Column `index` of the operator's input (a join's input: left columns, then right columns)."""

    index: int
    name: str = ""

    def columns(self) -> frozenset[int]:
        return frozenset((self.index,))

    def __str__(self) -> str:
        return f"#{self.index}:{self.name}" if self.name else f"#{self.index}"


#: what a literal holds, by kind: bool → bool, ints → int, floats → float, decimal → decimal.Decimal,
#: date → datetime.date, timestamp and timestamptz → datetime.datetime (naive; a moment in UTC), time → datetime.time,
#: timestamp_ns, timestamptz_ns and duration → int of their unit, string → str, binary → bytes; None is NULL. No literal
#: is nested; where rows are Python values, structs are tuples, lists are lists, maps are lists of pairs.
Value = bool | int | float | pydecimal.Decimal | datetime.date | datetime.datetime | datetime.time | str | bytes | None


@dataclass(frozen=True)
class Literal(Expression):
    value: Value

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and math.isnan(self.value):  # all are one object: else a plan with a NaN in it
            object.__setattr__(self, "value", math.nan)  # would not equal its like

    def __str__(self) -> str:
        return repr(self.value) if self.value is not None else "null"


@dataclass(frozen=True)
class Call(Expression):
    """A scalar function of FUNCTIONS (functions.py) applied to arguments whose types its signature accepts."""

    function: str
    args: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return type(self)(self.type, self.function, children)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Cast(Expression):
    """Conversion to `type`. on_failure: `error` (raise InvalidCast or Overflow) or `null` (TRY_CAST)."""

    input: Expression
    on_failure: str = "error"

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, input=children[0])

    def __str__(self) -> str:
        return f"cast({self.input} as {self.type})"


@dataclass(frozen=True)
class Member(Expression):
    """Field `number` of a struct; NULL where the struct is."""

    input: Expression
    number: int

    @staticmethod
    def of(input: Expression, name: str) -> Member | None:
        """The field of that name; None if `input` is not a struct that has one."""
        names = [p.name for p in input.type.parts] if input.type.kind == "struct" else []
        if name not in names:
            return None
        index = names.index(name)
        return Member(input.type.parts[index].type, input, index)

    @property
    def name(self) -> str:
        return self.input.type.parts[self.number].name

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, input=children[0])

    def __str__(self) -> str:
        return f"{self.input}.{self.name}"


@dataclass(frozen=True)
class Case(Expression):
    """if/then pairs and a default: `branches` is condition, value, condition, value, …; `otherwise` may be NULL."""

    branches: tuple[Expression, ...]
    otherwise: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*self.branches, self.otherwise)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, branches=children[:-1], otherwise=children[-1])

    def __str__(self) -> str:
        pairs = zip(self.branches[::2], self.branches[1::2], strict=True)
        return "case " + " ".join(f"when {c} then {v}" for c, v in pairs) + f" else {self.otherwise} end"


@dataclass(frozen=True)
class InList(Expression):
    """`input in (options)` with SQL's NULL semantics; options are literals of input's type."""

    input: Expression
    options: tuple[Literal, ...]

    def __hash__(self) -> int:
        return hash((self.input, len(self.options), self.options[:OPTIONS_HASHED]))

    def columns(self) -> frozenset[int]:
        return self.input.columns()

    def remap(self, where: Callable[[int], Expression]) -> Expression:
        return replace(self, input=self.input.remap(where))

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input, *self.options)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, input=children[0], options=children[1:])  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.input} in ({', '.join(map(str, self.options))})"


def conjuncts(predicate: Expression) -> tuple[Expression, ...]:
    """The terms of a tree of ANDs, left to right."""
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(t for a in predicate.args for t in conjuncts(a))
    return (predicate,)


def conjunction(terms: tuple[Expression, ...]) -> Expression:
    """AND of the terms; TRUE for none."""
    if not terms:
        return Literal(bool_.with_nullable(False), True)
    if len(terms) == 1:
        return terms[0]
    return Call(bool_.with_nullable(any(t.type.nullable for t in terms)), "and", terms)
