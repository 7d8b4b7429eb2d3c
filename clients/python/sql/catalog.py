"""The tables of a connection: files that accelerators can read, and Arrow data that only the client has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from jumpgate.dataflow.expressions import Cast, ColumnRef, Expression, Literal
from jumpgate.dataflow.file_state import FileStates
from jumpgate.dataflow.files import Paths
from jumpgate.dataflow.formats import DELETED, PARTITIONS, formats
from jumpgate.dataflow.operators import Operator, Project, Read, UnionAll
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import InvalidDataflow, NotFound
from jumpgate.ntf.arrow_types import arrow_type
from jumpgate.words import counted

#: of an infinite moment, in any unit
_INFINITE = (1 << 63) - 1


@dataclass(frozen=True)
class Table:
    """One registered table: what is to `read`, or `data` as an Arrow table; exactly one of them is there.

    schema: its columns, which may be of types that Jumpgate does not have. closed: DuckDB does not open its files, as
    it cannot, or is not to. states: of the files that DuckDB opens, as they were registered.
    """

    name: str
    schema: pa.Schema
    read: Operator | None = None
    data: pa.Table | None = None
    closed: bool = False
    states: FileStates = field(default_factory=dict, compare=False, repr=False)
    #: columns that DuckDB has with these types, and in which files that was so
    same: dict[str, FileStates] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_converted(self) -> bool:
        """Return whether its files are always read by Jumpgate's converters, also for DuckDB."""
        if self.read is None:
            return False
        if not isinstance(self.read, Read):
            return True
        return (
            self.closed
            or formats()[self.read.format].converted
            or not {PARTITIONS.name, DELETED.name}.isdisjoint(dict(self.read.options))
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Return all files that are read."""
        return () if self.read is None else tuple(f for n in self.read.walk() if isinstance(n, Read) for f in n.files)

    @property
    def format(self) -> str:
        """Return the format of the files; empty for Arrow data."""
        return "" if self.read is None else next(node.format for node in self.read.walk() if isinstance(node, Read))

    def __str__(self) -> str:
        if self.read is None:
            assert self.data is not None
            return f"{self.name}: Arrow table of {counted(self.data.num_rows, 'row')}"
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.name}: {self.format} {self.files[0]}{more}"


class Catalog:
    """Names → tables. `changed` is called with the name after each change. Thread-safe."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._tables: dict[str, Table] = {}
        self._changed = changed
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Table]:
        return iter(list(self._tables.values()))

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def __getitem__(self, name: str) -> Table:
        """The table of that name, or the only one whose name differs in case alone. Raises NotFound."""
        table = self._find(name)
        if table is None:
            from jumpgate.dataflow.resolve import suggest

            hint = suggest(name, self._tables) if self._tables else "; none is registered yet"
            raise NotFound(f"there is no table {name!r}{hint.replace('it has', 'there are')}", table=name)
        return table

    def _find(self, name: str) -> Table | None:
        if name in self._tables:
            return self._tables[name]
        alike = [table for table in self if table.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tables)

    def add(self, table: Table) -> Table:
        """Takes the place of a table of the same name. Raises InvalidDataflow if the name is not that of a table."""
        if not table.name or "." in table.name or '"' in table.name:
            raise InvalidDataflow(f"register: {table.name!r} cannot name a table: no '.' and no '\"', not empty")
        with self._lock:
            self._tables[table.name] = table
            self._changed(table.name)
        return table

    def drop(self, name: str) -> None:
        """Raises NotFound."""
        with self._lock:
            table = self[name]
            del self._tables[table.name]
            self._changed(table.name)


def file_table(
    name: str,
    paths: Paths,
    format: str | None,
    schema: Schema | Mapping[str, DataType | str] | None,
    options: Mapping[str, Any],
) -> Table:
    """A table of files. Raises what `read` does: FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch."""
    from jumpgate.client.reading import delta_folder, read_delta, read_files

    try:
        return read_table(name, read_files(paths, format=format, schema=schema, **options).root)
    except InvalidDataflow as error:
        if schema is not None or options or format not in (None, "parquet"):
            raise
        return read_table(name, read_delta(delta_folder(error, paths)).root, closed=True)


