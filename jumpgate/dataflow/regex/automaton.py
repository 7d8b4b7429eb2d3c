"""Compiles a regular expression's tree to deterministic automata over UTF-8 bytes, which generated code runs.

Thompson's construction gives an automaton with choices, in the order that Rust's engines prefer; the subset
construction makes it deterministic. `matcher` tests for a match anywhere. `finder` finds the leftmost match that a
backtracking engine would find first: one automaton reads forwards to its end, one backwards from there to its start
(Cox, Regular Expression Matching in the Wild, 2010). Both take time that is linear in the text.

An automaton is 256 classes of bytes, six numbers (`_HEADER`), and a row for each state: flags (1: a match ends here, 2:
one ends here if the text does), then the next state for each class. A state is the position of its row; 0 is dead. In a
`matcher`, state 1 is a match. ncas/runtime/src/functions/regex.cpp runs it.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.regex.syntax import Chars, Either, End, Node, Ranges, Repeat, Sequence, Start, parse

#: the most entries of all rows, steps of one construction, states before it
ENTRIES_MAX, STEPS_MAX, STATES_MAX = 1 << 17, 400_000, 4000
#: states: where the text begins, where it has begun before, and in which a search is between matches; the byte that it
#: then waits for (256: no single one), entries of a row, rows
_HEADER = struct.Struct("<6I")
_ENDS, _ENDS_WITH_TEXT = 1, 2
#: first and last byte, next state
Arc = tuple[int, int, int]
#: ranges of code points by the length of their UTF-8: the lead byte of the first, and how many bytes follow
_LENGTHS = ((0, 0x7F, 0x00, 0), (0x80, 0x7FF, 0xC0, 1), (0x800, 0xFFFF, 0xE0, 2), (0x10000, 0x10FFFF, 0xF0, 3))


@functools.lru_cache(256)
def matcher(pattern: str) -> bytes:
    """Compile a test for a match anywhere in the text. Raises TypeMismatch: the pattern is unsupported, or needs too
    much."""
    nfa = _Nfa(pattern, backwards=False)
    return _Dfa(nfa, nfa.searching(nfa.built(parse(pattern))), "any").encoded()


@functools.lru_cache(256)
def finder(pattern: str) -> bytes:
    """Compile a search: the length of an automaton that finds a match's end, that automaton, and one for its start."""
    nfa = _Nfa(pattern, backwards=False)
    ends = _Dfa(nfa, nfa.searching(nfa.built(parse(pattern))), "first").encoded()
    reverse = _Nfa(pattern, backwards=True)
    return struct.pack("<Q", len(ends)) + ends + _Dfa(reverse, reverse.built(parse(pattern)), "all").encoded()


