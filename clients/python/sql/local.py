"""DataFusion in the client: the tables as it reads them itself, and the execution of what stays here.

Cuts of a plan arrive as Arrow batches. Each is spooled before the rest of the plan starts, because a plan that reads
one input to its end before it touches another would otherwise stop the jobs behind the second: spools stay in memory
until all of one query hold `MEMORY_BYTES_MAX`, and go on to a file in the cache folder.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import datafusion
import pyarrow as pa
import pyarrow.dataset
from datafusion.substrait import Consumer, Serde

from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.errors import from_datafusion
from jumpgate.dataflow.operators import Read
from jumpgate.errors import JumpgateError

MEMORY_BYTES_MAX = 512 << 20
#: the settings of every context: DuckDB's order of NULLs, and Arrow's plain strings
SETTINGS = {
    "datafusion.sql_parser.default_null_ordering": "nulls_last",
    "datafusion.execution.parquet.schema_force_view_types": "false",
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
}


def context() -> datafusion.SessionContext:
    """A DataFusion context with one partition a core and Jumpgate's settings."""
    config = datafusion.SessionConfig().with_target_partitions(len(os.sched_getaffinity(0)))
    for name, value in SETTINGS.items():
        config = config.set(name, value)
    return datafusion.SessionContext(config)


def register(context: datafusion.SessionContext, table: Table) -> None:
    """The table as DataFusion reads it: its own readers, for ORC a pyarrow dataset. Raises DataError."""
    try:
        if table.data is not None:
            batches = table.data.to_batches() or [_empty(table.schema)]
            context.register_record_batches(table.name, [batches])
            return
        assert table.read is not None
        if table.read.format == "orc" or len(table.read.files) > 1:
            context.register_dataset(table.name, _dataset(table.read, table.schema))
        else:
            _register_file(context, table.name, table.read, table.schema)
    except JumpgateError:
        raise
    except Exception as error:
        raise from_datafusion(error) from error


def cannot_read(read: Read) -> str | None:
    """Why DataFusion would not read these files as the request says; None if it does."""
    options = dict(read.options)
    if options.get("on_error") == "skip":
        return "DataFusion cannot skip malformed rows"
    return None


def _register_file(context: datafusion.SessionContext, name: str, read: Read, schema: pa.Schema) -> None:
    url, suffix = Path(read.files[0]).as_uri(), Path(read.files[0]).suffix
    if read.format == "parquet":
        context.register_parquet(name, url, schema=schema, file_extension=suffix)
    elif read.format == "json":
        context.register_json(name, url, schema=schema, file_extension=suffix)
    else:
        options = dict(read.options)
        csv = datafusion.CsvReadOptions(
            has_header=options.get("header", "true") == "true",
            delimiter=options.get("delimiter", ","),
            quote=options.get("quote", '"'),
            newlines_in_values=True,
            schema=schema,
            file_extension=suffix,
            null_regex=f"^{re.escape(options.get('null', ''))}$",
        )
        context.register_csv(name, url, options=csv)


def _dataset(read: Read, schema: pa.Schema) -> pa.dataset.Dataset:
    """What DataFusion has no reader for: ORC, and several files that are not all of one folder."""
    from pyarrow import csv, dataset, json

    options = dict(read.options)
    format: Any = read.format
    if read.format == "json":
        format = dataset.JsonFileFormat(read_options=json.ReadOptions(), parse_options=json.ParseOptions(schema))
    elif read.format == "csv":
        header = options.get("header", "true") == "true"
        format = dataset.CsvFileFormat(
            csv.ParseOptions(
                delimiter=options.get("delimiter", ","), quote_char=options.get("quote", '"'), newlines_in_values=True
            ),
            convert_options=csv.ConvertOptions(
                column_types=schema, strings_can_be_null=True, null_values=["", options.get("null", "")]
            ),
            read_options=csv.ReadOptions(column_names=None if header else schema.names),
        )
    return dataset.dataset(list(read.files), schema=schema, format=format)


class Spool:
    """Takes the batches of one cut and hands them to DataFusion as a table. `close` removes what it keeps."""

    def __init__(self, schema: pa.Schema, budget: Budget) -> None:
        self.schema = schema
        self.rows = 0
        self.bytes = 0
        self._budget = budget
        self._batches: list[pa.RecordBatch] = []
        self._file: Path | None = None
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def fill(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes all batches; whatever reading them raises ends it."""
        for batch in batches:
            self.rows += batch.num_rows
            self.bytes += batch.nbytes
            if self._writer is None and not self._budget.take(batch.nbytes):
                self._to_file()
            if self._writer is not None:
                self._writer.write_batch(batch)
            else:
                self._batches.append(batch)
        if self._writer is not None:
            self._writer.close()

    def register(self, context: datafusion.SessionContext, name: str) -> None:
        if self._file is not None:
            context.register_arrow(name, self._file.as_uri(), schema=self.schema)
        else:
            context.register_record_batches(name, [self._batches or [_empty(self.schema)]])

    def close(self) -> None:
        self._batches = []
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _to_file(self) -> None:
        self._file = self._budget.file()
        self._writer = pa.ipc.new_file(self._file, self.schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []


class Budget:
    """The memory that the spools of one query share, and the folder for what exceeds it; a context manager."""

    def __init__(self, folder: Callable[[], Path], bytes_max: int = MEMORY_BYTES_MAX) -> None:
        self._left = bytes_max
        self._folder = folder
        self._lock = threading.Lock()
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    def take(self, size: int) -> bool:
        """Whether `size` bytes may stay in memory."""
        with self._lock:
            self._left -= size
            return self._left >= 0

    def file(self) -> Path:
        with self._lock:
            if self._directory is None:
                folder = self._folder()
                folder.mkdir(parents=True, exist_ok=True)
                self._directory = tempfile.TemporaryDirectory(dir=folder, prefix="spool-")
            self._files += 1
            return Path(self._directory.name) / f"{self._files}.arrow"

    def close(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()


def frame_of(context: datafusion.SessionContext, plan: bytes) -> datafusion.DataFrame:
    """The data frame of a Substrait plan over the tables that `context` knows."""
    logical = Consumer.from_substrait_plan(context, Serde.deserialize_bytes(plan))
    return context.create_dataframe_from_logical_plan(logical)


def stream(frame: datafusion.DataFrame) -> Iterator[pa.RecordBatch]:
    """Executes; raises DataFusion's errors as typed ones."""
    try:
        for batch in frame.execute_stream():
            yield batch.to_pyarrow()
    except JumpgateError:
        raise
    except Exception as error:
        raise from_datafusion(error) from error


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
