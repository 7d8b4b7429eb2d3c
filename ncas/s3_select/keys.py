"""Conditions on keys of joins: lists or, of many integers, Bloom filters over strings of 0 and 1 (PushdownDB, section
V).

A hash is ((a·x + b) mod P) mod m. P is so small that a double holds each step, for keys below 2⁵³; where another key is
looked for, all rows beyond pass. Each hash has a string of its own, half of which is 1. Where the text is too long for
one request, each of several asks for a range of keys. More keys have fewer hashes, and with none they are given up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from jumpgate.ncas.s3_select.dialects import EXACT
from jumpgate.ncas.s3_select.sql import column, value

#: the largest prime below 2²⁶
PRIME = 67_108_859
#: each lets half of the other keys pass: together, 1 in 128
HASHES_MAX = 7
#: keys that a worker keeps: more do not fit into expressions
KEYS_MAX = 1 << 20
#: requests about one object; and keys of a list in a store that has Bloom filters, as each row is compared with all
REQUESTS_MAX, LISTED_MAX = 4, 200
#: bytes of a hash's text beside its string, of an integer and of a text in a list
HASH_BYTES, INTEGER_BYTES, TEXT_BYTES = 120, 12, 24

Values = Sequence[int] | Sequence[str]


class Fields(Protocol):
    """Columns as a store's SQL has them."""

    def key(self, name: str, is_text: bool) -> str:
        """Return what a key is compared with; empty if the store cannot compare it."""

    def guarded(self, name: str, test: str) -> str:
        """Return a test of a key, which NULL does not meet."""


class Columns:
    """Fields of Parquet, which have the values themselves."""

    def key(self, name: str, is_text: bool) -> str:
        return column(name)

    def guarded(self, name: str, test: str) -> str:
        return test


@dataclass(frozen=True)
class Shape:
    """How many requests about an object look for keys, each by so many hashes; 0: by a list."""

    requests: int
    hashes: int

    @property
    def rate(self) -> float:
        """Return the fraction of other keys that pass."""
        return 2.0**-self.hashes if self.hashes else 0.0

    def __str__(self) -> str:
        how = f"Bloom filters that 1 in {2**self.hashes} other keys pass" if self.hashes else "lists"
        return f"keys of a join as {how}, {self.requests} × an object"


def shape_of(
    count: float, is_text: bool, has_hashes: bool, room: int, requests_max: int = REQUESTS_MAX
) -> Shape | None:
    """Return the fewest other keys' shape for so many keys in statements with `room` bytes left; None: too many."""
    if is_text or not has_hashes or count <= LISTED_MAX:
        requests = _parts(count * (TEXT_BYTES if is_text else INTEGER_BYTES), room)
        return Shape(requests, 0) if requests <= (1 if is_text else requests_max) else None
    for hashes in range(HASHES_MAX, 0, -1):
        requests = _parts(hashes * count / math.log(2), room - hashes * HASH_BYTES)
        if requests <= requests_max:
            return Shape(requests, hashes)
    return None


def _parts(bytes: float, room: int) -> int:
    return max(1, math.ceil(bytes / room)) if room > 0 else REQUESTS_MAX + 1


@dataclass(frozen=True)
class Condition:
    """A request's condition. `instead`: where rows are read by ranges; no row meets those of two requests."""

    where: str = ""
    instead: str = ""


def conditions(
    found: Sequence[tuple[str, Values]], has_hashes: bool, room: int, fields: Fields | None = None
) -> list[Condition]:
    """Return the conditions of the requests about an object, for the values that each column may have; no condition if
    one may have none."""
    if not all(values for _, values in found):
        return []
    fields = fields or Columns()
    single: list[Condition] = []
    several: list[Condition] = [Condition()]
    for name, values in sorted(found, key=lambda of: len(of[1])):
        is_text = isinstance(values[0], str)
        left = room - sum(len(of.where.encode()) + 5 for of in (*single, max(several, key=lambda c: len(c.where))))
        shape = shape_of(len(values), is_text, has_hashes, left, 1 if len(several) > 1 else REQUESTS_MAX)
        made = [] if shape is None else [*_made(name, values, shape, fields)]
        if not made or any(len(of.where.encode()) > left for of in made):
            continue
        if len(made) > 1:
            several = made
        else:
            single += made
    return [
        Condition(_all(of.where for of in (*single, one)), _all(of.instead for of in (*single, one))) for one in several
    ]


def _all(terms: Iterable[str]) -> str:
    return " AND ".join(filter(None, terms))


def _made(name: str, values: Values, shape: Shape, fields: Fields) -> Iterator[Condition]:
    """Yield the condition of each request; none if the store cannot tell such keys."""
    is_text = isinstance(values[0], str)
    key, plain = fields.key(name, is_text), column(name)
    if not key:
        return
    if is_text:
        texts = sorted(map(str, values))
        yield Condition(fields.guarded(name, _listed(key, texts)), _listed(plain, texts))
        return
    numbers = sorted(int(v) for v in values)
    near = [n for n in numbers if abs(n) < EXACT]
    if len(near) < len(numbers) and key != plain:  # a cast may have rounded such a key
        return
    if shape.requests == 1 and not shape.hashes:
        yield Condition(fields.guarded(name, _listed(key, numbers)), _listed(plain, numbers))
        return
    least, most = numbers[0] <= -EXACT, numbers[-1] >= EXACT
    each = max(1, math.ceil(len(near) / shape.requests))
    parts = [near[start : start + each] for start in range(0, len(near), each)] or [[]]
    for number, part in enumerate(parts):
        low, high = number > 0 or not least, number < len(parts) - 1 or not most
        far = [f"{key} <= {-EXACT:d}"] * (not low) + [f"{key} >= {EXACT:d}"] * (not high)
        looked = [_bloom(key, part, shape.hashes) if shape.hashes else _listed(key, part)] if part else []
        test = _all([_bounds(key, part, low, high), f"({' OR '.join([*looked, *far])})"])
        yield Condition(fields.guarded(name, test), _bounds(plain, part, low, high))


def _bounds(key: str, part: Sequence[int], low: bool, high: bool) -> str:
    """Return the condition that a key is not below, or above, those of a request."""
    return _all([f"{key} >= {part[0]:d}" if part and low else "", f"{key} <= {part[-1]:d}" if part and high else ""])


def _listed(key: str, values: Values) -> str:
    return f"{key} IN ({', '.join(map(value, values))})"


def _bloom(name: str, keys: Sequence[int], hashes: int) -> str:
    """Return the condition that a Bloom filter of the keys has a column's value."""
    width = max(8, math.ceil(len(keys) / math.log(2)))
    terms = []
    for number in range(hashes):
        chance = random.Random(number)  # equal keys give equal statements
        a, b = chance.randrange(1, PRIME), chance.randrange(PRIME)
        bits = bytearray(b"0" * width)
        for key in keys:
            bits[(a * (key % PRIME) + b) % PRIME % width] = 0x31
        # the remainder of a negative number is negative in SQL
        hash = f"(({a:d} * (({name} % {PRIME:d} + {PRIME:d}) % {PRIME:d}) + {b:d}) % {PRIME:d}) % {width:d}"
        terms.append(f"SUBSTRING('{bits.decode()}', {hash} + 1, 1) = '1'")
    return f"({' AND '.join(terms)})"
