"""The engine's instance: `python -m jumpgate.ncas.engine.worker`, started by a host's agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from jumpgate.codegen import spool
from jumpgate.dataflow.file_state import FileState, check_unchanged
from jumpgate.errors import (
    ComputeError,
    DivisionByZero,
    InvalidCast,
    JumpgateError,
    MalformedData,
    MemoryLimit,
    Overflow,
)
from jumpgate.nca.worker import Input, serve
from jumpgate.ncas.engine.expressions import BY_ZERO, NO_VALUE, OUT_OF_RANGE
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

#: rows of a batch of the result
BATCH_ROWS = 64 << 10
#: the errors that statements raise on purpose
RAISED = {BY_ZERO: DivisionByZero, OUT_OF_RANGE: Overflow, NO_VALUE: InvalidCast}


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    """Run the statement over the input or files; yield the result in the types of the output edge."""
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    stream = _Stream(inputs[0]) if inputs else None
    states = {file: FileState(*state) for file, state in configuration.get("states", {}).items()}
    check_unchanged(states)
    with spool.own() as beyond, duckdb.connect() as database:
        _confine(database, configuration, beyond)
        try:
            if stream is not None:
                database.register("input", stream.reader())
            result = database.execute(configuration["statement"], configuration.get("parameters", []))
            for batch in result.to_arrow_reader(BATCH_ROWS):
                columns = [c.cast(f.type) for c, f in zip(batch.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=wanted)
        except (pa.ArrowInvalid, duckdb.Error) as error:
            check_unchanged(states)
            raise (stream and stream.failure) or _typed(error) from None
    check_unchanged(states)


def _confine(database: duckdb.DuckDBPyConnection, configuration: dict[str, Any], beyond: Path) -> None:
    """Limit what a statement takes, and what it sees: no files but those that it reads."""
    database.execute(
        f"SET threads = {configuration['threads']:d}; SET TimeZone = 'UTC'; SET ieee_floating_point_ops = true"
    )
    if configuration["memory_bytes"]:
        database.execute(f"SET memory_limit = '{configuration['memory_bytes']:d}B'")
    database.execute("SET temp_directory = $1", [str(beyond)])
    database.execute("SET allowed_paths = $1", [configuration.get("files", [])])
    database.execute(
        "SET autoload_known_extensions = false; SET autoinstall_known_extensions = false; "
        "SET enable_external_access = false; SET lock_configuration = true"
    )


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
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in text:
        return MemoryLimit(f"the engine is out of memory: raise memory_limit_bytes. {error}")
    if isinstance(error, duckdb.OutOfRangeException | duckdb.ConversionException | pa.ArrowInvalid):
        return Overflow(f"the engine: {error}")
    if isinstance(error, duckdb.IOException):
        return MalformedData(f"the engine: {error}")
    for said, kind in RAISED.items():
        if said in text:
            return kind(f"the engine: {text.partition('jumpgate: ')[2]}")
    return ComputeError(f"the engine: {error}")


if __name__ == "__main__":
    serve(compute)
