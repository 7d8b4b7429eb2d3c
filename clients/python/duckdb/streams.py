"""Results of jobs that are read as they arrive, once, with DuckDB's names and types."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.answers import relation_over
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.result import Result
from jumpgate.errors import ComputeError, DataError, JumpgateError

#: of a result, received before any of it is handed out: until then DuckDB can answer in place of a job that fails
HELD_BYTES = 4 << 20


class Stream:
    """The rest of a result waits in its job until somebody reads it. `is_complete`: nothing is left to wait for."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, result: Result, names: Sequence[str], offloaded: Offloaded
    ) -> None:
        """Wait for the first rows, and keep the files that the job reads. Raises the job's error, if it fails before
        them."""
        self.result, self.is_complete = result, False
        self._connection, self._names, self._types, self._files = connection, names, offloaded.types, offloaded.files
        self._failure: JumpgateError | None = None
        self._held = self._hold(result.batches())

    def to_arrow_reader(self, batch_rows: int) -> pa.RecordBatchReader:
        """Return the rows, as DuckDB's relations do; errors amid them are the job's."""
        carried = pa.schema([(f"c{i}", type) for i, type in enumerate(self.result.schema.types)])
        empty = relation_over(self._connection, carried.empty_table(), self._names, self._types)
        schema: pa.Schema = empty.to_arrow_table().schema
        if schema.types == carried.types:  # nothing to convert, and nothing to copy
            return pa.RecordBatchReader.from_batches(schema, self._renamed(schema))
        source = pa.RecordBatchReader.from_batches(carried, self._renamed(carried))
        reader = relation_over(self._connection, source, self._names, self._types).to_arrow_reader(batch_rows)
        return pa.RecordBatchReader.from_batches(schema, self._explained(reader))

    def close(self) -> None:
        """End the job, if it runs; may be called twice and from any thread."""
        self.result.cancel()
        self._files.close()

    def _hold(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size >= HELD_BYTES:
                return itertools.chain(held, batches)
        self.is_complete = True
        self._files.close()
        return iter(held)

    def _renamed(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._held
        except (ComputeError, DataError) as error:
            message = (
                f"the job failed amid its result, after rows of it were handed out: {error.message}. Run the query "
                'again with offload = "never": DuckDB then answers'
            )
            self._failure = type(error)(message, **error.fields)
            raise self._failure from error
        except JumpgateError as error:
            self._failure = error
            raise
        finally:
            self._files.close()

    def _explained(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield what DuckDB made of the batches; raise why it got no more of them."""
        try:
            yield from reader
        except (duckdb.Error, OSError, ValueError):
            if self._failure is not None:
                raise self._failure from None
            raise
