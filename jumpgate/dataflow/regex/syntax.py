"""Parses a regular expression's text into a tree, strictly: syntax that is rare or has another meaning elsewhere is
refused.

Unicode is on, as in Rust: \\d, \\w and \\s are Unicode's, case folding is simple, a dot is any code point but a line
feed, and ^ and $ are the ends of the text. Supported are literals, escapes, classes, groups, alternatives, repetitions,
lazy ones too, and the flags i and s.
"""

from __future__ import annotations

import functools
import string as ascii_text
from dataclasses import dataclass

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.regex import tables

#: first and last code point of each range, ascending, with gaps between
Ranges = tuple[tuple[int, int], ...]
LAST = 0x10FFFF
#: of one repetition {n,m}
COUNT_MAX = 100
DEPTH_MAX = 50
_SURROGATES = (0xD800, 0xDFFF)
_LINE_FEED: Ranges = ((10, 10),)


@dataclass(frozen=True)
class Node:
    """A part of an expression."""


@dataclass(frozen=True)
class Chars(Node):
    """One code point out of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Start(Node):
    """The beginning of the text."""


@dataclass(frozen=True)
class End(Node):
    """The end of the text."""


@dataclass(frozen=True)
class Sequence(Node):
    """One after the other; none: empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Either(Node):
    """The first that leads to a match."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat(Node):
    """`least` to `most` times (None: any number), as often as possible if greedy, else as seldom."""

    item: Node
    least: int
    most: int | None
    greedy: bool


def parse(pattern: str) -> Node:
    """The pattern as a tree; raises TypeMismatch with the reason."""
    parser = _Parser(pattern)
    found = parser.alternatives(False, False, 0)
    if parser.at < len(pattern):
        raise parser.unknown("')' without a '('")
    return found


# ---- sets of code points ---------------------------------------------------------------------------------------------


def union(*parts: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(r for part in parts for r in part):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """All other code points that text can have."""
    found, at = [], 0
    for low, high in (*union(ranges, (_SURROGATES,)), (LAST + 1, LAST + 1)):
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    return tuple(found)


@functools.cache
def _known(name: str) -> Ranges:
    """\\w, \\d, \\s."""
    text = {"w": tables.WORD, "d": tables.DIGIT, "s": tables.SPACE}[name]
    pairs = (item.split("-") for item in text.split())
    return tuple((int(low, 16), int(high, 16)) for low, high in pairs)


@functools.cache
def _equals() -> dict[int, str]:
    return {ord(c): group for group in tables.EQUAL.split() for c in group}


def folded(ranges: Ranges) -> Ranges:
    """Add all code points that are equal to one of them when case does not count."""
    more = [
        (ord(c), ord(c))
        for point, group in _equals().items()
        if any(low <= point <= high for low, high in ranges)
        for c in group
    ]
    return union(ranges, tuple(more))


_POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "digit": ((48, 57),),
    "lower": ((97, 122),),
    "upper": ((65, 90),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7}


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.names: set[str] = set()

    def unknown(self, what: str) -> TypeMismatch:
        return self.refused(f"{what} is not known here")

    def refused(self, why: str) -> TypeMismatch:
        return TypeMismatch(f"regular expression {self.pattern!r}: {why}")

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise self.refused("it ends too soon")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self, fold: bool, all_: bool, depth: int) -> Node:
        """Up to the end or a closing parenthesis. fold: the flag i; all_: the flag s."""
        if depth > DEPTH_MAX:
            raise self.unknown(f"nesting of more than {DEPTH_MAX}")
        branches: list[Node] = []
        items: list[Node] = []
        while self.at < len(self.pattern) and not self.peek(")"):
            if self.take("|"):
                branches.append(_sequence(items))
                items = []
            elif self.peek("(?") and (flags := self._flags(fold, all_)) is not None:
                fold, all_ = flags
            else:
                items.append(self._repeated(self._atom(fold, all_, depth)))
        branches.append(_sequence(items))
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def _flags(self, fold: bool, all_: bool) -> tuple[bool, bool] | None:
        """Parse flags such as (?i), which hold until the group's end; None for a group."""
        begin = self.at
        self.at += 1
        found = self._flag_letters(fold, all_)
        if found is not None and self.take(")"):
            return found
        self.at = begin
        return None

    def _flag_letters(self, fold: bool, all_: bool) -> tuple[bool, bool] | None:
        """Parse "?" and letters after a parenthesis; None if there are no flags."""
        self.at += 1
        on, any_ = True, False
        while self.at < len(self.pattern) and self.pattern[self.at] in "is-":
            letter = self.next()
            if letter == "-":
                on = False
            elif letter == "i":
                fold = on
            else:
                all_ = on
            any_ = letter != "-"
        return (fold, all_) if any_ else None

    def _atom(self, fold: bool, all_: bool, depth: int) -> Node:
        c = self.next()
        match c:
            case "(":
                return self._group(fold, all_, depth)
            case "[":
                return self._class(fold)
            case ".":
                return Chars(complement(() if all_ else _LINE_FEED))
            case "^":
                return Start()
            case "$":
                return End()
            case "\\":
                return self._escape(fold)
            case "*" | "+" | "?" | "{":
                raise self.unknown(f"{c!r} after nothing")
        return self._literal(ord(c), fold)

    def _literal(self, point: int, fold: bool) -> Node:
        ranges: Ranges = ((point, point),)
        return Chars(folded(ranges) if fold else ranges)

    def _group(self, fold: bool, all_: bool, depth: int) -> Node:
        if self.take("?P<") or self.take("?<"):
            name, end, _ = self.pattern[self.at :].partition(">")
            if not end or not name.isidentifier() or not name.isascii() or name in self.names:
                raise self.unknown(f"the group's name {name!r}")
            self.names.add(name)
            self.at += len(name) + 1
        elif self.peek("?") and not self.take("?:"):
            flags = self._flag_letters(fold, all_)
            if flags is None or not self.take(":"):
                raise self.unknown("a group of this kind")
            fold, all_ = flags
        found = self.alternatives(fold, all_, depth + 1)
        if not self.take(")"):
            raise self.unknown("'(' without a ')'")
        return found

    def _repeated(self, item: Node) -> Node:
        while self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            if isinstance(item, Start | End):
                raise self.unknown("a repeated ^ or $")
            least, most = self._count()
            item = Repeat(item, least, most, not self.take("?"))
        return item

    def _count(self) -> tuple[int, int | None]:
        c = self.next()
        if c != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[c]
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at : end].partition(",")
        numbers = [n for n in (low, high) if n]
        if end < 0 or not low or not all(n.isascii() and n.isdigit() for n in numbers):
            raise self.unknown("'{' without a count")
        self.at = end + 1
        if max(map(int, numbers)) > COUNT_MAX:
            raise self.unknown(f"a repetition of more than {COUNT_MAX}")
        least, most = int(low), int(high) if high else None if comma else int(low)
        if most is not None and most < least:
            raise self.unknown("a count that descends")
        return least, most

    def _escape(self, fold: bool) -> Node:
        if self.take("A"):
            return Start()
        if self.take("z"):
            return End()
        found = self._escaped()
        return self._literal(found, fold) if isinstance(found, int) else Chars(found)

    def _escaped(self) -> int | Ranges:
        """Parse a code point or a class after a backslash."""
        c = self.next()
        if c in "wds":
            return _known(c)
        if c in "WDS":
            return complement(_known(c.lower()))
        if c in _CONTROLS:
            return _CONTROLS[c]
        if c in "xuU":
            return self._number(c)
        if c in ascii_text.punctuation and c not in "<>":
            return ord(c)
        raise self.unknown(f"\\{c}")

    def _number(self, kind: str) -> int:
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            digits, self.at = self.pattern[self.at : max(end, self.at)], end + 1
        else:
            size = {"x": 2, "u": 4, "U": 8}[kind]
            digits = self.pattern[self.at : self.at + size]
            self.at += size
            digits = digits if len(digits) == size else ""
        if not 1 <= len(digits) <= 8 or not set(digits) <= set(ascii_text.hexdigits):
            raise self.unknown(f"\\{kind} without its digits")
        point = int(digits, 16)
        if point > LAST or _SURROGATES[0] <= point <= _SURROGATES[1]:
            raise self.unknown(f"the code point {digits}")
        return point

    def _class(self, fold: bool) -> Node:
        negated = self.take("^")
        parts: list[Ranges] = []
        first = True
        while first or not self.peek("]"):
            item = self._class_item(first)
            first = False
            if isinstance(item, int) and self.peek("-") and not self.peek("-]"):
                self.at += 1
                high = self._class_item(False)
                if not isinstance(high, int) or high < item:
                    raise self.unknown("a range that does not ascend")
                item = ((item, high),)
            elif isinstance(item, int):
                item = ((item, item),)
            parts.append(item)
        self.at += 1
        found = union(*parts)
        found = folded(found) if fold else found
        return Chars(complement(found) if negated else found)

    def _class_item(self, first: bool) -> int | Ranges:
        if self.take("[:"):
            negated, end = self.take("^"), self.pattern.find(":]", self.at)
            name, self.at = self.pattern[self.at : max(end, self.at)], end + 2
            if end < 0 or name not in _POSIX:
                raise self.unknown(f"the class {name!r}")
            return complement(_POSIX[name]) if negated else _POSIX[name]
        if any(map(self.peek, ("[", "&&", "--", "~~"))):
            raise self.unknown("a class of classes")
        c = self.next()
        if c == "-" and not (first or self.peek("]")):
            raise self.unknown("'-' within a class")
        return self._escaped() if c == "\\" else ord(c)


def _sequence(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Sequence(tuple(items))