class _Nfa:
    """States with choices: arcs on bytes, or the next states without one, the preferred first."""

    def __init__(self, pattern: str, backwards: bool) -> None:
        self.pattern, self.backwards = pattern, backwards
        self.arcs: list[tuple[Arc, ...]] = []
        self.free: list[tuple[int, ...]] = []
        self.asserts: dict[int, type[Node]] = {}
        self.match = self._state()

    def built(self, node: Node) -> int:
        """Return the state in which a match of `node` begins."""
        return self._before(node, self.match)

    def searching(self, start: int) -> int:
        """Return the state that tries a match here, and then at every later byte."""
        again = self._state()
        try_ = self._state(free=(start, again))
        self.arcs[again] = ((0, 255, try_),)
        return try_

    def too_large(self) -> TypeMismatch:
        return TypeMismatch(f"regular expression {self.pattern!r}: its automaton is too large")

    def _state(self, arcs: tuple[Arc, ...] = (), free: tuple[int, ...] = ()) -> int:
        if len(self.arcs) >= STATES_MAX:
            raise self.too_large()
        self.arcs.append(arcs)
        self.free.append(free)
        return len(self.arcs) - 1

    def _before(self, node: Node, then: int) -> int:
        """Return the state in which a match of `node` begins that continues in `then`."""
        match node:
            case Chars(ranges):
                return self._chars(ranges, then)
            case Start() | End():
                state = self._state(free=(then,))
                text_begins = isinstance(node, Start) != self.backwards
                self.asserts[state] = Start if text_begins else End
                return state
            case Sequence(items):
                for item in items if self.backwards else reversed(items):
                    then = self._before(item, then)
                return then
            case Either(items):
                return self._state(free=tuple(self._before(item, then) for item in items))
            case Repeat():
                return self._repeat(node, then)
        raise TypeError(f"no automaton for {type(node).__name__}")

    def _repeat(self, node: Repeat, then: int) -> int:
        item, greedy = node.item, node.greedy
        if node.most is None and node.least == 0 and _may_be_empty(item):
            return self._choice(self._repeat(Repeat(item, 1, None, greedy), then), then, greedy)
        if node.most is None:
            again = self._state()
            first = self._before(item, again)
            self.free[again] = (first, then) if greedy else (then, first)
            then, copies = (first, node.least - 1) if node.least else (again, 0)
        else:
            out, copies = then, node.least
            for _ in range(node.most - node.least):
                then = self._choice(self._before(item, then), out, greedy)
        for _ in range(copies):
            then = self._before(item, then)
        return then

    def _choice(self, one: int, other: int, greedy: bool) -> int:
        return self._state(free=(one, other) if greedy else (other, one))

    def _chars(self, ranges: Ranges, then: int) -> int:
        nodes = _utf8(ranges)
        if not self.backwards:
            made: list[int] = []
            for arcs in nodes:  # the last is the root; those it leads to come before
                made.append(self._state(tuple((a, b, then if t < 0 else made[t]) for a, b, t in arcs)))
            return made[-1]
        made = [self._state() for _ in nodes[:-1]] + [then]
        into: dict[int, list[Arc]] = {}
        for at, arcs in zip(made, nodes, strict=True):
            for a, b, t in arcs:
                into.setdefault(t, []).append((a, b, at))
        for t, found in into.items():
            if t >= 0:
                self.arcs[made[t]] = tuple(found)
        return self._state(tuple(into.get(-1, ())))


