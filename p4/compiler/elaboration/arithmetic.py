"""P4's arithmetic on bit patterns: the meaning of every operator, for constants and for the interpreter."""

from __future__ import annotations

from jumpgate.p4.compiler.ir import Bits


def cut(value: int, kind: Bits) -> int:
    """The pattern of `value` in that width; integers without width stay as they are.

    >>> cut(-1, Bits(8))
    255
    """
    return value & (1 << kind.width) - 1 if kind.width else value


def read(value: int, kind: Bits) -> int:
    """Return the value of a bit pattern: negative if the type is signed and the top bit set."""
    return value - (1 << kind.width) if kind.signed and value >> kind.width - 1 else value


def unary(op: str, value: int, kind: Bits) -> int:
    if op == "!":
        return int(not value)
    return cut(~value if op == "~" else -value, kind)


def saturate(value: int, kind: Bits) -> int:
    low, high = (-(1 << kind.width - 1), (1 << kind.width - 1) - 1) if kind.signed else (0, (1 << kind.width) - 1)
    return cut(min(max(value, low), high), kind)


def binary(op: str, left: int, right: int, kind: Bits, other: Bits) -> int:
    """`kind` is the left operand's type, `other` the right one's; they differ for shifts and `++` only."""
    a, b = read(left, kind), read(right, other)
    match op:
        case "&&":
            return int(bool(a and b))
        case "||":
            return int(bool(a or b))
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case "<":
            return int(a < b)
        case ">":
            return int(a > b)
        case "<=":
            return int(a <= b)
        case ">=":
            return int(a >= b)
        case "++":
            return left << other.width | right
        case "<<":
            return cut(a << b, kind) if not kind.width or b < kind.width else 0
        case ">>":
            return cut(a >> (min(b, kind.width) if kind.width else b), kind)
        case "|+|":
            return saturate(a + b, kind)
        case "|-|":
            return saturate(a - b, kind)
        case "+":
            return cut(a + b, kind)
        case "-":
            return cut(a - b, kind)
        case "*":
            return cut(a * b, kind)
        case "/":
            return cut(a // b, kind)
        case "%":
            return cut(a % b, kind)
        case "&":
            return cut(a & b, kind)
        case "|":
            return cut(a | b, kind)
        case "^":
            return cut(a ^ b, kind)
        case "min":
            return cut(min(a, b), kind)
        case "max":
            return cut(max(a, b), kind)
    raise AssertionError(op)
