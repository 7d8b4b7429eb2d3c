"""Iceberg by the `pyiceberg` package, which reads metadata and manifests: a snapshot's files, and its columns by id."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jumpgate import extras
from jumpgate.converters.probe import field_ids
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import DataType, Field
from jumpgate.errors import FileUnreadable, InvalidDataflow, JumpgateError
from jumpgate.lakes import deletes, equality
from jumpgate.lakes.columns import data_type
from jumpgate.lakes.scan import Part, first_line, operator, refused
from jumpgate.stores import providers
from jumpgate.stores.names import canonical, is_remote, scheme

#: what reads metadata in stores for pyiceberg
IO = "jumpgate.lakes.objects_io.ObjectsIO"
#: of a version-hint.text
HINT_BYTES_MAX = 4096
#: name, id and parts of a column
Ids = list[Any]


def read(table: str | os.PathLike[str] | Any, snapshot: int | None = None) -> Operator:
    """Return what reads a snapshot of a table, by its id, or the newest. `table`: the name of a metadata file
    (….metadata.json), a folder with metadata/version-hint.text, or a table that pyiceberg loaded from a catalogue.

    Raises FileUnreadable for a table or snapshot that cannot be read, InvalidDataflow for one with a feature that is
    not applied, SchemaMismatch, NotInstalled.
    """
    with extras.explained():
        from pyiceberg.io.pyarrow import schema_to_pyarrow
        from pyiceberg.table import StaticTable
    name = "Iceberg table"
    try:
        if isinstance(table, str | os.PathLike):
            location = _location(os.fspath(table))
            name = f"Iceberg table '{location}'"
            table = StaticTable.from_metadata(location, {"py-io-impl": IO} if is_remote(location) else {})
        else:
            name = f"Iceberg table '{'.'.join(table.name())}'"
        schema = _schema(name, table, snapshot)
        columns = [Field(f.name, data_type(f.type)) for f in schema_to_pyarrow(schema)]
        tasks, equal = equality.planned(name, table.scan(snapshot_id=snapshot))
        ids = [_ids(field.name, field.field_id, field.field_type) for field in schema.fields]
        defaults = _defaults(name, schema)
        files = [_file(name, task) for task in tasks]
        lost = deletes.of_iceberg(name, table.io, tasks, equality.positions(name, table, equal))
        deleted = {file: lost.get(task.file.file_path, "") for file, task in zip(files, tasks, strict=True)}
        specs = {n: _identities(spec) for n, spec in table.specs().items()}
        values = [specs[task.file.spec_id] for task in tasks]
    except JumpgateError:
        raise
    except OSError as error:
        raise FileUnreadable(f"cannot read {name}: {first_line(error)}") from None
    except Exception as error:  # the package has many
        raise InvalidDataflow(f"read: {name}: {first_line(error)}", operator="read") from None
    types = {column.name: column.type for column in columns}
    return operator(name, columns, _parts(name, files, values, _Columns(ids, types, defaults), deleted))


def _location(path: str) -> str:
    """Return the name of the metadata file at a path; in a folder, of the newest one by its version-hint.text."""
    place = canonical(path) if is_remote(path) else os.path.abspath(os.path.expanduser(path.removeprefix("file://")))
    return place if place.endswith(".metadata.json") else _newest(place.rstrip("/"))


def _newest(folder: str) -> str:
    """Return the metadata file that a folder's hint names, or the last one after it, as the hint is written later."""
    hint = f"{folder}/metadata/version-hint.text"
    if is_remote(folder) and not scheme(folder):
        raise _no_metadata(folder, "a web server lists no files")
    if not _exists(hint):
        raise _no_metadata(folder, "it has no metadata/version-hint.text")
    try:
        content = (
            providers.of(hint).content(hint, HINT_BYTES_MAX)
            if scheme(hint)
            else Path(hint).read_bytes()[:HINT_BYTES_MAX]
        )
        name = content.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnreadable(f"cannot read '{hint}': {first_line(error)}", file=hint) from None
    if not name.isdecimal():
        if not name or "/" in name:
            raise _no_metadata(folder, f"its version-hint.text says {name!r}")
        return f"{folder}/metadata/{name.removesuffix('.metadata.json')}.metadata.json"
    version = int(name)
    while _exists(f"{folder}/metadata/v{version + 1}.metadata.json"):
        version += 1
    return f"{folder}/metadata/v{version}.metadata.json"


def _exists(name: str) -> bool:
    if not scheme(name):
        return os.path.exists(name)
    try:
        providers.of(name).head(name)
    except FileUnreadable as error:
        if not error.fields.get("missing"):
            raise
        return False
    return True


def _no_metadata(path: str, why: str) -> InvalidDataflow:
    return InvalidDataflow(
        f"read: {path!r} is no metadata file of Iceberg, and {why}; name the newest metadata file, which the catalogue "
        "knows, or give the table that pyiceberg loads from the catalogue",
        operator="read",
    )


def _schema(name: str, table: Any, snapshot: int | None) -> Any:
    """Return the schema of the snapshot, or the newest."""
    if snapshot is None:
        return table.schema()
    found = table.snapshot_by_id(snapshot)
    if found is None:
        raise FileUnreadable(f"cannot read {name}: it has no snapshot {snapshot}")
    schemas = table.schemas()
    if found.schema_id not in schemas:
        raise refused(name, f"its metadata has no schema any more of snapshot {snapshot}")
    return schemas[found.schema_id]


