"""How functions are declared: their operand types, result types, and how NULL and failures pass through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.casts import TypeMismatch, as_decimal, common_type
from jumpgate.dataflow.expressions import Expression, Literal, Value
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int32

Types = tuple[DataType, ...]


@dataclass(frozen=True)
class Function:
    """A declaration. `arity` is (least, most); most None means any number. `literals`: positions that must be literals.

    `body(site, *values)`: values are None or of the operand's type (expressions.Value); `site` holds operand types,
    result type and dialect. Bodies raise Overflow, DivisionByZero or ComputeError; `apply` turns the first two to NULL
    where the dialect says so; `fails`: it raises ComputeError for some values, whatever the dialect. `literal_rule`
    refuses literals without a meaning; `shape`: positions of literals that decide the generated code itself.
    `internal`: why it is for plans only, and no request may name it.
    """

    name: str
    doc: str
    arity: tuple[int, int | None]
    operands: Callable[[Types], Types]
    result: Callable[[Types, tuple[Value, ...]], DataType]
    body: Callable[..., Value]
    strict: bool = True
    fallible: bool = False
    fails: bool = False
    literals: tuple[int, ...] = ()
    literal_rule: Callable[..., None] | None = None
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


# ---- operand rules: argument types → the types they must be cast to -------------------------------------------------


def require(ok: bool, types: Types, what: str) -> None:
    if not ok:
        raise TypeMismatch(f"takes {what}, not {', '.join(t.name for t in types)}")


def exactly(*wanted: DataType) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        for have, want in zip(types, wanted, strict=False):
            implicit = want.is_integer and have.is_integer or (have.kind, want.kind) == ("date", "timestamp")
            require(have.same(want) or implicit, types, ", ".join(t.kind for t in wanted))
        return wanted[: len(types)]

    return rule


def all_of(wanted: DataType) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        require(all(t.same(wanted) for t in types), types, f"only {wanted.kind} arguments")
        return types

    return rule


def anything(types: Types) -> Types:
    return types


def common(types: Types) -> Types:
    return (common_type(types),) * len(types)


def numeric(types: Types) -> Types:
    require(all(t.is_numeric for t in types), types, "numbers")
    return types


def common_numeric(types: Types) -> Types:
    return common(numeric(types))


def product(types: Types) -> Types:
    """Decimals keep their scales (the product has the sum of them); an integer beside a decimal becomes one."""
    numeric(types)
    if "decimal" in {t.kind for t in types} and not any(t.is_float for t in types):
        return tuple(as_decimal(t) for t in types)
    return common(types)


def quotient(types: Types) -> Types:
    common = common_numeric(types)
    return common if common[0].is_float else (float64,) * len(types)


def floats(types: Types) -> Types:
    require(all(t.is_float for t in types), types, "floats")
    return types


def integers(types: Types) -> Types:
    require(all(t.is_integer for t in types), types, "integers")
    return common(types)


def to_float64(types: Types) -> Types:
    return (float64,) * len(numeric(types))


def round_operands(types: Types) -> Types:
    require(types[0].is_numeric and all(t.is_integer for t in types[1:]), types, "a number and a count of digits")
    return (types[0], *(int32 for _ in types[1:]))


def temporal(*kinds: str) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        in_utc = types[0].kind == "timestamptz" and types[0].is_utc and "timestamp" in kinds
        require(
            types[0].kind in kinds or in_utc,
            types,
            " or ".join(kinds) + " (also with the zone UTC)" * types[0].is_zoned,
        )
        return types

    return rule


# ---- result rules: operand types and literal values → the type (nullability of strict functions is added later) ------


def always(type: DataType) -> Callable[[Types, tuple[Value, ...]], DataType]:
    return lambda types, values: type


def first(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0]


def sum_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    return decimal(min(38, t.precision + 1), t.scale) if t.kind == "decimal" else t


def product_type(types: Types, values: tuple[Value, ...]) -> DataType:
    a, b = types
    if a.kind != "decimal":
        return a
    if a.scale + b.scale > 38:
        digits = f"needs {a.scale + b.scale} digits after the point, a decimal has 38"
        raise TypeMismatch(f"the product of {a.name} and {b.name} {digits}; cast one of them to fewer, or to float64")
    return decimal(min(38, a.precision + b.precision), a.scale + b.scale)


def round_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    digits = values[1] if len(values) > 1 else 0
    assert isinstance(digits, int)
    if t.kind != "decimal" or digits >= t.scale:
        return t
    return decimal(t.precision if digits >= 0 else min(38, t.precision + 1), max(digits, 0))


def whole_type(types: Types, values: tuple[Value, ...]) -> DataType:
    t = types[0]
    return decimal(t.precision, 0) if t.kind == "decimal" else t


def never_null(types: Types, values: tuple[Value, ...]) -> DataType:
    return bool_.with_nullable(False)


def three_valued(types: Types, values: tuple[Value, ...]) -> DataType:
    return bool_.with_nullable(any(t.nullable for t in types))


def coalesced(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].with_nullable(all(t.nullable for t in types))


def nullable_first(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0].with_nullable(True)
