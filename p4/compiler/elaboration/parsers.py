"""Parsers → a graph of states. A state that meets another position of a header stack becomes a state of its own, so
that `.next` and `.last` are known when the program is compiled, as on the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.live import POSITIONS, live_stacks
from jumpgate.p4.compiler.elaboration.lower import Lower
from jumpgate.p4.compiler.elaboration.names import (
    Closure,
    Composite,
    ExternType,
    Group,
    Instance,
    Packet,
    Scope,
    StackValue,
    Value,
    flat_fields,
    in_order,
    scalars,
    slots,
)
from jumpgate.p4.compiler.elaboration.varbits import fixed, is_varbit, pieces, reader
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake, Position

STATES_MAX = 4096
#: what a ParserCounter holds
COUNTED = ir.Bits(32, signed=True)
#: of a select's subjects: not compared; true
ANY, HOLDS = ("mask", 0, 0), ("mask", 1, 1)
#: of a table that is looked up
LOOKED_UP = (("hit", ir.BOOL), ("action", ir.Bits(32)), ("entry", ir.Bits(32)))
TARGETS = {"accept": ir.ACCEPT, "reject": ir.REJECT}


@dataclass(eq=False)
class Frame:
    """One use of a parser: its states, and where its `accept` goes on (None: the program's parser)."""

    states: dict[str, ast.State]
    scope: Scope
    back: tuple[Frame, str, int] | None = None
    subs: dict[tuple[str, int, int], Frame] = field(default_factory=dict)
    #: the variables of a state that goes on behind a sub-parser
    kept: dict[tuple[str, int], Scope] = field(default_factory=dict)
    #: the stack whose position nobody asks for once this is done
    forgets: StackValue | None = None
    #: of states: the stacks whose position they, or those behind them, ask for; None: any
    live: dict[str, frozenset[int] | None] = field(default_factory=dict)


Key = tuple[Frame, str, int, tuple[tuple[int, int], ...], int, tuple[tuple[ir.Slot, ir.Slot], ...]]


class Parsers(Lower):
    """`phase`: 0 before the intrinsic metadata, 1 before the port metadata, 2 in the packet."""

    def __init__(self, program: ir.Program, diagnostics: Diagnostics) -> None:
        super().__init__(program, diagnostics)
        self.known: dict[Key, int] = {}
        self.queue: list[Key] = []
        self.next: dict[int, int] = {}
        self.stacks: dict[int, StackValue] = {}
        self.lasts: dict[Position, bool] = {}  # uses of `.last`: whether anything was extracted before, ever
        self.phase = 2
        self.in_parser = False
        self.shared: dict[str, Group] = {}  # of a gress: the intrinsic metadata, by their types
        self.entries: dict[int, ir.Slot] = {}
        self.sets: dict[str, tuple[ir.Gress, int]] = {}  # value sets by name: whose parser's, which table

    def parser(self, closure: Closure, arguments: Sequence[Value]) -> None:
        """Fills gress.states from the program's parser."""
        frame = self._frame(closure, arguments, None)
        self.known, self.queue, self.next, self.stacks, self.lasts = {}, [], {}, {}, {}
        self.in_parser, self.deposits = True, ()
        self._reach(frame, "start", 0, 0, closure.node.position)
        for key in self.queue:  # grows meanwhile
            if len(self.queue) > STATES_MAX:
                raise Mistake(closure.node.position, f"the parser unrolls to more than {STATES_MAX} states")
            self.next, self.phase, self.deposits = dict(key[3]), key[4], key[5]
            self.gress.states.append(self._state(*key[:3]))
        self.in_parser = False
        for position, ever in self.lasts.items():
            if not ever:
                self.diagnostics.error(position, "'.last' before anything was extracted into the stack")
        self._check_loops()

    def _frame(self, closure: Closure, arguments: Sequence[Value], back: tuple[Frame, str, int] | None) -> Frame:
        node = closure.node
        assert isinstance(node, ast.Parser)
        scope = Scope(closure.scope, prefix=f"{closure.name}.")
        for parameter, argument in zip(node.parameters, arguments, strict=True):
            scope.values[parameter.name] = argument
        for local in node.locals:
            self.declare(local, scope)
        states = {s.name: s for s in node.states}
        if "start" not in states or len(states) < len(node.states):
            raise Mistake(node.position, f"parser {node.name} needs one state 'start', and each name once")
        return Frame(states, scope, back)

    def declare(self, node: ast.Declaration, scope: Scope) -> None:
        raise NotImplementedError

    def _reach(self, frame: Frame, name: str, at: int, phase: int, position: Position) -> int:
        """The number of a state in the present situation; it is lowered later if it is new."""
        if at == 0 and name in TARGETS:
            if name == "accept" and frame.back:
                inside, self.next = self.next, {s: n for s, n in self.next.items() if s != id(frame.forgets)}
                target = self._reach(*frame.back, phase, position)
                self.next = inside
                return target
            return TARGETS[name]
        if name not in frame.states:
            raise Mistake(position, f"there is no state '{name}'")
        live = self._live(frame, name)
        positions = sorted((s, n) for s, n in self.next.items() if live is None or s in live)
        key = (frame, name, at, tuple(positions), phase, self.deposits)
        if key not in self.known:
            self.known[key] = len(self.queue)
            self.queue.append(key)
        return self.known[key]

    def _live(self, frame: Frame, name: str) -> frozenset[int] | None:
        """The stacks whose position matters from a state on, behind the end of its sub-parser, too."""
        if name not in frame.live:
            here = live_stacks(frame.states, name, lambda node: self.expression(node, frame.scope))
            behind = self._live(*frame.back[:2]) if frame.back else frozenset()
            frame.live[name] = None if here is None or behind is None else here | behind
        return frame.live[name]

    def _state(self, frame: Frame, name: str, at: int) -> ir.State:
        node = frame.states[name]
        outer, self.out = self.out, []
        scope = frame.kept[name, at] if at else frame.scope.inner()
        cases: tuple[ir.Case, ...] = (ir.Case((), ir.REJECT),)
        subjects: tuple[ir.Expr, ...] = ()
        try:
            for place, statement in enumerate(node.body[at:], at):
                sub = self._subparser(frame, name, place, statement, scope)
                if sub is not None:
                    if scope.values and frame.kept.get((name, place + 1), scope) is not scope:
                        raise Mistake(
                            statement.position,
                            f"state '{name}' is entered at several positions of a stack; declare its variables in the "
                            "parser",
                        )
                    frame.kept[name, place + 1] = scope
                    target = self._reach(sub, "start", 0, self.phase, statement.position)
                    return ir.State(name, tuple(self.out), (), (ir.Case((), target),), node.position)
                try:
                    self.statement(statement, scope)
                except Mistake as mistake:
                    self.diagnostics.add(mistake)
            if node.target is not None:
                cases = (ir.Case((), self._reach(frame, node.target, 0, self.phase, node.position)),)
            else:
                subjects = tuple(self.scalar(s, scope) for s in node.select)
                hits: list[ir.Expr] = []
                cases = tuple(self._case(c, subjects, hits, frame, scope) for c in node.cases)
                subjects += tuple(hits)
            return ir.State(name, tuple(self.out), subjects, cases, node.position)
        except Mistake as mistake:
            self.diagnostics.add(mistake)
            return ir.State(name, (), (), cases, node.position)
        finally:
            self.out = outer

    def _case(
        self, case: ast.SelectCase, subjects: Sequence[ir.Expr], hits: list[ir.Expr], frame: Frame, scope: Scope
    ) -> ir.Case:
        """`hits` are compared behind the subjects: whether value sets have them."""
        target = self._reach(frame, case.state, 0, self.phase, case.position)
        if len(case.keys) == 1 and isinstance(case.keys[0], ast.Anything):
            return ir.Case((), target)
        whole = self._value_set(case.keys[0], scope) if len(case.keys) == 1 else None
        if whole is not None:
            hits.append(self._is_member(whole, subjects, case.position))
            return ir.Case((*[ANY] * (len(subjects) + len(hits) - 1), HOLDS), target)
        if len(case.keys) != len(subjects):
            raise Mistake(case.position, f"select compares {len(subjects)} values, the case has {len(case.keys)}")
        found: list[tuple[str, int, int]] = []
        asked = [ANY] * len(hits)
        for key, subject in zip(case.keys, subjects, strict=True):
            one = self._value_set(key, scope)
            found.append(ANY if one is not None else self.match(key, subject.type, scope))
            if one is not None:
                hits.append(self._is_member(one, [subject], case.position))
                asked.append(HOLDS)
        return ir.Case((*found, *asked), target)

    def _value_set(self, key: ast.Expression, scope: Scope) -> Instance | None:
        value = scope.value(key.name) if isinstance(key, ast.Name) else None
        return value if isinstance(value, Instance) and value.type.name == "value_set" else None

    def _is_member(self, values: Instance, subjects: Sequence[ir.Expr], position: Position) -> ir.Expr:
        """A value set is a table that is looked up in the state; its members are entries without an action's choice."""
        if values.name not in self.sets:
            keys = tuple(
                ir.Key(f, ir.Get(self.slot(f"{values.name}.{f or 'value'}", t)), "exact")
                for f, t in flat_fields(values.type.arguments[0])
            )
            self.sets[values.name] = self.gress, len(self.program.tables)
            self.program.tables.append(self.value_set(values, keys, position))
        gress, number = self.sets[values.name]
        keys = self.program.tables[number].keys
        if gress is not self.gress:
            raise Mistake(position, f"value set '{values.name}' belongs to the parser of {gress.name}")
        if [k.value.type.width for k in keys] != [s.type.width for s in subjects]:
            wanted = ", ".join(str(k.value.type) for k in keys)
            raise Mistake(position, f"the members of value set '{values.name}' are of {wanted}")
        for key, subject in zip(keys, subjects, strict=True):
            assert isinstance(key.value, ir.Get)
            self.set(key.value.slot, subject)
        hit, action, entry = (self.slot(f"{values.name}.{n}", t) for n, t in LOOKED_UP)
        self.out.append(ir.Apply(number, hit, action, entry, position))
        return ir.Get(hit)

    def match(self, node: ast.Expression, kind: ir.Bits, scope: Scope) -> tuple[str, int, int]:
        """A key set: ("mask", value, mask) or ("range", low, high)."""
        full = (1 << kind.width) - 1

        def value(n: ast.Expression) -> int:
            found = self.scalar(n, scope, kind)
            if not isinstance(found, ir.Const):
                raise Mistake(n.position, "a key set is constant")
            return found.value

        if isinstance(node, ast.Anything):
            return "mask", 0, 0
        if isinstance(node, ast.Binary) and node.op == "&&&":
            mask = value(node.right)
            return "mask", value(node.left) & mask, mask
        if isinstance(node, ast.Binary) and node.op == "..":
            low, high = value(node.left), value(node.right)
            if low > high or kind.signed:
                raise Mistake(node.position, "an empty range")
            return "range", low, high
        return "mask", value(node), full

    def _subparser(self, frame: Frame, name: str, at: int, node: ast.Statement, scope: Scope) -> Frame | None:
        function = node.call.function if isinstance(node, ast.CallStatement) else None
        if not isinstance(function, ast.Member) or not isinstance(node, ast.CallStatement):
            return None
        found = self.expression(function.base, scope)
        if isinstance(found, Packet) and function.name == "extract" and len(node.call.arguments) == 2:
            return self._varbit(frame, name, at, node.call, scope)
        if not isinstance(found, Closure) or not isinstance(found.node, ast.Parser) or function.name != "apply":
            return None
        depth, above = 0, frame.back
        while above is not None:
            depth, above = depth + 1, above[0].back
        if depth > 16:
            raise Mistake(node.position, "sub-parsers nested too deep; recursion is not possible")
        sites = frame.subs
        site = (name, at, 0)
        if site not in sites:
            names = [p.name for p in found.node.parameters]
            arguments = [self.expression(a, scope) for a in in_order(node.call.arguments, names, node.position)]
            if len(arguments) != len(found.node.parameters):
                raise Mistake(node.position, f"{found.node.name} takes {len(found.node.parameters)} arguments")
            sites[site] = self._frame(found, arguments, (frame, name, at + 1))
        return sites[site]

    def _varbit(self, frame: Frame, name: str, at: int, node: ast.Call, scope: Scope) -> Frame:
        """extract(header, bits): the fixed fields here, the rest by a parser of its own that goes on behind this."""
        header = self.expression(node.arguments[0], scope)
        stack = pieces(header)
        if stack is None:
            raise Mistake(node.position, "extract takes a length for a header with a varbit only")
        bits = self.scalar(node.arguments[1], scope, ir.Bits(32))
        site = (name, at, id(stack))
        if site not in frame.subs:
            parser = Closure(reader(len(stack.elements), node.position), frame.scope, "varbit")
            made = frame.subs[site] = self._frame(parser, (), (frame, name, at + 1))
            made.forgets = stack
            kept = ir.Get(self.slot("varbit.length", ir.Bits(32)))
            made.scope.values |= {"packet": Packet(), "pieces": stack, "length": kept}
        length = frame.subs[site].scope.values["length"]
        assert isinstance(length, ir.Get)
        self.set(length.slot, bits)
        self._extract(node.arguments[0], scope)
        self.next.pop(id(stack), None)
        for piece in stack.elements:
            assert piece.valid is not None
            self.set(piece.valid, ir.Const(0, ir.BOOL))
        return frame.subs[site]

    # ---- packets and stacks ----

    def member(self, node: ast.Member, scope: Scope) -> Value:
        if node.name in POSITIONS:
            base = self.expression(node.base, scope)
            if isinstance(base, StackValue):
                if not self.in_parser:
                    raise Mistake(node.position, f"'.{node.name}' belongs into parsers")
                return self._element(base, node)
        return super().member(node, scope)

    def _element(self, stack: StackValue, node: ast.Member) -> Value:
        self.stacks[id(stack)] = stack
        at = self.next.get(id(stack), 0)
        if node.name == "lastIndex":
            return ir.Const((at - 1) & 0xFFFFFFFF, ir.Bits(32))
        if node.name == "last":
            self.lasts[node.position] = self.lasts.get(node.position, False) or at > 0
            if at == 0:  # StackOutOfBounds of the core library
                self.out.append(ir.Fail(ir.Const(1, ir.BOOL)))
            return stack.elements[max(at - 1, 0)]
        if at >= len(stack.elements):
            self.out.append(ir.Fail(ir.Const(1, ir.BOOL)))
            return stack.elements[-1]
        return stack.elements[at]

    def invoke(self, node: ast.Call, scope: Scope) -> Value | None:
        if self.in_parser and isinstance(node.function, ast.Name) and node.function.name == "verify":
            if not 1 <= len(node.arguments) <= 2:
                raise Mistake(node.position, "verify(condition, error)")
            condition = self.scalar(node.arguments[0], scope, ir.BOOL)
            self.out.append(ir.Fail(ir.Unary("!", condition, ir.BOOL)))
            return None
        if self.in_parser and isinstance(node.function, ast.Name) and node.function.name == "port_metadata_unpack":
            return self._port_metadata(node, scope)
        if self.in_parser and isinstance(node.function, ast.Member):
            base = self.expression(node.function.base, scope)
            if isinstance(base, Packet):
                return self._packet(node.function.name, node, scope)
            if isinstance(base, Instance) and base.type.name == "ParserCounter":
                return self._counted(base.name, node.function.name, node, scope)
        return super().invoke(node, scope)

    def _counted(self, counter: str, name: str, node: ast.Call, scope: Scope) -> Value | None:
        """A ParserCounter: a number that is set to 8 bits at most, and that does not wrap."""
        if counter not in self.sums:
            self.sums[counter] = self.slot(f"{counter}.count", COUNTED)
        slot = self.sums[counter]
        count, zero = ir.Get(slot), ir.Const(0, COUNTED)
        arguments = in_order(node.arguments, ("value",), node.position)
        match name, len(arguments):
            case "set", 1:
                value = self.scalar(arguments[0], scope)
                value = self.convert(value, ir.Bits(8), node.position) if value.type == ir.INTEGER else value
                if value.type.width > 8 or value.type.signed or value.type.boolean:
                    raise Mistake(node.position, f"a ParserCounter is set to bit<8> at most, this is {value.type}")
                self.set(slot, ir.Cast(value, COUNTED))
                return None
            case (("increment" | "decrement"), 1):
                step = self.constant(arguments[0], scope)
                if not 0 <= step < 256:
                    raise Mistake(node.position, f"a ParserCounter counts by 0 to 255, not by {step}")
                op = "+" if name == "increment" else "-"
                self.set(slot, ir.Binary(op, count, ir.Const(step, COUNTED), COUNTED))
                return None
            case (("is_zero" | "is_negative"), 0):
                return ir.Binary("==" if name == "is_zero" else "<", count, zero, ir.BOOL)
        raise Mistake(
            node.position,
            f"ParserCounter.{name} with {len(arguments)} arguments is not supported; there are set(value), "
            "increment(constant), decrement(constant), is_zero() and is_negative()",
        )

    def _packet(self, name: str, node: ast.Call, scope: Scope) -> Value | None:
        if name == "extract" and len(node.arguments) == 1 and isinstance(node.arguments[0], ast.Anything):
            self._skip(node, scope)
            return None
        if name == "extract" and len(node.arguments) == 1:
            if pieces(self.expression(node.arguments[0], scope)) is not None:
                raise Mistake(node.position, "a header with a varbit is extracted with the bits that this one has")
            self._extract(node.arguments[0], scope)
            return None
        if name == "advance" and len(node.arguments) == 1:
            self._advance(self.constant(node.arguments[0], scope), node.position)
            return None
        if name == "lookahead" and len(node.types) == 1:
            return self._lookahead(node, scope)
        raise Mistake(node.position, f"packet.{name} is not supported here")

    def _skip(self, node: ast.Call, scope: Scope) -> None:
        """extract<T>(_): a header that nobody reads."""
        kind = self.type(node.types[0], scope) if len(node.types) == 1 else None
        if not isinstance(kind, Composite) or kind.kind != "header" or any(is_varbit(k) for _, k in kind.fields):
            raise Mistake(node.position, "extract<T>(_) needs the type of a header without varbit")
        self._advance(sum(t.width for _, t in flat_fields(kind)), node.position)

    def _advance(self, bits: int, position: Position) -> None:
        if bits < 0 or bits % 8 or bits > 1 << 16:
            raise Mistake(position, "advance takes whole bytes, as bits")
        if self.phase == 1 and bits == 64:
            self.phase = 2
        elif self.phase < 2:
            raise Mistake(position, "first extract the intrinsic metadata, then advance(PORT_METADATA_SIZE)")
        else:
            self.out.append(ir.Advance(bits // 8))

    def _lookahead(self, node: ast.Call, scope: Scope) -> Value:
        kind = self.type(node.types[0], scope)
        if self.phase == 1:
            self.phase = 2
        if isinstance(kind, ExternType):
            raise Mistake(node.position, "lookahead needs a scalar or a header")
        value = self.storage(kind, "lookahead", node.position)
        offset = 0
        for e in scalars(value):
            if isinstance(e, ir.Get):
                self.set(e.slot, ir.Lookahead(offset, e.type))
                offset += e.type.width
        return value

    def _port_metadata(self, node: ast.Call, scope: Scope) -> Value:
        """8 bytes that a control plane gives for the port; the software switch has none, so they are 0."""
        if self.phase != 1 or len(node.types) != 1:
            raise Mistake(node.position, "port_metadata_unpack<T>(packet) comes behind the intrinsic metadata, once")
        self.phase = 2
        value = self.storage(self.type(node.types[0], scope), "port_metadata", node.position)
        found = slots(value)
        if sum(s.type.width for s in found) > 64:
            raise Mistake(node.position, "the metadata of a port have 8 bytes")
        for s in found:
            self.set(s, ir.Const(0, s.type))
        return value

    def _extract(self, node: ast.Expression, scope: Scope) -> None:
        value = self.expression(node, scope)
        if not isinstance(value, Group) or value.valid is None:
            raise Mistake(node.position, "extract takes a header")
        fields = fixed(value)
        if value is self.shared.get(value.type.name):
            if self.phase != 0:
                raise Mistake(node.position, "the intrinsic metadata come first, once")
            self.out.append(ir.Extract(fields, value.valid, node.position, "intrinsic"))
            self.phase = 1 if self.gress.name == "ingress" else 2
            return
        source = "packet"
        if self.phase == 0:
            raise Mistake(node.position, "extract the intrinsic metadata first")
        if self.phase == 1:
            if sum(f.type.width for f in fields) != 64:
                raise Mistake(node.position, "8 bytes of port or resubmission metadata come first: extract or advance")
            source, self.phase = "resubmit", 2
        else:
            self.check_whole(value, node.position)
        self.out.append(ir.Extract(fields, value.valid, node.position, source))
        self.subtract(fields, node.position)
        if isinstance(node, ast.Member) and node.name == "next":
            stack = self.expression(node.base, scope)
            assert isinstance(stack, StackValue)
            self.next[id(stack)] = min(self.next.get(id(stack), 0) + 1, len(stack.elements))

    def _check_loops(self) -> None:
        """A loop of states that read nothing would never end."""
        states = self.gress.states
        still = [all(not isinstance(s, ir.Extract | ir.Advance) for s in state.body) for state in states]
        colour = [0] * len(states)
        for root in range(len(states)):
            stack = [(root, 0)]
            while stack:
                at, child = stack.pop()
                colour[at] = 1
                targets = [c.target for c in states[at].cases if c.target >= 0 and still[at]]
                if child >= len(targets) or colour[at] == 2:
                    colour[at] = 2
                    continue
                stack.append((at, child + 1))
                target = targets[child]
                if colour[target] == 1:
                    self.diagnostics.error(
                        states[at].position, f"state '{states[at].name}' is in a loop that reads nothing"
                    )
                elif colour[target] == 0:
                    stack.append((target, 0))
