"""Unresolved expressions become typed ones: names to positions, literals to exact types, implicit casts inserted."""

from __future__ import annotations

import decimal as pydecimal
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type, common_type
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal, Member, Value
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.literals import as_literal, coerce
from jumpgate.dataflow.types import DataType, Schema, bool_, not_read
from jumpgate.dataflow.unresolved import (
    Alias,
    Unresolved,
    UnresolvedCall,
    UnresolvedCase,
    UnresolvedCast,
    UnresolvedColumn,
    UnresolvedIn,
    UnresolvedLiteral,
    UnresolvedMember,
)
from jumpgate.errors import InvalidDataflow

#: a literal beside a column takes the column's type exactly, or is refused
_EXACT = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct", "null_if"))
#: a literal beside a column takes the column's type if it fits, else its own
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "int_divide", "modulo"))
_LENIENT = _ARITHMETIC | {"coalesce"}


@dataclass
class Scope:
    """Resolves one operator's expressions against `schema` and collects every problem, to be raised at once.

    `ambiguous` are names that mean two columns (both sides of a join); `renamed` further names for positions.
    """

    operator: str
    schema: Schema
    ambiguous: frozenset[str] = frozenset()
    renamed: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)

    def done(self) -> None:
        """Raises InvalidDataflow with all problems, if there are any."""
        if self.problems:
            raise InvalidDataflow("; ".join(self.problems), tuple(self.problems), operator=self.operator)

    def column(self, name: str) -> ColumnRef | None:
        """Return the column called `name`, or None with a problem noted: opaque columns cannot be used."""
        positions = self.schema.positions.get(name, [])
        if name in self.renamed:
            positions = [self.renamed[name]]
        elif name in self.ambiguous or len(positions) > 1:
            remedy = "both inputs have it: give join a suffix" if name in self.ambiguous else "rename one of them"
            self.problem(f"column {name!r} in {self.operator} is ambiguous; {remedy}")
            return None
        if not positions:
            hint = suggest(name, (*self.schema.names, *self.renamed))
            self.problem(f"unknown column {name!r} in {self.operator}{hint}")
            return None
        type = self.schema[positions[0]].type
        if type.is_opaque:
            self.problem(f"{self.operator}: {not_read(name, type)}")
            return None
        return ColumnRef(type, positions[0], name)

    def resolve(self, expression: Unresolved, wanted: DataType | None = None) -> Expression | None:
        """The typed expression, or None with problems noted. Literals on their own become `wanted` where given."""
        try:
            if isinstance(expression, UnresolvedLiteral):
                return as_literal(expression.value) if wanted is None else coerce(expression.value, wanted)
            return self._resolve(expression)
        except TypeMismatch as e:
            self.problem(f"{self.operator}: {e}")
        return None

    def predicate(self, expression: Unresolved) -> Expression | None:
        """A resolved condition; noted as a problem if it is not bool."""
        resolved = self.resolve(expression, bool_)
        if resolved is not None and resolved.type.kind != "bool":
            self.problem(f"{self.operator} needs a condition, {describe(expression)} is {resolved.type.name}")
            return None
        return resolved

    def _resolve(self, expression: Unresolved) -> Expression | None:
        match expression:
            case UnresolvedColumn():
                return self.column(expression.name)
            case Alias():
                return self.resolve(expression.input)
            case UnresolvedCall():
                return self._call(expression)
            case UnresolvedCast():
                return self._cast(expression)
            case UnresolvedCase():
                return self._case(expression)
            case UnresolvedIn():
                return self._in(expression)
            case UnresolvedMember():
                return self._member(expression)
        raise TypeMismatch(f"{expression!r} is not an expression")

    def _call(self, call: UnresolvedCall) -> Expression | None:
        try:
            args = self._operands(call)
            return None if args is None else bind(call.function, args)
        except TypeMismatch as e:
            raise TypeMismatch(f"{describe(call)}: {e}") from None

    def _operands(self, call: UnresolvedCall) -> tuple[Expression, ...] | None:
        resolved = [None if isinstance(a, UnresolvedLiteral) else self.resolve(a) for a in call.args]
        typed = [r for r in resolved if r is not None]
        if len(typed) < sum(not isinstance(a, UnresolvedLiteral) for a in call.args):
            return None
        beside = None
        if typed and call.function in _EXACT | _LENIENT:
            beside = common_type(tuple(t.type for t in typed))
        elif call.function in ("and", "or", "not"):
            beside = bool_
        for i, arg in enumerate(call.args):
            if isinstance(arg, UnresolvedLiteral):
                resolved[i] = self._literal(arg.value, beside, call)
        return tuple(r for r in resolved if r is not None)

    def _literal(self, value: Value, beside: DataType | None, call: UnresolvedCall) -> Literal:
        if beside is None:
            return as_literal(value)
        natural = None if value is None else as_literal(value)
        if natural is not None and call.function in _ARITHMETIC and beside.kind == "decimal":
            if isinstance(value, int):  # the result's precision follows the literal's own digits
                return as_literal(pydecimal.Decimal(value))
            return natural
        try:
            return coerce(value, beside)
        except TypeMismatch as e:
            if natural is not None and (call.function in _LENIENT or _widens(natural.type, beside)):
                return natural
            raise TypeMismatch(f"{e}; cast the column to compare with it") from None

    def _cast(self, cast: UnresolvedCast) -> Expression | None:
        if isinstance(cast.input, UnresolvedLiteral) and cast.input.value is None:
            return Literal(cast.type.with_nullable(True), None)
        inner = self.resolve(cast.input)
        if inner is None:
            return None
        if not can_cast(inner.type, cast.type):
            raise TypeMismatch(f"{describe(cast)}: there is no cast from {inner.type.name} to {cast.type.name}")
        if cast.on_failure == "error":
            return cast_to(inner, cast.type)
        return Cast(cast_type(inner.type, cast.type, "null"), inner, "null")

    def _member(self, member: UnresolvedMember) -> Expression | None:
        inner = self.resolve(member.input)
        found = None if inner is None else Member.of(inner, member.name)
        if inner is not None and found is None:
            names = [p.name for p in inner.type.parts] if inner.type.kind == "struct" else []
            hint = suggest(member.name, names) if names else ""
            raise TypeMismatch(f"{describe(member.input)} is a {inner.type.name} without a field {member.name!r}{hint}")
        return found

    def _case(self, case: UnresolvedCase) -> Expression | None:
        conditions = [self.predicate(c) for c in case.branches[::2]]
        values = self._alike((*case.branches[1::2], case.default), "case")
        if values is None or any(c is None for c in conditions):
            return None
        type = common_type(tuple(v.type for v in values))
        branches = tuple(x for c, v in zip(conditions, values[:-1], strict=True) if c is not None for x in (c, v))
        return Case(type, branches, values[-1])

    def _alike(self, parts: tuple[Unresolved, ...], what: str) -> tuple[Expression, ...] | None:
        """The parts with one common type; None literals become typed NULLs."""
        typed = {i: self.resolve(p) for i, p in enumerate(parts) if not isinstance(p, UnresolvedLiteral)}
        if any(t is None for t in typed.values()):
            return None
        known = [t.type for t in typed.values() if t is not None]
        literals = {i: p.value for i, p in enumerate(parts) if isinstance(p, UnresolvedLiteral)}
        common = common_type(tuple(known)) if known else None
        found: dict[int, Expression] = {i: t for i, t in typed.items() if t is not None}
        for i, value in literals.items():
            if value is not None:
                try:
                    found[i] = as_literal(value) if common is None else coerce(value, common)
                except TypeMismatch:
                    found[i] = as_literal(value)
        if not found:
            raise TypeMismatch(f"{what}: all values are None; write lit(None).cast(TYPE)")
        common = common_type(tuple(e.type for e in found.values()))
        for i in literals:
            found.setdefault(i, Literal(common.with_nullable(True), None))
        return tuple(cast_to(found[i], common) for i in range(len(parts)))

    def _in(self, expression: UnresolvedIn) -> Expression | None:
        inner = self.resolve(expression.input)
        if inner is None:
            return None
        try:
            options = tuple(coerce(v, inner.type) for v in expression.options)
        except TypeMismatch as e:
            raise TypeMismatch(f"isin on {describe(expression.input)}: {e}") from None
        nullable = inner.type.nullable and bool(options) or any(o.value is None for o in options)
        return InList(bool_.with_nullable(nullable), inner, options)


