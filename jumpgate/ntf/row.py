"""The row layout: tuples with a null bit vector and fields at known offsets, then one section of all their strings.

Columns are copied as strided bytes: byte b of every value of a field lies `stride` bytes apart, so one slice assignment
moves it for all rows, and the order of the b is the byte order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.errors import ProtocolError
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.layout import RowField, RowLayout, row_layout

#: unsigned bytes, or a value's bits, under which Arrow fills in zeros where NULL is
_STORAGE = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64(), 16: pa.binary(16)}


def encode(descriptor: Descriptor, columns: Sequence[pa.Array], rows: int) -> bytes:
    layout = row_layout(descriptor)
    tuples = bytearray(layout.stride * rows)
    out = _view(tuples)
    for at, bits in _null_bytes(layout, columns):
        out[at :: layout.stride] = bits
    for field, column in zip(layout.fields, columns, strict=True):
        if not field.type.is_text:
            values = _fixed_bytes(field, column, rows)
            step = 16 if field.type.kind == "decimal" else field.width
            for to, source in _byte_pairs(descriptor, field.width):
                out[field.offset + to :: layout.stride] = values[source::step]
    texts = [columns[f.null_bit].cast(pa.binary()).fill_null(b"") for f in layout.texts]
    section = _interleave(texts, rows) if texts else pa.array([], pa.binary())
    extents = _extents(section)
    for i, field in enumerate(layout.texts):
        for number, values in enumerate(extents):
            for to, source in _byte_pairs(descriptor, 4):
                out[field.offset + 4 * number + to :: layout.stride] = values[4 * i + source :: 4 * len(texts)]
    return b"".join((tuples, _characters(section)))


def decode(descriptor: Descriptor, types: Sequence[pa.DataType], payload: pa.Buffer, rows: int) -> list[pa.Array]:
    layout = row_layout(descriptor)
    if payload.size < layout.stride * rows:
        raise ProtocolError("a frame too short for its tuples")
    tuples = _view(payload)[: layout.stride * rows]
    texts = _read_texts(descriptor, layout, tuples, payload.slice(layout.stride * rows), rows)
    arrays = []
    for field, type in zip(layout.fields, types, strict=True):
        validity = _read_validity(layout, field, tuples, descriptor.schema[field.null_bit].name)
        if field.type.is_text:
            buffers = next(texts)
            if validity is not None:
                _check_empty(buffers, validity, rows)
        elif field.type.kind == "bool":
            gathered = pa.py_buffer(_gather(descriptor, layout, field, tuples))
            flags = pa.Array.from_buffers(pa.uint8(), rows, [None, gathered])
            buffers = [pc.not_equal(flags, 0).buffers()[1]]
        else:
            buffers = [pa.py_buffer(_gather(descriptor, layout, field, tuples))]
        arrays.append(pa.Array.from_buffers(type, rows, [validity, *buffers]))
    return arrays


def _view(memory: pa.Buffer | bytes | bytearray) -> memoryview:
    """Return a view of unsigned bytes: slices are assigned only between views of one format."""
    return memoryview(memory).cast("B")


def _byte_pairs(descriptor: Descriptor, width: int) -> Iterator[tuple[int, int]]:
    """Yield (byte in the tuple, byte of the little-endian value) for each byte of a number."""
    for b in range(width):
        yield b, b if descriptor.byte_order == "little" else width - 1 - b


def _fixed_bytes(field: RowField, column: pa.Array, rows: int) -> memoryview:
    """Return the column's values back to back, zero under NULL; decimals as Arrow has them, 16 bytes each."""
    if field.type.kind == "bool":
        column = column.cast(pa.uint8())
    width = column.type.byte_width
    if column.null_count:
        storage = _STORAGE[width]
        bits = pa.Array.from_buffers(storage, rows, column.buffers(), offset=column.offset)
        column = bits.fill_null(bytes(width) if width == 16 else 0)
    start = column.offset * width
    return _view(column.buffers()[1])[start : start + rows * width]


def _null_bytes(layout: RowLayout, columns: Sequence[pa.Array]) -> Iterator[tuple[int, memoryview]]:
    """Yield (byte of the null bit vector, that byte for every row); a NULL sets a bit of it."""
    for at in range(layout.null_bytes):
        total: pa.Array | None = None
        for bit, column in enumerate(columns[8 * at : 8 * at + 8]):
            if column.null_count:
                bits = pc.multiply(column.is_null().cast(pa.uint8()), pa.scalar(1 << bit, pa.uint8()))
                total = bits if total is None else pc.bit_wise_or(total, bits)
        if total is not None:
            yield at, _view(total.buffers()[1])[: len(total)]


