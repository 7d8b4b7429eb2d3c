"""A scalar function, declared completely in one value; docs/add-a-function.md shows how to add one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Call, Expression, Literal, Value
from jumpgate.dataflow.types import DataType

#: entry points by which packages declare functions
GROUP = "jumpgate.functions"

Types = tuple[DataType, ...]


def of_floats(call: Call) -> bool:
    """Return whether the result is a float: floats neither overflow nor lose digits."""
    return call.type.is_float


@dataclass(frozen=True)
class Function:
    """A declaration.

    *Meaning.* `arity` is (least, most); most None means any number. `operands` says to which types the arguments are
    cast, `result` what comes out of these. `body(site, *values)` is the oracle: values are None or of the operand's
    type (expressions.Value); `site` holds operand types, result type and dialect. It raises Overflow, DivisionByZero or
    ComputeError. A `strict` function is NULL if any argument is, and its body sees values only. `settles`: the value of
    an argument after which the others are not computed. `literals`: positions that must be literals; `literal_rule`
    refuses those without a meaning; `shape`: positions of literals that decide the generated code itself. `internal`:
    why it is for plans only, and no request may name it.

    *Failure.* `fallible`: it overflows or divides by zero, and the dialect says what becomes of that; it is always
    nullable then, so that types do not depend on dialects. `fails`: it raises ComputeError for some values, whatever
    the dialect. `safe`: calls that cannot fail; unless it says, those of a fallible function that are of floats.

    *Generated code.* `cpp` is a C++ expression of the arguments' values {0}, {1} …, of {type} (the result's),
    {unsigned} (the same without a sign), {kind} (of the first argument) and {days} (its date); `t` is the task. With
    {out} in it, it is the call of a routine that returns a JgFailure and writes its value to {out}, made where no
    argument is NULL; any other is computed for NULLs, too, of empty text or any number, and its value not used.
    `encode` makes of each of its literals the bytes that generated code gets in place of it.
    `cpp_source` is what it needs beside ncas/runtime/include/jg/kernel.h. Empty: jumpgate/codegen/calls.py writes it.

    *Names.* `sql`: of a package, what SQL calls it. `substrait`: names that mean the same, the first of
    them is written; that of an extension has its URN before it: "extension:org.example:name".

    *Estimate.* `selectivity`: of a bool, the share of rows for which it is TRUE.
    """

    name: str
    doc: str
    arity: tuple[int, int | None]
    operands: Callable[[Types], Types]
    result: Callable[[Types, tuple[Value, ...]], DataType]
    body: Callable[..., Value]
    cpp: str = ""
    cpp_source: str = ""
    sql: tuple[str, ...] = ()
    substrait: tuple[str, ...] = ()
    selectivity: float = 0.5
    strict: bool = True
    settles: Callable[[Value], bool] | None = None
    fallible: bool = False
    fails: bool = False
    safe: Callable[[Call], bool] | None = None
    literals: tuple[int, ...] = ()
    literal_rule: Callable[..., object] | None = None
    encode: Callable[[Value], bytes] | None = None
    shape: tuple[int, ...] = ()
    internal: str = ""

    def type_of(self, args: tuple[Expression, ...]) -> DataType:
        """The result type for arguments that already have the operand types; raises TypeMismatch."""
        values = tuple(a.value if isinstance(a, Literal) else None for a in args)
        for i in self.literals:
            if i < len(args) and values[i] is None:
                raise TypeMismatch(f"{self.name}: argument {i + 1} must be a literal")
        if self.literal_rule is not None:
            self.literal_rule(*(values[i] for i in self.literals if i < len(args)))
        type = self.result(tuple(a.type for a in args), values)
        if not self.strict:
            return type
        return type.with_nullable(self.fallible or any(a.type.nullable for a in args))

    def may_fail(self, call: Call) -> bool:
        """Return whether this call could raise an error for some values, under some dialect."""
        safe = self.safe(call) if self.safe is not None else not self.fails and of_floats(call)
        return (self.fails or self.fallible) and not safe
