"""Rules that declarations of functions share: operand types, result types, and calls that cannot fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.casts import TypeMismatch, as_decimal, common_type
from jumpgate.dataflow.expressions import Call, Literal, Value
from jumpgate.dataflow.function import Types, of_floats
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int32

# ---- operand rules: argument types → the types they must be cast to -------------------------------------------------


def require(ok: bool, types: Types, what: str) -> None:
    if not ok:
        raise TypeMismatch(f"takes {what}, not {', '.join(t.name for t in types)}")


@dataclass(frozen=True)
class Exactly:
    """These types, whatever else is implicitly cast to them."""

    wanted: Types

    def __call__(self, types: Types) -> Types:
        for have, want in zip(types, self.wanted, strict=False):
            implicit = want.is_integer and have.is_integer or (have.kind, want.kind) == ("date", "timestamp")
            require(have.same(want) or implicit, types, ", ".join(t.kind for t in self.wanted))
        return self.wanted[: len(types)]


def exactly(*wanted: DataType) -> Exactly:
    return Exactly(wanted)


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


@dataclass(frozen=True)
class Always:
    """One type, whatever the operands are."""

    type: DataType

    def __call__(self, types: Types, values: tuple[Value, ...]) -> DataType:
        return self.type


def always(type: DataType) -> Always:
    return Always(type)


def first(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[0]


def second(types: Types, values: tuple[Value, ...]) -> DataType:
    return types[1]


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


# ---- calls of fallible functions that cannot fail --------------------------------------------------------------------


def widened(call: Call) -> bool:
    """Return whether the call is a sum of decimals whose type was widened for the result."""
    return (
        of_floats(call)
        or call.type.kind == "decimal"
        and call.type.precision > max(a.type.precision for a in call.args)
    )


def holds_product(call: Call) -> bool:
    """Return whether the call is a product of decimals that keeps all digits of both."""
    return (
        of_floats(call)
        or call.type.kind == "decimal"
        and call.type.precision >= sum(a.type.precision for a in call.args)
    )


def divides_safely(call: Call) -> bool:
    """Return whether the divisor is a literal other than 0 and -1, by which the least integer overflows."""
    divisor = call.args[1]
    return isinstance(divisor, Literal) and bool(divisor.value) and divisor.value != -1


def has_length(call: Call) -> bool:
    """Return whether the call takes a text up to its end, or with a literal length that is not negative."""
    length = call.args[2] if len(call.args) > 2 else None
    return length is None or isinstance(length, Literal) and isinstance(length.value, int) and length.value >= 0