def _may_be_empty(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Sequence(items):
            return all(map(_may_be_empty, items))
        case Either(items):
            return any(map(_may_be_empty, items))
        case Repeat(item, least):
            return least == 0 or _may_be_empty(item)
    return True


@functools.lru_cache(1024)
def _utf8(ranges: Ranges) -> tuple[tuple[Arc, ...], ...]:
    """Return nodes of arcs that read one code point of `ranges`; -1 is the end. Reading starts at the last node."""
    nodes: dict[tuple[Arc, ...], int] = {}
    known: dict[tuple[Ranges, int], int] = {}

    def node(ranges: list[tuple[int, int]], follow: int) -> int:
        """Add a node for the next `follow` bytes, of six bits each."""
        if not follow:
            return -1
        key = tuple(ranges), follow
        if key not in known:
            known[key] = nodes.setdefault(arcs(ranges, follow, 0x80), len(nodes))
        return known[key]

    def arcs(ranges: Iterable[tuple[int, int]], follow: int, base: int) -> tuple[Arc, ...]:
        size = 64 ** (follow - 1)
        parts: dict[int, list[tuple[int, int]]] = {}
        for low, high in ranges:
            for digit in range(low // size, high // size + 1):
                begin = digit * size
                parts.setdefault(digit, []).append((max(low, begin) - begin, min(high, begin + size - 1) - begin))
        found: list[Arc] = []
        for digit, part in sorted(parts.items()):
            target = node(part, follow - 1)
            if found and found[-1][1:] == (base + digit - 1, target):
                found[-1] = (found[-1][0], base + digit, target)
            else:
                found.append((base + digit, base + digit, target))
        return tuple(found)

    root: list[Arc] = []
    for first, last, lead, follow in _LENGTHS:
        part = [(max(low, first), min(high, last)) for low, high in ranges if low <= last and high >= first]
        root += arcs(part, follow + 1, lead)
    return (*nodes, tuple(root))


class _Dfa:
    """The automaton without choices. kind: `any` ends in a state of its own at the first match; `first` keeps the
    preference, and drops what is preferred less than a match; `all` sees every match."""

    def __init__(self, nfa: _Nfa, start: int, kind: str) -> None:
        self._nfa, self._kind, self._steps = nfa, kind, 0
        self._classes, self._of_byte = self._byte_classes()
        self._by_class = [self._spread(arcs) for arcs in nfa.arcs]
        #: rows by what they stand for: states in order, and whether the text begins there
        self._numbers: dict[tuple[tuple[int, ...], bool], int] = {}
        self._rows: list[list[int]] = []
        self._number((), False)
        if kind == "any":
            self._number((nfa.match,), False)
        self._text, self._later = (self._number(self._closure((start,), at), at) for at in (True, False))
        done = 0
        pending = list(self._numbers)
        while done < len(pending):
            states, _ = pending[done]
            row = self._rows[done]
            if not (kind == "any" and nfa.match in states):
                row += (self._number(self._closure(self._moved(states, c), False), False) for c in range(self._classes))
            else:
                row += [done] * self._classes
            done += 1
            pending += list(self._numbers)[len(pending) :]
            if len(self._rows) * (self._classes + 1) > ENTRIES_MAX:
                raise nfa.too_large()

    def encoded(self) -> bytes:
        width = self._classes + 1
        entries = [n for flags, *following in self._rows for n in (flags, *(f * width for f in following))]
        leaving = [b for b in range(256) if self._rows[self._later][1 + self._of_byte[b]] != self._later]
        waits_for = leaving[0] if len(leaving) == 1 and not self._rows[self._later][0] & _ENDS else 256
        header = _HEADER.pack(
            self._text * width, self._later * width, self._later * width, waits_for, width, len(self._rows)
        )
        return bytes(self._of_byte) + header + struct.pack(f"<{len(entries)}I", *entries)

    def _byte_classes(self) -> tuple[int, list[int]]:
        """Return the number of classes of bytes that no arc distinguishes, and the class of each byte."""
        cuts = {edge for arcs in self._nfa.arcs for low, high, _ in arcs for edge in (low, high + 1)} - {0, 256}
        found, number = [], 0
        for byte in range(256):
            number += byte in cuts
            found.append(number)
        return number + 1, found

    def _spread(self, arcs: tuple[Arc, ...]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for low, high, target in arcs:
            for c in range(self._of_byte[low], self._of_byte[high] + 1):
                found.setdefault(c, []).append(target)
        return found

    def _moved(self, states: tuple[int, ...], byte_class: int) -> list[int]:
        self._steps += 1 + len(states) // 8
        if self._steps > STEPS_MAX:
            raise self._nfa.too_large()
        return [target for s in states for target in self._by_class[s].get(byte_class, ())]

    def _closure(self, states: Iterable[int], text_begins: bool, text_ends: bool = False) -> tuple[int, ...]:
        """Return the states reachable without a byte, in the order of preference; asserted ends stay until the text
        ends."""
        nfa, found, seen = self._nfa, [], set()
        pending = list(states)[::-1]
        while pending:
            state = pending.pop()
            if state in seen:
                continue
            seen.add(state)
            self._steps += 1
            asserted = nfa.asserts.get(state)
            if asserted is Start and not text_begins:
                continue
            if asserted is End and not text_ends:
                found.append(state)
                continue
            if state == nfa.match or nfa.arcs[state]:
                found.append(state)
                if state == nfa.match and self._kind == "first":
                    break
            pending += reversed(nfa.free[state])
        if self._kind == "any" and nfa.match in found:
            return (nfa.match,)
        return tuple(found) if self._kind == "first" else tuple(sorted(found))

    def _number(self, states: tuple[int, ...], text_begins: bool) -> int:
        key = states, text_begins and any(s in self._nfa.asserts for s in states)
        if key not in self._numbers:
            self._numbers[key] = len(self._rows)
            flags = _ENDS * (self._nfa.match in states)
            flags |= _ENDS_WITH_TEXT * (self._nfa.match in self._closure(states, text_begins, True))
            self._rows.append([flags])
        return self._numbers[key]