def read_table(name: str, root: Operator, closed: bool = False) -> Table:
    """A table of what a dataflow reads."""
    return Table(name, pa.schema([_field(f) for f in root.schema]), read=root, closed=closed)


def parquet_table(table: Table) -> Table:
    """The table of plain Parquet files with the types that the files declare, which are more than Jumpgate's."""
    assert isinstance(table.read, Read)
    fields = [
        f
        for f in table.read.schema
        if f.type.is_opaque or f.type.is_integer or f.type.is_nested or f.type.kind in ("time", "decimal", "binary")
    ]
    if not fields:
        return table
    from jumpgate.converters.footers import parquet_arrow_schema

    declared = [parquet_arrow_schema(file) for file in table.read.files]
    schema = table.schema
    for ours in fields:
        place = schema.get_field_index(ours.name)
        theirs = [s.field(i).type for s in declared if (i := s.get_field_index(ours.name)) >= 0]
        try:
            both = [pa.schema([(ours.name, type)]) for type in theirs]
            type = pa.unify_schemas(both, promote_options="permissive").field(0).type
        except pa.ArrowException:
            continue
        if (ours.type.is_integer or ours.type.kind == "decimal") and not pa.types.is_unsigned_integer(type):
            continue
        schema = schema.set(place, pa.field(ours.name, type, ours.type.nullable))
    return replace(table, schema=schema)


def is_plain(root: Operator) -> bool:
    """Return whether a dataflow only puts columns of files together, which means the same in every dialect."""
    return all(
        isinstance(node, Read | UnionAll) or (isinstance(node, Project) and all(map(_is_column, node.expressions)))
        for node in root.walk()
    )


def _is_column(expression: Expression) -> bool:
    if isinstance(expression, Cast):
        return isinstance(expression.input, ColumnRef)
    return isinstance(expression, ColumnRef | Literal)


def _field(field: Field) -> pa.Field:
    """Return a field. A column without a type in Jumpgate cannot be used, unless DuckDB reads the file."""
    return pa.field(field.name, pa.null() if field.type.is_opaque else arrow_type(field.type), field.type.nullable)


def arrow_table(name: str, data: Any) -> Table:
    """A table of Arrow data: a Table, RecordBatch, RecordBatchReader, or anything with an Arrow C stream."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif not isinstance(data, pa.Table):
        try:
            data = pa.table(data)
        except (TypeError, ValueError, pa.ArrowInvalid) as error:
            message = f"register: {type(data).__name__} is neither a path nor Arrow data: {error}"
            raise InvalidDataflow(message) from None
    if len(set(data.column_names)) < data.num_columns:
        raise InvalidDataflow(f"register: two columns of {name!r} have the same name")
    for place, column in enumerate(data.columns):
        if pa.types.is_nested(column.type):  # DuckDB takes other rows of structs that are slices of structs
            chunks = [pa.concat_arrays([chunk[:0], chunk]) for chunk in column.chunks]
            data = data.set_column(place, data.schema.field(place), pa.chunked_array(chunks, column.type))
        elif pa.types.is_timestamp(column.type) and column.type.unit in ("s", "ms"):
            found = _in_microseconds(column)
            data = data if found is column else data.set_column(place, data.column_names[place], found)
    return Table(name, data.schema, data=data)


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of whole seconds or milliseconds, which SQL has in microseconds: Arrow takes an infinite moment, the
    greatest number of any unit, for one that is beyond them. One without such stays as it is."""
    import pyarrow.compute as pc

    numbers = column.cast(pa.int64())
    infinite = pc.equal(pc.abs(numbers), pa.scalar(_INFINITE))
    if not pc.any(infinite).as_py():
        return column
    finite = pc.if_else(infinite, pa.scalar(0, pa.int64()), numbers).cast(column.type)
    wanted = pa.timestamp("us", column.type.tz)
    try:
        moved = finite.cast(wanted).cast(pa.int64())
    except pa.ArrowInvalid:  # there are finite ones beyond, too: whoever reads them says so
        return column
    return pc.if_else(infinite, numbers, moved).cast(wanted)
