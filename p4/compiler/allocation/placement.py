"""Units → stages: list scheduling in the order of the program, within what a stage has. A Tofino's own compiler was
seen to follow that order so far that a program's longest branch should come first.

All accesses to a register, and all applications of a table, are one place: they lie in one stage. A place goes into
the first stage that its edges allow and that has room. A table whose entries no stage has room for lies in several,
with as many entries in each as there is room for; what waits for it waits for the last. Two registers that must each
come before the other cannot be placed. Known to be strict: a table with registers of its own lies in one
stage, branches are not exchanged, and conditions over hits and actions aside every `if` takes a gateway.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.allocation.units import Unit, units_of
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import every

STAGES_MAX = 256


@dataclass(eq=False)
class Place:
    """Units that lie in one stage. `needs`: place → stages behind it."""

    number: int
    units: list[Unit]
    needs: dict[int, int] = field(default_factory=dict)

    @property
    def names(self) -> str:
        return ", ".join(dict.fromkeys(f"{u.kind} '{u.name}'" for u in self.units))

    @property
    def position(self) -> Position:
        return self.units[0].position


@dataclass
class Stage:
    """The units in a stage and the resources they take. `entries`: this stage's share of a table over several."""

    units: list[Unit] = field(default_factory=list)
    entries: dict[int, int] = field(default_factory=dict)

    def used(self, program: ir.Program, profile: Profile) -> dict[str, int]:
        registers = {r for u in self.units for r in u.registers}
        tables = {u.table for u in self.units if u.table >= 0}
        counters = {c for u in self.units for c in u.counters}
        memory = [
            table_memory(replace(program.tables[t], size=self.entries.get(t, program.tables[t].size)), profile)
            for t in tables
        ]
        stateful = sum(register_blocks(program.registers[r], profile) for r in registers)
        meters = {m for u in self.units for m in u.meters}
        counted = sum(_blocks(self._cells(program.counters[c]) * 64, profile) for c in counters)
        counted += sum(_blocks(self._cells(program.meters[m]) * 128, profile) for m in meters)
        guards = {(u.gress, u.guard) for u in self.units if u.kind not in ("table", "gateway")}
        gateways = [u for u in self.units if u.kind == "gateway" and u.crossbar]
        deciding = {u.guard[-1][0] for u in self.units if u.guard}
        needed = {g.number: _gateways(g, profile) for g in gateways}
        alone = sum(count - (number in deciding) for number, count in needed.items())
        hashes = {(u.gress, value): bits for u in self.units for value, bits in u.hashes}
        return {
            "stateful_alus": len(registers),
            "stateful_blocks": stateful,
            "sram_blocks": stateful + counted + sum(sram for sram, _ in memory),
            "tcam_blocks": sum(tcam for _, tcam in memory),
            "logical_tables": len(tables) + len(guards) + alone,
            "ternary_tables": sum(tcam > 0 for _, tcam in memory),
            "exact_crossbar_bytes": _bytes({(u.gress, s) for u in self.units for s in u.crossbar}),
            "ternary_crossbar_bytes": _bytes({(u.gress, s) for u in self.units for s in u.ternary}),
            "hash_slices": sum(-(-bits // 16) for bits in hashes.values()),
            "gateways": sum(needed.values()),
        }

    def _cells(self, of: ir.Counter | ir.Meter) -> int:
        """Return how many of them are here: one that belongs to a table's entries lies where these do."""
        return self.entries.get(of.table, of.size) if of.table >= 0 else of.size


def _bytes(fields: set[tuple[str, ir.Slot]]) -> int:
    return sum(-(-slot.type.width // 8) for _, slot in fields)


def _gateways(unit: Unit, profile: Profile) -> int:
    """A condition over more bits than a gateway sees is taken apart at its && and ||."""
    return -(-sum(slot.type.width for slot in unit.crossbar) // profile.gateway["bits"])


def _blocks(bits: int, profile: Profile) -> int:
    return -(-bits // (profile.memory["sram_rows"] * profile.memory["sram_bits"]))


def register_blocks(register: ir.Register, profile: Profile) -> int:
    """A bank more than its cells take: the memory is read and written at once."""
    return _blocks(register.size * sum(kind.width for _, kind in register.fields), profile) + profile.memory["spare"]


def table_memory(table: ir.Table, profile: Profile) -> tuple[int, int]:
    """SRAM and TCAM blocks. A ternary entry's action data lie in SRAM; a range key takes two bits for each of its."""
    memory = profile.memory
    parameters = [sum(p.type.width for p in a.parameters) for a in table.actions]
    data = max((n + _constants(a, profile) for n, a in zip(parameters, table.actions, strict=True)), default=0)
    if not table.keys:
        return int(data > memory["immediate_bits"]), 0
    key = sum(k.value.type.width * (2 if k.match == "range" else 1) for k in table.keys)
    head = 8  # which action, and the entry's version
    if all(k.match == "exact" for k in table.keys):
        if data <= memory["immediate_bits"]:
            return max(memory["ways"], _rows(table.size, key + data + head, profile)), 0
        blocks = max(memory["ways"], _rows(table.size, key + head, profile))
        return blocks + _action_data(table.size, blocks, data, profile), 0
    tcam = -(-key // memory["tcam_bits"]) * -(-table.size // memory["tcam_rows"])
    return _rows(table.size, max(parameters, default=0) + head, profile), tcam


def _action_data(entries: int, blocks: int, bits: int, profile: Profile) -> int:
    """Blocks of action data beside a table with exact keys: a place for each of an entry's in each of its ways, as wide
    as a power of two."""
    rows = blocks * profile.memory["sram_rows"]
    places = rows * -(-entries // rows)
    return _blocks(places * (1 << (bits - 1).bit_length()), profile)


def _constants(action: ir.TableAction, profile: Profile) -> int:
    """Bits of the constants that the instructions of ALUs have no room for: they are action data, too."""
    low, high = -profile.memory["constant_max"] - 1, profile.memory["constant_max"]
    found = 0
    for s in action.body:
        if isinstance(s, ir.Set):
            for e in every(s.value):
                if isinstance(e, ir.Const) and e.type.width > 0:
                    signed = e.value - (1 << e.type.width) if e.value >> (e.type.width - 1) else e.value
                    found += 0 if low <= signed <= high else e.type.width
    return found


def _rows(entries: int, bits: int, profile: Profile) -> int:
    word, rows = profile.memory["sram_bits"], profile.memory["sram_rows"]
    if bits <= word:
        words = -(-entries // (word // bits))
        return -(-words // rows)
    return -(-bits // word) * -(-entries // rows)


def ordered_places(program: ir.Program, diagnostics: Diagnostics) -> list[Place] | None:
    """All places, each behind what it needs; None, and what is wrong in `diagnostics`, if some need each other."""
    return _ordered(program, _places(units_of(program)), diagnostics)


def place(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> list[Stage]:
    """The stages in order. Adds to `diagnostics` what cannot be placed; then the list is as far as it came."""
    order = ordered_places(program, diagnostics)
    if order is None:
        return []
    stages: list[Stage] = []
    at: dict[int, int] = {}
    waiting = list(order)
    left = {p.units[0].table: program.tables[p.units[0].table].size for p in order if _spreads(p, program, profile)}
    while waiting and len(stages) < STAGES_MAX:
        here, number = Stage(), len(stages)
        stages.append(here)
        moved = True
        while moved:
            moved = False
            for p in sorted(waiting, key=lambda p: p.number):
                if any(n not in at or at[n] + d > number for n, d in p.needs.items()):
                    continue
                if _put(here, p, left, program, profile):
                    moved = True
                    if not left.get(p.units[0].table):
                        at[p.number] = number
                        waiting.remove(p)
                elif not here.units:
                    what, need, limit = _over(here, p, program, profile) or ("", 0, 0)
                    diagnostics.error(
                        p.position, f"{p.names} needs {need} {what.replace('_', ' ')} in one stage; there are {limit}"
                    )
                    return stages
    if len(stages) > profile.stages or waiting:
        behind: list[Stage | Place] = [*stages[profile.stages :], *waiting]
        late = min((u for group in behind for u in group.units), key=lambda u: u.number)
        diagnostics.error(
            late.position,
            f"the program needs {len(stages)} stages, a {profile.title} has {profile.stages}; {late.kind} "
            f"'{late.name}' comes too late: shorten the chain of dependent operations, or recirculate",
        )
    return stages


def _spreads(place: Place, program: ir.Program, profile: Profile) -> bool:
    """Tell whether the place is a table whose entries no stage has room for, and that nothing keeps in one stage."""
    over = _over(Stage(), place, program, profile)
    return (
        over is not None
        and over[0] in ("sram_blocks", "tcam_blocks")
        and all(u.kind == "table" and not u.registers for u in place.units)
        and all(program.counters[c].table >= 0 for u in place.units for c in u.counters)
        and all(program.meters[m].table >= 0 for u in place.units for m in u.meters)
    )


def _put(stage: Stage, more: Place, left: dict[int, int], program: ir.Program, profile: Profile) -> bool:
    """Put the place into the stage, or as many of a spreading table's entries that are `left` as there is room for."""
    table = more.units[0].table
    if table in left:
        entries = 0 if table in stage.entries else _room(stage, more, left[table], program, profile)
        if not entries:
            return False
        stage.entries[table] = entries
        left[table] -= entries
    elif _over(stage, more, program, profile):
        return False
    stage.units += more.units
    return True


def _room(stage: Stage, more: Place, entries: int, program: ir.Program, profile: Profile) -> int:
    """How many of a table's entries the stage has room for, by whole rows of a block."""
    table, rows = more.units[0].table, profile.memory["sram_rows"]

    def exceeds(blocks: int) -> bool:
        here = Stage(stage.units, {**stage.entries, table: min(entries, blocks * rows)})
        return _over(here, more, program, profile) is not None

    steps = range(1, -(-entries // rows) + 1)
    return min(entries, bisect.bisect_left(steps, True, key=exceeds) * rows)


def _over(stage: Stage, more: Place, program: ir.Program, profile: Profile) -> tuple[str, int, int] | None:
    used = Stage(stage.units + more.units, stage.entries).used(program, profile)
    return next(((k, v, profile.stage[k]) for k, v in used.items() if v > profile.stage[k]), None)


def _places(units: Sequence[Unit]) -> dict[int, Place]:
    """Units of one register or table are one place, named by its first unit."""
    root = {u.number: u.number for u in units}

    def find(n: int) -> int:
        while root[n] != n:
            n = root[n]
        return n

    first: dict[tuple[str, int], int] = {}
    for u in units:
        held = [("register", r) for r in u.registers] + ([("table", u.table)] if u.table >= 0 else [])
        for key in held:
            a, b = find(first.setdefault(key, u.number)), find(u.number)
            root[max(a, b)] = min(a, b)
    _join_cycles(units, find, root)
    places: dict[int, Place] = {}
    for u in units:
        places.setdefault(find(u.number), Place(find(u.number), [])).units.append(u)
    for u in units:
        mine = places[find(u.number)]
        for need, distance in u.needs.items():
            if need in root and (find(need) != mine.number or distance):
                mine.needs[find(need)] = max(distance, mine.needs.get(find(need), 0))
    return places


def _join_cycles(units: Sequence[Unit], find: Callable[[int], int], root: dict[int, int]) -> None:
    """Places that must each not come before the other share a stage."""
    changed = True
    while changed:
        changed = False
        edges: dict[int, set[int]] = {}
        for u in units:
            for need, distance in u.needs.items():
                if not distance and need in root and find(need) != find(u.number):
                    edges.setdefault(find(u.number), set()).add(find(need))
        for start in sorted(edges):
            cycle = _way_back(start, edges)
            if cycle:
                for n in cycle:
                    a, b = find(n), find(start)
                    root[max(a, b)] = min(a, b)
                changed = True
                break


def _way_back(start: int, edges: dict[int, set[int]]) -> list[int]:
    open_: list[int] = [start]
    before: dict[int, int] = {}
    while open_:
        at = open_.pop()
        for n in edges.get(at, ()):
            if n == start:
                out = [at]
                while out[-1] != start:
                    out.append(before[out[-1]])
                return out
            if n not in before:
                before[n] = at
                open_.append(n)
    return []


def _ordered(program: ir.Program, places: dict[int, Place], diagnostics: Diagnostics) -> list[Place] | None:
    """Places behind what they need; None if some need each other."""
    done: dict[int, Place] = {}
    waiting = dict(places)
    while waiting:
        ready = [p for p in waiting.values() if all(n in done for n in p.needs)]
        if not ready:
            _complain(program, waiting, diagnostics)
            return None
        for p in ready:
            done[p.number] = waiting.pop(p.number)
    return list(done.values())


def _complain(program: ir.Program, waiting: dict[int, Place], diagnostics: Diagnostics) -> None:
    edges = {p.number: {n for n in p.needs if n in waiting} for p in waiting.values()}
    cycles = [c for p in waiting for c in [_way_back(p, edges)] if c or p in edges[p]]
    number = min(cycles[0])
    units = [u for n in sorted(cycles[0]) for u in waiting[n].units]
    registers = dict.fromkeys(f"'{program.registers[r].name}'" for u in units for r in u.registers)
    others = dict.fromkeys(f"'{u.name}'" for u in units if u.kind == "table") or {"what stands here": None}
    what = (
        f"registers {' and '.join(registers)} are reached" if registers else f"{', '.join(others)} is reached twice, or"
    )
    diagnostics.error(
        waiting[number].units[-1].position,
        f"{what} in two orders; all packets pass the stages in one: "
        "access them in the same order on every path, or recirculate",
    )
