"""Byte positions in a tuple format: offsets of `row`, buffers of `columnar`. README.md gives the reasons."""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.dataflow.types import DataType
from jumpgate.ntf.descriptor import COLUMNAR_ALIGNMENT, Descriptor

#: bytes of a string in a row tuple: uint32 offset into the variable section, uint32 length
TEXT_WIDTH = 8
#: bytes of a decimal in a columnar buffer, whatever its precision (Arrow's decimal128)
COLUMNAR_DECIMAL_WIDTH = 16


@dataclass(frozen=True)
class RowField:
    """One field of a row tuple: its offset and width in bytes, and the number of its null bit."""

    type: DataType
    offset: int
    width: int
    null_bit: int


@dataclass(frozen=True)
class RowLayout:
    """A row tuple's fixed part: `stride` bytes, of which the first `null_bytes` (perhaps 0) are the null bit vector."""

    fields: tuple[RowField, ...]
    null_bytes: int
    stride: int

    @property
    def texts(self) -> tuple[RowField, ...]:
        """Return the fields whose bytes are in the variable section, in the order in which each tuple stores them
        there."""
        return tuple(f for f in self.fields if f.type.is_text)


def row_layout(descriptor: Descriptor) -> RowLayout:
    """Return the offsets of a descriptor with layout `row`."""
    at = null_bytes = _bitmap_bytes(len(descriptor.schema)) if _has_null_bits(descriptor) else 0
    fields = []
    for i, field in enumerate(descriptor.schema):
        width = TEXT_WIDTH if field.type.is_text else field.type.width
        natural = TEXT_WIDTH // 2 if field.type.is_text else width
        at = _round_up(at, min(natural, descriptor.alignment))
        fields.append(RowField(field.type, at, width, i))
        at += width
    return RowLayout(tuple(fields), null_bytes, _round_up(at, descriptor.alignment))


def _has_null_bits(descriptor: Descriptor) -> bool:
    """Return whether tuples have null bits: packed ones whose fields are never NULL have none."""
    return not descriptor.packed or any(field.type.nullable for field in descriptor.schema)


def presence_bytes(columns: int) -> int:
    """Return the size of a columnar payload's first buffer: one bit a column says whether it has a validity bitmap."""
    return _bitmap_bytes(columns)


def columnar_bits(type: DataType) -> int:
    """Return the bits of one value in a columnar buffer; of a string, those of its offset."""
    if type.is_text:
        return 32
    if type.kind == "bool":
        return 1
    return 8 * (COLUMNAR_DECIMAL_WIDTH if type.kind == "decimal" else type.width)


def padded(size: int) -> int:
    """Return the bytes that a columnar buffer of `size` bytes takes up."""
    return _round_up(size, COLUMNAR_ALIGNMENT)


def _bitmap_bytes(bits: int) -> int:
    return (bits + 7) // 8


def _round_up(size: int, to: int) -> int:
    return -(-size // to) * to
