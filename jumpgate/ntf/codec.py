"""RecordBatch ↔ the payload of a DATA frame, in the layout that the descriptor names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ProtocolError, SchemaMismatch
from jumpgate.ntf import columnar, row
from jumpgate.ntf.descriptor import Descriptor

_ARROW: dict[str, pa.DataType] = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "float64": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
    "string": pa.string(), "binary": pa.binary(),
}  # fmt: skip


def arrow_type(type: DataType) -> pa.DataType:
    """The type of a result's column; raises SchemaMismatch for an opaque one, which no edge carries."""
    if type.is_opaque:
        raise SchemaMismatch(f"a {type.name} has no type in Arrow here: Jumpgate does not read such columns")
    if type.is_nested:
        parts = [pa.field(p.name, arrow_type(p.type), p.type.nullable) for p in type.parts]
        if type.kind == "struct":
            return pa.struct(parts)
        return pa.list_(parts[0]) if type.kind == "list" else pa.map_(parts[0].type, parts[1])
    return pa.decimal128(type.precision, type.scale) if type.kind == "decimal" else _ARROW[type.kind]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a result."""
    return pa.schema([pa.field(f.name, arrow_type(f.type), f.type.nullable) for f in schema])


class Codec:
    """One edge's encoder and decoder. Batches have `schema`, by position."""

    def __init__(self, descriptor: Descriptor) -> None:
        self.descriptor = descriptor
        self.schema = arrow_schema(descriptor.schema)
        self._decode: Callable[[pa.Buffer, int], list[pa.Array]]
        if descriptor.layout == "columnar":
            self._encode, self._decode = columnar.encode, columnar.Decoder(descriptor, self.schema.types)
        else:
            self._encode, self._decode = row.encode, partial(row.decode, descriptor, self.schema.types)

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """The payload. Raises SchemaMismatch where types differ or a column that has no NULLs holds one."""
        if batch.schema.types != self.schema.types:
            raise SchemaMismatch(f"a batch of {batch.schema.types} on an edge of {self.schema.types}")
        for field, column in zip(self.schema, batch.columns, strict=True):
            if column.null_count and not field.nullable:
                raise SchemaMismatch(f"NULLs in column '{field.name}', which has none", column=field.name)
        payload: bytes = self._encode(self.descriptor, batch.columns, batch.num_rows)
        return payload

    def decode(self, payload: pa.Buffer, rows: int) -> pa.RecordBatch:
        """The batch; columnar buffers are wrapped, not copied. Raises ProtocolError on bytes that are not a payload."""
        try:
            arrays = self._decode(payload, rows)
            if not arrays:
                return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
            return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except pa.ArrowInvalid as e:
            raise ProtocolError(f"a frame that holds no valid columns: {e}") from None
