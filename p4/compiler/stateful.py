"""What a RegisterAction may hold: the limits of a stateful ALU."""

from __future__ import annotations

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.source import Diagnostics
from jumpgate.p4.compiler.units import COMPARISONS, every, expressions, external, gets, operations, walk


def check_stateful(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
    """Adds what a stateful ALU cannot do to `diagnostics`, at the first access by that RegisterAction."""
    limits = profile.register
    constants: dict[int, set[int]] = {}
    seen: set[tuple[int, str]] = set()
    bodies = [program.ingress.control, program.egress.control, *(a.body for t in program.tables for a in t.actions)]
    for access in (s for body in bodies for s in walk(body) if isinstance(s, ir.Execute)):
        if (access.register, access.name) in seen:
            continue
        seen.add((access.register, access.name))
        for problem in _problems(access, limits):
            diagnostics.error(access.position, f"RegisterAction '{access.name}' {problem}")
        rows = constants.setdefault(access.register, set())
        known = len(rows)
        rows |= _constants(access, limits)
        if len(rows) > limits["constants"] >= known:
            diagnostics.error(
                access.position,
                f"register '{program.registers[access.register].name}' uses more than {limits['constants']} constants "
                f"outside {limits['constant_low']} … {limits['constant_high']}; give them as fields",
            )


def _problems(access: ir.Execute, limits: dict[str, int]) -> list[str]:
    conditions = [s.condition for s in walk(access.body) if isinstance(s, ir.If)]
    compared = {
        e for c in conditions for e in every(c) if isinstance(e, ir.Binary) and e.op in COMPARISONS
    }  # fmt: skip
    values = set(access.values)
    computed = {(s.slot, s.value) for s in walk(access.body) if isinstance(s, ir.Set) and s.slot in values}
    count = sum(max(1, operations(value)) for _, value in computed)
    fields = external(access.body, (*access.values, *((access.output,) if access.output else ())))
    wide = [s for s in (*access.values, *fields) if s.type.width > limits["operand_bits"]]
    out = []
    if len(compared) > limits["comparisons"]:
        out.append(f"has {len(compared)} comparisons; {limits['comparisons']} are possible")
    if count > limits["computed_values"]:
        out.append(f"computes {count} values; {limits['computed_values']} are possible")
    if len(fields) > limits["operands"]:
        out.append(f"reads {len(fields)} fields of the packet; {limits['operands']} are possible")
    if wide:
        out.append(f"has an operand of {wide[0].type.width} bits; {limits['operand_bits']} are possible")
    sliced = (e for c in conditions for e in every(c) if isinstance(e, ir.Slice))
    if any(slot in values for e in sliced for slot in gets(e)):
        out.append("compares a slice of the register's value; compare the whole, or keep the slice in its own register")
    return out


def _constants(access: ir.Execute, limits: dict[str, int]) -> set[int]:
    found = set()
    for s in walk(access.body):
        if isinstance(s, ir.Set) and s.slot == access.output:
            continue
        for e in (x for whole in expressions(s) for x in every(whole) if isinstance(x, ir.Const)):
            half = 1 << e.type.width >> 1
            value = e.value - 2 * half if half and e.value >= half and e.type.width > 4 else e.value
            if not limits["constant_low"] <= value <= limits["constant_high"]:
                found.add(value)
    return found
