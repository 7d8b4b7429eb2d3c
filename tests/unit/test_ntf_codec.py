"""Laws of the Python codecs: decode(encode(x)) == x for every layout, schema and data; hostile bytes are an error."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpgate.dataflow.types import KINDS, UNITS, ZONED, DataType, Field, Schema, int32, string
from jumpgate.errors import ProtocolError, SchemaMismatch
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@st.composite
def types(draw: st.DrawFn) -> DataType:
    kind = draw(st.sampled_from(KINDS))
    nullable = draw(st.booleans())
    if kind in ZONED:
        return DataType(kind, nullable=nullable, zone=draw(st.sampled_from(("UTC", "Europe/Berlin", "-03:30"))))
    if kind == "duration":
        return DataType(kind, nullable=nullable, unit=draw(st.sampled_from(UNITS)))
    if kind != "decimal":
        return DataType(kind, nullable=nullable)
    precision = draw(st.integers(1, 38))
    return DataType(kind, precision, draw(st.integers(0, precision)), nullable)


def values(type: DataType) -> st.SearchStrategy[object]:
    match type.kind:
        case "bool":
            some: st.SearchStrategy[object] = st.booleans()
        case "float32":
            some = st.floats(width=32, allow_nan=False)
        case "float64":
            some = st.floats(allow_nan=False)
        case "decimal":
            most = 10**type.precision - 1
            exact = decimal.Context(prec=40)
            some = st.integers(-most, most).map(lambda v: decimal.Decimal(v).scaleb(-type.scale, exact))
        case "date":
            some = st.dates()
        case "timestamp":
            some = st.datetimes()
        case "timestamptz":
            some = st.datetimes(timezones=st.just(datetime.UTC))
        case "time":
            some = st.times()
        case "timestamp_ns" | "timestamptz_ns" | "duration":
            some = st.integers(-(2**63) + 1, 2**63 - 1)
        case "string":
            some = st.text(st.characters(codec="utf-8"), max_size=20)
        case "binary":
            some = st.binary(max_size=20)
        case _:
            half = 1 << (BITS[type.kind] - 1)
            some = st.integers(-half, half - 1)
    return st.none() | some if type.nullable else some


@st.composite
def formats(draw: st.DrawFn, schema: Schema) -> Descriptor:
    if draw(st.booleans()):
        return Descriptor.columnar(schema)
    alignment = draw(st.sampled_from((1, 2, 4, 8, 16)))
    return Descriptor.row(
        schema, byte_order=draw(st.sampled_from(("little", "big"))), packed=alignment == 1, alignment=alignment
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Descriptor, list[list[object]]]:
    schema = Schema(tuple(Field(f"c{i}", t) for i, t in enumerate(draw(st.lists(types(), max_size=10)))))
    rows = draw(st.integers(1, 40))
    columns = [draw(st.lists(values(f.type), min_size=rows, max_size=rows)) for f in schema]
    return draw(formats(schema)), columns


def batch_of(codec: Codec, columns: list[list[object]]) -> pa.RecordBatch:
    arrays = [pa.array(c, f.type) for c, f in zip(columns, codec.schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=codec.schema)


@settings(max_examples=300, deadline=None)
@given(cases(), st.data())
def test_decode_inverts_encode(case: tuple[Descriptor, list[list[object]]], data: st.DataObject) -> None:
    descriptor, columns = case
    if not columns:
        return
    codec = Codec(descriptor)
    batch = batch_of(codec, columns)
    start = data.draw(st.integers(0, batch.num_rows - 1), "start")
    part = batch.slice(start, data.draw(st.integers(1, batch.num_rows - start), "rows"))
    payload = codec.encode(part)
    back = codec.decode(pa.py_buffer(payload), part.num_rows)
    back.validate(full=True)
    assert back.equals(part)
    assert codec.encode(back) == payload


def with_sliced_buffers(array: pa.Array, start: int, rows: int) -> pa.Array:
    """The slice as other engines hand it over: of its own buffers, text whose offsets begin within the characters."""
    validity, first, *rest = array.buffers()
    known = None if validity is None else array[start : start + rows].is_valid().buffers()[1]
    if array.type == pa.bool_():
        values = array[start : start + rows].cast(pa.uint8()).cast(pa.bool_()).buffers()[1]
    elif rest:
        values = first.slice(4 * start, 4 * rows + 4)
    else:
        values = first.slice(start * array.type.byte_width, rows * array.type.byte_width)
    return pa.Array.from_buffers(array.type, rows, [known, values, *rest])


@settings(max_examples=300, deadline=None)
@given(cases(), st.data())
def test_a_slice_is_encoded_as_its_copy(case: tuple[Descriptor, list[list[object]]], data: st.DataObject) -> None:
    descriptor, columns = case
    if not columns:
        return
    codec = Codec(descriptor)
    whole = batch_of(codec, columns)
    outer = data.draw(st.integers(0, whole.num_rows), "outer")
    inner = data.draw(st.integers(0, whole.num_rows - outer), "inner")
    rows = data.draw(st.integers(0, whole.num_rows - outer - inner), "rows")
    start = outer + inner
    copy = batch_of(codec, [c[start : start + rows] for c in columns])
    shared = [with_sliced_buffers(c, start, rows) for c in whole.columns]
    payload = codec.encode(copy)
    assert codec.encode(whole[outer:][inner:][:rows]) == payload
    assert codec.encode(pa.RecordBatch.from_arrays(shared, schema=codec.schema)) == payload
    assert codec.decode(pa.py_buffer(payload), rows).equals(copy)


@pytest.mark.parametrize("layout", ["columnar", "row"])
def test_a_slice_of_a_large_batch_is_encoded_as_its_copy(layout: str) -> None:
    schema = Schema.of(a=string, b=DataType("bool"), c=DataType("decimal", 20, 2), d=int32, e=string)
    codec = Codec(Descriptor.of(schema, layout))
    rows = [
        [None if i % 7 == 3 else "é" * (i % 5) + str(i) for i in range(100_000)],
        [None if i % 5 == 1 else i % 3 == 0 for i in range(100_000)],
        [decimal.Decimal(i).scaleb(-2) for i in range(100_000)],
        [None if i % 11 == 1 else -i for i in range(100_000)],
        [str(i) for i in range(100_000)],
    ]
    whole = batch_of(codec, rows)
    for start, count in ((1, 65_536), (34_463, 65_537), (99_997, 3), (8, 70_000)):
        payload = codec.encode(batch_of(codec, [c[start : start + count] for c in rows]))
        shared = [with_sliced_buffers(c, start, count) for c in whole.columns]
        assert codec.encode(whole[start : start + count]) == payload
        assert codec.encode(pa.RecordBatch.from_arrays(shared, schema=codec.schema)) == payload


@settings(max_examples=300, deadline=None)
@given(cases(), st.data())
def test_changed_bytes_decode_or_raise_a_protocol_error(
    case: tuple[Descriptor, list[list[object]]], data: st.DataObject
) -> None:
    descriptor, columns = case
    codec = Codec(descriptor)
    payload = bytearray(codec.encode(batch_of(codec, columns)) if columns else b"")
    for _ in range(data.draw(st.integers(0, 4))):
        if payload:
            payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 80))
    payload = payload[: len(payload) - cut] if cut < 70 else payload + bytes(cut)
    rows = data.draw(st.integers(1, 50))
    try:
        batch = codec.decode(pa.py_buffer(bytes(payload)), rows)
    except ProtocolError:
        return
    assert batch.num_rows == rows
    for field, column in zip(descriptor.schema, batch.columns, strict=True):
        (column.cast(pa.binary()) if field.type.is_text else column).validate(full=field.type.is_text)


@pytest.mark.parametrize("layout", ["columnar", "row"])
def test_no_columns_still_have_rows(layout: str) -> None:
    codec = Codec(Descriptor.of(Schema(()), layout))
    assert codec.decode(pa.py_buffer(b""), 7).num_rows == 7


def test_columnar_decoding_wraps_the_received_memory() -> None:
    codec = Codec(Descriptor.columnar(Schema.of(a=int32, b=string)))
    received = pa.py_buffer(codec.encode(batch_of(codec, [[1, None], ["x", ""]])))
    for column in codec.decode(received, 2).columns:
        for buffer in filter(None, column.buffers()):
            assert received.address <= buffer.address <= received.address + received.size


@pytest.mark.parametrize("layout", ["columnar", "row"])
def test_wrong_batches_are_refused(layout: str) -> None:
    codec = Codec(Descriptor.of(Schema.of(a=int32.with_nullable(False)), layout))
    with pytest.raises(SchemaMismatch, match="NULLs in column 'a', which has none"):
        codec.encode(pa.RecordBatch.from_arrays([pa.array([None], pa.int32())], ["a"]))
    with pytest.raises(SchemaMismatch, match=r"a batch of \[DataType\(int64\)\]"):
        codec.encode(pa.RecordBatch.from_arrays([pa.array([1])], ["a"]))


@pytest.mark.parametrize(
    ("schema", "layout", "payload", "rows", "message"),
    [
        (Schema.of(a=int32), "columnar", bytes(64), 1, "a frame too short for 'a'"),
        (Schema.of(a=int32), "columnar", bytes(192), 1, "64 bytes too many in a frame"),
        (Schema.of(a=int32.with_nullable(False)), "columnar", b"\1" + bytes(191), 1, "NULLs in column 'a'"),
        (Schema.of(a=string), "columnar", bytes(64) + b"\1" + bytes(63), 1, "do not ascend from zero"),
        (Schema.of(a=string), "columnar", bytes(68) + b"\x09" + bytes(59), 2, "do not ascend from zero"),
        (Schema.of(a=string), "columnar", bytes(68) + b"\xff" * 4 + bytes(56), 1, "do not ascend from zero"),
        (Schema.of(a=string), "columnar", bytes(68) + b"\x40" + bytes(59), 1, "a frame too short for 'a'"),
        (Schema.of(a=int32), "row", bytes(7), 1, "too short for its tuples"),
        (Schema.of(a=int32.with_nullable(False)), "row", b"\1" + bytes(7), 1, "NULLs in column 'a'"),
        (Schema.of(a=string), "row", bytes(16) + b"x", 1, "not one after the other"),
        (Schema.of(a=string), "row", b"\1" + bytes(7) + b"\1" + bytes(7) + b"x", 1, "NULL string that has characters"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_payload(schema: Schema, layout: str, payload: bytes, rows: int, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        Codec(Descriptor.of(schema, layout)).decode(pa.py_buffer(payload), rows)


def test_types_that_python_cannot_compare_survive() -> None:
    schema = Schema.of(f=DataType("float64"), t=DataType("timestamp"))
    for descriptor in (Descriptor.columnar(schema), Descriptor.row(schema, byte_order="big", packed=True)):
        codec = Codec(descriptor)
        batch = batch_of(codec, [[float("nan"), float("-inf")], [datetime.datetime.min, datetime.datetime.max]])
        assert codec.encode(codec.decode(pa.py_buffer(codec.encode(batch)), 2)) == codec.encode(batch)


@pytest.mark.parametrize("layout", ["columnar", "row"])
def test_characters_under_null_are_not_sent(layout: str) -> None:
    codec = Codec(Descriptor.of(Schema.of(a=string), layout))
    offsets = pa.array([0, 2, 5, 6], pa.int32()).buffers()[1]
    hidden = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), offsets, pa.py_buffer(b"abXYZc")])
    payload = codec.encode(pa.RecordBatch.from_arrays([hidden], schema=codec.schema))
    assert b"XYZ" not in payload
    assert codec.decode(pa.py_buffer(payload), 3).to_pydict() == {"a": ["ab", None, "c"]}
