"""Tokens → expressions, types and statements, by recursive descent. Declarations are in `grammar`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.lexer import KEYWORDS, Token, number
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake

#: keywords that are names elsewhere
NAMES = ("apply", "state", "type")
LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-", "++", "|+|", "|-|"),
    ("*", "/", "%"),
)
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
TYPE_WORDS = frozenset(("bit", "int", "bool", "tuple", "void", "varbit", "error", "string"))
DEPTH_MAX = 40
#: of an expression: chains like a + b + … and a.b.c… grow it without being nested
HEIGHT_MAX = 64

T = TypeVar("T")


class Syntax:
    """The cursor over the tokens, and everything below declarations."""

    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.diagnostics = diagnostics
        self.symmetric: list[tuple[str, ...]] = []  # of the annotations that were taken last

    # ---- the cursor ----

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def sees(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind in ("op", "name")

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.at += 1
        return token

    def accepts(self, text: str) -> bool:
        if self.sees(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str, where: str = "") -> Token:
        if not self.sees(text):
            raise self.unexpected(f"'{text}'{where}")
        return self.take()

    def unexpected(self, wanted: str) -> Mistake:
        return Mistake(self.token.position, f"expected {wanted}, found '{self.token.text}'")

    def name(self, what: str = "a name") -> Token:
        if self.token.kind != "name" or (self.token.text in KEYWORDS and self.token.text not in NAMES):
            raise self.unexpected(what)
        return self.take()

    def nested(self, function: Callable[[], T]) -> T:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Mistake(self.token.position, f"nested more than {DEPTH_MAX} deep")
        try:
            return function()
        finally:
            self.depth -= 1

    def listed(self, item: Callable[[], T], end: str) -> tuple[T, ...]:
        """Items between commas up to `end`, which is taken; a trailing comma is allowed."""
        out: list[T] = []
        while not self.sees(end):
            out.append(item())
            if not self.accepts(","):
                break
        self.expect(end)
        return tuple(out)

    def recover(self, start: int) -> None:
        """After a mistake in what began at `start`: goes on behind its `;` or its block, or before a closing brace."""
        self.at, depth = start, 0
        if not self.sees("}"):
            depth += self.take().text == "{"
        while self.token.kind != "end":
            if self.sees("}"):
                if depth == 0:
                    return
                depth -= 1
                self.take()
                if depth == 0:
                    self.accepts(";")
                    return
                continue
            depth += self.sees("{")
            if self.take().text == ";" and depth == 0:
                return

    # ---- annotations and types ----

    def annotations(self) -> dict[str, str]:
        """`@name("x")` → {"name": "x"}; arguments other than one string are skipped."""
        found: dict[str, str] = {}
        self.symmetric = []
        while self.accepts("@"):
            word = self.take()
            name = word.text
            found[name] = ""
            strings: list[str] = []
            if name == "pragma":  # to the end of its line
                name = self.token.text
                while self.token.kind != "end" and self.token.position.line == word.position.line:
                    strings += self._string()
            elif self.sees("("):
                self.take()
                if self.token.kind == "string":
                    found[name] = self.token.text[1:-1]
                depth = 1
                while depth and self.token.kind != "end":
                    depth += self.sees("(") - self.sees(")")
                    strings += self._string()
            if name == "symmetric":
                self.symmetric.append(tuple(strings))
        return found

    def _string(self) -> list[str]:
        """Take the next token; return it, if it is a string."""
        token = self.take()
        return [token.text[1:-1]] if token.kind == "string" else []

    def type(self) -> ast.TypeName:
        return self.nested(self._type)

    def _type(self) -> ast.TypeName:
        token = self.token
        if token.text in TYPE_WORDS:
            self.take()
        else:
            token = self.name("a type")
        arguments: tuple[ast.TypeName | ast.Expression, ...] = ()
        if self.sees("<"):
            self.take()
            if token.text in ("bit", "int", "varbit"):
                arguments = (self._width(),)
                self.expect(">")
            else:
                arguments = self.listed(self._type_argument, ">")
        size = None
        if self.sees("["):
            self.take()
            size = self.expression()
            self.expect("]")
        return ast.TypeName(token.position, token.text, arguments, size)

    def _width(self) -> ast.Expression:
        """The width of bit<…>: a constant that ends at `>`, so comparisons need parentheses."""
        return self._binary(8)

    def _type_argument(self) -> ast.TypeName | ast.Expression:
        if self.accepts("_"):
            return ast.TypeName(self.token.position, "_")
        return self.type()

    def type_arguments(self) -> tuple[ast.TypeName, ...] | None:
        """`<types>` before a `(`; None, and nothing taken, if it is something else (a comparison)."""
        start = self.at
        try:
            self.expect("<")
            types = self.listed(self.type, ">")
            if self.sees("("):
                return types
        except Mistake:
            pass
        self.at = start
        return None

    # ---- expressions ----

    def expression(self) -> ast.Expression:
        found = self.nested(self._conditional)
        self._check_height(found)
        return found

    def _check_height(self, root: ast.Expression) -> None:
        """Later passes go down by recursion."""
        left: list[tuple[object, int]] = [(root, 1)]
        while left:
            node, height = left.pop()
            if isinstance(node, tuple):
                left += [(item, height) for item in node]
            elif dataclasses.is_dataclass(node):
                if height > HEIGHT_MAX:
                    raise Mistake(root.position, f"an expression of more than {HEIGHT_MAX} steps; use variables")
                left += [(getattr(node, f.name), height + 1) for f in dataclasses.fields(node) if f.name != "position"]

    def _conditional(self) -> ast.Expression:
        condition = self._binary(0)
        if not self.sees("?"):
            return condition
        position = self.take().position
        yes = self.expression()
        self.expect(":")
        return ast.Conditional(position, condition, yes, self.expression())

    def _operator(self) -> str | None:
        if self.token.kind != "op":
            return None
        text = self.token.text
        if text == ">" and self.token.glued and self.peek().text == ">":
            text = ">>"
        return text if text in LEVEL else None

    def _binary(self, level: int) -> ast.Expression:
        """Operands of operators that bind at least as `level` does, by precedence climbing."""
        left = self._unary()
        while (op := self._operator()) is not None and LEVEL[op] >= level:
            position = self.take().position
            if op == ">>":
                self.take()
            left = ast.Binary(position, op, left, self._binary(LEVEL[op] + 1))
        return left

    def _unary(self) -> ast.Expression:
        token = self.token
        if self.sees("!", "~", "-", "+"):
            self.take()
            return ast.Unary(token.position, token.text, self.nested(self._unary))
        if self.sees("(") and self._is_cast():
            self.take()
            kind = self.type()
            self.expect(")")
            return ast.Cast(token.position, kind, self.nested(self._unary))
        return self._postfix(self._primary())

    def _is_cast(self) -> bool:
        """`(bit<8>)x`, `(bool)x`, `(name_t)x`: a name in parentheses is a type if an operand follows at once."""
        after = self.peek()
        if after.text in ("bit", "int", "bool"):
            return True
        if after.kind != "name" or self.peek(2).text != ")":
            return False
        third = self.peek(3)
        return third.kind in ("name", "number") or third.text in ("(", "~", "!", "{")

    def _primary(self) -> ast.Expression:
        token = self.token
        is_name = token.kind == "name" and (token.text not in KEYWORDS or token.text in (*NAMES, "error", "this"))
        if not (is_name or token.kind == "number" or self.sees("true", "false", "{", "(", ".")):
            raise self.unexpected("an expression")
        self.take()
        if token.kind == "number":
            return ast.Number(token.position, *number(token))
        if token.text in ("true", "false"):
            return ast.Boolean(token.position, token.text == "true")
        if token.text == "{":
            return self._list(token)
        if token.text == "(":
            inner = self.expression()
            if self.accepts(","):
                rest = self.listed(self.keyset, ")")
                return ast.ListExpression(token.position, (inner, *rest))
            self.expect(")")
            return inner
        return ast.Name(token.position, self.name().text if token.text == "." else token.text)

    def _list(self, brace: Token) -> ast.ListExpression:
        names: list[str] = []

        def item() -> ast.Expression:
            if self.token.kind == "name" and self.peek().text == "=":
                names.append(self.take().text)
                self.take()
            return self.expression()

        items = self.listed(item, "}")
        return ast.ListExpression(brace.position, items, tuple(names))

    def _postfix(self, base: ast.Expression) -> ast.Expression:
        while True:
            token = self.token
            if self.accepts("."):
                word = self.take()
                if word.kind != "name":
                    raise Mistake(word.position, f"expected a field, found '{word.text}'")
                base = ast.Member(word.position, base, word.text)
            elif self.accepts("["):
                high = self.expression()
                low = self.expression() if self.accepts(":") else None
                self.expect("]")
                base = ast.Index(token.position, base, high, low)
            elif self.accepts("("):
                base = ast.Call(base.position, base, (), self.listed(self.argument, ")"))
            elif self.sees("<") and isinstance(base, ast.Name | ast.Member):
                types = self.type_arguments()
                if types is None:
                    return base
                self.expect("(")
                base = ast.Call(base.position, base, types, self.listed(self.argument, ")"))
            else:
                return base

    def argument(self) -> ast.Expression:
        if self.sees("_"):
            return ast.Anything(self.take().position)
        if self.token.kind == "name" and self.peek().text == "=":
            name = self.take()
            self.take()
            return ast.Named(name.position, name.text, self.expression())
        return self.expression()

    def keyset(self) -> ast.Expression:
        """An element of select cases and const entries: value, value &&& mask, low .. high, default, _."""
        if self.sees("default", "_"):
            return ast.Anything(self.take().position)
        if self.sees("(") and not self._is_cast():
            start = self.at
            token = self.take()
            items = self.nested(lambda: self.listed(self.keyset, ")"))
            if len(items) > 1 or isinstance(items[0] if items else None, ast.Anything):
                return ast.ListExpression(token.position, items)
            if items and isinstance(items[0], ast.Binary) and items[0].op in ("&&&", ".."):
                return items[0]
            self.at = start
        value = self.expression()
        if self.sees("&&&", ".."):
            token = self.take()
            return ast.Binary(token.position, token.text, value, self.expression())
        return value

    # ---- statements ----

    def block(self) -> ast.Block:
        brace = self.expect("{")
        body = self.statements("}")
        self.expect("}")
        return ast.Block(brace.position, body)

    def statements(self, *ends: str) -> tuple[ast.Statement, ...]:
        """Statements up to one of `ends`; mistakes are kept, and the next statement is tried."""
        out: list[ast.Statement] = []
        while self.token.kind != "end" and not self.sees(*ends):
            start = self.at
            depth = self.depth
            try:
                statement = self.nested(self.statement)
                if statement is not None:
                    out.append(statement)
            except Mistake as mistake:
                self.diagnostics.add(mistake)
                self.depth = depth
                self.recover(start)
        return tuple(out)

    def statement(self) -> ast.Statement | None:
        self.annotations()
        token = self.token
        if self.accepts(";"):
            return None
        if self.sees("{"):
            return self.block()
        if self.accepts("if"):
            return self._if(token)
        if self.accepts("return"):
            value = None if self.sees(";") else self.expression()
            self.expect(";", " after the return statement")
            return ast.Return(token.position, value)
        if self.accepts("exit"):
            self.expect(";")
            return ast.Exit(token.position)
        if self.accepts("switch"):
            return self._switch(token)
        if self.sees("const") or self._is_declaration():
            return self.variable()
        target = self._postfix(self._primary())
        if self.accepts("="):
            value = self.expression()
            self.expect(";", " after the assignment")
            return ast.Assign(target.position, target, value)
        if not isinstance(target, ast.Call):
            raise self.unexpected("'=' or '(' of a statement")
        self.expect(";", " after the call")
        return ast.CallStatement(target.position, target)

    def _is_declaration(self) -> bool:
        """`bit<8> x`, `name_t x`, `name_t[2] x`: a type followed by a name."""
        if self.sees("bit", "int", "bool", "tuple"):
            return True
        if self.token.kind != "name" or self.token.text in KEYWORDS:
            return False
        start = self.at
        try:
            self.type()
            return self.token.kind == "name"
        except Mistake:
            return False
        finally:
            self.at = start

    def variable(self) -> ast.Variable:
        constant = self.accepts("const")
        kind = self.type()
        name = self.name()
        value = self.expression() if self.accepts("=") else None
        if constant and value is None:
            raise self.unexpected("'=' of the constant")
        self.expect(";", " after the declaration")
        return ast.Variable(name.position, kind, name.text, value, constant)

    def _if(self, token: Token) -> ast.If:
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        then = self.nested(self.statement) or ast.Block(token.position, ())
        otherwise = None
        if self.accepts("else"):
            otherwise = self.nested(self.statement)
        return ast.If(token.position, condition, then, otherwise)

    def _switch(self, token: Token) -> ast.Switch:
        self.expect("(")
        subject = self.expression()
        self.expect(")")
        self.expect("{")
        cases: list[tuple[tuple[ast.Expression, ...], ast.Block]] = []
        labels: list[ast.Expression] = []
        while not self.sees("}"):
            labels.append(self.keyset())
            self.expect(":")
            if self.sees("{"):
                cases.append((tuple(labels), self.block()))
                labels = []
        self.expect("}")
        return ast.Switch(token.position, subject, tuple(cases))
