"""Presents an edge's batches as a dataset that an existing engine can scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from jumpgate.errors import JumpgateError


class Stream(ds.Dataset):  # type: ignore[misc]
    """Arriving batches as a dataset with one fragment (itself), which the engine scans once at its own pace.

    pyarrow's own datasets would read a stream to its end first. `failure` keeps the exception of reading, which the
    engine would turn into text.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches = schema, batches
        self._columns: list[str] = schema.names
        self.failure: JumpgateError | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of every batch."""
        return self._schema

    def get_fragments(self, filter: Any = None) -> Iterator[Stream]:
        """Yield itself; the engine applies `filter`."""
        return iter([self])

    def scanner(self, schema: Any = None, columns: list[str] | None = None, **options: Any) -> Stream:
        """Return itself with the columns that the engine asks for; the engine applies everything else."""
        self._columns = self._schema.names if columns is None else columns
        return self

    @property
    def projected_schema(self) -> pa.Schema:
        """Return the columns that the engine asked for."""
        return pa.schema([self._schema.field(name) for name in self._columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches as they arrive, once. A failure is raised and kept in `failure`, as engines reword it."""
        try:
            for batch in self._batches:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self._schema).select(self._columns)
        except JumpgateError as error:
            self.failure = error
            raise
