"""#include, #define (with parameters), #undef, #if, #ifdef, #ifndef, #elif, #else, #endif, #error, #pragma over tokens.

Macros are expanded as tokens, so that every token keeps a position: where the macro is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jumpgate.p4.compiler.frontend.lexer import Token, number, tokens_of
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake, Position

INCLUDE = Path(__file__).parents[2] / "include"
DEPTH_MAX = 32
TOKENS_MAX = 250_000
PREDEFINED = {"__TARGET_TOFINO__": "1", "__p4c__": "1"}


@dataclass(frozen=True)
class Macro:
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


@dataclass
class Condition:
    active: bool  # tokens of this branch are taken
    taken: bool  # some branch was
    outer: bool
    position: Position
    closed: bool = False  # after #else


@dataclass
class Preprocessor:
    """Expands one program. `folders` are searched for #include after the including file's own."""

    diagnostics: Diagnostics
    folders: tuple[Path, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.out: list[Token] = []
        self.depth = 0
        self.macros = {
            name: Macro(None, tuple(tokens_of(text, "<command line>")))
            for name, text in {**PREDEFINED, **self.defines}.items()
        }

    def run(self, text: str, file: str) -> list[Token]:
        """Tokens of the program, with an `end` token last. Raises Mistake."""
        self._file(text, file, Path(file).parent)
        lines = text.count("\n") + 1
        return [*self.out, Token("end", "end of file", Position(file, lines, 1))]

    def _file(self, text: str, file: str, folder: Path) -> None:
        self.diagnostics.lines[file] = text.split("\n")
        self.depth += 1
        tokens = tokens_of(text, file)
        conditions: list[Condition] = []
        pending: list[Token] = []
        for token in tokens:
            if token.kind != "directive":
                if not conditions or conditions[-1].active:
                    pending.append(token)
                continue
            self._emit(pending)
            pending = []
            self._directive(token, conditions, folder)
        self._emit(pending)
        if conditions:
            raise Mistake(conditions[-1].position, "#if without #endif")
        self.depth -= 1

    def _emit(self, tokens: list[Token]) -> None:
        self.out += self._expand(tokens, frozenset())
        if len(self.out) > TOKENS_MAX:
            raise Mistake(tokens[-1].position, f"the program has more than {TOKENS_MAX} tokens")

    # ---- directives ----

    def _directive(self, token: Token, conditions: list[Condition], folder: Path) -> None:
        match = re.match(r"(\w*)\s*(.*)", token.text, re.DOTALL)
        word, rest = (match[1], match[2]) if match else ("", "")
        active = not conditions or conditions[-1].active
        if word in ("if", "ifdef", "ifndef"):
            holds = active and self._holds(word, rest, token.position)
            conditions.append(Condition(active and holds, holds, active, token.position))
        elif word in ("elif", "else", "endif"):
            if not conditions or (conditions[-1].closed and word != "endif"):
                raise Mistake(token.position, f"#{word} without #if")
            top = conditions[-1]
            if word == "endif":
                conditions.pop()
            else:
                wanted = word == "else" or (top.outer and not top.taken and self._holds("if", rest, token.position))
                top.active = top.outer and not top.taken and wanted
                top.taken, top.closed = top.taken or top.active, word == "else"
        elif not active or word in ("pragma", "line", ""):
            return
        elif word == "define":
            self._define(rest, token.position)
        elif word == "undef":
            self.macros.pop(rest.strip(), None)
        elif word == "include":
            self._include(rest, token.position, folder)
        elif word == "error":
            raise Mistake(token.position, f"#error {rest}")
        else:
            raise Mistake(token.position, f"unknown directive #{word}")

    def _define(self, rest: str, position: Position) -> None:
        match = re.match(r"([A-Za-z_]\w*)(\(([^)]*)\))?", rest)
        if match is None:
            raise Mistake(position, "#define needs a name")
        parameters = None
        if match[2] is not None:
            parameters = tuple(p.strip() for p in match[3].split(",")) if match[3].strip() else ()
            if any(not re.fullmatch(r"[A-Za-z_]\w*", p) for p in parameters):
                raise Mistake(position, f"malformed parameters of macro {match[1]}")
        body = tokens_of(rest[match.end() :], position.file, position.line, position.column, in_macro=True)
        self.macros[match[1]] = Macro(parameters, tuple(body))

    def _include(self, rest: str, position: Position, folder: Path) -> None:
        match = re.fullmatch(r'"([^"]+)"|<([^>]+)>', rest)
        if match is None:
            raise Mistake(position, '#include needs "file" or <file>')
        name = match[1] or match[2]
        if self.depth >= DEPTH_MAX:
            raise Mistake(position, f"#include nested more than {DEPTH_MAX} deep")
        places = [*([folder] if match[1] else []), *self.folders, INCLUDE]
        for place in places:
            path = place / name
            if path.is_file():
                own = place == INCLUDE
                try:
                    text = path.read_text()
                except (OSError, UnicodeDecodeError) as error:
                    raise Mistake(position, f"cannot read {name}: {error}") from error
                self._file(text, name if own else str(path), path.parent)
                return
        raise Mistake(position, f"cannot find '{name}'; core.p4 and tna.p4 are built in, others lie beside the program")

    def _holds(self, word: str, rest: str, position: Position) -> bool:
        if word in ("ifdef", "ifndef"):
            return (rest.strip() in self.macros) == (word == "ifdef")
        text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", lambda m: str(int((m[1] or m[2]) in self.macros)), rest)
        tokens = self._expand([t.at(position) for t in tokens_of(text, position.file)], frozenset())
        return bool(_Condition(tokens, position).value())

    # ---- macros ----

    def _expand(self, tokens: list[Token], hidden: frozenset[str]) -> list[Token]:
        out: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
            if macro is None:
                out.append(token)
                continue
            body = [t.at(token.position) for t in macro.body]
            if macro.parameters is None and any(t.text == "##" for t in body):
                body = [t for b in self._pasted(body, {}, token) for t in ((b,) if isinstance(b, Token) else b)]
            if macro.parameters is not None:
                if at >= len(tokens) or tokens[at].text != "(":
                    out.append(token)
                    continue
                arguments, at = self._arguments(tokens, at, token)
                if len(arguments) == 1 and not arguments[0] and not macro.parameters:
                    arguments = []
                if len(arguments) != len(macro.parameters):
                    raise Mistake(
                        token.position,
                        f"macro {token.text} takes {len(macro.parameters)} arguments, {len(arguments)} given",
                    )
                given = dict(zip(macro.parameters, arguments, strict=True))
                parts = self._pasted(body, given, token)
                values = {name: self._expand(argument, hidden) for name, argument in given.items()}
                body = [t for b in parts for t in (values.get(b.text, [b]) if isinstance(b, Token) else b)]
            if len(out) + len(body) > TOKENS_MAX or len(hidden) > 200:
                raise Mistake(token.position, f"macro {token.text} grows too large")
            out += self._expand(body, hidden | {token.text})
            if len(out) > TOKENS_MAX:
                raise Mistake(token.position, f"macro {token.text} grows too large")
        return out

    def _pasted(
        self, body: list[Token], given: dict[str, list[Token]], macro: Token
    ) -> list[Token | tuple[Token, ...]]:
        """The macro's body with each `a ## b` made one token, and each `# parameter` a string: of arguments as they
        were written."""
        out: list[Token | tuple[Token, ...]] = []
        at = 0
        while at < len(body):
            if body[at].text == "#" and at + 1 < len(body) and body[at + 1].text in given:
                written = "".join(t.text for t in given[body[at + 1].text])
                escaped = written.replace("\\", "\\\\").replace('"', '\\"')
                out.append((Token("string", f'"{escaped}"', macro.position),))
                at += 2
                continue
            if body[at].text != "##":
                out.append(body[at])
                at += 1
                continue
            if not out or at + 1 == len(body):
                raise Mistake(macro.position, f"macro {macro.text}: '##' stands between two tokens")
            before, after = (
                list(part) if isinstance(part, tuple) else given.get(part.text, [part])
                for part in (out.pop(), body[at + 1])
            )
            out.append((*before[:-1], *_joined([*before[-1:], *after[:1]], macro.position), *after[1:]))
            at += 2
        return out

    def _arguments(self, tokens: list[Token], at: int, macro: Token) -> tuple[list[list[Token]], int]:
        arguments: list[list[Token]] = [[]]
        depth = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.text == "(" and depth == 0:
                depth = 1
                continue
            depth += (token.text in "([{") - (token.text in ")]}")
            if depth == 0:
                return arguments, at
            if token.text == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)
        raise Mistake(macro.position, f"the arguments of macro {macro.text} have no end")


