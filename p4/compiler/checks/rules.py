"""Rules of the hardware that hold on every path of a program, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.frontend.source import Diagnostics

Seen = dict[int, ir.Execute]


def check_rules(program: ir.Program, diagnostics: Diagnostics) -> None:
    """Adds what the hardware cannot do to `diagnostics`."""
    for gress in program.gresses:
        _accesses(program, gress.control, {}, diagnostics)


def _accesses(program: ir.Program, body: Sequence[ir.Stmt], seen: Seen, diagnostics: Diagnostics) -> Seen:
    """Registers that some path through `body` accesses, after those in `seen`; a second access is a mistake."""
    for s in body:
        branches: list[Sequence[ir.Stmt]] = []
        if isinstance(s, ir.If):
            branches = [s.then, s.otherwise]
        elif isinstance(s, ir.Scope):
            branches = [s.body]
        elif isinstance(s, ir.Apply):
            branches = [a.body for a in program.tables[s.table].actions]
        elif isinstance(s, ir.Execute):
            if s.register in seen:
                first, register = seen[s.register], program.registers[s.register].name
                diagnostics.error(
                    s.position,
                    f"register '{register}' is accessed twice in one pass: here and in line {first.position.line}; "
                    "merge the two into one RegisterAction, or recirculate",
                )
            seen = {**seen, s.register: s}
        if branches:
            outcomes = [_accesses(program, b, seen, diagnostics) for b in branches]
            seen = {k: v for outcome in outcomes for k, v in outcome.items()}
    return seen
