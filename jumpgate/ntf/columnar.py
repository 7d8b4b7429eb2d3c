"""The columnar layout: a batch as consecutive Arrow buffers, each at a multiple of 64 bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.errors import ProtocolError
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.layout import columnar_bits, padded, presence_bytes

_ZEROS = bytes(64)
_I32 = struct.Struct("<i")


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


class Decoder:
    """Wraps payloads of one format. Work that is the same for every frame is done once."""

    def __init__(self, descriptor: Descriptor, types: Sequence[pa.DataType]) -> None:
        self._columns = [
            (f.name, type, f.type.nullable, f.type.is_text, columnar_bits(f.type))
            for f, type in zip(descriptor.schema, types, strict=True)
        ]

    def __call__(self, payload: pa.Buffer, rows: int) -> list[pa.Array]:
        at, size, from_buffers = 0, payload.size, pa.Array.from_buffers

        def take(wanted: int, what: str) -> pa.Buffer:
            nonlocal at
            start, at = at, at + (wanted + 63 & -64)
            if at > size:
                raise ProtocolError(f"a frame too short for '{what}'")
            return payload.slice(start, wanted)

        presence = memoryview(take(presence_bytes(len(self._columns)), "the presence bits"))
        arrays = []
        for i, (name, type, nullable, is_text, bits) in enumerate(self._columns):
            validity = None
            if presence[i >> 3] >> (i & 7) & 1:
                if not nullable:
                    raise ProtocolError(f"NULLs in column '{name}', which has none")
                validity = take(rows + 7 >> 3, name)
            if is_text:
                offsets = take(4 * rows + 4, name)
                characters = take(_text_bytes(offsets, rows, name), name)
                _check_offsets(offsets, characters, rows, name)
                buffers = [validity, offsets, characters]
            else:
                buffers = [validity, take(rows * bits + 7 >> 3, name)]
            arrays.append(from_buffers(type, rows, buffers, -1 if validity else 0))
        if at != size:
            raise ProtocolError(f"{size - at} bytes too many in a frame")
        return arrays


def _text_bytes(offsets: pa.Buffer, rows: int, name: str) -> int:
    """Return the length of the characters, as the last offset has it. Raises ProtocolError where it is negative."""
    size: int = _I32.unpack_from(offsets, 4 * rows)[0]
    if size < 0:
        raise _not_ascending(name)
    return size


def _check_offsets(offsets: pa.Buffer, characters: pa.Buffer, rows: int, name: str) -> None:
    """Raise ProtocolError unless the offsets ascend from zero: characters would be read out of bounds otherwise."""
    try:
        pa.Array.from_buffers(pa.binary(), rows, [None, offsets, characters], 0).validate(full=True)
    except pa.ArrowInvalid:
        raise _not_ascending(name) from None
    if _I32.unpack_from(offsets)[0] != 0:
        raise _not_ascending(name)


def _not_ascending(name: str) -> ProtocolError:
    return ProtocolError(f"offsets of column '{name}' that do not ascend from zero")


def _from_start(array: pa.Array) -> pa.Array:
    """Return the same values without an offset into shared buffers."""
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
        ends = pc.subtract(ends, pa.scalar(first, pa.int32()))  # Arrow would widen them for a plain number
    characters = memoryview(data)[first:last] if data is not None else memoryview(b"")
    return memoryview(ends.buffers()[1])[: 4 * (rows + 1)], characters
