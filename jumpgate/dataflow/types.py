"""Jumpgate's data types: SQL's scalar types and structs, lists and maps of them, mapped one to one to Arrow.

A nested value is passed on as one value and taken apart; nothing else computes on it. A column of a file with any other
type is *opaque*: its type only describes it, and nothing computes on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

KINDS = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "float32",
    "float64",
    "decimal",
    "date",
    "timestamp",
    "string",
    "binary",
    "time",
    "timestamp_ns",
    "timestamptz",
    "timestamptz_ns",
    "duration",
)
NESTED = ("struct", "list", "map")
OPAQUE = "opaque"
#: deeper types are opaque
NESTING_MAX = 32
INTEGERS = ("int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
#: kinds of moments, whose values count from 1970-01-01 00:00:00 in UTC; such a type names the zone that people see
ZONED = ("timestamptz", "timestamptz_ns")
#: units of durations
UNITS = ("s", "ms", "us", "ns")
_TEXTS = frozenset(("string", "binary", *NESTED))
_WIDTHS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float32": 4,
    "float64": 8,
    "date": 4,
    **dict.fromkeys(("timestamp", "time", "timestamp_ns", "timestamptz", "timestamptz_ns", "duration"), 8),
}
#: zones whose clocks show UTC
UTC_NAMES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00", "-00:00", "+00", "-00", "+0000", "-0000")
_ZONE = re.compile(r"[A-Za-z0-9_+\-/:]{1,64}")


@dataclass(frozen=True)
class DataType:
    """One type. `precision` and `scale` matter for decimal only, `zone` for timestamptz, `unit` for duration. `parts`
    are a struct's fields, a list's element, or a map's key and value; all nullable but the key.

    time is microseconds of the day, timestamp microseconds since 1970-01-01 00:00:00, of clocks without a zone;
    timestamptz likewise, in UTC; `_ns` counts nanoseconds.

    The kind `opaque`, of which `description` says what the file has there (`list<int64>`), stands only in the schema of
    a Read and in what passes its columns on; the compiler refuses a plan that needs the values.
    """

    kind: str
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    description: str = ""
    parts: tuple[Field, ...] = ()
    zone: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, *NESTED, OPAQUE):
            raise ValueError(f"unknown type {self.kind!r}; Jumpgate has {', '.join((*KINDS, *NESTED))}")
        if self.is_nested or self.parts:
            self._check_parts()
        if self.is_opaque != bool(self.description):
            raise ValueError("an opaque type needs a description, and no other has one")
        if self.kind == "decimal" and not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise ValueError(f"decimal({self.precision}, {self.scale}): precision is 1 to 38, scale 0 to precision")
        if self.is_zoned != bool(self.zone) or (self.zone and not _ZONE.fullmatch(self.zone)):
            raise ValueError(
                f"{self.kind}({self.zone[:80]}): timestamptz needs the name of a zone, and no other has one"
            )
        if (self.kind == "duration") != bool(self.unit) or (self.unit and self.unit not in UNITS):
            raise ValueError(
                f"{self.kind}({self.unit[:80]}): duration needs a unit of {', '.join(UNITS)}, and no other"
            )

    def _check_parts(self) -> None:
        names = tuple(p.name for p in self.parts)
        if self.kind != "struct" and names != {"list": ("element",), "map": ("key", "value")}.get(self.kind, ()):
            raise ValueError(f"a {self.kind} has no parts {', '.join(names) or 'at all'}")
        if len(set(names)) < len(names):
            raise ValueError("two fields of a struct have one name")
        for part in self.parts:
            if part.type.is_opaque:
                raise ValueError(f"{part.name} is a {part.type.name}, which Jumpgate has no type for")
            if part.type.nullable == (self.kind == "map" and part.name == "key"):
                raise ValueError("parts of a nested type are nullable, but for a map's key")
        if self.depth > NESTING_MAX:
            raise ValueError(f"a type of more than {NESTING_MAX} levels")

    def with_nullable(self, nullable: bool) -> DataType:
        """Return the same type, with or without NULLs."""
        return self if self.nullable == nullable else self._otherwise_nullable

    @cached_property
    def _otherwise_nullable(self) -> DataType:
        return replace(self, nullable=not self.nullable)

    def same(self, other: DataType) -> bool:
        """Return whether the types are equal except for nullability."""
        other = other.with_nullable(self.nullable)
        return self is other or self == other

    def alike(self, other: DataType) -> bool:
        """Return whether the types are equal except for nullability and the names of structs' fields: values have the
        same bytes."""
        if not self.is_nested or self.kind != other.kind:
            return self.same(other)
        pairs = zip(self.parts, other.parts, strict=False)
        return len(self.parts) == len(other.parts) and all(a.type.alike(b.type) for a, b in pairs)

    @property
    def is_opaque(self) -> bool:
        """Return whether the type is unknown to Jumpgate: such columns can be skipped, not read."""
        return self.kind == OPAQUE

    @property
    def is_zoned(self) -> bool:
        """Return whether it is a moment, with a time zone in which people see it."""
        return self.kind in ZONED

    @property
    def is_utc(self) -> bool:
        """Return whether it is a moment seen in UTC: the clock's parts are those of the stored value."""
        return self.zone in UTC_NAMES

    @property
    def is_nested(self) -> bool:
        """Return whether it is a struct, a list or a map."""
        return self.kind in NESTED

    @cached_property
    def depth(self) -> int:
        """Return the levels of nesting: 0 for a scalar."""
        return 1 + max((p.type.depth for p in self.parts), default=0) if self.is_nested else 0

    @property
    def is_integer(self) -> bool:
        """Return whether it is one of the integers of 8 to 64 bits."""
        return self.kind in INTEGERS

    @property
    def is_float(self) -> bool:
        """Return whether it is float32 or float64."""
        return self.kind in FLOATS

    @property
    def is_numeric(self) -> bool:
        """Return whether it is an integer, a float or a decimal."""
        return self.is_integer or self.is_float or self.kind == "decimal"

    @property
    def is_text(self) -> bool:
        """Return whether a value is bytes of any length: nested ones are encoded (jumpgate/ntf/README.md)."""
        return self.kind in _TEXTS

    @property
    def physical(self) -> DataType:
        """Return its type on an edge: a nested value is binary."""
        return DataType("binary", nullable=self.nullable) if self.is_nested else self

    @cached_property
    def width(self) -> int:
        """Bytes of one fixed-width value in memory; 16 for the (pointer, length) of bytes. No opaque type has one."""
        if self.is_text:
            return 16
        if self.kind == "decimal":
            return 8 if self.precision <= 18 else 16
        return _WIDTHS[self.kind]

    @property
    def name(self) -> str:
        """The type without its nullability, as messages have it."""
        if self.kind == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        if self.kind == "struct":
            return f"struct<{', '.join(f'{p.name} {p.type.name}' for p in self.parts)}>"
        if self.is_nested:
            return f"{self.kind}<{', '.join(p.type.name for p in self.parts)}>"
        attribute = self.zone or self.unit
        return f"{self.kind}({attribute})" if attribute else self.description or self.kind

    def __str__(self) -> str:
        return self.name + ("?" if self.nullable else "")


