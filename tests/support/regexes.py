"""Random regular expressions and texts, and a plain runner of their automata."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from jumpgate.dataflow.regex import automaton

_LETTERS = "abcAB1 _-.\n\té€😀ſKßΣσς"
_CLASSES = (
    *(r"\d", r"\s", r"\W", r"\D", r"\S", "[a-c]", "[^a]", "[[:alpha:]]", "[^[:^punct:]b]", "[aé-€_]", r"[^\n]"),
    *(r"[\d_]", r"\x61", r"\u{e9}", "[]a]", "[^]]", "[a-]", "[^-a]", r"\x{1F600}", r"[\.\]]"),
)
_GROUPS = ("(", "(?:", "(?i:", "(?s:", "(?-i:", "(?s-i:", "(?P<n>")
_COUNTS = ("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}")


class Patterns:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pattern(self) -> str:
        flags = self.random.choice(("", "", "", "(?i)", "(?s)"))
        found = flags + self._alternatives(self.random.choice((0, 1, 2, 3)))
        return found.replace("(?P<n>", "(", max(0, found.count("(?P<n>") - 1))

    def text(self) -> str:
        return "".join(self.random.choice(_LETTERS) for _ in range(self.random.choice((0, 1, 2, 3, 5, 8, 13))))

    def _alternatives(self, depth: int) -> str:
        branches = range(self.random.choice((1, 1, 1, 2, 3)))
        return "|".join("".join(self._item(depth) for _ in range(self.random.randrange(5))) for _ in branches)

    def _item(self, depth: int) -> str:
        found, kind = self._atom(depth), self.random.random()
        if kind > 0.3 or found in ("^", "$", r"\A", r"\z"):
            return found
        return found + self.random.choice(_COUNTS) + self.random.choice(("", "", "?"))

    def _atom(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.5 or depth == 0:
            letter = self.random.choice(_LETTERS)
            return {"\n": r"\n", "\t": r"\t", ".": r"\."}.get(letter, letter)
        if kind < 0.6:
            return "."
        if kind < 0.72:
            return self.random.choice(_CLASSES)
        if kind < 0.76:
            return self.random.choice(("^", "$", r"\A", r"\z"))
        return f"{self.random.choice(_GROUPS)}{self._alternatives(depth - 1)})"


class Automaton:
    """Runs an automaton as encoded by automaton.py, step by step."""

    def __init__(self, encoded: bytes) -> None:
        self.classes = encoded[:256]
        self.begins, self.later, _, _, self.width, rows = automaton._HEADER.unpack_from(encoded, 256)
        self.rows: tuple[int, ...] = struct.unpack_from(f"<{self.width * rows}I", encoded, 256 + automaton._HEADER.size)

    def next(self, state: int, byte: int) -> int:
        return self.rows[state + 1 + self.classes[byte]]

    def ends(self, state: int, with_text: bool) -> bool:
        return bool(self.rows[state] & (3 if with_text else 1))


def matches(pattern: str, text: str) -> bool:
    machine = Automaton(automaton.matcher(pattern))
    state = machine.begins
    for byte in text.encode():
        if state <= machine.width:
            break
        state = machine.next(state, byte)
    return machine.ends(state, True)


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """First byte and the one after the last of each match; an empty one does not follow another at once."""
    encoded, data = automaton.finder(pattern), text.encode()
    size = struct.unpack_from("<Q", encoded)[0]
    ends, begins = Automaton(encoded[8 : 8 + size]), Automaton(encoded[8 + size :])
    at, last = 0, -1
    while at <= len(data):
        state, end = (ends.later if at else ends.begins), -1
        for i in range(at, len(data) + 1):
            end = i if ends.ends(state, i == len(data)) else end
            state = ends.next(state, data[i]) if i < len(data) else 0
        if end < 0:
            return
        state, begin = (begins.begins if end == len(data) else begins.later), -1
        for i in range(end, at - 1, -1):
            begin = i if begins.ends(state, i == 0) else begin
            state = begins.next(state, data[i - 1]) if i > at else 0
        if begin == end == last:
            at, last = end + 1, -1
            while at < len(data) and data[at] & 0xC0 == 0x80:
                at += 1
        else:
            yield begin, end
            at = last = end
