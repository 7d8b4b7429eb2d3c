"""Controls: instances, with what they are made with, and their application to arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.externs import Externs
from jumpgate.p4.compiler.elaboration.names import (
    Closure,
    Group,
    Instance,
    Packet,
    Scope,
    StackValue,
    Value,
    in_order,
)
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Mistake, Position


class Controls(Externs):
    repeated: frozenset[str] = frozenset()  # instances that the control at hand applies more than once

    def declare(self, node: ast.Declaration, scope: Scope) -> None:
        raise NotImplementedError

    def broken(self, node: ast.Declaration, scope: Scope, mistake: Mistake) -> None:
        raise NotImplementedError

    def made(
        self, closure: Closure, arguments: Sequence[ast.Expression], scope: Scope, name: str, position: Position
    ) -> Closure:
        """An instance of a parser or control: what it is given stands for its constructor's parameters."""
        node = closure.node
        given = node.given if isinstance(node, ast.Parser | ast.Control) else ()
        inner = closure.scope.inner()
        values = [(a, scope) for a in in_order(arguments, [p.name for p in given], position)]
        values += [(p.default, closure.scope) for p in given[len(values) :] if p.default is not None]
        if len(values) != len(given):
            raise Mistake(position, f"{node.name} is made with {len(given)} values, {len(values)} given")
        for parameter, (argument, where) in zip(given, values, strict=True):
            value = self.expression(argument, where)
            if not isinstance(value, Instance | Closure):
                kind = self.bits(self.type(parameter.type, inner), parameter.position)
                value = self.convert(self.plain(value, argument.position), kind, argument.position)
                if not isinstance(value, ir.Const):
                    raise Mistake(argument.position, f"'{parameter.name}' must be known when the program is compiled")
            inner.values[parameter.name] = value
        return Closure(node, inner, name)

    def block(self, closure: Closure, arguments: Sequence[Value], prefix: str) -> None:
        """Run a control with its parameters bound."""
        self._run(closure, self._opened(closure, arguments, prefix))

    def _opened(self, closure: Closure, arguments: Sequence[Value], prefix: str) -> Scope:
        """Return the scope of a control's body, in which its variables have storage and no value yet."""
        node = closure.node
        assert isinstance(node, ast.Control)
        scope = Scope(closure.scope, prefix=prefix)
        for parameter, argument in zip(node.parameters, arguments, strict=True):
            scope.values[parameter.name] = argument
        for local in node.locals:
            try:
                if isinstance(local, ast.Variable) and not local.constant:
                    kind = self.type(local.type, scope)
                    scope.add(local.name, self.storage(kind, local.name, local.position), local.position)
                else:
                    self.declare(local, scope)
            except Mistake as mistake:
                self.broken(local, scope, mistake)
        return scope

    def _run(self, closure: Closure, scope: Scope) -> None:
        """Initialise the variables, then execute the body."""
        node = closure.node
        assert isinstance(node, ast.Control)
        outer, self.repeated = self.repeated, _repeated(node)
        for local in node.locals:
            if isinstance(local, ast.Variable) and not local.constant:
                try:
                    self.initialise(self.expression(ast.Name(local.position, local.name), scope), local, scope)
                except Mistake as mistake:
                    self.diagnostics.add(mistake)
        self.scoped(lambda: self.body(node.body.body, scope.inner()), None, node.position)
        self.repeated = outer

    def apply_block(self, block: Closure, node: ast.Call, scope: Scope) -> None:
        control, function = block.node, node.function
        if not isinstance(control, ast.Control):
            raise Mistake(node.position, "only controls and tables can be applied here")
        again = isinstance(function, ast.Member) and isinstance(function.base, ast.Name)
        if again and function.base.name in self.repeated:  # type: ignore[union-attr]
            self._apply_again(block, control, node, scope)
            return
        if any(block is other for other, _ in self.blocks):
            raise Mistake(node.position, f"control '{block.name}' is applied in two controls; make two instances")
        inner = Scope(block.scope)
        self.blocks.append((block, inner))
        self.bind(control.parameters, node, scope, inner)
        self.block(block, [inner.values[p.name] for p in control.parameters], f"{scope.prefix}{block.name}.")

    def _apply_again(self, block: Closure, control: ast.Control, node: ast.Call, scope: Scope) -> None:
        """Apply an instance that has several uses: its tables and registers are the same in each, so its parameters are
        storage of its own, into and out of which each use copies."""
        names = [p.name for p in control.parameters]
        arguments = in_order(node.arguments, names, node.position)
        if len(names) != len(arguments):
            raise Mistake(node.position, f"{len(names)} arguments are needed, {len(arguments)} given")
        values = [self.expression(a, scope) for a in arguments]
        opened = next((inner for other, inner in self.blocks if other is block), None)
        if opened is None:
            own = [
                v if isinstance(v, Packet) else self.storage(self.type(p.type, block.scope), p.name, p.position)
                for p, v in zip(control.parameters, values, strict=True)
            ]
            opened = self._opened(block, own, f"{scope.prefix}{block.name}.")
            self.blocks.append((block, opened))
        uses = [u for u in zip(control.parameters, values, arguments, strict=True) if not isinstance(u[1], Packet)]
        for p, value, argument in uses:
            if p.direction in ("out", "inout") and not isinstance(value, ir.Get | Group | StackValue):
                raise Mistake(argument.position, f"'{p.name}' is {p.direction}: give a variable")
            fresh = p.direction == "out"  # its headers are invalid
            given = self.storage(self.type(p.type, block.scope), p.name, p.position) if fresh else value
            self.assign(opened.values[p.name], given, argument.position)
        self._run(block, opened)
        for p, value, argument in uses:
            if p.direction in ("out", "inout"):
                self.assign(value, opened.values[p.name], argument.position)


def _repeated(control: ast.Control) -> frozenset[str]:
    """Return the names to which a control's body applies `apply` more than once."""
    found = Counter(
        n.function.base.name
        for n in ast.walk(control.body)
        if isinstance(n, ast.Call)
        and isinstance(n.function, ast.Member)
        and n.function.name == "apply"
        and isinstance(n.function.base, ast.Name)
    )
    return frozenset(name for name, count in found.items() if count > 1)
