"""Tokens → the syntax tree of a program: declarations. One mistake ends one declaration, the rest is still read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.lexer import Token
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake
from jumpgate.p4.compiler.frontend.syntax import Syntax

#: what is declared outside of parsers and controls only
OUTSIDE = (
    "control", "enum", "error", "extern", "header", "header_union", "match_kind", "package", "parser", "struct", "type",
    "typedef",
)  # fmt: skip

T = TypeVar("T")


def parse(tokens: list[Token], diagnostics: Diagnostics) -> ast.Source:
    """The tree of what could be read; the mistakes are in `diagnostics`."""
    return _Grammar(tokens, diagnostics).program()


class _Grammar(Syntax):
    def program(self) -> ast.Source:
        source = ast.Source()
        while self.token.kind != "end":
            start = self.at
            try:
                source.declarations += self.declaration()
            except Mistake as mistake:
                self.diagnostics.add(mistake)
                self.depth = 0
                self.recover(start)
                while self.accepts("}"):
                    pass
        return source

    def declaration(self) -> list[ast.Declaration]:
        annotations = self.annotations()
        token = self.token
        if self.accepts(";"):
            return []
        if self.sees("const"):
            return [self.variable()]
        if self.accepts("typedef") or self.accepts("type"):
            kind = self.type()
            name = self.name().text
            self.expect(";", " after the typedef")
            return [ast.Typedef(token.position, name, kind)]
        if self.accepts("enum"):
            return [self._enum(token)]
        if self.sees("error", "match_kind") and self.peek().text == "{":
            self.take()
            return [ast.Enum(token.position, token.text, None, self._members())]
        if self.accepts("header") or self.accepts("struct"):
            return [self._aggregate(token, "flexible" in annotations)]
        if self.accepts("action"):
            return [self.action(token)]
        if self.sees("extern", "package") or (self.sees("parser", "control") and self._is_a_type()):
            self._pass_over()
            return []
        if self.sees("parser"):
            return [self._parser()]
        if self.sees("control"):
            return [self._control()]
        if self.sees("header_union"):
            raise Mistake(token.position, "a header_union is not supported; write a header for each of its members")
        return [self._typed()]

    def _is_a_type(self) -> bool:
        """A parser or control that is declared only, not defined."""
        ahead = 1
        while self.peek(ahead).text not in ("{", ";") and self.peek(ahead).kind != "end":
            ahead += 1
        return self.peek(ahead).text == ";"

    def _pass_over(self) -> None:
        """Externs and packages are built in; types of parsers and controls say nothing that uses of these do not."""
        first = self.take()
        depth = 0
        while depth or not self.sees(";", "{"):
            token = self.take()
            if token.kind == "end":
                raise Mistake(first.position, f"the '{first.text}' has no end")
            depth += (token.text == "(") - (token.text == ")")
        if self.accepts(";"):
            return
        while self.token.kind != "end":
            token = self.take()
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                return
        raise Mistake(first.position, f"the '{first.text}' has no end")

    def _typed(self) -> ast.Instance | ast.Action:
        """`Type(arguments) name;`, `Type(arguments) name = {…};` or `type function(…) {…}`."""
        token = self.token
        symmetric = tuple(self.symmetric)
        kind = self.type()
        if self.token.kind == "name":
            name = self.name()
            return ast.Action(name.position, name.text, self.parameters(), self.block(), kind)
        if not self.sees("("):
            raise Mistake(token.position, f"expected a declaration, found '{token.text}'")
        self.take()
        arguments = self.listed(self.argument, ")")
        name = self.name("the name of the instance")
        body: list[ast.Action] = []
        if self.accepts("="):
            self.expect("{")
            while not self.sees("}"):
                result = self.type()
                function = self.name()
                body.append(ast.Action(function.position, function.text, self.parameters(), self.block(), result))
            self.expect("}")
        self.expect(";", " after the instance")
        return ast.Instance(name.position, kind, arguments, name.text, tuple(body), symmetric)

    def _enum(self, token: Token) -> ast.Enum:
        underlying = self.type() if self.sees("bit", "int") else None
        name = self.name()
        return ast.Enum(name.position, name.text, underlying, self._members())

    def _members(self) -> tuple[tuple[str, ast.Expression | None], ...]:
        def member() -> tuple[str, ast.Expression | None]:
            name = self.take()
            if name.kind != "name":
                raise Mistake(name.position, f"expected a name, found '{name.text}'")
            return name.text, self.expression() if self.accepts("=") else None

        self.expect("{")
        return self.listed(member, "}")

    def _aggregate(self, token: Token, flexible: bool) -> ast.Aggregate:
        name = self.name()
        if self.sees("<"):
            raise Mistake(self.token.position, f"generic {token.text}s are not supported; write one for each type")
        self.expect("{")
        fields: list[ast.FieldDeclaration] = []
        while not self.sees("}") and self.token.kind != "end":
            annotations = self.annotations()
            kind = self.type()
            field = self.name("a field's name")
            fields.append(ast.FieldDeclaration(field.position, kind, field.text, flexible or "flexible" in annotations))
            self.expect(";", " after the field")
        self.expect("}")
        return ast.Aggregate(name.position, token.text, name.text, tuple(fields))

    def parameters(self) -> tuple[ast.Parameter, ...]:
        def parameter() -> ast.Parameter:
            self.annotations()
            direction = self.take().text if self.sees("in", "out", "inout") else ""
            kind = self.type()
            name = self.name("a parameter's name")
            default = self.expression() if self.accepts("=") else None
            return ast.Parameter(name.position, direction, kind, name.text, default)

        self.expect("(")
        return self.listed(parameter, ")")

    def action(self, token: Token) -> ast.Action:
        name = self.name()
        return ast.Action(name.position, name.text, self.parameters(), self.block())

    # ---- parsers and controls ----

    def _head(self) -> tuple[Token, tuple[ast.Parameter, ...], tuple[ast.Parameter, ...]]:
        self.take()
        name = self.name()
        if self.sees("<"):
            raise Mistake(self.token.position, "generic parsers and controls are not supported")
        parameters = self.parameters()
        return name, parameters, self.parameters() if self.sees("(") else ()

    def _local(self) -> ast.Declaration:
        token = self.token
        if self.accepts("action"):
            return self.action(token)
        if self.accepts("table"):
            return self._table()
        if self.sees("const") or self._is_declaration():
            return self.variable()
        if token.text in OUTSIDE:
            raise Mistake(token.position, f"'{token.text}' declares something for the whole program: not in here")
        return self._typed()

    def _parser(self) -> ast.Parser:
        name, parameters, given = self._head()
        self.expect("{")
        declared: list[ast.Declaration] = []
        states: list[ast.State] = []
        while not self.sees("}") and self.token.kind != "end":
            start = self.at
            try:
                self.annotations()
                if self.sees("state") and self.peek().kind == "name":
                    states.append(self._state())
                elif not self.accepts(";"):
                    declared.append(self._local())
            except Mistake as mistake:
                self.diagnostics.add(mistake)
                self.depth = 0
                self.recover(start)
        self.expect("}")
        return ast.Parser(name.position, name.text, parameters, given, tuple(declared), tuple(states))

    def _state(self) -> ast.State:
        self.take()
        name = self.take()
        self.expect("{")
        body = self.statements("transition", "}")
        if not self.accepts("transition"):
            raise self.unexpected("'transition' at the end of the state")
        if not self.accepts("select"):
            target = self.take()
            self.expect(";", " after the transition")
            self.expect("}")
            return ast.State(name.position, name.text, body, target.text, (), ())
        self.expect("(")
        subjects = self.listed(self.expression, ")")
        self.expect("{")
        cases: list[ast.SelectCase] = []
        while not self.sees("}"):
            position = self.token.position
            keys = self.keyset()
            self.expect(":")
            state = self.take()
            self.expect(";", " after the select case")
            items = keys.items if isinstance(keys, ast.ListExpression) else (keys,)
            cases.append(ast.SelectCase(position, items, state.text))
        self.expect("}")
        self.expect("}")
        return ast.State(name.position, name.text, body, None, subjects, tuple(cases))

    def _control(self) -> ast.Control:
        name, parameters, given = self._head()
        self.expect("{")
        declared: list[ast.Declaration] = []
        body = None
        while not self.sees("}") and self.token.kind != "end":
            start = self.at
            try:
                self.annotations()
                if self.sees("apply") and self.peek().text == "{":
                    self.take()
                    body = self.block()
                elif not self.accepts(";"):
                    declared.append(self._local())
            except Mistake as mistake:
                self.diagnostics.add(mistake)
                self.depth = 0
                self.recover(start)
        if body is None:
            raise self.unexpected("'apply {' of the control")
        self.expect("}")
        return ast.Control(name.position, name.text, parameters, given, tuple(declared), body)

    # ---- tables ----

    def _table(self) -> ast.Table:
        name = self.name()
        self.expect("{")
        parts: dict[str, object] = {}
        properties: list[tuple[str, ast.Expression]] = []
        while not self.sees("}"):
            self.annotations()
            constant = self.accepts("const")
            word = self.take()
            if word.text in parts:
                raise Mistake(word.position, f"table {name.text} has two '{word.text}'")
            self.expect("=")
            if word.text == "key":
                self.expect("{")
                parts["keys"] = parts["key"] = self._each(self._key)
            elif word.text == "actions":
                self.expect("{")
                parts["actions"] = self._each(self._action_use)
            elif word.text == "default_action":
                parts["default"] = parts["default_action"] = self._action_use()
                parts["default_constant"] = constant
                self.expect(";")
            elif word.text == "entries":
                if not constant:
                    raise Mistake(word.position, "entries of the program must be const")
                self.expect("{")
                parts["entries"] = self._each(self._entry)
            else:
                value = self.expression()
                self.expect(";")
                if word.text == "size":
                    parts["size"] = value
                else:
                    properties.append((word.text, value))
        self.expect("}")
        for alias in ("key", "default_action"):
            parts.pop(alias, None)
        return ast.Table(name.position, name.text, properties=tuple(properties), **parts)  # type: ignore[arg-type]

    def _each(self, item: Callable[[], T]) -> tuple[T, ...]:
        out = []
        while not self.sees("}"):
            if self.token.kind == "end":
                raise self.unexpected("'}'")
            out.append(item())
            self.accepts(";")
            self.accepts(",")
        self.take()
        self.accepts(";")
        return tuple(out)

    def _key(self) -> ast.Key:
        expression = self.expression()
        self.expect(":")
        match = self.take()
        name = self.annotations().get("name")
        return ast.Key(expression.position, expression, match.text, name)

    def _action_use(self) -> ast.ActionUse:
        annotations = frozenset(self.annotations())
        self.accepts(".")
        name = self.name("an action")
        arguments = self.listed(self.argument, ")") if self.accepts("(") else ()
        return ast.ActionUse(name.position, name.text, arguments, annotations)

    def _entry(self) -> ast.EntryDeclaration:
        position = self.token.position
        keys = self.keyset()
        self.expect(":")
        items = keys.items if isinstance(keys, ast.ListExpression) else (keys,)
        return ast.EntryDeclaration(position, items, self._action_use())
