"""How much work an expression is: what a stage's ALUs, hash unit and gateways do at once, and what takes several."""

from __future__ import annotations

from typing import TypeGuard

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.expressions import COMPARISONS
from jumpgate.p4.compiler.walk import every, parts

BITWISE = ("&", "|", "^")
NUMERIC = ("+", "-", "|+|", "|-|", "min", "max")
ORDERS = ("<", ">", "<=", ">=")
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def is_linear(e: ir.Expr) -> bool:
    """A hash unit can make it: each bit is the parity of some bits of fields."""
    match e:
        case ir.Const() | ir.Get():
            return True
        case ir.Slice():
            return is_linear(e.operand)
        case ir.Cast():
            return not e.operand.type.signed and is_linear(e.operand)
        case ir.Binary(op="^" | "++"):
            return is_linear(e.left) and is_linear(e.right)
        case ir.Binary(op="&" | "<<" | ">>"):
            return isinstance(e.right, ir.Const) and is_linear(e.left)
        case ir.Binary(op="|", left=ir.Binary(op="&") as kept, right=ir.Binary(op="<<") as moved):
            return _lie_apart(kept, moved) and is_linear(kept) and is_linear(moved)
        case ir.Hash():
            return e.algorithm != "checksum" and all(is_linear(i) for i in e.inputs)
    return False


def _lie_apart(kept: ir.Binary, moved: ir.Binary) -> bool:
    """Tell whether these are a field without some bits, and what is put into their place."""
    if not isinstance(kept.right, ir.Const) or not isinstance(moved.right, ir.Const):
        return False
    value = moved.left.operand if isinstance(moved.left, ir.Cast) else moved.left
    return not kept.right.value & ((1 << value.type.width) - 1) << moved.right.value


def is_numeric(e: ir.Expr) -> bool:
    """Carries pass between its bits: an operand must lie in one container."""
    return any(isinstance(x, ir.Binary) and x.op in (*NUMERIC, "*", "<<", ">>") for x in every(e))


def _is_inverted(e: ir.Expr) -> TypeGuard[ir.Unary]:
    return isinstance(e, ir.Unary) and e.op == "~"


def inverts_operands(e: ir.Expr) -> bool:
    """Tell whether it is `~a & b` or the like, which has instructions of its own."""
    return isinstance(e, ir.Binary) and e.op in BITWISE and any(_is_inverted(p) for p in parts(e))


def operations(e: ir.Expr) -> int:
    """Operations of the stages' ALUs that depend on each other; a plain field or constant is none."""
    match e:
        case ir.Slice() | ir.Cast() | ir.Approximation():
            return operations(e.operand)
        case ir.Unary(op="~", operand=ir.Binary(op=op)) if op in BITWISE:
            return operations(e.operand)
        case ir.Binary() if inverts_operands(e):  # in the same step
            return 1 + max(operations(p.operand if _is_inverted(p) else p) for p in parts(e))
        case ir.Binary(op="|", left=ir.Binary(op="&", right=ir.Const()) as masked, right=ir.Binary(op="<<") as shifted):
            return 1 + max(operations(masked.left), operations(shifted.left))
        case ir.Unary() | ir.Binary() | ir.Mux() | ir.Hash():
            return 1 + max((operations(p) for p in parts(e)), default=0)
        case ir.Random():
            return 1
    return 0


def gateway_operations(e: ir.Expr) -> int:
    """Operations that must come before a gateway, which itself masks, compares and combines."""
    match e:
        case ir.Binary(op="&&" | "||") | ir.Unary(op="!"):
            return max(gateway_operations(p) for p in parts(e))
        case ir.Binary(op=op) if op in COMPARISONS:
            return max(gateway_operations(p) for p in parts(e))
        case ir.Binary(op="&", right=ir.Const()):
            return operations(e.left)
    return operations(e)


def predicate(e: ir.Expr) -> tuple[ir.Expr, ...]:
    """The comparisons of a `this.predicate(…)`, written out as what it gives; () of another value."""
    match e:
        case ir.Mux(condition=second, yes=ir.Mux(condition=first, yes=ir.Const(value=8)), no=ir.Mux()):
            return first, second
        case ir.Mux(condition=first, yes=ir.Const(value=2), no=ir.Const(value=1)):
            return (first,)
    return ()


def asks_high_bits(e: ir.Binary) -> bool:
    """Tell whether an order asks for high bits alone: `x < 1024`, if none is set above the lowest ten; of a signed
    number whether it is negative."""
    if isinstance(e.left, ir.Const):
        op, bound, kind = MIRRORED[e.op], e.left.value, e.left.type
    elif isinstance(e.right, ir.Const):
        op, bound, kind = e.op, e.right.value, e.right.type
    else:
        return False
    below = bound + (op in ("<=", ">"))  # x < below, or x >= below
    return below in (0, 1 << kind.width) if kind.signed else below.bit_count() == 1


def copied(e: ir.Expr) -> ir.Slot | None:
    """The field that is copied, if the expression does nothing else."""
    if isinstance(e, ir.Cast):
        return copied(e.operand)
    return e.slot if isinstance(e, ir.Get) else None
