"""Makes batches have a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from jumpgate.errors import InvalidCast


def conformed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches with the names and types of `schema`; a value that does not fit is an InvalidCast."""
    known, conform = schema, _conforming(schema, schema)
    for batch in batches:
        if not batch.schema.equals(known, check_metadata=True):
            known = batch.schema
            conform = _conforming(known, schema)
        yield conform(batch)


def _conforming(known: pa.Schema, schema: pa.Schema) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function that makes batches of one schema such of the other; wide ones that differ in names are not
    looked at column by column."""
    if known.equals(schema, check_metadata=True) or not (known.names or schema.names):
        return lambda batch: batch
    pairs, names = list(zip(known, schema, strict=True)), schema.names
    if known.metadata == schema.metadata and all(
        theirs.with_name(ours.name).equals(ours, check_metadata=True) for theirs, ours in pairs
    ):
        return lambda batch: batch.rename_columns(names)
    import pyarrow.compute as pc

    casts = [(i, ours) for i, (theirs, ours) in enumerate(pairs) if theirs.type != ours.type]

    def conform(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = batch.columns
        for i, field in casts:
            try:
                columns[i] = pc.cast(columns[i], field.type)
            except pa.ArrowInvalid as error:
                raise InvalidCast(f"column '{field.name}': {error}", column=field.name) from None
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return conform
