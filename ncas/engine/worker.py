"""The engine's instance: `python -m jumpgate.ncas.engine.worker`, started by a host's agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.errors import ComputeError, JumpgateError, MemoryLimit, Overflow
from jumpgate.nca.worker import Input, serve
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

#: rows of a batch of the result
BATCH_ROWS = 64 << 10


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    """Run the statement over the input; yield the result in the types of the output edge."""
    (input,) = inputs
    stream = _Stream(input)
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    with duckdb.connect() as database:
        database.execute(f"SET threads = {configuration['threads']:d}; SET TimeZone = 'UTC'")
        if configuration["memory_bytes"]:
            database.execute(f"SET memory_limit = '{configuration['memory_bytes']:d}B'")
        try:
            database.register("input", stream.reader())
            for batch in database.execute(configuration["statement"]).to_arrow_reader(BATCH_ROWS):
                columns = [c.cast(f.type) for c, f in zip(batch.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted)
        except pa.ArrowInvalid as error:
            raise stream.failure or _typed(error) from None
        except duckdb.Error as error:
            raise stream.failure or _typed(error) from None


class _Stream:
    """The input as a reader with numbered columns; `failure` keeps what reading raised, which DuckDB makes text of."""

    def __init__(self, input: Input) -> None:
        self._input = input
        self.failure: JumpgateError | None = None

    def reader(self) -> pa.RecordBatchReader:
        fields = [pa.field(f"c{i}", f.type, f.nullable) for i, f in enumerate(self._input.schema)]
        return pa.RecordBatchReader.from_batches(pa.schema(fields), self._batches(pa.schema(fields)))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._input:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except JumpgateError as error:
            self.failure = error
            raise


def _typed(error: Exception) -> JumpgateError:
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in str(error):
        return MemoryLimit(f"the engine is out of memory: raise memory_limit_bytes. {error}")
    if isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException | pa.ArrowInvalid):
        return Overflow(f"the engine: {error}")
    return ComputeError(f"the engine: {error}")


if __name__ == "__main__":
    serve(compute)
