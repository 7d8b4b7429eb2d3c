"""RecordBatch ↔ the payload of a DATA frame, in the layout that the descriptor names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import pyarrow as pa

from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ProtocolError, SchemaMismatch
from jumpgate.ntf import columnar, row
from jumpgate.ntf.descriptor import Descriptor

#: the most schemas whose Arrow schema is cached
SCHEMAS_MAX = 64

_ARROW: dict[str, pa.DataType] = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "float64": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
    "string": pa.string(), "binary": pa.binary(), "time": pa.time64("us"), "timestamp_ns": pa.timestamp("ns"),
}  # fmt: skip


def arrow_type(type: DataType) -> pa.DataType:
    """Return the type of a result's column. Raises SchemaMismatch for an opaque one, which no edge carries."""
    if type.is_opaque:
        raise SchemaMismatch(f"a {type.name} has no type in Arrow here: Jumpgate does not read such columns")
    match type.kind:
        case "struct":
            return pa.struct(_parts(type))
        case "list":
            return pa.list_(arrow_type(type.parts[0].type))  # its field has Arrow's own name, as engines expect
        case "map":
            key, value = _parts(type)
            return pa.map_(key.type, value)
        case "decimal":
            return pa.decimal128(type.precision, type.scale)
        case "timestamptz":
            return pa.timestamp("us", type.zone)
        case "timestamptz_ns":
            return pa.timestamp("ns", type.zone)
        case "duration":
            return pa.duration(type.unit)
    return _ARROW[type.kind]


def _parts(type: DataType) -> list[pa.Field]:
    return [pa.field(p.name, arrow_type(p.type), p.type.nullable) for p in type.parts]


@lru_cache(SCHEMAS_MAX)
def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a result."""
    return pa.schema([pa.field(f.name, arrow_type(f.type), f.type.nullable) for f in schema])


Decode = Callable[[pa.Buffer, int], list[pa.Array]]


@dataclass(frozen=True)
class LayoutCodec:
    """The codec of a layout: `encode` writes columns as a payload; `decoder` makes a function that reads one
    descriptor's payloads as arrays of the given types."""

    encode: Callable[[Descriptor, Sequence[pa.Array], int], bytes]
    decoder: Callable[[Descriptor, Sequence[pa.DataType]], Decode]


CODECS = {
    Layout.COLUMNAR: LayoutCodec(columnar.encode, columnar.Decoder),
    Layout.ROW: LayoutCodec(row.encode, lambda descriptor, types: partial(row.decode, descriptor, types)),
}
assert CODECS.keys() == set(Layout), "each layout has a codec"


class Codec:
    """One edge's encoder and decoder. Batches have `schema`, by position."""

    def __init__(self, descriptor: Descriptor) -> None:
        self.descriptor = descriptor
        self.schema = arrow_schema(descriptor.schema)
        codec = CODECS[descriptor.layout]
        self._encode, self._decode = codec.encode, codec.decoder(descriptor, self.schema.types)

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Return the payload. Raises SchemaMismatch if types differ or a non-nullable column holds a NULL."""
        if batch.schema.types != self.schema.types:
            raise SchemaMismatch(f"a batch of {batch.schema.types} on an edge of {self.schema.types}")
        for field, column in zip(self.schema, batch.columns, strict=True):
            if column.null_count and not field.nullable:
                raise SchemaMismatch(f"NULLs in column '{field.name}', which has none", column=field.name)
        return self._encode(self.descriptor, batch.columns, batch.num_rows)

    def decode(self, payload: pa.Buffer, rows: int) -> pa.RecordBatch:
        """Return the batch; columnar buffers are wrapped, not copied. Raises ProtocolError on malformed payloads."""
        try:
            arrays = self._decode(payload, rows)
            if not arrays:
                return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
            return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except pa.ArrowInvalid as e:
            raise ProtocolError(f"a frame that holds no valid columns: {e}") from None
