"""The work of a packet in the pipe, as units that each fit into one stage, with the order that they must keep.

A unit is a table with its actions, an access to a register, an assignment, a count, or a gateway (the condition of an
`if`). An edge says how many stages behind its predecessor a unit may come at the earliest:

- 1 after what it reads was written (match and action dependency: a stage's tables and actions all read what the stage
  before left), and after another write of what it writes (output dependency);
- 0 after a gateway or a table's hit or action that decides on it (control dependency: the next-table address reaches
  the tables of its own stage), and after what reads the value that it overwrites;
- 0 after all of a branch with several units that comes before it, or if it is one, after all that comes before it: a
  packet has one next-table address, so such branches follow each other in the stages as they do in the program.

Statements of branches that exclude each other have no edges. These belong to one stage, as an action does them at once:

- a plain copy is read at its source; so is a hash, or another function that is linear over bits (slices, `++`, `^`,
  masks), where it is a register's index or the whole of another assignment, because a stage's hash unit makes it anew;
- a RegisterAction and the assignment of its result;
- exchanges (`t = a; a = b; b = t`).

An assignment of several dependent operations takes as many stages, unless it is linear. Assignments that nothing
reads are left out. Slices and casts of fields cost no operation: containers are assumed to be allocated for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.checks.operations import copied, gateway_operations, is_linear, is_numeric, operations
from jumpgate.p4.compiler.frontend.source import Position
from jumpgate.p4.compiler.walk import expressions, external, gets, leaves, replaced, walk

Guard = tuple[tuple[int, bool], ...]


@dataclass(eq=False)
class Unit:
    """`needs`: unit → stages behind it. `crossbar`: fields that it matches, hashes or gives to a stateful ALU.

    `unset`: of the fields that it reads, those that nothing has written on some path. `moves`: (target, source) of the
    ALUs' operations. `whole`: fields that an ALU works on as numbers.
    """

    number: int
    kind: str  # table, register, counter, gateway, action
    name: str
    gress: str
    position: Position
    guard: Guard
    needs: dict[int, int] = field(default_factory=dict)
    sources: set[int] = field(default_factory=set)
    reads: set[ir.Slot] = field(default_factory=set)
    writes: set[ir.Slot] = field(default_factory=set)
    crossbar: set[ir.Slot] = field(default_factory=set)
    ternary: set[ir.Slot] = field(default_factory=set)
    unset: set[ir.Slot] = field(default_factory=set)
    moves: set[tuple[ir.Slot, ir.Slot]] = field(default_factory=set)
    whole: set[ir.Slot] = field(default_factory=set)
    hashes: set[tuple[ir.Expr, int]] = field(default_factory=set)
    registers: set[int] = field(default_factory=set)
    counters: set[int] = field(default_factory=set)
    meters: set[int] = field(default_factory=set)
    table: int = -1
    is_live: bool = False


@dataclass
class State:
    """At a point of the program: who wrote a field last, who has read it since, and what it equals. `sources`: of each
    field, others that may be held by an expression over it."""

    writers: dict[ir.Slot, frozenset[int]] = field(default_factory=dict)
    readers: dict[ir.Slot, frozenset[int]] = field(default_factory=dict)
    values: dict[ir.Slot, ir.Expr] = field(default_factory=dict)
    past: dict[ir.Slot, tuple[ir.Expr, int]] = field(default_factory=dict)  # held until that unit wrote
    defined: frozenset[ir.Slot] = frozenset()  # written on every path
    sources: dict[ir.Slot, frozenset[ir.Slot]] = field(default_factory=dict)

    def copy(self) -> State:
        return State(
            dict(self.writers), dict(self.readers), dict(self.values), dict(self.past), self.defined, dict(self.sources)
        )

    def hold(self, slot: ir.Slot, value: ir.Expr) -> None:
        """From here on the field equals that, which is not over the field itself."""
        self.values[slot] = value
        for source in gets(value):
            self.sources[source] = self.sources.get(source, frozenset()) | {slot}


def merge(states: Sequence[State]) -> State:
    """Where branches meet."""
    if len(states) == 1:
        return states[0]
    out = State()
    for slot in {s for state in states for s in state.writers}:
        out.writers[slot] = frozenset().union(*(state.writers.get(slot, frozenset()) for state in states))
    for slot in {s for state in states for s in state.readers}:
        out.readers[slot] = frozenset().union(*(state.readers.get(slot, frozenset()) for state in states))
    for slot, value in states[0].values.items():
        if all(state.values.get(slot) == value for state in states[1:]):
            out.hold(slot, value)
    out.defined = frozenset.intersection(*(state.defined for state in states))
    return out


def units_of(program: ir.Program) -> list[Unit]:
    """The units of both halves of the pipe in the order of the program, those without effect left out."""
    units: list[Unit] = []
    for gress in program.gresses:
        extract = Extract(program, gress, units)
        extract.body(gress.control)
        extract.mark()
    return [u for u in units if u.is_live]


def _has_several(s: ir.Stmt) -> bool:
    """Is it a branch with more than one unit?"""
    branches = (s.then, s.otherwise) if isinstance(s, ir.If) else (s.body,) if isinstance(s, ir.Scope) else ()
    return any(
        sum(isinstance(x, ir.Apply | ir.Execute | ir.If | ir.Scope | ir.Count | ir.Measure) for x in b) > 1
        or any(isinstance(x, ir.If | ir.Scope) for x in b)
        for b in branches
    )


class Extract:
    def __init__(self, program: ir.Program, gress: ir.Gress, units: list[Unit]) -> None:
        self.program, self.gress, self.units = program, gress, units
        self.first = len(units)
        self.state: State | None = State()
        self.guard: Guard = ()
        self.position = Position(program.name, 1, 1)
        self.left: dict[int, list[State]] = {}
        self.decided: set[ir.Slot] = set()  # written by tables as they are looked up: hit, action, entry
        self.results: dict[ir.Slot, int] = {}  # of RegisterActions

    # ---- statements ----

    def body(self, statements: Sequence[ir.Stmt]) -> None:
        branch: list[Unit] = []  # the last one with several units
        behind: list[Unit] = []  # what came since it began
        for at, s in enumerate(statements):
            first = len(self.units)
            if self.state is None:
                return
            self._statement(s, statements[at + 1] if at + 1 < len(statements) else None)
            made = self.units[first:]
            several = _has_several(s)
            for unit in made:
                for before in behind if several else branch:
                    unit.needs.setdefault(before.number, 0)
            if several:
                branch, behind = made, made
            else:
                behind = behind + made

    def _statement(self, s: ir.Stmt, following: ir.Stmt | None) -> None:
        match s:
            case ir.Set():
                self.position = s.position
                if not (isinstance(following, ir.Execute) and following.output == s.slot):
                    self._set(s)
            case ir.If():
                self._if(s)
            case ir.Scope():
                self._scope(s)
            case ir.Leave():
                assert self.state is not None
                self.left.setdefault(s.label, []).append(self.state)
                self.state = None
            case ir.Apply():
                self._apply(s)
            case ir.Execute():
                self.position = s.position
                unit = self._unit("register", s.name)
                self._execute(s, unit)
            case ir.Count():
                self.position = s.position
                unit = self._unit("counter", self.program.counters[s.counter].name)
                unit.counters.add(s.counter)
                self._index(unit, s.index)
            case ir.Measure():
                self.position = s.position
                self._measure(s, self._unit("meter", self.program.meters[s.meter].name))

    def _scope(self, s: ir.Scope) -> None:
        guard = self.guard
        self.body(s.body)
        ends = self.left.pop(s.label, []) + ([self.state] if self.state is not None else [])
        self.state = merge(ends) if ends else None
        self.guard = guard

    def _if(self, s: ir.If) -> None:
        assert self.state is not None
        self.position = s.position
        condition = self._plain(s.condition)
        name = f"if in line {s.position.line}"
        unit = self._deep("gateway", name, gateway_operations(condition), condition)
        self._read(unit, condition)
        unit.crossbar |= set(gets(condition)) - self.decided
        outer, before = self.guard, self.state
        ends: list[State] = []
        leaving = False
        for branch, body in ((True, s.then), (False, s.otherwise)):
            self.state, self.guard = before.copy(), (*outer, (unit.number, branch))
            self.body(body)
            leaving |= self.state is None or self.guard != (*outer, (unit.number, branch))
            if self.state is not None:
                ends.append(self.state)
        self.state = merge(ends) if ends else None
        self.guard = (*outer, (unit.number, not leaves(s.then))) if leaving else outer

    def _set(self, s: ir.Set) -> None:
        assert self.state is not None
        state = self.state
        whole = s.value
        source = copied(whole)
        if source is not None:
            made = self.results.get(source)
            if made is not None and self.units[made].guard == self.guard and self._absorb(made, s.slot):
                self.units[made].whole.add(s.slot)
                return
            if source in state.values:
                whole = state.values[source] if source.type == whole.type else ir.Cast(state.values[source], whole.type)
            elif source in state.past:
                value, writer = state.past[source]
                if self.units[writer].guard == self.guard and self._absorb(writer, s.slot):
                    self.units[writer].reads |= set(gets(value))
                    self._moves(self.units[writer], s.slot, value)
                    return
        value = self._plain(whole)
        count = 1 if is_linear(value) else operations(value)
        unit = self._deep("action", s.slot.name, count - 1, value)
        self._read(unit, value)
        if isinstance(value, ir.Hash) or (is_linear(value) and operations(value) > 1):
            unit.crossbar |= set(gets(value))
            unit.hashes.add((value, value.type.width))
        else:
            self._moves(unit, s.slot, value)
        self._write(unit, s.slot)
        if s.slot not in gets(value):
            state.hold(s.slot, value)

    def _apply(self, s: ir.Apply) -> None:
        assert self.state is not None
        self.position = s.position
        table = self.program.tables[s.table]
        keys = [(k, self._plain(k.value)) for k in table.keys]
        depth = max((operations(v) for _, v in keys), default=0)
        together = ir.Hash("identity", tuple(v for _, v in keys), ir.BOOL)
        unit = self._deep("table", table.name, depth, together)
        unit.table = s.table
        is_ternary = any(k.match != "exact" for k in table.keys)
        for _, value in keys:
            self._read(unit, value)
            (unit.ternary if is_ternary else unit.crossbar).update(gets(value))
        self.decided |= {s.hit, s.action, s.entry}
        for slot in (s.hit, s.action, s.entry):
            self._write(unit, slot)
        before, ends = self.state, []
        for action in table.actions:
            self.state = before.copy()
            self._inside(action.body, unit, set(action.parameters))
            ends.append(self.state)
        self.state = merge(ends)

    def _inside(self, body: Sequence[ir.Stmt], unit: Unit, own: set[ir.Slot]) -> None:
        """An action of a table: all its statements belong to the table's unit."""
        assert self.state is not None
        for s in body:
            match s:
                case ir.Set():
                    value = self._plain(s.value)
                    if isinstance(value, ir.Get) and self.results.get(value.slot) == unit.number:
                        del self.results[value.slot]  # it comes out of the stateful ALU into this field
                        unit.whole.add(s.slot)
                        self._write(unit, s.slot)
                        continue
                    self._read(unit, value, own)
                    if isinstance(value, ir.Hash):
                        unit.hashes.add((value, value.type.width))
                        unit.crossbar |= set(gets(value)) - own
                    else:
                        self._moves(unit, s.slot, value, own)
                    self._write(unit, s.slot)
                    if s.slot not in gets(value):
                        self.state.hold(s.slot, value)
                case ir.If():
                    self._read(unit, self._plain(s.condition), own)
                    self._inside((*s.then, *s.otherwise), unit, own)
                case ir.Scope():
                    self._inside(s.body, unit, own)
                case ir.Execute():
                    self._execute(s, unit, own)
                case ir.Count():
                    unit.counters.add(s.counter)
                    self._index(unit, s.index, own)
                case ir.Measure():
                    self._measure(s, unit, own)

    def _measure(self, s: ir.Measure, unit: Unit, own: Iterable[ir.Slot] = ()) -> None:
        unit.meters.add(s.meter)
        self._index(unit, s.index, own)
        if s.before is not None:
            self._read(unit, self._plain(s.before), own)
        self._write(unit, s.output)

    def _execute(self, s: ir.Execute, unit: Unit, own: Iterable[ir.Slot] = ()) -> None:
        unit.registers.add(s.register)
        local = {*s.values, *([s.output] if s.output else ())}
        for slot in external(s.body, local):
            value = self._plain(ir.Get(slot))
            self._read(unit, value, own)
            unit.crossbar |= set(gets(value)) - set(own)
        self._index(unit, s.index, own)
        if s.output is not None:
            self._write(unit, s.output)
            unit.whole.add(s.output)
            self.results[s.output] = unit.number

    def _index(self, unit: Unit, index: ir.Expr, own: Iterable[ir.Slot] = ()) -> None:
        """A register's address comes from the hash unit, unless it is constant or the entry that was hit."""
        index = self._linear(index)
        self._read(unit, index, own)
        fields = set(gets(index)) - self.decided - set(own)
        if fields:
            unit.crossbar |= fields
            unit.hashes.add((index, index.type.width))

    # ---- edges ----

    def _unit(self, kind: str, name: str) -> Unit:
        unit = Unit(len(self.units), kind, name, self.gress.name, self.position, self.guard)
        for gateway, _ in self.guard:
            unit.needs[gateway] = 0
        self.units.append(unit)
        return unit

    def _deep(self, kind: str, name: str, before: int, value: ir.Expr) -> Unit:
        """A unit behind as many operations that come first."""
        width = min(32, max((s.type.width for s in gets(value)), default=1))
        last: Unit | None = None
        for at in range(max(0, before) + 1):
            part = at < before
            unit = self._unit("action", f"part of {name}") if part else self._unit(kind, name)
            if part:
                self._read(unit, value)
            if last is not None:
                unit.needs[last.number] = 1
                unit.sources.add(last.number)
                unit.reads |= last.writes
            if part:
                unit.writes.add(ir.Slot(-1 - unit.number, unit.name, ir.Bits(width)))
                last = unit
        return unit

    def _read(self, unit: Unit, value: ir.Expr, own: Iterable[ir.Slot] = ()) -> None:
        assert self.state is not None
        for slot in gets(value):
            if slot in own:
                continue
            unit.reads.add(slot)
            if slot not in self.state.defined:
                unit.unset.add(slot)
            distance = 0 if slot in self.decided and unit.kind == "gateway" else 1
            for writer in self.state.writers.get(slot, ()):
                if writer != unit.number:
                    unit.needs[writer] = max(distance, unit.needs.get(writer, 0))
                    unit.sources.add(writer)
            self.state.readers[slot] = self.state.readers.get(slot, frozenset()) | {unit.number}

    def _moves(self, unit: Unit, target: ir.Slot, value: ir.Expr, own: Iterable[ir.Slot] = ()) -> None:
        sources = [slot for slot in gets(value) if slot not in own]
        unit.moves |= {(target, source) for source in sources}
        if is_numeric(value):
            unit.whole |= {target, *sources}

    def _write(self, unit: Unit, slot: ir.Slot) -> None:
        assert self.state is not None
        state = self.state
        for writer in state.writers.get(slot, ()):
            if writer != unit.number:
                unit.needs[writer] = 1
        for reader in state.readers.get(slot, ()):
            if reader != unit.number:
                unit.needs.setdefault(reader, 0)
        if unit.guard != self.guard or unit.kind == "table":
            unit.sources |= state.writers.get(slot, frozenset()) - {unit.number}
        unit.writes.add(slot)
        self._written(unit.number, slot)

    def _written(self, unit: int, slot: ir.Slot) -> None:
        assert self.state is not None
        state = self.state
        state.writers[slot] = frozenset((unit,))
        state.defined |= {slot}
        state.readers[slot] = frozenset()
        state.values.pop(slot, None)
        state.past.pop(slot, None)
        for target in state.sources.pop(slot, ()):
            if target in state.values and slot in gets(state.values[target]):
                state.past[target] = (state.values.pop(target), unit)
        self.results.pop(slot, None)

    def _absorb(self, number: int, slot: ir.Slot) -> bool:
        """Lets that earlier unit write `slot` too, if nothing between them forbids it."""
        assert self.state is not None
        unit, state = self.units[number], self.state
        before = (state.writers.get(slot, frozenset()) | state.readers.get(slot, frozenset())) - {number}
        if any(self._follows(b, number) for b in before):
            return False
        for writer in state.writers.get(slot, frozenset()) - {number}:
            unit.needs[writer] = 1
        for reader in state.readers.get(slot, frozenset()) - {number}:
            unit.needs.setdefault(reader, 0)
        unit.writes.add(slot)
        self._written(number, slot)
        return True

    def _follows(self, later: int, earlier: int) -> bool:
        open_, seen = [later], set()
        while open_:
            at = open_.pop()
            if at == earlier:
                return True
            if at > earlier and at not in seen:
                seen.add(at)
                open_ += self.units[at].needs
        return False

    # ---- values ----

    def _plain(self, value: ir.Expr) -> ir.Expr:
        """With copies read at their sources."""
        assert self.state is not None
        known = self.state.values

        def swap(slot: ir.Slot) -> ir.Expr:
            found = known.get(slot)
            return found if isinstance(found, ir.Const | ir.Get) else ir.Get(slot)

        return replaced(value, swap)

    def _linear(self, value: ir.Expr) -> ir.Expr:
        """With what the hash unit can make itself in place of fields that hold it."""
        assert self.state is not None
        known = self.state.values

        def swap(slot: ir.Slot) -> ir.Expr:
            found = known.get(slot)
            return found if found is not None and is_linear(found) else ir.Get(slot)

        return replaced(value, swap)

    def mark(self) -> None:
        """Marks what has an effect: on registers, counters, the packet, or where it goes."""
        seen = set(self.gress.intrinsic.values())
        for s in walk(self.gress.deparser):
            seen |= {x for e in expressions(s) for x in gets(e)}
            if isinstance(s, ir.Emit):
                seen |= {*s.fields, s.valid}
        mine = self.units[self.first :]
        open_ = [u for u in mine if u.registers or u.counters or u.meters or u.kind == "table" or u.writes & seen]
        while open_:
            unit = open_.pop()
            if not unit.is_live:
                unit.is_live = True
                open_ += [self.units[n] for n in (*unit.sources, *(g for g, _ in unit.guard))]