def _defaults(name: str, schema: Any) -> dict[str, Value]:
    """Return the values of columns in rows from before these were added. Raises InvalidDataflow for parts of columns
    with such a value."""
    for field in schema.fields:
        if any(part.initial_default is not None for part in _below(field.field_type)):
            raise refused(name, f"a part of column '{field.name}' has an initial default, which is not applied yet")
    return {field.name: field.initial_default for field in schema.fields if field.initial_default is not None}


def _identities(spec: Any) -> set[int]:
    return {field.source_id for field in spec.fields if str(field.transform) == "identity"}


def _file(name: str, task: Any) -> str:
    """Return the name of a task's file. Raises InvalidDataflow for one that is not read as it is."""
    file = task.file
    deletes.check_iceberg(name, task)
    if file.file_format.value != "PARQUET":
        raise refused(name, f"some of its files are {file.file_format.value}; only those of Parquet are read")
    if file.key_metadata is not None:
        raise refused(name, "some of its files are encrypted")
    path = str(file.file_path)
    if is_remote(path):
        return canonical(path)
    local = path.removeprefix("file:") if path.startswith("file:/") else path
    local = "/" + local.lstrip("/") if local.startswith("/") else local
    if not os.path.isabs(local):
        raise refused(name, f"its file {path!r} is in a place that is not read")
    return local


def _ids(name: str, id: int, type: Any) -> Ids:
    """Return the ids of a column and its parts, as `probe.field_ids` does."""
    return [name, id, [_ids(part.name, part.field_id, part.field_type) for part in _inner(type)]]


def _inner(type: Any) -> list[Any]:
    """Return the fields of a type of Iceberg's."""
    return getattr(type, "fields", None) or [
        part for key in ("element_field", "key_field", "value_field") if (part := getattr(type, key, None)) is not None
    ]


def _below(type: Any) -> Iterator[Any]:
    """Yield the fields of a type, and theirs."""
    for part in _inner(type):
        yield part
        yield from _below(part.field_type)


@dataclass(frozen=True)
class _Columns:
    """A table's columns: their ids, their types, and values in files that lack them, where these are not NULL."""

    ids: Sequence[Ids]
    types: Mapping[str, DataType]
    defaults: Mapping[str, Value]


def _parts(
    name: str, files: Sequence[str], of: Sequence[set[int]], columns: _Columns, deleted: Mapping[str, str]
) -> list[Part]:
    """Return the files by the names that they have for the table's columns. `of`: for each file the ids of columns that
    are values of its partition; `deleted`: its deleted rows."""
    shapes: list[_Shape] = []
    for file, values, found in zip(files, of, field_ids(tuple(files)) if files else (), strict=True):
        by_id = {id: (of_file, parts) for of_file, id, parts in found if id >= 0}
        if len(by_id) < len(found):
            raise refused(name, f"'{file}' has columns without ids, as files have that another table was made of")
        stored, types, constants = {}, {}, {}
        for column, id, parts in columns.ids:
            if id in by_id:
                stored[column] = by_id[id][0]
                type = columns.types[column]
                if type.is_nested and not (in_file := _in_file(name, column, type, parts, by_id[id][1])).same(type):
                    types[column] = in_file
            elif id in values:
                raise refused(name, f"'{file}' has the column '{column}' in its partition alone, not in its rows")
            elif column in columns.defaults:
                constants[column] = columns.defaults[column]
        others = {of_file for of_file, _ in by_id.values()} - set(stored.values())
        if not any(shape.takes(file, stored, others, types, constants) for shape in shapes):
            shapes.append(_Shape([file], stored, others, types, constants))
    return [Part(tuple(sorted(s.files)), s.stored, (), s.constants, deleted, s.types) for s in shapes]


@dataclass
class _Shape:
    """Files of which each has the columns by these names, or lacks them; `others`: names that mean something else.
    `types` and `constants`: as of Part."""

    files: list[str]
    stored: dict[str, str]
    others: set[str]
    types: dict[str, DataType]
    constants: dict[str, Value]

    def takes(
        self,
        file: str,
        stored: Mapping[str, str],
        others: set[str],
        types: Mapping[str, DataType],
        constants: Mapping[str, Value],
    ) -> bool:
        """Add a file unless a name of it means something else in others."""
        if types != self.types or constants.keys() != self.constants.keys():
            return False
        merged = {**stored, **self.stored}
        fits = all(merged[column] == name for column, name in stored.items())
        names = set(merged.values())
        if not fits or len(names) < len(merged) or names & (others | self.others):
            return False
        self.files.append(file)
        self.stored = merged
        self.others |= others
        return True


def _in_file(name: str, column: str, type: DataType, wanted: Sequence[Ids], found: Sequence[Ids]) -> DataType:
    """Return a column's type with the names that a file has for its structs' fields, by their ids.

    A field that the file lacks keeps its name, or gets one that no other field has there.
    """
    if not type.is_nested:
        return type
    by_id = {id: (of_file, parts) for of_file, id, parts in found}
    if not any(id in by_id for _, id, _ in wanted):
        raise refused(name, f"column '{column}' has none of its parts in some files")
    taken = {of_file for of_file, _, _ in found}
    parts = []
    for part, (_, id, inner) in zip(type.parts, wanted, strict=True):
        if id in by_id:
            of_file, below = by_id[id]
            parts.append(
                Field(part.name if type.kind != "struct" else of_file, _in_file(name, column, part.type, inner, below))
            )
            continue
        if type.kind != "struct":
            raise refused(name, f"column '{column}' has parts in some files whose ids are others")
        free = part.name
        while free in taken:
            free += "_"
        taken.add(free)
        parts.append(Field(free, part.type))
    return replace(type, parts=tuple(parts))
