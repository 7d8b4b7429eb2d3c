"""Jumpgate's data types: SQL's scalar types, each nullable, mapped one to one to Arrow and Substrait.

A column of a file whose type is none of them is *opaque*: its type says only what it is, and nothing computes on it.
"""

from __future__ import annotations

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
)
OPAQUE = "opaque"
INTEGERS = ("int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class DataType:
    """One scalar type. `precision` and `scale` matter for decimal only; timestamp is microseconds, no zone.

    The kind `opaque`, of which `description` says what the file has there (`list<int64>`), stands only in the schema of
    a Read and in what passes its columns on; the compiler refuses a plan that needs the values.
    """

    kind: str
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    description: str = ""

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, OPAQUE):
            raise ValueError(f"unknown type {self.kind!r}; Jumpgate has {', '.join(KINDS)}")
        if self.is_opaque != bool(self.description):
            raise ValueError("an opaque type needs a description, and no other has one")
        if self.kind == "decimal" and not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise ValueError(f"decimal({self.precision}, {self.scale}): precision is 1 to 38, scale 0 to precision")

    def with_nullable(self, nullable: bool) -> DataType:
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def same(self, other: DataType) -> bool:
        """Equal but for nullability."""
        mine, theirs = (self.kind, self.precision, self.scale), (other.kind, other.precision, other.scale)
        return mine == theirs and self.description == other.description

    @property
    def is_opaque(self) -> bool:
        return self.kind == OPAQUE

    @property
    def is_integer(self) -> bool:
        return self.kind in INTEGERS

    @property
    def is_float(self) -> bool:
        return self.kind in FLOATS

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float or self.kind == "decimal"

    @property
    def is_text(self) -> bool:
        return self.kind in ("string", "binary")

    @property
    def width(self) -> int:
        """Bytes of one fixed-width value in memory; 16 for the (pointer, length) of string and binary. No opaque type
        has one."""
        if self.kind == "decimal":
            return 8 if self.precision <= 18 else 16
        return {
            "bool": 1,
            "int8": 1,
            "int16": 2,
            "int32": 4,
            "int64": 8,
            "float32": 4,
            "float64": 8,
            "date": 4,
            "timestamp": 8,
            "string": 16,
            "binary": 16,
        }[self.kind]

    @property
    def name(self) -> str:
        """The type without its nullability, as messages have it."""
        return f"decimal({self.precision}, {self.scale})" if self.kind == "decimal" else self.description or self.kind

    def __str__(self) -> str:
        return self.name + ("?" if self.nullable else "")


def decimal(precision: int, scale: int = 0, nullable: bool = True) -> DataType:
    return DataType("decimal", precision, scale, nullable)


def opaque(description: str, nullable: bool = True) -> DataType:
    """What Jumpgate has no type for: `opaque("list<int64>")`."""
    return DataType(OPAQUE, nullable=nullable, description=description)


def not_read(name: str, type: DataType) -> str:
    """The sentence that refuses an opaque column wherever it is needed."""
    article = "an" if type.name[0] in "aeio" else "a"
    way_out = "name the columns that you need, with select or columns=[…]"
    return f"column {name!r} is {article} {type.name}, which Jumpgate does not read (yet); {way_out}"


bool_ = DataType("bool")
int8, int16, int32, int64 = (DataType(k) for k in INTEGERS)
float32, float64 = (DataType(k) for k in FLOATS)
date = DataType("date")
timestamp = DataType("timestamp")
string = DataType("string")
binary = DataType("binary")


def parse_type(text: str) -> DataType:
    """`decimal(7, 2)?` → DataType; the inverse of str() but for opaque types. A trailing ? means nullable."""
    nullable = text.endswith("?")
    body = text.rstrip("?").strip()
    if body.startswith("decimal"):
        precision, _, scale = body[len("decimal") :].strip("() ").partition(",")
        return decimal(int(precision), int(scale or 0), nullable)
    return DataType(body, nullable=nullable)


@dataclass(frozen=True)
class Field:
    name: str
    type: DataType

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class Schema:
    """Ordered fields. Names may repeat after a join; positions identify columns everywhere past the builder."""

    fields: tuple[Field, ...]

    @staticmethod
    def of(**types: DataType) -> Schema:
        return Schema(tuple(Field(n, t) for n, t in types.items()))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, index: int) -> Field:
        return self.fields[index]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Where each name is."""
        found: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            found.setdefault(name, []).append(i)
        return found

    @cached_property
    def types(self) -> tuple[DataType, ...]:
        return tuple(f.type for f in self.fields)

    def select(self, indices: tuple[int, ...]) -> Schema:
        return Schema(tuple(self.fields[i] for i in indices))

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.fields)) + ")"