def decimal(precision: int, scale: int = 0, nullable: bool = True) -> DataType:
    """Exact numbers of `precision` digits, `scale` of them behind the point. Raises ValueError beyond 38 digits."""
    return DataType("decimal", precision, scale, nullable)


def timestamp_of(unit: str, zone: str | None) -> DataType:
    """Return the type of Arrow's timestamps; units other than nanoseconds become microseconds. Raises ValueError for a
    zone that has no name."""
    nanos = "_ns" if unit == "ns" else ""
    return DataType(f"timestamptz{nanos}", zone=zone) if zone else DataType(f"timestamp{nanos}")


def timestamptz(zone: str = "UTC", nullable: bool = True) -> DataType:
    """Moments in microseconds, seen in a time zone. Raises ValueError for a zone that has no name."""
    return DataType("timestamptz", nullable=nullable, zone=zone)


def timestamptz_ns(zone: str = "UTC", nullable: bool = True) -> DataType:
    """Moments in nanoseconds, seen in a time zone. Raises ValueError for a zone that has no name."""
    return DataType("timestamptz_ns", nullable=nullable, zone=zone)


def duration(unit: str = "us", nullable: bool = True) -> DataType:
    """Spans of time, counted in `unit`: s, ms, us or ns. Raises ValueError for another unit."""
    return DataType("duration", nullable=nullable, unit=unit)


def struct(*fields: Field, nullable: bool = True) -> DataType:
    """`struct(Field("a", int64))`; the fields become nullable."""
    parts = tuple(Field(f.name, f.type.with_nullable(True)) for f in fields)
    return DataType("struct", nullable=nullable, parts=parts)


