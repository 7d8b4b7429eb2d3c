"""`varbit<N>`, a header's last field: hidden headers of a byte each, of which as many are there as were extracted."""

from __future__ import annotations

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.names import Composite, Group, Stack, StackValue, Type, Value, scalars
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Mistake, Position

BITS_MAX = 2048
PIECE = Composite("header", "varbit", (("byte", ir.Bits(8)),))


def varbit(bits: int, position: Position) -> Stack:
    """The type varbit<bits>."""
    if not 0 < bits <= BITS_MAX or bits % 8:
        raise Mistake(position, f"varbit<{bits}>: whole bytes are possible, up to {BITS_MAX} bits")
    return Stack(PIECE, bits // 8)


def is_varbit(kind: Type) -> bool:
    return isinstance(kind, Stack) and kind.element is PIECE


def pieces(value: Value) -> StackValue | None:
    """The varbit of a header; None if it has none."""
    last = [*value.fields.values()][-1:] if isinstance(value, Group) else []
    return next((f for f in last if isinstance(f, StackValue) and f.type.element is PIECE), None)


def fixed(value: Group) -> tuple[ir.Slot, ...]:
    """The fields of a header that are always there."""
    every = [f for f in value.fields.values() if f is not pieces(value)]
    return tuple(e.slot for f in every for e in scalars(f) if isinstance(e, ir.Get))


def reader(size: int, at: Position) -> ast.Parser:
    """A parser that extracts `length` bits of `packet` into `pieces`, of which there are `size`. It compares the length
    state by state: hardware does not count down in a parser."""
    following = ast.Member(at, ast.Name(at, "pieces"), "next")
    extract = ast.Call(at, ast.Member(at, ast.Name(at, "packet"), "extract"), (), (following,))
    states = []
    for taken in range(size + 1):
        more = "reject" if taken == size else f"read{taken}"
        cases = (
            ast.SelectCase(at, (ast.Number(at, 8 * taken, None, False),), "accept"),
            ast.SelectCase(at, (ast.Anything(at),), more),
        )
        states.append(ast.State(at, f"taken{taken}" if taken else "start", (), None, (ast.Name(at, "length"),), cases))
        states.append(ast.State(at, f"read{taken}", (ast.CallStatement(at, extract),), f"taken{taken + 1}", (), ()))
    return ast.Parser(at, "varbit", (), (), (), tuple(states[:-1]))