def _interleave(texts: list[pa.Array], rows: int) -> pa.Array:
    """Return all strings of the first row, then of the second …: the order of the variable section."""
    order = pa.allocate_buffer(8 * rows * len(texts))
    positions = _view(order).cast("q")
    for i in range(len(texts)):
        positions[i :: len(texts)] = _view(pa.arange(i * rows, (i + 1) * rows).buffers()[1]).cast("q")[:rows]
    indices = pa.Array.from_buffers(pa.int64(), rows * len(texts), [None, order])
    return pa.concat_arrays(texts).take(indices)


def _extents(section: pa.Array) -> tuple[memoryview, memoryview]:
    """Return offsets and lengths of its values, int32 little endian."""
    count = len(section)
    if not count:
        return _view(b""), _view(b"")
    ends = pa.Array.from_buffers(pa.int32(), count + 1, [None, section.buffers()[1]], offset=section.offset)
    lengths = pc.subtract(ends[1:], ends[:-1])
    return _view(ends.buffers()[1])[: 4 * count], _view(lengths.buffers()[1])[: 4 * count]


def _characters(section: pa.Array) -> memoryview:
    data = section.buffers()[2]
    return _view(data if data is not None else b"")[: pc.sum(pc.binary_length(section)).as_py() or 0]


def _gather(descriptor: Descriptor, layout: RowLayout, field: RowField, tuples: memoryview) -> bytearray:
    """Return a field's values back to back as Arrow expects them; decimals of 8 bytes are widened to 16."""
    rows = len(tuples) // layout.stride
    step = 16 if field.type.kind == "decimal" else field.width
    values = bytearray(rows * step)
    for at, to in _byte_pairs(descriptor, field.width):
        values[to::step] = tuples[field.offset + at :: layout.stride]
    if step != field.width:
        top = pa.Array.from_buffers(pa.int8(), rows, [None, pa.py_buffer(values[7::16])])
        sign = _view(pc.negate(pc.less(top, 0).cast(pa.int8())).buffers()[1])[:rows]
        for to in range(8, 16):
            values[to::step] = sign
    return values


def _read_validity(layout: RowLayout, field: RowField, tuples: memoryview, name: str) -> pa.Buffer | None:
    if not layout.null_bytes:
        return None
    bits = pa.py_buffer(tuples[field.null_bit // 8 :: layout.stride].tobytes())
    flags = pa.Array.from_buffers(pa.uint8(), bits.size, [None, bits])
    valid = pc.equal(pc.bit_wise_and(flags, pa.scalar(1 << field.null_bit % 8, pa.uint8())), 0)
    if pc.all(valid, min_count=0).as_py():
        return None
    if not field.type.nullable:
        raise ProtocolError(f"NULLs in column '{name}', which has none")
    return valid.buffers()[1]


def _read_texts(
    descriptor: Descriptor, layout: RowLayout, tuples: memoryview, section: pa.Buffer, rows: int
) -> Iterator[list[pa.Buffer]]:
    """Yield [offsets, characters] of each text field, after checking that the section holds exactly their values, in
    order."""
    fields = layout.texts
    count = rows * len(fields)
    extents = [bytearray(4 * (count + 1)), bytearray(4 * count)]
    for i, field in enumerate(fields):
        for number, values in enumerate(extents):
            for at, to in _byte_pairs(descriptor, 4):
                strided = tuples[field.offset + 4 * number + at :: layout.stride]
                _view(values)[4 * i + to : 4 * count : 4 * len(fields)] = strided
    extents[0][4 * count :] = section.size.to_bytes(4, "little")
    offsets, lengths = (
        pa.Array.from_buffers(pa.uint32(), len(e) // 4, [None, pa.py_buffer(e)]).cast(pa.int64()) for e in extents
    )
    ends = pc.add(offsets[:-1], lengths)
    if offsets[0].as_py() != 0 or not pc.all(pc.equal(ends, offsets[1:]), min_count=0).as_py():
        raise ProtocolError("strings that are not one after the other in the variable section")
    values = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(extents[0]), section])
    return (values.take(pa.arange(i, count, len(fields))).buffers()[1:] for i in range(len(fields)))


def _check_empty(buffers: list[pa.Buffer], validity: pa.Buffer, rows: int) -> None:
    ends = pa.Array.from_buffers(pa.int32(), rows + 1, [None, buffers[0]])
    lengths = pc.subtract(ends[1:], ends[:-1])
    valid = pa.Array.from_buffers(pa.bool_(), rows, [None, validity])
    if not pc.all(pc.or_(valid, pc.equal(lengths, 0)), min_count=0).as_py():
        raise ProtocolError("a NULL string that has characters")
