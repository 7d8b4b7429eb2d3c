"""Thrift's compact protocol, enough to read a Parquet footer, change it, and put it back. For tests."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(13)


def rewrite_footer(path: Path, change: Callable[[dict[int, Any]], None]) -> None:
    """Applies `change` to the FileMetaData of a Parquet file.

    A struct is {field id: (type, content)}, a list (type of elements, contents), an integer an int, text bytes.
    """
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - length : -8]
    metadata, end = _read(footer, 0, _STRUCT)
    assert end == length
    change(metadata)
    new = _write(_STRUCT, metadata)
    path.write_bytes(data[: -8 - length] + new + struct.pack("<I", len(new)) + data[-4:])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _read(data: bytes, at: int, type: int) -> tuple[Any, int]:
    if type in (_TRUE, _FALSE):  # elements of lists; fields have them in their head
        return data[at] == _TRUE, at + 1
    if type == _BYTE:
        return data[at], at + 1
    if type in (_I16, _I32, _I64):
        return _zigzag(data, at)
    if type == _DOUBLE:
        return data[at : at + 8], at + 8
    if type == _BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if type in (_LIST, _SET):
        size, of, at = data[at] >> 4, data[at] & 15, at + 1
        if size == 15:
            size, at = _varint(data, at)
        items = []
        for _ in range(size):
            item, at = _read(data, at, of)
            items.append(item)
        return (of, items), at
    assert type == _STRUCT, f"type {type} is in no Parquet footer"
    fields: dict[int, Any] = {}
    number = 0
    while data[at] != _STOP:
        delta, of, at = data[at] >> 4, data[at] & 15, at + 1
        if delta:
            number += delta
        else:
            number, at = _zigzag(data, at)
        if of in (_TRUE, _FALSE):
            fields[number] = (_TRUE, of == _TRUE)
        else:
            content, at = _read(data, at, of)
            fields[number] = (of, content)
    return fields, at + 1


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _write(type: int, content: Any) -> bytes:
    if type in (_TRUE, _FALSE):
        return bytes((_TRUE if content else _FALSE,))
    if type == _BYTE:
        return bytes((content,))
    if type in (_I16, _I32, _I64):
        return _unsigned((content << 1 ^ content >> 63) & (1 << 64) - 1)
    if type == _DOUBLE:
        return bytes(content)
    if type == _BINARY:
        return _unsigned(len(content)) + bytes(content)
    if type in (_LIST, _SET):
        of, items = content
        head = bytes((len(items) << 4 | of,)) if len(items) < 15 else bytes((0xF0 | of,)) + _unsigned(len(items))
        return head + b"".join(_write(of, item) for item in items)
    out = b""
    for number, (of, value) in sorted(content.items()):
        if of == _TRUE:
            out += bytes((_TRUE if value else _FALSE,)) + _write(_I16, number)
        else:
            out += bytes((of,)) + _write(_I16, number) + _write(of, value)
    return out + b"\0"
