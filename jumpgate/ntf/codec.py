"""RecordBatch ↔ the payload of a DATA frame, in the layout that the descriptor names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from jumpgate.dataflow.layouts import Layout
from jumpgate.errors import ProtocolError, SchemaMismatch
from jumpgate.ntf import columnar, row
from jumpgate.ntf.arrow_types import arrow_schema as arrow_schema
from jumpgate.ntf.arrow_types import arrow_type as arrow_type
from jumpgate.ntf.descriptor import Descriptor

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
