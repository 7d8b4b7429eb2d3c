"""The footer of an ORC file: rows and types. Parsed here, since Arrow's reader crashes on some damaged ones.

Messages as in orc_proto.proto of the ORC specification, version 1; converters/orc/tail.cpp understands the same parts.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import IO

from jumpgate.dataflow import types as t
from jumpgate.dataflow.opening import opened
from jumpgate.dataflow.types import DataType, Field
from jumpgate.errors import MalformedData, SchemaMismatch

#: default bytes of a chunk, and the most
BLOCK_BYTES, BLOCK_BYTES_MAX = 256 << 10, 1 << 23
#: the most bytes of a footer, and for each byte that it takes in the file
FOOTER_BYTES, FOOTER_RATIO = 16 << 20, 128
NESTED_MAX = 100
#: Hive 0.11's decimals, each of which has a scale of its own
HIVE11_DECIMAL = t.decimal(38, 10)
NONE, ZLIB, SNAPPY, LZO, LZ4, ZSTD, BROTLI = range(7)
LIST, MAP, STRUCT, UNION, DECIMAL = range(10, 15)
_SCALARS: dict[int, DataType] = {
    0: t.bool_, 1: t.int8, 2: t.int16, 3: t.int32, 4: t.int64, 5: t.float32, 6: t.float64, 7: t.string, 8: t.binary,
    9: t.timestamp, 15: t.date, 16: t.string, 17: t.string, 18: t.timestamptz(),
}  # fmt: skip
_OTHERS = {LIST: "list", MAP: "map", STRUCT: "struct", UNION: "union", 19: "geometry", 20: "geography"}

Value = int | bytes


class _Statistics(IntEnum):
    """Fields of ColumnStatistics that have a minimum and a maximum, in their fields 1 and 2."""

    INTEGERS = 2
    DOUBLES = 3
    DECIMALS = 6
    DATES = 7


@dataclass
class _Type:
    kind: int = STRUCT
    children: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    precision: int = 0
    scale: int = 0


class _Damaged(Exception):
    """The bytes are not an ORC footer; the text is the reason."""


class _Refused(Exception):
    """The file is valid, but Jumpgate does not read it; the text is the reason."""


@dataclass(frozen=True)
class Contents:
    """Rows, and each column's name and type: opaque if Jumpgate has none. `bounds` are the writer's statistics of
    numbers and dates (in days): good enough for estimates, not for answers."""

    rows: int
    columns: list[tuple[str, DataType]]
    bounds: dict[str, tuple[float, float]]


def read_footer(path: str) -> Contents:
    """Read the contents. Raises OSError, MalformedData, and SchemaMismatch for valid files that cannot be read."""
    try:
        with opened(path) as file:
            return _table(_footer(file), path)
    except (_Damaged, zlib.error, UnicodeDecodeError) as e:
        raise MalformedData(f"ORC file '{path}' is damaged or incomplete: {e}", file=path) from None
    except _Refused as e:
        raise SchemaMismatch(f"ORC file '{path}': {e}", file=path) from None


def _footer(file: IO[bytes]) -> bytes:
    """Return the footer, decompressed."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise _Damaged("it is empty")
    file.seek(max(0, size - 256))
    end = file.read(256)
    script_bytes = end[-1]
    if script_bytes >= len(end):
        raise _Damaged("its postscript is longer than the file")
    codec, block, footer_bytes, magic = NONE, BLOCK_BYTES, 0, False
    for number, value in _fields(end[-1 - script_bytes : -1]):
        match number, value:
            case 1, int():
                footer_bytes = value
            case 2, int():
                codec = value
            case 3, int():
                block = value
            case 8000, b"ORC":
                magic = True
    if not magic:  # Hive 0.11's first files have it only at the front
        file.seek(0)
        if file.read(3) != b"ORC":
            raise _Damaged("it does not end with ORC's postscript")
    if codec not in (NONE, ZLIB, SNAPPY, LZ4, ZSTD, BROTLI):
        name = "LZO" if codec == LZO else f"codec {codec}"
        raise _Refused(f"it is compressed with {name}, which is not read. Write it with zstd, snappy, zlib or lz4.")
    start = size - 1 - script_bytes - footer_bytes
    if start < 0:
        raise _Damaged("its footer is longer than the file")
    if block > BLOCK_BYTES_MAX:
        raise _Damaged("a size in its footer is out of range")
    file.seek(start)
    return _decompressed(file.read(footer_bytes), codec, block)


