"""An edge's batches as something that an existing engine can scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from jumpgate.errors import JumpgateError


class Stream(ds.Dataset):  # type: ignore[misc]
    """Batches that arrive, as the dataset with one fragment (itself) that the engine can scan: once, as it asks.

    pyarrow's own datasets would read a stream to its end first. `failure` keeps what reading raised, which the engine
    would make a text of.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches = schema, batches
        self._columns: list[str] = schema.names
        self.failure: JumpgateError | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""
        return self._schema

    def get_fragments(self, filter: Any = None) -> Iterator[Stream]:
        """Itself alone: `filter` is left to the engine."""
        return iter([self])

    def scanner(self, schema: Any = None, columns: list[str] | None = None, **options: Any) -> Stream:
        """Itself, with the columns that the engine asks for; its other wishes are left to the engine."""
        self._columns = self._schema.names if columns is None else columns
        return self

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns that the engine asked for."""
        return pa.schema([self._schema.field(name) for name in self._columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches as they arrive, once. A failure is raised, and kept in `failure`, as engines put it in words of
        their own."""
        try:
            for batch in self._batches:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self._schema).select(self._columns)
        except JumpgateError as error:
            self.failure = error
            raise
