"""Check a stateful ALU's outputs: a value is assigned once on each path, and a pair has one way out for constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.frontend.source import Diagnostics
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import gets, walk

Path = tuple[tuple[int, bool], ...]
PREDICATE_BITS = 4


def check_outputs(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
    """Adds to `diagnostics` assignments that exclude each other in the source, but not in the ALU."""
    if profile.vendor["repeated_assignments"]:
        return
    constants: dict[int, dict[int, ir.Set]] = {}
    known: set[tuple[int, str]] = set()
    for access in (s for body in program.bodies for s in walk(body) if isinstance(s, ir.Execute)):
        if (access.register, access.name) in known:
            continue
        known.add((access.register, access.name))
        _once(access, diagnostics)
        register = program.registers[access.register]
        if len(register.fields) == 2:
            given = constants.setdefault(access.register, {})
            for s in _constants(access):
                assert isinstance(s.value, ir.Const)
                given.setdefault(s.value.value, s)
                if len(given) > 1 and s is given[s.value.value]:
                    first = next(iter(given.values()))
                    diagnostics.error(
                        s.position, f"register '{register.name}' of two words gives out {s.value.value} here and "
                        f"another constant in line {first.position.line}: give out this.predicate(…)",
                    )  # fmt: skip


def _once(access: ir.Execute, diagnostics: Diagnostics) -> None:
    before: dict[ir.Slot, list[Path]] = {}
    last: tuple[Path, ir.Slot] | None = None
    for path, s in _assignments(access.body, ()):
        overwrites = last == (path, s.slot) and s.slot not in gets(s.value)  # the one just before has no effect
        last = path, s.slot
        if overwrites or s.slot not in (*access.values, access.output):
            continue
        paths = before.setdefault(s.slot, [])
        if any(_meet(path, other) for other in paths):
            diagnostics.error(
                s.position, f"RegisterAction '{access.name}' assigns to {s.slot.name} twice on one path, which a "
                "stateful ALU does not: use else, min and max, or this.predicate(…)",
            )  # fmt: skip
        is_default = not path and not paths and isinstance(s.value, ir.Const) and s.value.value == 0
        if not is_default:
            paths.append(path)


def _assignments(body: Sequence[ir.Stmt], path: Path) -> Iterator[tuple[Path, ir.Set]]:
    for s in body:
        if isinstance(s, ir.Set):
            yield path, s
        elif isinstance(s, ir.If):
            yield from _assignments(s.then, (*path, (id(s), True)))
            yield from _assignments(s.otherwise, (*path, (id(s), False)))
        elif isinstance(s, ir.Scope):
            yield from _assignments(s.body, path)


def _meet(a: Path, b: Path) -> bool:
    """Can a packet take both?"""
    branches = dict(a)
    return all(branches.get(decision, side) == side for decision, side in b)


def _constants(access: ir.Execute) -> Iterator[ir.Set]:
    """Outputs of constants that need a way out; 0 is what comes out of an ALU that gives nothing."""
    for s in walk(access.body):
        if isinstance(s, ir.Set) and s.slot == access.output and isinstance(s.value, ir.Const) and s.value.value:
            yield s