def _table(footer: bytes, path: str) -> Contents:
    rows, types, statistics = 0, [], []
    for number, value in _fields(footer):
        match number, value:
            case 4, bytes():
                types.append(_type(value))
            case 6, int():
                rows = value
            case 7, bytes():
                statistics.append(value)
            case 10, _:
                raise _Refused("it is encrypted")
    if not types:
        raise _Damaged("its footer has no types")
    children = [child for type_ in types for child in type_.children]
    if sorted(children) != list(range(1, len(types))) or any(
        child <= parent for parent, type_ in enumerate(types) for child in type_.children
    ):
        raise _Damaged("its types do not make a tree")
    root = types[0]
    if root.kind != STRUCT:
        raise _Refused("it is not a table: its rows are single values, not a struct of columns")
    if len(root.names) != len(root.children):
        raise _Damaged("its columns and their names differ in number")
    columns = [(n, _column(types, c)) for n, c in zip(root.names, root.children, strict=True)]
    bounds = {n: _bounds(statistics[c]) for n, c in zip(root.names, root.children, strict=True) if c < len(statistics)}
    return Contents(rows, columns, {name: known for name, known in bounds.items() if known is not None})


def _bounds(statistics: bytes) -> tuple[float, float] | None:
    """Return the bounds of a ColumnStatistics message; None if there are none, or none that can be parsed."""
    try:
        for number, value in _fields(statistics):
            if number in tuple(_Statistics) and isinstance(value, bytes):
                found = dict(_fields(value))
                low, high = _bound(number, found[1]), _bound(number, found[2])
                return (low, high) if low <= high else None
    except (_Damaged, KeyError, ValueError, struct.error):
        pass
    return None


def _bound(kind: int, value: Value) -> float:
    """Return the bound of the statistics in this field of a ColumnStatistics message."""
    match kind, value:
        case _Statistics.INTEGERS | _Statistics.DATES, int():
            return float(value >> 1 ^ -(value & 1))
        case _Statistics.DOUBLES, bytes():
            return float(struct.unpack("<d", value)[0])
        case _Statistics.DECIMALS, bytes():
            return float(value)
        case _:
            raise _Damaged("a bound in its footer is not one")


def _type(message: bytes) -> _Type:
    found = _Type()
    for number, value in _fields(message):
        match number, value:
            case 1, int():
                found.kind = value
            case 2, int():
                found.children.append(value)
            case 2, bytes():
                at = 0
                while at < len(value):
                    child, at = _varint(value, at)
                    found.children.append(child)
            case 3, bytes():
                found.names.append(value.decode())
            case 5, int():
                found.precision = value
            case 6, int():
                found.scale = value
    return found


def _column(types: list[_Type], id: int) -> DataType:
    type_ = types[id]
    if type_.kind in _SCALARS:
        return _SCALARS[type_.kind]
    if type_.kind == DECIMAL:
        if type_.precision == 0:
            return HIVE11_DECIMAL
        if type_.precision <= 38 and type_.scale <= type_.precision:
            return t.decimal(type_.precision, type_.scale)
    return _nested(types, id) or t.opaque(_description(types, id, 1))


