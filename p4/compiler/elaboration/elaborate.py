"""Syntax tree → typed program: declarations, tables, parsers (unrolled over stack positions), and the pipeline."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.controls import Controls
from jumpgate.p4.compiler.elaboration.names import (
    PADDING,
    Broken,
    Closure,
    Composite,
    EnumType,
    Group,
    Instance,
    Packet,
    Scope,
    Type,
    Value,
    flat_fields,
    in_order,
)
from jumpgate.p4.compiler.elaboration.parsers import Parsers
from jumpgate.p4.compiler.elaboration.varbits import is_varbit
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Consequence, Diagnostics, Mistake, Position
from jumpgate.p4.compiler.walk import calls_inlined, walk

PIPES = ("pipe0", "pipe1", "pipe2", "pipe3")
BLOCKS = ("ingress_parser", "ingress", "ingress_deparser", "egress_parser", "egress", "egress_deparser")
#: no port
INITIAL = {
    ("ingress_intrinsic_metadata_for_tm_t", "ucast_egress_port"): 0x1FF,
    ("ingress_intrinsic_metadata_for_tm_t", "level2_exclusion_id"): 0x1FF,
}


def elaborate(source: ast.Source, name: str, diagnostics: Diagnostics) -> ir.Program:
    """The typed program. Mistakes are in `diagnostics`; the program is whole only if there are none."""
    program = ir.Program(name)
    lowering = Elaborate(program, diagnostics)
    lowering.run(source)
    return program


class Elaborate(Parsers, Controls):
    def run(self, source: ast.Source) -> None:
        self.ids = {}
        root = Scope()
        main: ast.Instance | None = None
        pipes: dict[str, ast.Instance] = {}
        for node in source.declarations:
            try:
                if isinstance(node, ast.Instance) and node.type.name == "Pipeline":
                    pipes[node.name] = node
                elif isinstance(node, ast.Instance) and node.type.name == "Switch":
                    main = node
                else:
                    self.declare(node, root)
            except Mistake as mistake:
                self.broken(node, root, mistake)
        if main is not None or not self.diagnostics.found:
            try:
                self._package(main, pipes, root)
            except Mistake as mistake:
                self.diagnostics.add(mistake)
        for name, header in self.unaligned.items():
            if name not in self.resubmitted:
                self.diagnostics.add(header)

    # ---- declarations ----

    def broken(self, node: ast.Declaration, scope: Scope, mistake: Mistake) -> None:
        self.diagnostics.add(mistake)
        scope.values.setdefault(node.name, Broken())

    def declare(self, node: ast.Declaration, scope: Scope) -> None:
        match node:
            case ast.Typedef():
                scope.types[node.name] = self.type(node.type, scope)
            case ast.Enum():
                self._enum(node, scope)
            case ast.Aggregate():
                if node.name in scope.types:
                    raise Mistake(node.position, f"type '{node.name}' is declared twice")
                scope.types[node.name] = self._aggregate(node, scope)
            case ast.Variable():
                self.variable(node, scope)
            case ast.Instance() if isinstance(scope.value(node.type.name), Closure):
                found = scope.value(node.type.name)
                assert isinstance(found, Closure)
                scope.add(node.name, self.made(found, node.arguments, scope, node.name, node.position), node.position)
            case ast.Instance():
                scope.add(node.name, self.instance(node, scope), node.position)
            case ast.Action() | ast.Table() | ast.Control() | ast.Parser():
                scope.add(node.name, Closure(node, scope, f"{scope.prefix}{node.name}"), node.position)

    def _aggregate(self, node: ast.Aggregate, scope: Scope) -> Composite:
        fields = tuple((f.name, self.type(f.type, scope)) for f in node.fields)
        if len({n for n, _ in fields}) < len(fields):
            raise Mistake(node.position, f"{node.name} has two fields of one name")
        flexible = any(f.flexible for f in node.fields) or any(getattr(kind, "flexible", False) for _, kind in fields)
        if node.kind == "header":
            for f, (_, kind) in zip(node.fields, fields, strict=True):
                if is_varbit(kind):
                    if f is not node.fields[-1]:
                        raise Mistake(f.position, "a varbit is the last field of its header")
                elif not _is_plain(kind):
                    raise Mistake(f.position, "a header's fields are scalars, or structs of such")
            bits = sum(t.width for _, k in fields if not is_varbit(k) for _, t in flat_fields(k))
            if bits % 8:
                fields = (*fields, (PADDING, ir.Bits(-bits % 8)))
            if bits % 8 and not flexible:
                what = f"header {node.name} has {bits} bits; whole bytes are needed, so pad it"
                self.unaligned[node.name] = Mistake(node.position, what)
        return Composite(node.kind, node.name, fields, flexible)

    def _enum(self, node: ast.Enum, scope: Scope) -> None:
        bits = self.bits(self.type(node.underlying, scope), node.position) if node.underlying else ir.Bits(32)
        known = scope.types.get(node.name)
        members = list(known.members) if isinstance(known, EnumType) and not node.underlying else []
        for name, value in node.members:
            if (value is None) == (node.underlying is not None):
                raise Mistake(node.position, f"{node.name}.{name}: values go with an underlying type, and only with it")
            if name not in dict(members):
                members.append((name, self.constant(value, scope) if value else len(members)))
        scope.types[node.name] = EnumType(node.name, bits, tuple(members))

    # ---- tables ----

    def apply(self, table: Closure, position: Position) -> ir.Apply:
        if table.name not in self.applied:
            self.applied[table.name] = -1
            self.applied[table.name] = self._table(table)
        number = self.applied[table.name]
        if number < 0:
            raise Mistake(position, f"table '{table.name}' is wrong, or applied within itself")
        name = table.node.name
        entry = self.entries[number]
        made = ir.Apply(
            number, self.slot(f"{name}.hit", ir.BOOL), self.slot(f"{name}.action", ir.Bits(32)), entry, position
        )
        self.out.append(made)
        return made

    def _table(self, table: Closure) -> int:
        node = table.node
        assert isinstance(node, ast.Table)
        # An entry has one action, so there is nothing for a selector to choose from.
        matched = [k for k in node.keys if k.match != "selector"]
        keys = tuple(self._key(k, table.scope) for k in matched)
        for at, key in zip(matched, keys, strict=True):
            if sum(k.name == key.name for k in keys) > 1:
                raise Mistake(at.position, f"two keys are called '{key.name}'; tell them apart by @name(\"…\")")
        entry = self.slot(f"{node.name}.entry", ir.Bits(32))
        outer, self.entry = self.entry, entry
        uses = list(node.actions)
        if node.default is None and all(u.name != "NoAction" for u in uses):
            uses.append(ast.ActionUse(node.position, "NoAction", (), frozenset(("defaultonly",))))
        actions = tuple(self._action(u, table.scope) for u in uses)
        self.entry = outer
        names = [u.name for u in uses]
        default = node.default or ast.ActionUse(node.position, "NoAction", ())
        if default.name not in names:
            raise Mistake(default.position, f"'{default.name}' is not among the actions of {node.name}")
        index = names.index(default.name)
        data = self._data(default, uses[index], actions[index], table.scope)
        size = self.constant(node.size, table.scope) if node.size else 512
        if not 0 < size <= 1 << 26:
            raise Mistake(node.position, f"a table of {size} entries")
        rows = None
        if node.entries is not None:
            count = len(node.entries)
            rows = tuple(self._row(e, i, count, keys, actions, uses, table.scope) for i, e in enumerate(node.entries))
            size = max(size if node.size else 0, count, 1)
        number = len(self.program.tables)
        full = table.name
        self.program.tables.append(
            ir.Table(
                full,
                self.id("table", full),
                keys,
                actions,
                size,
                index,
                data,
                node.default_constant,
                rows,
                node.position,
            )
        )
        self.entries[number] = entry
        self._attach(number, node, actions)
        return number

    def _attach(self, number: int, node: ast.Table, actions: Sequence[ir.TableAction]) -> None:
        """Direct counters, meters and registers that the actions use belong to this table."""
        size = self.program.tables[number].size + 1
        for statement in (s for a in actions for s in walk(a.body)):
            if isinstance(statement, ir.Count):
                counter = self.program.counters[statement.counter]
                if counter.id >> 24 == 0x13:
                    self._claim(counter.table, number, counter.name, statement.position)
                    self.program.counters[statement.counter] = dataclasses.replace(counter, size=size, table=number)
            if isinstance(statement, ir.Measure):
                meter = self.program.meters[statement.meter]
                if meter.id >> 24 == 0x15:
                    self._claim(meter.table, number, meter.name, statement.position)
                    self.program.meters[statement.meter] = dataclasses.replace(meter, size=size, table=number)
            if isinstance(statement, ir.Execute):
                register = self.program.registers[statement.register]
                if not register.index_width:
                    self._claim(register.table, number, register.name, statement.position)
                    self.program.registers[statement.register] = dataclasses.replace(register, size=size, table=number)

    def _claim(self, owner: int, table: int, name: str, position: Position) -> None:
        if owner not in (-1, table):
            raise Mistake(position, f"{name} belongs to table {self.program.tables[owner].name} already")

    def _key(self, key: ast.Key, scope: Scope) -> ir.Key:
        match = "exact" if key.match == "atcam_partition_index" else key.match
        if match not in ("exact", "ternary", "lpm", "range"):
            raise Mistake(key.position, f"match kind '{key.match}'; there are exact, ternary, lpm and range")
        value = self.scalar(key.expression, scope)
        if not value.type.width:
            raise Mistake(key.position, "a key needs a width")
        if match == "range" and value.type.width > 64:
            raise Mistake(key.position, "a range key has 64 bits at most")
        return ir.Key(key.name or written(key.expression), value, match)

    def _action(self, use: ast.ActionUse, scope: Scope) -> ir.TableAction:
        kind = next((a for a in ("defaultonly", "tableonly") if a in use.annotations), "")
        found = scope.value(use.name)
        if found is None and use.name == "NoAction":
            return ir.TableAction("NoAction", self.id("action", "NoAction"), (), (), (), kind)
        if not isinstance(found, Closure) or not isinstance(found.node, ast.Action) or found.node.result is not None:
            raise Mistake(use.position, f"'{use.name}' is not an action")
        action, inner = found.node, found.scope.inner()
        bound = [p for p in action.parameters if p.direction]  # by the table's list; entries have the others
        names = tuple(p.name for p in action.parameters[len(bound) :])
        if any(p.direction for p in action.parameters[len(bound) :]):
            raise Mistake(use.position, f"{use.name}: parameters with directions come first")
        parameters: list[ir.Slot] = []
        for p in action.parameters[len(bound) :]:
            parameters.append(self.slot(p.name, self.bits(self.type(p.type, inner), p.position)))
            inner.values[p.name] = ir.Get(parameters[-1])

        if UNNAMED in map(written, use.arguments):
            raise Mistake(use.position, f"{use.name}: a table's list gives variables or numbers, in order")

        def run() -> None:
            self.bind(bound, use, scope, inner)
            self.body(action.body.body, inner)

        body = calls_inlined(self.captured(lambda: self.scoped(run, None, use.position)))
        return ir.TableAction(found.name, self.id("action", found.name), tuple(parameters), names, body, kind)

    def _data(self, use: ast.ActionUse, listed: ast.ActionUse, action: ir.TableAction, scope: Scope) -> tuple[int, ...]:
        """Return an entry's data for an action. listed: the action as the table lists it, with the same arguments for
        parameters that have directions."""
        bound = len(listed.arguments)
        if [*map(written, use.arguments[:bound])] != [*map(written, listed.arguments)]:
            wanted = ", ".join(map(written, listed.arguments))
            raise Mistake(use.position, f"{use.name} has the arguments of the table's list here, too: {wanted}")
        arguments = in_order(use.arguments[bound:], action.names, use.position)
        if len(arguments) != len(action.parameters):
            raise Mistake(use.position, f"{use.name} takes {len(action.parameters)} values, {len(arguments)} given")
        values = [self.scalar(a, scope, p.type) for a, p in zip(arguments, action.parameters, strict=True)]
        if not all(isinstance(v, ir.Const) for v in values):
            raise Mistake(use.position, "an entry's data are constants")
        return tuple(v.value for v in values if isinstance(v, ir.Const))

    def _row(
        self, entry: ast.EntryDeclaration, place: int, count: int, keys: Sequence[ir.Key],
        actions: Sequence[ir.TableAction], uses: Sequence[ast.ActionUse], scope: Scope,
    ) -> ir.Row:  # fmt: skip
        if len(entry.keys) != len(keys):
            raise Mistake(entry.position, f"the table has {len(keys)} keys, the entry {len(entry.keys)}")
        names = [u.name for u in uses]
        if entry.action.name not in names:
            raise Mistake(entry.action.position, f"'{entry.action.name}' is not among the table's actions")
        index = names.index(entry.action.name)
        matches = [self.match(k, key.value.type, scope) for k, key in zip(entry.keys, keys, strict=True)]
        values, masks = [], []
        for key, (kind, a, b) in zip(keys, matches, strict=True):
            full = (1 << key.value.type.width) - 1
            if key.match == "range":
                if kind == "mask" and b not in (0, full):
                    raise Mistake(entry.position, "a range key takes a value or low .. high")
                a, b = (a, b) if kind == "range" else (a, a) if b else (0, full)
            elif kind == "range" or (key.match == "exact" and b != full):
                raise Mistake(entry.position, f"this does not fit an {key.match} key")
            elif key.match == "lpm" and ~b & full & ((~b & full) + 1):
                raise Mistake(entry.position, "the mask is not a prefix")
            values.append(a)
            masks.append(b)
        data = self._data(entry.action, uses[index], actions[index], scope)
        return ir.Row(tuple(values), tuple(masks), count - place, index, data)

    # ---- the package ----

    def _package(self, main: ast.Instance | None, pipes: dict[str, ast.Instance], scope: Scope) -> None:
        if main is None or not main.arguments:
            raise Mistake(Position(self.program.name, 1, 1), "the program needs 'Switch(pipe) main;'")
        for place, argument in enumerate(in_order(main.arguments, PIPES, main.position)):
            pipe = pipes.get(argument.name) if isinstance(argument, ast.Name) else None
            if pipe is None or place == len(PIPES):
                raise Mistake(argument.position, f"Switch takes Pipelines by their names, {len(PIPES)} at most")
            if place:
                self.program.pipes.append(ir.Pipe())
            if len(main.arguments) > 1:
                self.program.pipes[-1].name = pipe.name
            self._pipeline(pipe, self.program.pipes[-1], scope)

    def _pipeline(self, pipe: ast.Instance, made: ir.Pipe, scope: Scope) -> None:
        parts = in_order(pipe.arguments, BLOCKS, pipe.position)
        if len(parts) != 6:
            raise Mistake(pipe.position, "Pipeline takes parser, control and deparser of ingress, then of egress")
        blocks: list[Closure] = []
        for argument, kind in zip(parts, (ast.Parser, ast.Control, ast.Control) * 2, strict=True):
            function = argument.function if isinstance(argument, ast.Call) else argument
            found = scope.value(function.name) if isinstance(function, ast.Name) else None
            if isinstance(found, Broken):
                raise Consequence(argument.position, "this is wrong")
            if not isinstance(found, Closure) or not isinstance(found.node, kind):
                raise Mistake(argument.position, f"expected a {kind.__name__.lower()} here")
            values = argument.arguments if isinstance(argument, ast.Call) else ()
            blocks.append(self.made(found, values, scope, found.name, argument.position))
        self.applied, self.blocks = {}, []
        prefix = f"{made.name}." if made.name else ""
        for gress, three in ((made.ingress, blocks[:3]), (made.egress, blocks[3:])):
            self._gress(gress, three, prefix)

    def _gress(self, gress: ir.Gress, blocks: Sequence[Closure], prefix: str) -> None:
        self.gress, self.shared, self.sums = gress, {}, {}
        bound: list[Value] = []  # headers and metadata, which the three have in common
        for place, block in enumerate(blocks):
            arguments: list[Value] = []
            users: list[Value] = []
            assert isinstance(block.node, ast.Parser | ast.Control)
            for p in block.node.parameters:
                arguments.append(self._parameter(p, block.scope, bound, users))
            bound = bound or users
            self.labels += 1
            self.exit = self.labels
            if place == 0:
                self.parser(block, arguments)
                continue
            body = self.captured(lambda b=block, a=arguments: self.block(b, a, f"{prefix}{b.name}."))  # type: ignore[misc]
            done = (ir.Scope(self.exit, body),) if body else ()
            if place == 1:
                gress.control = done
            else:
                gress.deparser = done

    def _parameter(self, p: ast.Parameter, scope: Scope, bound: list[Value], users: list[Value]) -> Value:
        kind = self.type(p.type, scope)
        if getattr(kind, "name", "") in ("packet_in", "packet_out"):
            return Packet()
        if isinstance(kind, Composite) and "_intrinsic_metadata_" in kind.name:
            if kind.name not in self.shared:
                made = self.storage(kind, kind.name, p.position)
                assert isinstance(made, Group)
                for name, value in made.fields.items():
                    if isinstance(value, ir.Get):
                        slot = dataclasses.replace(value.slot, initial=INITIAL.get((kind.name, name), 0))
                        self.gress.slots[slot.id] = slot
                        made.fields[name] = ir.Get(slot)
                        self.gress.intrinsic[(kind.name, name)] = slot
                self.shared[kind.name] = made
            return self.shared[kind.name]
        if len(users) < len(bound):
            value = bound[len(users)]
            if not isinstance(value, Group) or value.type != kind:
                raise Mistake(p.position, f"parameter '{p.name}' must have the type it has in the parser")
        else:
            value = self.storage(kind, p.name, p.position)
        users.append(value)
        return value

    def instance(self, node: ast.Instance, scope: Scope) -> Value:
        made = super().instance(node, scope)
        if isinstance(made, Instance) and made.type.name.startswith("Direct") and not scope.prefix:
            raise Mistake(node.position, f"a {made.type.name} is declared in a control")
        return made


def _is_plain(kind: Type) -> bool:
    if isinstance(kind, Composite):
        return kind.kind == "struct" and all(_is_plain(k) for _, k in kind.fields)
    return isinstance(kind, ir.Bits | EnumType)


#: what `written` returns for other expressions than variables, calls and numbers
UNNAMED = "key"


def written(node: ast.Expression) -> str:
    """An expression as P4Info names it.

    >>> at = Position("", 1, 1)
    >>> written(ast.Member(at, ast.Name(at, "hdr"), "x"))
    'hdr.x'
    """
    match node:
        case ast.Name():
            return node.name
        case ast.Member():
            return f"{written(node.base)}.{node.name}"
        case ast.Index():
            low = f":{written(node.low)}" if node.low else ""
            return f"{written(node.base)}[{written(node.high)}{low}]"
        case ast.Call():
            return f"{written(node.function)}()"
        case ast.Number():
            return str(node.value)
    return UNNAMED