def _widens(literal: DataType, column: DataType) -> bool:
    """Return whether to compare in float64: float32 cannot hold the literal, and float64 holds every float32."""
    return column.kind == "float32" and literal.is_numeric


def name_of(expression: Unresolved) -> str | None:
    """Return an expression's implicit name: its alias, or that of the column it is or casts."""
    match expression:
        case UnresolvedColumn() | UnresolvedMember() | Alias():
            return expression.name
        case UnresolvedCast():
            return name_of(expression.input)
    return None


_SYMBOLS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "and": "&",
    "or": "|",
}


def describe(expression: Unresolved) -> str:
    """Return the expression as it is written, for messages; long ones are cut."""
    text = _describe(expression, 4)
    return text if len(text) <= 100 else text[:97] + "..."


def _describe(expression: Unresolved, depth: int) -> str:
    if depth == 0:
        return "…"
    match expression:
        case UnresolvedColumn():
            return expression.name
        case UnresolvedLiteral():
            return repr(expression.value)
        case Alias():
            return _describe(expression.input, depth)
        case UnresolvedCast():
            return f"cast({_describe(expression.input, depth - 1)} as {expression.type.name})"
        case UnresolvedMember():
            return f"{_describe(expression.input, depth - 1)}.{expression.name}"
        case UnresolvedIn():
            return f"{_describe(expression.input, depth - 1)} in (…)"
        case UnresolvedCall(args=args) if expression.function in _SYMBOLS:
            return f" {_SYMBOLS[expression.function]} ".join(_describe(a, depth - 1) for a in args)
        case UnresolvedCall(args=args):
            return f"{expression.function}({', '.join(_describe(a, depth - 1) for a in args)})"
    return "case"


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?`, or the list of names."""
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, names, 1, 0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    shown = ", ".join(repr(n) for n in names[:8]) + (", …" if len(names) > 8 else "")
    return f"; it has {shown}" if names else "; it has no columns"
