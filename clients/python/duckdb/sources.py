"""The files that accelerators read for a plan: Parquet files as they are, everything else as files without names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from jumpgate.client.duckdb.passed import to_carrier
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scans import ParquetScan, Scan, TableScan
from jumpgate.client.duckdb.types import SqlType
from jumpgate.client.spool import Spool
from jumpgate.codegen import cache
from jumpgate.converters.probe import infer_schema
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import JumpgateError

#: that one scan reads: each is looked into
FILES_MAX = 1024


@dataclass
class Files:
    """The files of one plan; `close` drops those that hold its rows. rows_of: runs a query in DuckDB."""

    rows_of: Callable[[str], pa.Table]
    files: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    _spools: list[Spool] = field(default_factory=list)
    _pending: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def scan(self, scan: Scan, wanted: set[int]) -> Operator:
        """As translate.Sources says."""
        if isinstance(scan, ParquetScan):
            return self._parquet(scan)
        assert isinstance(scan, TableScan)
        return self._table(scan, wanted)

    def rows(self, table: pa.Table, types: Sequence[DataType]) -> Read:
        """As translate.Sources says."""
        spool = self._spool()
        self._pending.append(lambda: spool.fill_parquet(table))
        fields = (Field(name, type) for name, type in zip(table.column_names, types, strict=True))
        return Read((spool.path,), "parquet", Schema(tuple(fields)), tuple(range(len(types))))

    def fill(self) -> None:
        """Writes what the reads need. Raises Stays, FileUnreadable."""
        with self._lock:
            while self._pending:
                self._pending[0]()
                del self._pending[0]

    def close(self) -> None:
        """Drops the files without names; may be called twice."""
        for spool in self._spools:
            spool.close()

    def _spool(self) -> Spool:
        self._spools.append(Spool(cache.folder("spool")))
        return self._spools[-1]

    def _parquet(self, scan: ParquetScan) -> Read:
        try:
            found = infer_schema(scan.files, "parquet", {})
            _check_files(scan)
        except JumpgateError as error:
            raise Stays(f"Jumpgate does not read these files: {error.message}") from None
        positions = {name: i for i, name in enumerate(found.names)}
        if any(name not in positions for name in scan.names) or len(set(scan.names)) < len(scan.names):
            raise Stays("the files have other columns for DuckDB than for Jumpgate")
        self.files.update(scan.files)
        return Read(scan.files, "parquet", found, tuple(positions[name] for name in scan.names))

    def _table(self, scan: TableScan, wanted: set[int]) -> Read:
        name = ".".join(map(quoted, (scan.catalog, scan.schema, scan.table)))
        self.tables.add(scan.table)
        columns = ", ".join(
            _written(scan.names[i], type) if i in wanted else f"NULL::INTEGER AS {quoted(f'c{i}')}"
            for i, type in enumerate(scan.types)
        )
        spool = self._spool()
        self._pending.append(lambda: spool.fill_parquet(self.rows_of(f"SELECT {columns} FROM {name}")))
        fields = (
            Field(scan.names[i] if i in wanted else f"c{i}", _carried(type) if i in wanted else _carried(_UNUSED))
            for i, type in enumerate(scan.types)
        )
        return Read((spool.path,), "parquet", Schema(tuple(fields)), tuple(range(len(scan.types))))


def _check_files(scan: ParquetScan) -> None:
    """Raises Stays where DuckDB, which has the columns of the first file, would refuse another one."""
    if len(scan.files) > FILES_MAX:
        raise Stays(f"more than {FILES_MAX} files are read by DuckDB")
    for file in scan.files if len(scan.files) > 1 else ():
        missing = set(scan.names) - set(infer_schema((file,), "parquet", {}).names)
        if missing:
            raise Stays(f"'{file}' has no column '{min(missing)}'")


_UNUSED = SqlType("INTEGER")


def _carried(type: SqlType) -> DataType:
    return type.carrier.with_nullable(True)


def _written(name: str, type: SqlType) -> str:
    column = quoted(name)
    return f"{to_carrier(column, type)} AS {column}"


def quoted(name: str) -> str:
    """The name as SQL has it."""
    return '"{}"'.format(name.replace('"', '""'))
