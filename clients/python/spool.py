"""Files without names that hold Arrow data for whoever reads by path.

The page cache holds a spool, the disk only what the page cache cannot, and it is gone with the process, however that
ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pyarrow as pa

from jumpgate.errors import FileUnreadable


class Spool:
    """A file without a name that takes Arrow batches and is read by its path; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.bytes = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise FileUnreadable(f"cannot spool into '{folder}': {error.strerror}", file=str(folder)) from error

    @property
    def path(self) -> str:
        """Where this process, and others of the same user while it lives, can read it."""
        return f"/proc/{os.getpid()}/fd/{self._file.fileno()}"

    def fill(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Writes an Arrow file; whatever reading the batches raises ends it."""
        try:
            with pa.ipc.new_file(self._file, schema) as writer:
                for batch in batches:
                    self.bytes += batch.nbytes
                    writer.write_batch(batch)
            self._file.flush()
        except OSError as error:
            raise FileUnreadable(f"cannot spool a result: {error.strerror or error}") from error

    def fill_parquet(self, table: pa.Table) -> None:
        """Writes a Parquet file; raises pyarrow's errors for types that Parquet does not have."""
        import pyarrow.parquet as pq

        pq.write_table(table, self._file, compression="none")
        self._file.flush()
        self.bytes = self._file.tell()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