def list_(element: DataType, nullable: bool = True) -> DataType:
    """Lists of one type, whose elements become nullable."""
    return DataType("list", nullable=nullable, parts=(Field("element", element.with_nullable(True)),))


def map_(key: DataType, value: DataType, nullable: bool = True) -> DataType:
    """Maps from keys, which are never NULL, to values, which become nullable."""
    parts = (Field("key", key.with_nullable(False)), Field("value", value.with_nullable(True)))
    return DataType("map", nullable=nullable, parts=parts)


def opaque(description: str, nullable: bool = True) -> DataType:
    """Return a type for which Jumpgate has none of its own: `opaque("list<int64>")`."""
    return DataType(OPAQUE, nullable=nullable, description=description)


def not_read(name: str, type: DataType) -> str:
    """Return the sentence that refuses a use of an opaque column."""
    article = "an" if type.name[0] in "aeio" else "a"
    way_out = "name the columns that you need, with select or columns=[…]"
    return f"column {name!r} is {article} {type.name}, which Jumpgate does not read (yet); {way_out}"


bool_ = DataType("bool")
int8, int16, int32, int64 = (DataType(k) for k in INTEGERS)
float32, float64 = (DataType(k) for k in FLOATS)
date = DataType("date")
timestamp = DataType("timestamp")
timestamp_ns = DataType("timestamp_ns")
time = DataType("time")
string = DataType("string")
binary = DataType("binary")


def parse_type(text: str) -> DataType:
    """`decimal(7, 2)?` → DataType; the inverse of str() but for opaque types. A trailing ? means nullable. timestamptz
    without a zone is in UTC, duration without a unit in microseconds.

    >>> str(parse_type("struct<a int64, b list<map<string, decimal(7, 2)>>>"))
    'struct<a int64, b list<map<string, decimal(7, 2)>>>'
    """
    nullable = text.endswith("?")
    body = text.rstrip("?").strip()
    if body.endswith(">") and (kind := body.partition("<")[0]) in NESTED:
        return _parse_nested(kind, _split(body[len(kind) + 1 : -1]), nullable)
    if body.startswith("decimal"):
        precision, _, scale = body[len("decimal") :].strip("() ").partition(",")
        return decimal(int(precision), int(scale or 0), nullable)
    kind, _, attribute = body.partition("(")
    attribute = attribute.removesuffix(")").strip()
    if kind in ZONED:
        return DataType(kind, nullable=nullable, zone=attribute or "UTC")
    if kind == "duration":
        return duration(attribute or "us", nullable)
    return DataType(body, nullable=nullable)


def _parse_nested(kind: str, parts: list[str], nullable: bool) -> DataType:
    if kind == "struct":
        pairs = (part.partition(" ")[::2] for part in parts)
        return struct(*(Field(name, parse_type(type)) for name, type in pairs), nullable=nullable)
    types = [parse_type(part) for part in parts]
    if kind == "list" and len(types) == 1:
        return list_(types[0], nullable)
    if kind == "map" and len(types) == 2:
        return map_(types[0], types[1], nullable)
    raise ValueError(f"a {kind} of {len(types)} types")


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, start, depth = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, last] if (last := text[start:].strip()) else parts


@dataclass(frozen=True)
class Field:
    """A column. `path`: if the compiler has read it out of a struct column, that column's name and then the fields'."""

    name: str
    type: DataType
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class Schema:
    """Ordered fields. Names may repeat after a join; positions identify columns everywhere past the builder."""

    fields: tuple[Field, ...]

    @staticmethod
    def of(**types: DataType) -> Schema:
        """`Schema.of(a=int64, b=string)`."""
        return Schema(tuple(Field(n, t) for n, t in types.items()))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, index: int) -> Field:
        return self.fields[index]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order; they may repeat."""
        return tuple(f.name for f in self.fields)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Return the positions of each name."""
        found: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            found.setdefault(name, []).append(i)
        return found

    @cached_property
    def types(self) -> tuple[DataType, ...]:
        """The columns' types, in order."""
        return tuple(f.type for f in self.fields)

    def select(self, indices: tuple[int, ...]) -> Schema:
        """The columns at these positions, in that order."""
        return Schema(tuple(self.fields[i] for i in indices))

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.fields)) + ")"