def _joined(tokens: list[Token], position: Position) -> list[Token]:
    """Return one token of two, or both where these make none, as the preprocessor of p4c does (cpp for assembler)."""
    text = "".join(t.text for t in tokens)
    made = tokens_of(text, position.file, in_macro=True) if text else []
    return [t.at(position) for t in (made if len(made) == 1 else tokens)]


def _divided(a: int, b: int) -> int:
    """Return a quotient, cut towards 0."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": _divided, "%": lambda a, b: a - b * _divided(a, b)},
)


@dataclass
class _Condition:
    """The integer expression of an #if; unknown names are 0."""

    tokens: list[Token]
    position: Position
    at: int = 0

    def value(self) -> int:
        value = self._binary(0, 0)
        if self.at != len(self.tokens):
            raise Mistake(self.position, f"malformed condition at '{self.tokens[self.at].text}'")
        return value

    def _binary(self, level: int, depth: int) -> int:
        if depth > 50:
            raise Mistake(self.position, "condition nested too deep")
        if level == len(BINARY):
            return self._unary(depth + 1)
        value = self._binary(level + 1, depth)
        while self.at < len(self.tokens) and self.tokens[self.at].text in BINARY[level]:
            operator = self.tokens[self.at].text
            self.at += 1
            other = self._binary(level + 1, depth)
            if operator in "/%" and other == 0:
                raise Mistake(self.position, "the condition divides by zero")
            value = BINARY[level][operator](value, other)
        return value

    def _unary(self, depth: int) -> int:
        if self.at >= len(self.tokens):
            raise Mistake(self.position, "the condition ends early")
        token = self.tokens[self.at]
        self.at += 1
        if token.text == "(":
            value = self._binary(0, depth + 1)
            if self.at >= len(self.tokens) or self.tokens[self.at].text != ")":
                raise Mistake(self.position, "missing ')' in the condition")
            self.at += 1
            return value
        if token.text in ("!", "-", "~"):
            if depth > 50:
                raise Mistake(self.position, "condition nested too deep")
            value = self._unary(depth + 1)
            return {"!": int(not value), "-": -value, "~": ~value}[token.text]
        if token.kind == "number":
            return number(token)[0]
        if token.kind == "name":
            return 0
        raise Mistake(token.position, f"malformed condition at '{token.text}'")
