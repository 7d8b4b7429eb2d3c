"""Decodes nested values: bytes of a binary column (README.md, "Nested values") → Arrow structs, lists and maps.

Works on whole columns: every level of nesting costs a fixed number of operations over arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import ProtocolError
from jumpgate.ntf.codec import arrow_schema, arrow_type

Numbers = np.ndarray

#: bytes of a slot that holds where a value ends
_END = 4
#: readable bytes where there are no values
_PADDING = np.zeros(64, np.uint8)


def restore(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Restore the nested columns of `schema` in an edge's batch. Raises ProtocolError."""
    columns = [
        decode(column, field.type) if field.type.is_nested else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=restored(batch.schema, schema))


def restored(edge: pa.Schema, schema: Schema) -> pa.Schema:
    """Return the Arrow schema that `restore` gives batches of schema `edge`."""
    whole = arrow_schema(Schema(tuple(f if f.type.is_nested else Field(f.name, _SCALAR) for f in schema)))
    return pa.schema([w if f.type.is_nested else e for w, f, e in zip(whole, schema, edge, strict=True)])


def decode(column: pa.BinaryArray, type: DataType) -> pa.Array:
    """Return the column of nested values. Raises ProtocolError on malformed bytes."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    found = np.frombuffer(data, np.uint8) if data is not None else _PADDING
    valid = np.asarray(column.is_valid())
    places = _Places(found if found.size else _PADDING, ends[:-1], ends[1:], valid)
    try:
        return _array(type, places.of_valid())
    except (IndexError, ValueError, pa.ArrowException) as error:
        raise ProtocolError(f"bytes that do not make a {type.name}: {error}") from None


@dataclass(frozen=True)
class _Places:
    """Positions of values: data[start:end] for valid ones; both are 0 for the others."""

    data: Numbers
    start: Numbers
    end: Numbers
    valid: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def of_valid(self) -> _Places:
        if self.valid.all():
            return self
        return replace(self, start=np.where(self.valid, self.start, 0), end=np.where(self.valid, self.end, 0))

    def fixed(self, start: Numbers, dtype: str) -> Numbers:
        """Return the values of that type at `start`; those under NULL are arbitrary."""
        width = np.dtype(dtype).itemsize
        spread: Numbers = self.data[start[:, None] + np.arange(width)]
        return spread.view(dtype)[:, 0]

    def bit(self, start: Numbers, number: Numbers | int) -> Numbers:
        """Return bit `number` of the bitmap at `start`; false for invalid values."""
        taken: Numbers = self.data[np.where(self.valid, start + number // 8, 0)]
        return self.valid & ((taken >> (number % 8)) & 1).astype(np.bool_)


def _array(type: DataType, at: _Places) -> pa.Array:
    if type.kind == "struct":
        return _struct(type, at)
    if type.kind in ("list", "map"):
        return _list(type, at)
    return _bytes(type, at) if type.is_text else _scalars(type, at)


def _scalars(type: DataType, at: _Places) -> pa.Array:
    start = np.where(at.valid, at.start, 0)
    if type.kind == "bool":
        return pa.array(at.fixed(start, "u1").astype(np.bool_), mask=~at.valid)
    if type.kind == "decimal":
        words = np.empty((len(at), 2), np.int64)
        words[:, 0] = at.fixed(start, "<i8")
        words[:, 1] = at.fixed(start + 8, "<i8") if type.width == 16 else words[:, 0] >> 63
    else:
        words = at.data[start[:, None] + np.arange(type.width)]
    return pa.Array.from_buffers(arrow_type(type), len(at), [_validity(at.valid), pa.py_buffer(words)])


def _bytes(type: DataType, at: _Places) -> pa.Array:
    lengths = at.end - at.start
    if (lengths < 0).any():
        raise ValueError("a value that ends before it starts")
    offsets = _offsets(lengths)
    index = np.repeat(at.start - offsets[:-1], lengths) + np.arange(offsets[-1])
    buffers = [_validity(at.valid), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(at.data[index])]
    return pa.Array.from_buffers(arrow_type(type), len(at), buffers)


def _struct(type: DataType, at: _Places) -> pa.Array:
    slot = (len(type.parts) + 7) // 8
    before = at.start + slot + sum(_slot_width(p.type) for p in type.parts)  # start of the next variable-length value
    children = []
    for i, part in enumerate(type.parts):
        valid = at.bit(at.start, i)
        place = at.start + slot
        end = place
        if part.type.is_text:
            ends = at.start + at.fixed(np.where(at.valid, place, 0), "<u4")
            place, before, end = before, ends, ends
        children.append(_array(part.type, _Places(at.data, place, end, valid).of_valid()))
        slot += _slot_width(part.type)
    return pa.Array.from_buffers(arrow_type(type), len(at), [_validity(at.valid)], children=children)


def _list(type: DataType, at: _Places) -> pa.Array:
    element = type.parts[0].type if type.kind == "list" else _entry(type)
    counts = np.where(at.valid, at.fixed(np.where(at.valid, at.start, 0), "<u4"), 0).astype(np.int64)
    if (counts > (at.end - at.start) * 8).any():
        raise ValueError("more elements than bytes")
    offsets = _offsets(counts)
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    start, count = np.repeat(at.start, counts), np.repeat(counts, counts)
    slots = start + 4 + (count + 7) // 8
    place = slots + number * _slot_width(element)
    inside = _Places(at.data, start, start, np.ones(len(start), np.bool_))
    valid = inside.bit(start + 4, number)
    end = place
    if element.is_text:
        end = start + inside.fixed(place, "<u4")
        first = slots + count * _END
        place = np.where(number == 0, first, np.concatenate((_PADDING[:1], end[:-1])))
    values = _array(element, _Places(at.data, place, end, valid).of_valid())
    buffers = [_validity(at.valid), pa.py_buffer(offsets.astype(np.int32))]
    return pa.Array.from_buffers(arrow_type(type), len(at), buffers, children=[values])


def _entry(type: DataType) -> DataType:
    """Return the type of a map's entries: structs. Arrow guarantees that their key is not NULL."""
    return DataType(
        "struct", nullable=False, parts=tuple(Field(p.name, p.type.with_nullable(True)) for p in type.parts)
    )


def _slot_width(type: DataType) -> int:
    return _END if type.is_text else type.width


def _offsets(lengths: Numbers) -> Numbers:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError("more than 2 GiB of values in one batch")
    return offsets


def _validity(valid: Numbers) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


_SCALAR = DataType("bool")