def _nested(types: list[_Type], id: int, depth: int = 1) -> DataType | None:
    """Return the type of a struct, list or map; None if Jumpgate has no such type."""
    type_ = types[id]
    wanted = {STRUCT: len(type_.names), LIST: 1, MAP: 2}.get(type_.kind)
    if depth > t.NESTING_MAX or wanted != len(type_.children) or len(set(type_.names)) < len(type_.names):
        return None
    parts = []
    for child in type_.children:
        nested = types[child].kind in (STRUCT, LIST, MAP)
        part = _nested(types, child, depth + 1) if nested else _column(types, child)
        if part is None or part.is_opaque:
            return None
        parts.append(part)
    if type_.kind == STRUCT:
        return t.struct(*map(Field, type_.names, parts))
    return t.list_(parts[0]) if type_.kind == LIST else t.map_(parts[0], parts[1])


def _description(types: list[_Type], id: int, depth: int) -> str:
    """Describe a type for people: `list<struct<a int64, b string>>`."""
    type_ = types[id]
    if type_.kind in _SCALARS:
        return _SCALARS[type_.kind].kind
    if type_.kind == DECIMAL:
        return f"decimal({type_.precision}, {type_.scale})"
    name = _OTHERS.get(type_.kind, f"type {type_.kind}")
    if depth == NESTED_MAX:
        return f"{name}<…>"
    inside = [_description(types, child, depth + 1) for child in type_.children]
    if type_.kind == STRUCT and len(type_.names) == len(inside):
        inside = [f"{n} {text}" for n, text in zip(type_.names, inside, strict=True)]
    return f"{name}<{', '.join(inside)}>" if inside else name


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a protobuf message; fixed ones as their bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case _:
                raise _Damaged("its footer has a field of an unknown kind")
        if size > len(message) - at:
            raise _Damaged("its footer ends inside a field")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            raise _Damaged("its footer ends inside a field")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _Damaged("a number in its footer does not end")


def _decompressed(data: bytes, codec: int, block: int) -> bytes:
    if codec == NONE:
        return data
    out = bytearray()
    limit = FOOTER_BYTES + FOOTER_RATIO * len(data)
    at = 0
    while at < len(data):
        head = int.from_bytes(data[at : at + 3], "little")
        chunk = data[at + 3 : at + 3 + (head >> 1)]
        at += 3 + (head >> 1)
        if at > len(data):
            raise _Damaged("a compressed chunk of its footer does not end")
        out += chunk if head & 1 else _chunk(chunk, codec, block)
        if len(out) > limit:
            raise _Damaged("its footer is compressed beyond reason")
    return bytes(out)


def _chunk(chunk: bytes, codec: int, block: int) -> bytes:
    """Return one chunk's content: at most `block` bytes."""
    if codec == ZLIB:  # bare deflate
        return zlib.decompressobj(-15).decompress(chunk, block)
    import pyarrow as pa

    try:
        if codec in (ZSTD, BROTLI):
            name = "zstd" if codec == ZSTD else "brotli"
            with pa.CompressedInputStream(pa.BufferReader(chunk), name) as stream:
                return bytes(stream.read(block))
        size = _varint(chunk, 0)[0] if codec == SNAPPY else _lz4_size(chunk)
        if size > block:
            raise _Damaged("a compressed chunk larger than it may be")
        return bytes(pa.Codec("snappy" if codec == SNAPPY else "lz4_raw").decompress(chunk, size, asbytes=True))
    except (OSError, pa.ArrowException) as e:
        raise _Damaged(str(e)) from None


def _lz4_size(chunk: bytes) -> int:
    """Return the bytes that an LZ4 block decompresses to, from its sequences (LZ4 block format): it has no size."""
    size = at = 0

    def length(nibble: int) -> int:
        nonlocal at
        more = 255 if nibble == 15 else 0  # a byte of 255 is followed by another
        while more == 255:
            more = chunk[at]
            nibble += more
            at += 1
        return nibble

    try:
        while at < len(chunk):
            token = chunk[at]
            at += 1
            literals = length(token >> 4)
            at += literals
            size += literals
            if at >= len(chunk):
                break
            at += 2
            size += length(token & 15) + 4
    except IndexError:
        raise _Damaged("a compressed chunk of its footer does not end") from None
    return size
