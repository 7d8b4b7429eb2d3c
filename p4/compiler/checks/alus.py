"""Refuse what the ALUs of the stages cannot do, whatever its place in the program."""

from __future__ import annotations

from collections.abc import Iterator

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.checks.operations import NUMERIC, ORDERS, asks_high_bits
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import every, expressions, walk


def check_alus(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
    """Adds to `diagnostics` what neither ALUs nor gateways do: products, shifts by fields, numbers too wide, orders."""
    limits, here = profile.alu, f"a {profile.title}"
    for position, e, decides in _operations(program):
        bits = e.left.type.width
        constant = isinstance(e.left, ir.Const) or isinstance(e.right, ir.Const)
        if e.op == "*" and not limits["products"] and not (_is_power(e.left) or _is_power(e.right)):
            diagnostics.error(position, f"the ALUs of {here} do not multiply; shift and add, or look products up")
        elif e.op in ("<<", ">>") and not limits["variable_shifts"] and not isinstance(e.right, ir.Const):
            diagnostics.error(position, f"the ALUs of {here} shift by constants only; look the result up")
        elif e.op in NUMERIC and bits > limits["number_bits"]:
            diagnostics.error(position, f"'{e.op}' of {bits} bits; the ALUs of {here} work on {limits['number_bits']}")
        elif decides and e.op in ORDERS and asks_high_bits(e):
            continue
        elif e.op in ORDERS and (bits > limits["ordered_bits"] or not (constant or limits["ordered_fields"])):
            diagnostics.error(
                position,
                f"'{e.op}' of {bits} bits; a gateway of {here} orders fields of {limits['ordered_bits']} bits and "
                "constants: subtract with |-| and compare with 0, or use a range key",
            )


def _operations(program: ir.Program) -> Iterator[tuple[Position, ir.Binary, bool]]:
    """Yield the stages' operations, with the place of each one's statement, and whether that is an `if`.
    RegisterActions have ALUs of their own."""
    for s in (s for body in program.bodies for s in walk(body, registers=False)):
        match s:
            case ir.Apply():
                found = [k.value for k in program.tables[s.table].keys]
            case ir.Set() | ir.If() | ir.Execute() | ir.Count() | ir.Measure():
                found = list(expressions(s))
            case _:
                continue
        for e in (x for whole in found for x in every(whole)):
            if isinstance(e, ir.Binary):
                yield s.position, e, isinstance(s, ir.If)


def _is_power(e: ir.Expr) -> bool:
    return isinstance(e, ir.Const) and e.value.bit_count() == 1
