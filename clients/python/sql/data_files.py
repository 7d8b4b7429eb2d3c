"""Arrow tables of a connection as Parquet files without names, written when a plan first reads one."""

from __future__ import annotations

import threading

import pyarrow as pa

from jumpgate.client.spool import Spool
from jumpgate.client.sql.catalog import Table
from jumpgate.codegen import cache
from jumpgate.dataflow import types as t
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.traits import numbered
from jumpgate.dataflow.types import DataType, Field, Schema

_TYPES: dict[pa.DataType, DataType] = {
    pa.bool_(): t.bool_, pa.int8(): t.int8, pa.int16(): t.int16, pa.int32(): t.int32, pa.int64(): t.int64,
    pa.uint8(): t.int16, pa.uint16(): t.int32, pa.uint32(): t.int64, pa.float32(): t.float32,
    pa.float64(): t.float64, pa.date32(): t.date, pa.string(): t.string,
    pa.large_string(): t.string, pa.string_view(): t.string,
    pa.binary(): t.binary, pa.large_binary(): t.binary, pa.binary_view(): t.binary, pa.uuid(): t.binary,
}  # fmt: skip


class DataFiles:
    """The files of one connection's tables. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, tuple[Table, Spool]] = {}  # by the table's name
        self._written: set[str] = set()  # paths

    def read(self, table: Table) -> Read:
        """How accelerators read a table's data; its file may still be empty."""
        fields = tuple(Field(f.name, _type(f)) for f in table.schema)
        return Read((self._spool(table).path,), "parquet", Schema(fields), tuple(range(len(fields))))

    @staticmethod
    def can_hold(table: Table) -> bool:
        """Return whether Parquet has all types of a table."""
        import pyarrow.parquet as pq

        assert table.data is not None
        try:
            pq.write_table(stored(table.data.slice(0, 0)), pa.BufferOutputStream())
        except pa.ArrowException:
            return False
        return True

    def write(self, operator: Operator) -> None:
        """Fill those of the files that a job reads."""
        if not self._files:
            return
        for node in numbered(operator):
            if isinstance(node, Read):
                self._write(node.files[0])

    def _write(self, path: str) -> None:
        with self._lock:
            found = next((item for item in self._files.values() if item[1].path == path), None)
            if found is None or path in self._written:
                return
            table, spool = found
            assert table.data is not None
            spool.fill_parquet(stored(table.data))
            self._written.add(path)

    def names(self) -> dict[str, str]:
        """The tables' names by path."""
        with self._lock:
            return {spool.path: name for name, (_, spool) in self._files.items()}

    def forget(self, name: str) -> None:
        """Drops a table's file."""
        with self._lock:
            if (found := self._files.pop(name, None)) is not None:
                self._written.discard(found[1].path)
                found[1].close()

    def close(self) -> None:
        for name in list(self._files):
            self.forget(name)

    def _spool(self, table: Table) -> Spool:
        with self._lock:
            if table.name not in self._files:
                self._files[table.name] = table, Spool(cache.folder("spool"))
            return self._files[table.name][1]


def stored(table: pa.Table) -> pa.Table:
    """The table with texts without a value in the place of intervals, which Arrow's Parquet does not have: no dataflow
    reads them."""
    for place, field in enumerate(table.schema):
        if "month_day_nano_interval" in str(field.type):
            table = table.set_column(place, field.name, pa.nulls(table.num_rows, pa.string()))
    return table


def _type(field: pa.Field) -> DataType:
    type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if type.num_fields and (nested := _nested(type)) is not None:
        found = nested
    elif pa.types.is_timestamp(type):
        found = t.timestamp_of(type.unit, type.tz)
    elif pa.types.is_time(type):
        found = t.time
    elif pa.types.is_duration(type):
        found = t.duration(type.unit)
    elif pa.types.is_decimal128(type) and 0 <= type.scale <= type.precision:
        found = t.decimal(type.precision, type.scale)
    else:
        found = _TYPES.get(type) or t.opaque(str(type))
    return found.with_nullable(field.nullable)


def _nested(type: pa.DataType) -> DataType | None:
    """None of what Jumpgate has no type for."""
    try:
        if pa.types.is_struct(type):
            return t.struct(*(Field(f.name, _type(f)) for f in type))
        if pa.types.is_map(type):
            return t.map_(_type(type.key_field), _type(type.item_field))
        if pa.types.is_list(type) or pa.types.is_large_list(type):
            return t.list_(_type(type.value_field))
    except ValueError:
        return None
    return None
