"""Text of one file → tokens with their positions. Comments vanish; each directive line becomes one token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jumpgate.p4.compiler.frontend.source import Mistake, Position

KEYWORDS = frozenset(
    [
        "abstract",
        "action",
        "apply",
        "bit",
        "bool",
        "const",
        "control",
        "default",
        "else",
        "enum",
        "error",
        "exit",
        "extern",
        "false",
        "header",
        "header_union",
        "if",
        "in",
        "inout",
        "int",
        "match_kind",
        "out",
        "package",
        "parser",
        "return",
        "select",
        "state",
        "string",
        "struct",
        "switch",
        "table",
        "this",
        "transition",
        "true",
        "tuple",
        "type",
        "typedef",
        "varbit",
        "valueset",
        "void",
    ]
)

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\f]+)
  | (?P<line>//[^\n]*)
  | (?P<block>/\*)
  | (?P<newline>\n)
  | (?P<joined>\\[ \t]*\r?\n)
  | (?P<number>(?:[0-9]+[ws])?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|0[dD][0-9_]+|[0-9][0-9_]*)\w*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<op>\#\#?|&&&|\.\.|\|\+\||\|-\||\+\+|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=(){}\[\];:,.?@])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: name, number, string, op, directive (text after `#`), or end."""

    kind: str
    text: str
    position: Position
    glued: bool = False  # a `>` that another `>` or `>=` follows at once: together they may be a shift

    def at(self, position: Position) -> Token:
        """The same token as if written elsewhere: a macro's tokens stand where the macro is used."""
        return Token(self.kind, self.text, position, self.glued)


def tokens_of(text: str, file: str, line: int = 1, column: int = 1, in_macro: bool = False) -> list[Token]:
    """All tokens of a text; `in_macro`: of a macro's body, which has no directives. Raises Mistake for a character that
    P4 does not know and for an open comment."""
    out: list[Token] = []
    at, start = 0, -(column - 1)  # start: offset of the line's first character
    fresh = not in_macro  # nothing but space so far in this line
    while at < len(text):
        position = Position(file, line, at - start + 1)
        if fresh and text[at] == "#":
            content, at, lines = _directive(text, at + 1)
            out.append(Token("directive", content, position))
            line += lines
            start = text.rfind("\n", 0, at) + 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise Mistake(position, f"unexpected character {text[at]!r}")
        kind, at = str(match.lastgroup), match.end()
        if kind == "newline":
            line, start, fresh = line + 1, at, True
        elif kind == "joined":
            line, start = line + 1, at
        elif kind == "block":
            end = text.find("*/", at)
            if end < 0:
                raise Mistake(position, "comment without an end")
            line += text.count("\n", at, end)
            if "\n" in text[at:end]:
                start = text.rfind("\n", at, end) + 1
            at = end + 2
        elif kind not in ("space", "line"):
            word = match.group()
            out.append(Token(kind, word, position, word == ">" and text[at : at + 1] == ">"))
            fresh = False
    return out


def _directive(text: str, at: int) -> tuple[str, int, int]:
    """(content without comments, offset of its end, newlines inside) of a directive; a backslash continues the line."""
    content, lines = "", 0
    while True:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        piece = text[at:end].rstrip()  # as GCC does, take spaces behind the backslash for none
        if not piece.endswith("\\") or end == len(text):
            content += piece
            break
        content += piece[:-1] + " "
        at, lines = end + 1, lines + 1
    content = re.sub(r"//.*|/\*.*?\*/", " ", content)
    return content.strip(), end, lines


def number(token: Token) -> tuple[int, int | None, bool]:
    """(value, width, signed) of a number: `8w0xff`, `4s-…` needs its sign outside, plain integers have no width.

    Raises Mistake for digits that do not belong there and values that do not fit.
    """
    match = re.fullmatch(r"(?:([0-9]+)([ws]))?(0[xX]|0[bB]|0[oO]|0[dD])?([0-9a-fA-F_]+)", token.text)
    base = {"0x": 16, "0b": 2, "0o": 8, "0d": 10}
    try:
        if match is None:
            raise ValueError
        if len(match[4]) > 700 or len(match[1] or "") > 5:
            raise Mistake(token.position, "number too large")
        value = int(match[4].replace("_", "") or "?", base[match[3].lower()] if match[3] else 10)
    except ValueError:
        raise Mistake(token.position, f"malformed number '{token.text[:40]}'") from None
    if match[1] is None:
        return value, None, False
    width, signed = int(match[1]), match[2] == "s"
    if width == 0 or value >= 1 << (width - signed):
        raise Mistake(token.position, f"{value} does not fit in {'int' if signed else 'bit'}<{width}>")
    return value, width, signed
