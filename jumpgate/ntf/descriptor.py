"""The agreement of both ends of an edge before data moves: the columns and the layout of their bytes.

The canonical text is the agreement. It is compared literally, hashed for the handshake, and parsed by the C++ runtime;
jumpgate/ntf/README.md specifies it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote, unquote

from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.types import DataType, Field, Schema, not_read, parse_type

if TYPE_CHECKING:
    from jumpgate.v1 import ntf_pb2

VERSION = 1
BYTE_ORDERS = ("little", "big")
#: alignment of a columnar buffer, in bytes
COLUMNAR_ALIGNMENT = 64
ROW_ALIGNMENT_MAX = 64
COLUMNS_MAX = 65_535


@dataclass(frozen=True)
class Descriptor:
    """The network tuple format of one edge. Raises ValueError if the parameters contradict each other.

    Nested columns of the schema become binary ones in its own.

    `columnar` is always little endian, unpacked and aligned to 64 bytes. In `row`, `byte_order` is that of every number
    in the tuple; `packed` puts fields back to back (alignment 1); otherwise each field is aligned to its own width, at
    most `alignment` bytes, and a tuple's fixed part is padded to a multiple of `alignment`.
    """

    schema: Schema
    layout: Layout = Layout.COLUMNAR
    byte_order: str = "little"
    packed: bool = False
    alignment: int = COLUMNAR_ALIGNMENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", Layout(self.layout))
        if self.byte_order not in BYTE_ORDERS:
            raise ValueError(f"unknown byte order {self.byte_order!r}; there are {', '.join(BYTE_ORDERS)}")
        for field in self.schema:
            if field.type.is_opaque:
                raise ValueError(not_read(field.name, field.type))
        if any(field.type.is_nested for field in self.schema):
            physical = Schema(tuple(Field(field.name, field.type.physical) for field in self.schema))
            object.__setattr__(self, "schema", physical)
        if len(self.schema) > COLUMNS_MAX:
            raise ValueError(f"{len(self.schema)} columns; a tuple has at most {COLUMNS_MAX}")
        parameters = (self.byte_order, self.packed, self.alignment)
        match self.layout:
            case Layout.COLUMNAR:
                if parameters != ("little", False, COLUMNAR_ALIGNMENT):
                    raise ValueError(
                        f"columnar is little endian, unpacked, aligned to {COLUMNAR_ALIGNMENT}; not {parameters}"
                    )
            case Layout.ROW:
                if self.packed != (self.alignment == 1):
                    raise ValueError(
                        f"alignment {self.alignment} contradicts packed={self.packed}: packed means alignment 1"
                    )
            case _:
                assert_never(self.layout)
        if not (1 <= self.alignment <= ROW_ALIGNMENT_MAX) or self.alignment & (self.alignment - 1):
            raise ValueError(f"alignment {self.alignment} is not a power of two up to {ROW_ALIGNMENT_MAX}")

    @classmethod
    def columnar(cls, schema: Schema) -> Descriptor:
        """Return Arrow-compatible buffers, which capable devices and clients prefer."""
        return cls(schema)

    @classmethod
    def row(
        cls, schema: Schema, *, byte_order: str = "little", packed: bool = False, alignment: int | None = None
    ) -> Descriptor:
        """Return tuples with fields at known offsets; network order and packed suits a switch or an FPGA."""
        return cls(schema, Layout.ROW, byte_order, packed, alignment or (1 if packed else 8))

    @classmethod
    def of(cls, schema: Schema, layout: str) -> Descriptor:
        """Return the layout with its usual parameters."""
        match wanted := Layout(layout):
            case Layout.COLUMNAR:
                return cls.columnar(schema)
            case Layout.ROW:
                return cls.row(schema)
        assert_never(wanted)

    def text(self) -> str:
        """Return the canonical text: a head of parameters, then one field a line."""
        return self._text

    def fingerprint(self) -> str:
        """Return 32 hex digits: the first half of the text's SHA-256."""
        return hashlib.sha256(self._text.encode()).hexdigest()[:32]

    @functools.cached_property
    def _text(self) -> str:
        head = (
            f"jumpgate-ntf {VERSION}",
            f"layout {self.layout}",
            f"byte_order {self.byte_order}",
            f"packed {'yes' if self.packed else 'no'}",
            f"alignment {self.alignment}",
        )
        fields = (f"field {i} {type_text(f.type)} {_quote(f.name)}" for i, f in enumerate(self.schema))
        return "".join(f"{line}\n" for line in (*head, *fields))

    @classmethod
    def parse(cls, text: str) -> Descriptor:
        """Parse the result of text(). Raises ValueError unless `text` is canonical."""
        lines = text.split("\n")
        head = dict(line.partition(" ")[::2] for line in lines[:5])
        if head.get("jumpgate-ntf") != str(VERSION) or not head.get("alignment", "").isdecimal():
            raise ValueError(f"not the text of an NTF descriptor of version {VERSION}: {text[:80]!r}")
        fields = []
        for line in lines[5:-1]:
            words = line.split(" ")
            if len(words) != 4:
                raise ValueError(f"malformed field line in an NTF descriptor: {line[:80]!r}")
            fields.append(Field(unquote(words[3], errors="surrogatepass"), parse_type(words[2])))
        descriptor = cls(
            Schema(tuple(fields)), Layout(head.get("layout", "")), head.get("byte_order", ""),
            head.get("packed") == "yes", int(head["alignment"]),
        )  # fmt: skip
        if descriptor.text() != text:
            raise ValueError(f"the text of an NTF descriptor is not canonical: {text[:80]!r}")
        return descriptor

    def first_difference(self, other: Descriptor) -> str | None:
        """Return a clause that names the first parameter or field that differs, or None."""
        return first_difference(self.text(), other.text())

    def to_proto(self) -> ntf_pb2.NetworkTupleFormat:
        """Return the message of jumpgate/v1/ntf.proto, text and fingerprint included."""
        from jumpgate.v1 import dataflow_pb2, ntf_pb2

        fields = [
            dataflow_pb2.Field(
                name=f.name,
                type=dataflow_pb2.Type(
                    kind=f.type.kind,
                    precision=f.type.precision,
                    scale=f.type.scale,
                    required=not f.type.nullable,
                    zone=f.type.zone,
                    unit=f.type.unit,
                ),
            )
            for f in self.schema
        ]
        return ntf_pb2.NetworkTupleFormat(
            schema=dataflow_pb2.Schema(fields=fields),
            layout=self.layout.upper(), byte_order=self.byte_order.upper(),
            packed=self.packed, alignment=self.alignment, text=self.text(), fingerprint=self.fingerprint(),
        )  # fmt: skip

    @classmethod
    def from_proto(cls, message: ntf_pb2.NetworkTupleFormat) -> Descriptor:
        """Convert from the message. Raises ValueError if a parameter is unknown, or text or fingerprint do not match
        the fields."""
        from jumpgate.v1.ntf_pb2 import NetworkTupleFormat as Message

        types = [
            DataType(
                f.type.kind, f.type.precision, f.type.scale, not f.type.required, zone=f.type.zone, unit=f.type.unit
            )
            for f in message.schema.fields
        ]
        names = [f.name for f in message.schema.fields]
        descriptor = cls(
            Schema(tuple(map(Field, names, types))),
            Layout(Message.Layout.Name(message.layout).lower()), Message.ByteOrder.Name(message.byte_order).lower(),
            message.packed, message.alignment,
        )  # fmt: skip
        difference = first_difference(descriptor.text(), message.text)
        if difference or message.fingerprint != descriptor.fingerprint():
            raise ValueError(f"the descriptor's fields contradict its {difference or 'fingerprint'}")
        return descriptor


def first_difference(mine: str, theirs: str) -> str | None:
    """Compare two canonical texts: `field 3: decimal(7,2)? price here, int64 price there`."""
    for a, b in itertools.zip_longest(mine.splitlines(), theirs.splitlines()):
        if a != b:
            return f"{_place(a or b or '')}: {_said(a)} here, {_said(b)} there"
    return None


def _place(line: str) -> str:
    words = line.split(" ")
    return " ".join(words[:2]) if words[0] == "field" else words[0]


def _said(line: str | None) -> str:
    if line is None:
        return "nothing"
    words = line.split(" ")
    return " ".join(words[2:] if words[0] == "field" else words[1:])


@functools.lru_cache(maxsize=10_000)
def _quote(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def type_text(type: DataType) -> str:
    """Return a type as canonical texts have it: `decimal(7,2)?`."""
    return str(type).replace(" ", "")
