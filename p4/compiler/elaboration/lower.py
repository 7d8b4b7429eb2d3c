"""Statements, calls and externs: everything is inlined into scalar statements (ir), in the order of execution."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.expressions import Expressions
from jumpgate.p4.compiler.elaboration.names import (
    PADDING,
    Closure,
    Composite,
    EnumType,
    ExternType,
    Group,
    Instance,
    Listed,
    Packet,
    RegisterAction,
    Scope,
    Stack,
    StackValue,
    Type,
    Value,
    describe,
    in_order,
    scalars,
    slots,
)
from jumpgate.p4.compiler.elaboration.varbits import fixed, pieces
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake, Position
from jumpgate.p4.compiler.walk import conditions_inlined, gets, leaves

CALLS_MAX = 40
SLOTS_MAX = 100_000


class Lower(Expressions):
    """Lowers one program; `gress` is the part at hand, `out` receives its statements."""

    def __init__(self, program: ir.Program, diagnostics: Diagnostics) -> None:
        super().__init__(diagnostics)
        self.program = program
        self.gress = program.ingress
        self.out: list[ir.Stmt] = []
        self.labels = 0
        self.returns: list[int] = []
        self.result: list[Value | None] = []
        self.exit = -1
        self.calls = 0
        self.in_register = False  # whether the statement at hand is a RegisterAction's
        self.at = Position(program.name, 1, 1)  # the statement at hand
        self.entry: ir.Slot | None = None  # of the table whose action is at hand
        self.applied: dict[str, int] = {}  # tables by name
        self.blocks: list[tuple[Closure, Scope]] = []  # instances of controls that were applied
        self.unaligned: dict[str, Mistake] = {}  # of headers that are not whole bytes
        self.resubmitted: set[str] = set()  # headers, which need no whole bytes
        self.sums: dict[str, ir.Slot] = {}  # of checksums and counters in the parser at hand, by name
        self.deposits: tuple[tuple[ir.Slot, ir.Slot], ...] = ()  # sums, and where the parser put them, on the way here

    # ---- slots ----

    def slot(self, name: str, kind: ir.Bits, initial: int = 0) -> ir.Slot:
        if len(self.gress.slots) >= SLOTS_MAX:
            raise Mistake(Position(self.program.name, 1, 1), f"more than {SLOTS_MAX} fields and variables")
        made = ir.Slot(len(self.gress.slots), name, kind, initial)
        self.gress.slots.append(made)
        return made

    def storage(self, kind: Type, name: str, position: Position) -> Value:
        """Fresh storage for a value of that type."""
        match kind:
            case ir.Bits():
                if kind == ir.INTEGER:
                    raise Mistake(position, "variables need a width")
                return ir.Get(self.slot(name, kind))
            case EnumType():
                return ir.Get(self.slot(name, kind.bits))
            case Composite():
                fields = {f: self.storage(t, f"{name}.{f}", position) for f, t in kind.fields}
                valid = self.slot(f"{name}.$valid", ir.BOOL) if kind.kind == "header" else None
                return Group(kind, fields, valid)
            case Stack():
                made = [self.storage(kind.element, f"{name}[{i}]", position) for i in range(kind.size)]
                return StackValue(kind, tuple(m for m in made if isinstance(m, Group)))
        if kind.name in ("packet_in", "packet_out"):
            return Packet()
        raise Mistake(position, f"a variable cannot be a {kind.name}")

    # ---- statements ----

    def captured(self, function: Callable[[], None]) -> tuple[ir.Stmt, ...]:
        outer, self.out = self.out, []
        try:
            function()
            return tuple(self.out)
        finally:
            self.out = outer

    def body(self, statements: Sequence[ast.Statement], scope: Scope) -> None:
        for statement in statements:
            try:
                self.statement(statement, scope)
            except Mistake as mistake:
                self.diagnostics.add(mistake)

    def set(self, slot: ir.Slot, value: ir.Expr) -> None:
        self.out.append(ir.Set(slot, value, self.at))

    def statement(self, node: ast.Statement, scope: Scope) -> None:
        self.at = node.position
        match node:
            case ast.Assign():
                target = self.expression(node.target, scope)
                if isinstance(node.target, ast.Index) and isinstance(target, ir.Slice | ir.Const):
                    self._assign_slice(node, target, scope)
                else:
                    self.assign(target, self.expression(node.value, scope), node.position)
            case ast.CallStatement():
                self.invoke(node.call, scope)
            case ast.If():
                condition = self.scalar(node.condition, scope, ir.BOOL)
                then = self.captured(lambda: self.body((node.then,), scope.inner()))
                rest = (node.otherwise,) if node.otherwise else ()
                otherwise = self.captured(lambda: self.body(rest, scope.inner()))
                if isinstance(condition, ir.Const):
                    self.out += then if condition.value else otherwise
                else:
                    self.out.append(ir.If(condition, then, otherwise, node.position))
            case ast.Block():
                self.body(node.body, scope.inner())
            case ast.Variable():
                self.variable(node, scope)
            case ast.Exit():
                self.out.append(ir.Leave(self.exit))
            case ast.Return():
                self._return(node, scope)
            case ast.Switch():
                self._switch(node, scope)

    def variable(self, node: ast.Variable, scope: Scope) -> None:
        kind = self.type(node.type, scope)
        if node.constant:
            assert node.value is not None
            value = self.expression(node.value, scope)
            value = self.typed(value, kind, node.position) if isinstance(value, ir.Expr | Listed) else value
            if not all(isinstance(e, ir.Const) for e in scalars(value)):
                raise Mistake(node.position, "a constant needs a constant value")
            scope.add(node.name, value, node.position)
            return
        target = self.storage(kind, node.name, node.position)
        self.initialise(target, node, scope)
        scope.add(node.name, target, node.position)

    def initialise(self, target: Value, node: ast.Variable, scope: Scope) -> None:
        if node.value is not None:
            self.assign(target, self.expression(node.value, scope), node.position)
        else:
            for s in slots(target):
                self.set(s, ir.Const(0, s.type))

    def assign(self, target: Value, value: Value, position: Position) -> None:
        if isinstance(target, Group):
            self._assign_group(target, value, position)
        elif isinstance(target, ir.Get):
            self.set(target.slot, self.convert(self.plain(value, position), target.type, position))
        elif isinstance(target, StackValue) and isinstance(value, StackValue) and value.type == target.type:
            for element, other in zip(target.elements, value.elements, strict=True):
                self.assign(element, other, position)
        else:
            raise Mistake(position, f"a {describe(target)} cannot be assigned to")

    def _assign_group(self, target: Group, value: Value, position: Position) -> None:
        given = self.typed(value, target.type, position)
        assert isinstance(given, Group)
        written = set(slots(target))
        if given is not target and any(s in written for e in scalars(given) for s in gets(e)):
            copy = self.storage(target.type, "copy", position)  # all is read before anything is written
            self.assign(copy, given, position)
            assert isinstance(copy, Group)
            given = copy
        for name, field in target.fields.items():
            if name != PADDING:
                self.assign(field, given.fields[name], position)
        if target.valid is not None:
            valid = ir.Get(given.valid) if given.valid else ir.Const(1, ir.BOOL)
            self.set(target.valid, valid)

    def _assign_slice(self, node: ast.Assign, target: ir.Expr, scope: Scope) -> None:
        if not isinstance(target, ir.Slice) or not isinstance(target.operand, ir.Get):
            raise Mistake(node.position, "only slices of fields and variables can be assigned to")
        slot, kind = target.operand.slot, target.operand.type
        value = self.scalar(node.value, scope, target.type)
        mask = ((1 << kind.width) - 1) ^ ((1 << target.high + 1) - (1 << target.low))
        kept = ir.Binary("&", ir.Get(slot), ir.Const(mask, kind), kind)
        moved = ir.Binary("<<", ir.Cast(value, kind), ir.Const(target.low, ir.INTEGER), kind)
        self.set(slot, ir.Binary("|", kept, moved, kind))

    def _return(self, node: ast.Return, scope: Scope) -> None:
        if not self.returns:
            raise Mistake(node.position, "return is not possible here")
        result = self.result[-1]
        if (node.value is None) != (result is None):
            raise Mistake(node.position, "the function returns " + ("nothing" if result is None else "a value"))
        if node.value is not None and result is not None:
            self.assign(result, self.expression(node.value, scope), node.position)
        self.out.append(ir.Leave(self.returns[-1]))

    def _switch(self, node: ast.Switch, scope: Scope) -> None:
        table: Closure | None = None
        if isinstance(node.subject, ast.Member) and node.subject.name == "action_run":
            call = node.subject.base
            function = call.function if isinstance(call, ast.Call) else None
            found = self.expression(function.base, scope) if isinstance(function, ast.Member) else None
            if not isinstance(found, Closure) or not isinstance(found.node, ast.Table):
                raise Mistake(node.position, "action_run is of a table's apply()")
            table = found
            subject: ir.Expr = ir.Get(self.apply(found, node.position).action)
        else:
            subject = self.scalar(node.subject, scope)
        chain: list[tuple[ir.Expr | None, tuple[ir.Stmt, ...]]] = []
        for labels, block in node.cases:
            condition: ir.Expr | None = None
            if not any(isinstance(label, ast.Anything) for label in labels):
                values = [self._label(label, table, subject.type, scope) for label in labels]
                tests = [ir.Binary("==", subject, value, ir.BOOL) for value in values]
                condition = functools.reduce(lambda a, b: ir.Binary("||", a, b, ir.BOOL), tests)
            body = self.captured(lambda block=block: self.statement(block, scope))  # type: ignore[misc]
            chain.append((condition, body))
        otherwise: tuple[ir.Stmt, ...] = next((b for c, b in chain if c is None), ())
        for condition, body in reversed([c for c in chain if c[0] is not None]):
            assert condition is not None
            otherwise = (ir.If(condition, body, otherwise, node.position),)
        self.out += otherwise

    def _label(self, label: ast.Expression, table: Closure | None, kind: ir.Bits, scope: Scope) -> ir.Expr:
        if table is None:
            return self.scalar(label, scope, kind)
        assert isinstance(table.node, ast.Table)
        names = [use.name for use in table.node.actions]
        if not isinstance(label, ast.Name) or label.name not in names:
            raise Mistake(label.position, f"not an action of {table.node.name}; it has {', '.join(names)}")
        return ir.Const(names.index(label.name), kind)

    # ---- expressions with effects ----

    def expression(self, node: ast.Expression, scope: Scope) -> Value:
        if isinstance(node, ast.Binary) and node.op in ("&&", "||"):
            left = self.scalar(node.left, scope, ir.BOOL)
            right: list[ir.Expr] = []
            effects = self.captured(lambda: right.append(self.scalar(node.right, scope, ir.BOOL)))
            if not effects:
                return self.operate(node.op, left, right[0], node.position)
            both = self.slot("condition", ir.BOOL)
            self.set(both, left)
            more = ir.Get(both) if node.op == "&&" else ir.Unary("!", ir.Get(both), ir.BOOL)
            self.out.append(ir.If(more, (*effects, ir.Set(both, right[0], node.position)), (), node.position))
            return ir.Get(both)
        if isinstance(node, ast.Conditional):
            return self._conditional(node, scope)
        return super().expression(node, scope)

    def _conditional(self, node: ast.Conditional, scope: Scope) -> Value:
        """One of two values; what the other's calls do does not happen."""
        condition = self.scalar(node.condition, scope, ir.BOOL)
        found: list[ir.Expr] = []
        yes = self.captured(lambda: found.append(self.scalar(node.yes, scope)))
        no = self.captured(lambda: found.append(self.scalar(node.no, scope)))
        a, b = self.same(found[0], found[1], node.position)
        if isinstance(condition, ir.Const):
            self.out += yes if condition.value else no
            return a if condition.value else b
        if not yes and not no:
            return ir.Mux(condition, a, b)
        if a.type == ir.INTEGER:
            raise Mistake(node.position, "give the numbers a width")
        chosen = self.slot("chosen", a.type)
        first, second = ((*effects, ir.Set(chosen, e, node.position)) for effects, e in ((yes, a), (no, b)))
        self.out.append(ir.If(condition, first, second, node.position))
        return ir.Get(chosen)

    def member(self, node: ast.Member, scope: Scope) -> Value:
        if isinstance(node.base, ast.Call) and node.name in ("hit", "miss"):
            function = node.base.function
            if isinstance(function, ast.Member) and function.name == "apply":
                table = self.expression(function.base, scope)
                if isinstance(table, Closure) and isinstance(table.node, ast.Table):
                    hit = ir.Get(self.apply(table, node.position).hit)
                    return hit if node.name == "hit" else ir.Unary("!", hit, ir.BOOL)
        return super().member(node, scope)

    def call(self, node: ast.Call, scope: Scope) -> Value:
        value = self.invoke(node, scope)
        if value is None:
            raise Mistake(node.position, "this call has no value")
        return value

    def invoke(self, node: ast.Call, scope: Scope) -> Value | None:
        """A call; its value, if it has one."""
        function = node.function
        if isinstance(function, ast.Member):
            base = self.expression(function.base, scope)
            return self.method(base, function.name, node, scope)
        if not isinstance(function, ast.Name):
            raise Mistake(node.position, "this cannot be called")
        if function.name in ("min", "max") and len(node.arguments) == 2:
            a, b = (self.scalar(x, scope) for x in node.arguments)
            return self.operate(function.name, a, b, node.position)
        if function.name == "NoAction" and not node.arguments:
            return None
        if function.name == "invalidate" and len(node.arguments) == 1:
            self._invalidate(node, scope)
            return None
        if function.name in ("sizeInBytes", "sizeInBits") and len(node.arguments) == 1:
            return self._size(function.name, node, scope)
        found = scope.value(function.name)
        if not isinstance(found, Closure) or not isinstance(found.node, ast.Action):
            raise Mistake(node.position, f"'{function.name}' is not an action or function")
        return self.inline(found, node, scope)

    def _size(self, name: str, node: ast.Call, scope: Scope) -> Value:
        """Return the size of a header, whether it is valid or not."""
        header = self.expression(node.arguments[0], scope)
        if not isinstance(header, Group):
            raise Mistake(node.position, f"{name} takes a header or a struct")
        bits = sum(s.type.width for s in fixed(header))
        return ir.Const(bits // 8 if name == "sizeInBytes" else bits, ir.INTEGER)

    def _invalidate(self, node: ast.Call, scope: Scope) -> None:
        """Make a field of the intrinsic metadata as if nothing had been assigned to it."""
        field = self.expression(node.arguments[0], scope)
        if not isinstance(field, ir.Get) or field.slot not in self.gress.intrinsic.values():
            raise Mistake(
                node.position, "invalidate takes a field of the intrinsic metadata; of others use setInvalid()"
            )
        self.set(field.slot, ir.Const(field.slot.initial, field.type))

    def bind(
        self, parameters: Sequence[ast.Parameter], node: ast.Call | ast.ActionUse, scope: Scope, inner: Scope
    ) -> None:
        """`in` and directionless arguments are copied, out and inout ones are the caller's own storage."""
        arguments = in_order(node.arguments, [p.name for p in parameters], node.position)
        if len(parameters) != len(arguments):
            raise Mistake(node.position, f"{len(parameters)} arguments are needed, {len(arguments)} given")
        for parameter, argument in zip(parameters, arguments, strict=True):
            kind = self.type(parameter.type, inner)
            value = self.expression(argument, scope)
            if parameter.direction in ("out", "inout") or isinstance(value, Packet):
                if not isinstance(value, ir.Get | Group | StackValue | Packet):
                    raise Mistake(argument.position, f"'{parameter.name}' is {parameter.direction}: give a variable")
                inner.values[parameter.name] = value
            else:
                copy = self.storage(kind, parameter.name, parameter.position)
                self.assign(copy, value, argument.position)
                inner.values[parameter.name] = copy

    def inline(self, closure: Closure, node: ast.Call, scope: Scope) -> Value | None:
        action = closure.node
        assert isinstance(action, ast.Action)
        inner = closure.scope.inner()
        self.bind(action.parameters, node, scope, inner)
        result = None
        if action.result is not None and action.result.name != "void":
            result = self.storage(self.type(action.result, inner), action.name, action.position)
        self.scoped(lambda: self.body(action.body.body, inner), result, node.position, is_call=action.result is None)
        return result

    def scoped(
        self, function: Callable[[], None], result: Value | None, position: Position, is_call: bool = False
    ) -> None:
        """Runs `function` with a place that `return` goes to. is_call: it is the body of an action."""
        if self.calls >= CALLS_MAX:
            raise Mistake(position, "calls nested too deep; recursion is not possible")
        self.labels += 1
        label = self.labels
        self.calls += 1
        self.returns.append(label)
        self.result.append(result)
        body = self.captured(function)
        self.returns.pop()
        self.result.pop()
        self.calls -= 1
        self.out += [ir.Scope(label, body, is_call)] if is_call or leaves(body, label) else body

    def method(self, base: Value, name: str, node: ast.Call, scope: Scope) -> Value | None:
        raise NotImplementedError

    def value_set(self, values: Instance, keys: tuple[ir.Key, ...], position: Position) -> ir.Table:
        raise NotImplementedError

    def subtract(self, fields: Sequence[ir.Slot], position: Position) -> None:
        raise NotImplementedError

    def apply(self, table: Closure, position: Position) -> ir.Apply:
        raise NotImplementedError

    def stack_method(self, stack: StackValue, name: str, node: ast.Call, scope: Scope) -> None:
        """push_front, pop_front: what moves out at an end is gone, what is free at the other invalid."""
        if name not in ("push_front", "pop_front") or len(node.arguments) != 1:
            raise Mistake(node.position, f"a stack has push_front(count) and pop_front(count), no '{name}'")
        count, size = self.constant(node.arguments[0], scope), len(stack.elements)
        if count < 0:
            raise Mistake(node.position, f"{name} moves by 0 or more")
        moved = list(zip(stack.elements, stack.elements[count:], strict=False))
        for a, b in moved if name == "pop_front" else [(b, a) for a, b in reversed(moved)]:
            self.assign(a, b, node.position)
        count = min(count, size)
        for element in stack.elements[:count] if name == "push_front" else stack.elements[size - count :]:
            self.header_method(element, "setInvalid", node.position)

    def check_whole(self, header: Group, position: Position) -> None:
        """Raise Mistake for a header that is not whole bytes where a packet, or a copy of one, has it."""
        if header.type.name in self.unaligned:
            raise Mistake(
                position, f"header {header.type.name} is not whole bytes, so it can only be resubmitted; pad it"
            )

    def header_method(self, base: Group, name: str, position: Position) -> Value | None:
        if base.valid is None:
            raise Mistake(position, f"'{name}': {base.type.name} is not a header")
        if name == "isValid":
            return ir.Get(base.valid)
        if name in ("setValid", "setInvalid"):
            for header in (base, *getattr(pieces(base), "elements", ())):  # of a varbit nothing is there
                self.set(header.valid, ir.Const(int(name == "setValid" and header is base), ir.BOOL))
            return None
        if name in ("minSizeInBytes", "minSizeInBits"):
            bits = sum(s.type.width for s in fixed(base))
            return ir.Const(bits // 8 if name == "minSizeInBytes" else bits, ir.INTEGER)
        raise Mistake(position, f"a header has no method '{name}'")

    def execute(self, action: RegisterAction, index: ir.Expr, position: Position) -> Value | None:
        """Inlines a RegisterAction's apply(inout value [, out result])."""
        register = self.program.registers[action.register]
        inner = action.scope.inner()
        parameters = action.apply.parameters
        if not 1 <= len(parameters) <= 2:
            raise Mistake(action.apply.position, "apply takes (inout value) or (inout value, out result)")
        value = self.storage(self.type(parameters[0].type, inner), parameters[0].name, position)
        inner.values[parameters[0].name] = value
        output = None
        if len(parameters) == 2:
            kind = self.bits(self.type(parameters[1].type, inner), position)
            output = self.slot(parameters[1].name, kind)
            inner.values[parameters[1].name] = ir.Get(output)
            inner.values["this"] = Instance(ExternType("this", (kind,)), action.name)
        self.in_register = True
        body = self.captured(lambda: self.scoped(lambda: self.body(action.apply.body.body, inner), None, position))
        self.in_register = False
        body = conditions_inlined(body)
        if leaves(body, self.exit):
            raise Mistake(action.apply.position, "'exit' is not possible in a RegisterAction")
        values = slots(value)
        if [v.type.width for v in values] != [t.width for _, t in register.fields]:
            raise Mistake(action.apply.position, f"the value's type is not that of the register {register.name}")
        if output is not None:
            self.set(output, ir.Const(0, output.type))
        self.out.append(ir.Execute(action.register, action.name, index, values, output, body, position))
        return ir.Get(output) if output else None
