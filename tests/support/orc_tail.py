"""Takes ORC files apart and puts them together again, so that tests can write files as other writers do.

Only files whose tails are not compressed. Field numbers are those of orc_proto.proto (ORC specification, version 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = b"ORC"
VARINT, FIXED64, BYTES = 0, 1, 2
#: streams of a stripe's index: row index and Bloom filters
INDEX_STREAMS = (6, 7, 8)


@dataclass
class Message:
    """A protobuf message as (field number, wire type, value), in order."""

    fields: list[tuple[int, int, int | bytes]] = field(default_factory=list)

    @classmethod
    def parse(cls, data: bytes) -> Message:
        found: list[tuple[int, int, int | bytes]] = []
        at = 0
        while at < len(data):
            key, at = _read_varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == VARINT:
                value, at = _read_varint(data, at)
                found.append((number, wire, value))
                continue
            size, at = (8, at) if wire == FIXED64 else _read_varint(data, at)
            found.append((number, wire, data[at : at + size]))
            at += size
        return cls(found)

    def encode(self) -> bytes:
        out = bytearray()
        for number, wire, value in self.fields:
            out += _varint(number << 3 | wire)
            if isinstance(value, int):
                out += _varint(value)
            else:
                out += (_varint(len(value)) if wire == BYTES else b"") + value
        return bytes(out)

    def integer(self, number: int) -> int:
        """The last varint of that number; 0 where there is none."""
        return next((v for n, _, v in reversed(self.fields) if n == number and isinstance(v, int)), 0)

    def messages(self, number: int) -> list[Message]:
        return [Message.parse(v) for n, _, v in self.fields if n == number and isinstance(v, bytes)]

    def put(self, number: int, *values: int | bytes | Message) -> Message:
        """Replaces all fields of that number, where the first of them is; returns itself."""
        at = next((i for i, f in enumerate(self.fields) if f[0] == number), len(self.fields))
        self.fields = [f for f in self.fields if f[0] != number]
        encoded = [v.encode() if isinstance(v, Message) else v for v in values]
        self.fields[at:at] = [(number, VARINT if isinstance(v, int) else BYTES, v) for v in encoded]
        return self

    def each(self, number: int, change: Callable[[Message], Message]) -> Message:
        """Replaces each message of that number."""
        return self.put(number, *[change(m) for m in self.messages(number)])


@dataclass
class Stripe:
    information: Message
    index: bytes
    data: bytes
    footer: Message


@dataclass
class OrcFile:
    postscript: Message
    footer: Message
    metadata: Message
    stripes: list[Stripe]

    @classmethod
    def read(cls, path: str | Path) -> OrcFile:
        data = Path(path).read_bytes()
        end = len(data) - 1 - data[-1]
        postscript = Message.parse(data[end:-1])
        assert postscript.integer(2) == 0, "the file is compressed"
        footer_at = end - postscript.integer(1)
        footer = Message.parse(data[footer_at:end])
        metadata = Message.parse(data[footer_at - postscript.integer(5) : footer_at])
        stripes = []
        for information in footer.messages(3):
            start, sizes = information.integer(1), [information.integer(n) for n in (2, 3, 4)]
            parts = []
            for size in sizes:
                parts.append(data[start : start + size])
                start += size
            stripes.append(Stripe(information, parts[0], parts[1], Message.parse(parts[2])))
        return cls(postscript, footer, metadata, stripes)

    def write(self, path: str | Path) -> str:
        """Writes the file with the sizes and places that its parts now have; returns `path`."""
        out = bytearray(MAGIC)
        for stripe in self.stripes:
            footer = stripe.footer.encode()
            stripe.information.put(1, len(out)).put(2, len(stripe.index)).put(3, len(stripe.data)).put(4, len(footer))
            out += stripe.index + stripe.data + footer
        self.footer.put(3, *[stripe.information for stripe in self.stripes])
        metadata, footer = self.metadata.encode(), self.footer.encode()
        script = self.postscript.put(1, len(footer)).put(5, len(metadata)).encode()
        Path(path).write_bytes(out + metadata + footer + script + bytes([len(script)]))
        return str(path)

    def change_statistics(self, change: Callable[[int, int, Message], Message]) -> None:
        """Replaces the statistics of each stripe and column id (0 is the root) by change(stripe, id, statistics)."""
        stripes = [
            Message().put(1, *[change(s, id, column) for id, column in enumerate(stripe.messages(1))])
            for s, stripe in enumerate(self.metadata.messages(1))
        ]
        self.metadata.put(1, *stripes)

    def drop_indexes(self) -> None:
        """Takes the row indexes away, but leaves the stride in the footer."""
        for stripe in self.stripes:
            stripe.index = b""
            streams = [s for s in stripe.footer.messages(1) if s.integer(1) not in INDEX_STREAMS]
            stripe.footer.put(1, *streams)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def packed(values: Iterable[int]) -> bytes:
    """A packed field's varints."""
    return b"".join(map(_varint, values))
