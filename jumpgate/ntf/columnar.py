"""The columnar layout: a batch as Arrow's buffers one after the other, each at a multiple of 64 bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.errors import ProtocolError
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.layout import columnar_buffers, padded, presence_bytes

_ZEROS = bytes(64)


def encode(descriptor: Descriptor, columns: Sequence[pa.Array], rows: int) -> bytes:
    presence = bytearray(presence_bytes(len(columns)))
    pieces: list[memoryview | bytearray] = [presence]
    for i, (field, array) in enumerate(zip(descriptor.schema, columns, strict=True)):
        array = _from_start(array)
        buffers = array.buffers()
        if array.null_count:
            presence[i // 8] |= 1 << (i % 8)
            pieces.append(_bits(buffers[0], rows))
        if field.type.kind == "bool":
            pieces.append(_bits(buffers[1], rows))
        elif field.type.is_text:
            shown = array.cast(pa.binary()).fill_null(b"") if array.null_count else array  # NULLs may cover characters
            _, offsets, characters = shown.buffers()
            pieces.extend(_text(offsets, characters, rows))
        else:
            pieces.append(memoryview(buffers[1])[: rows * array.type.byte_width])
    return b"".join(part for piece in pieces for part in (piece, _ZEROS[: padded(len(piece)) - len(piece)]))


def decode(descriptor: Descriptor, types: Sequence[pa.DataType], payload: pa.Buffer, rows: int) -> list[pa.Array]:
    taken = _Taker(payload)
    presence = memoryview(taken.take(presence_bytes(len(types)), "the presence bits"))
    arrays = []
    for i, (field, type) in enumerate(zip(descriptor.schema, types, strict=True)):
        has_nulls = bool(presence[i // 8] >> (i % 8) & 1)
        if has_nulls and not field.type.nullable:
            raise ProtocolError(f"NULLs in column '{field.name}', which has none")
        buffers = [taken.take(size, field.name) for _, size in columnar_buffers(field.type, rows, has_nulls)]
        if not has_nulls:
            buffers.insert(0, None)
        if field.type.is_text:
            buffers.append(taken.take(_text_bytes(buffers[1], rows, field.name), field.name))
        arrays.append(pa.Array.from_buffers(type, rows, buffers, -1 if has_nulls else 0))
    taken.finish()
    return arrays


class _Taker:
    """Hands out a payload's buffers in order."""

    def __init__(self, payload: pa.Buffer) -> None:
        self._payload, self._at = payload, 0

    def take(self, size: int, what: str) -> pa.Buffer:
        if self._payload.size - self._at < padded(size):
            raise ProtocolError(f"a frame too short for '{what}'")
        buffer = self._payload.slice(self._at, size)
        self._at += padded(size)
        return buffer

    def finish(self) -> None:
        if self._at != self._payload.size:
            raise ProtocolError(f"{self._payload.size - self._at} bytes too many in a frame")


def _text_bytes(offsets: pa.Buffer, rows: int, name: str) -> int:
    """How long the data buffer is; offsets that leave it would be read out of bounds later."""
    ends = pa.Array.from_buffers(pa.int32(), rows + 1, [None, offsets])
    if ends[0].as_py() != 0 or not pc.all(pc.less_equal(ends[:-1], ends[1:])).as_py():
        raise ProtocolError(f"offsets of column '{name}' that do not ascend from zero")
    size: int = ends[-1].as_py()
    return size


def _from_start(array: pa.Array) -> pa.Array:
    """The same values with no offset into shared buffers."""
    if array.offset == 0:
        return array
    return pa.concat_arrays([array, array[:0]])


def _bits(bitmap: pa.Buffer, rows: int) -> bytearray:
    bits = bytearray(memoryview(bitmap)[: (rows + 7) // 8])
    if rows % 8:
        bits[-1] &= (1 << rows % 8) - 1
    return bits


def _text(offsets: pa.Buffer, data: pa.Buffer | None, rows: int) -> tuple[memoryview, memoryview]:
    ends = pa.Array.from_buffers(pa.int32(), rows + 1, [None, offsets])
    first, last = ends[0].as_py(), ends[-1].as_py()
    if first:
        ends = pc.subtract(ends, first)
    characters = memoryview(data)[first:last] if data is not None else memoryview(b"")
    return memoryview(ends.buffers()[1])[: 4 * (rows + 1)], characters
