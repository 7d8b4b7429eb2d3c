"""Hold a RegisterAction to the limits of a stateful ALU."""

from __future__ import annotations

from collections.abc import Iterator

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.checks.operations import BITWISE, NUMERIC, operations, predicate
from jumpgate.p4.compiler.elaboration.expressions import COMPARISONS
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import every, expressions, external, gets, walk

OPERATIONS = (*NUMERIC, *BITWISE)


def check_stateful(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
    """Adds what a stateful ALU cannot do to `diagnostics`, at the statement that is too much."""
    limits = profile.register
    names: dict[int, set[str]] = {}
    constants: dict[int, set[int]] = {}
    units: dict[int, ir.MathUnit] = {}
    for access in (s for body in program.bodies for s in walk(body) if isinstance(s, ir.Execute)):
        known = names.setdefault(access.register, set())
        if access.name in known:
            continue
        known.add(access.name)
        name = program.registers[access.register].name
        if len(known) == limits["actions"] + 1:
            diagnostics.error(
                access.position, f"register '{name}' has more than {limits['actions']} RegisterActions that are used"
            )
        for position, problem in _problems(access, limits):
            diagnostics.error(position, f"RegisterAction '{access.name}' {problem}")
        for position, unit in _math_units(access):
            if unit != units.setdefault(access.register, unit) and not limits["any_operation"]:
                diagnostics.error(position, f"register '{name}' uses two MathUnits; its ALU has one")
        rows = constants.setdefault(access.register, set())
        for position, number in _constants(access, limits):
            rows_before = len(rows)
            rows.add(number)
            if len(rows) > limits["constants"] >= rows_before:
                diagnostics.error(
                    position,
                    f"register '{name}' uses more than {limits['constants']} constants outside "
                    f"{limits['constant_low']} … {limits['constant_high']}; give them as fields",
                )


def _problems(access: ir.Execute, limits: dict[str, int]) -> Iterator[tuple[Position, str]]:
    yield from _conditions(access, limits)
    yield from _values(access, limits)
    fields = external(access.body, (*access.values, *((access.output,) if access.output else ())))
    if len(fields) > limits["operands"]:
        yield access.position, f"reads {len(fields)} fields of the packet; {limits['operands']} are possible"
    for slot in [s for s in (*access.values, *fields) if s.type.width > limits["operand_bits"]][:1]:
        yield access.position, f"has an operand of {slot.type.width} bits; {limits['operand_bits']} are possible"


def _conditions(access: ir.Execute, limits: dict[str, int]) -> Iterator[tuple[Position, str]]:
    compared: set[ir.Expr] = set()
    for s in (s for s in walk(access.body) if isinstance(s, ir.If | ir.Set)):
        conditions = (s.condition,) if isinstance(s, ir.If) else predicate(s.value)
        found = [e for condition in conditions for e in every(condition)]
        if not isinstance(s, ir.If) and not all(isinstance(c, ir.Binary) and c.op in COMPARISONS for c in conditions):
            yield s.position, "gives a predicate of something else than comparisons; each argument is one"
        before = len(compared)
        compared |= {e for e in found if isinstance(e, ir.Binary) and e.op in COMPARISONS}
        if len(compared) > limits["comparisons"] >= before:
            yield s.position, f"makes more than {limits['comparisons']} comparisons"
        sliced = [e for e in found if isinstance(e, ir.Slice) and set(gets(e)) & set(access.values)]
        if sliced and not limits["any_operation"]:
            yield s.position, "compares a slice of the register's value; compare all of it, or keep the slice elsewhere"


def _values(access: ir.Execute, limits: dict[str, int]) -> Iterator[tuple[Position, str]]:
    computed: set[tuple[ir.Slot, ir.Expr]] = set()
    count = 0
    for s in (s for s in walk(access.body) if isinstance(s, ir.Set) and s.slot in (*access.values, access.output)):
        if predicate(s.value) and s.slot == access.output:
            continue
        unknown = [e.op for e in every(s.value) if isinstance(e, ir.Binary) and e.op not in OPERATIONS]
        unknown += [type(e).__name__.lower() for e in every(s.value) if isinstance(e, ir.Mux | ir.Hash | ir.Random)]
        if unknown and not limits["any_operation"]:
            yield s.position, f"computes '{unknown[0]}'; {', '.join(OPERATIONS)} are possible"
        elif operations(s.value) > limits["depth"]:
            yield s.position, "computes with the result of another operation; one operation makes a value"
        if not limits["any_operation"]:
            yield from _approximations(access, s)
        if s.slot != access.output and (s.slot, s.value) not in computed:
            computed.add((s.slot, s.value))
            count += 1
            if count == limits["computed_values"] + 1:
                yield s.position, f"computes more than {limits['computed_values']} values for the register"


def _approximations(access: ir.Execute, s: ir.Set) -> Iterator[tuple[Position, str]]:
    for e in (e for e in every(s.value) if isinstance(e, ir.Approximation)):
        if s.slot != access.values[0]:
            yield s.position, "gives out what a MathUnit makes, which goes to the register's value, the first of a pair"
        if not isinstance(e.operand, ir.Get | ir.Const):
            yield s.position, "gives a computed number to a MathUnit; it takes a field or the register's value"


def _math_units(access: ir.Execute) -> Iterator[tuple[Position, ir.MathUnit]]:
    for s in (s for s in walk(access.body) if isinstance(s, ir.Set)):
        yield from ((s.position, e.unit) for e in every(s.value) if isinstance(e, ir.Approximation))


def _constants(access: ir.Execute, limits: dict[str, int]) -> Iterator[tuple[Position, int]]:
    """Yield the constants that need a row of the register file; those that are only output need none."""
    for s in walk(access.body):
        if not isinstance(s, ir.If | ir.Set) or (isinstance(s, ir.Set) and s.slot == access.output):
            continue
        for e in (x for whole in expressions(s) for x in every(whole) if isinstance(x, ir.Const)):
            half = 1 << e.type.width >> 1
            value = e.value - 2 * half if half and e.value >= half and e.type.width > 4 else e.value
            if not limits["constant_low"] <= value <= limits["constant_high"]:
                yield s.position, value
