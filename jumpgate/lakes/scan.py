"""Operators that read a snapshot: a Read of all files or, where they differ in names or constants, a union of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jumpgate.converters.probe import infer_schema
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Expression, Literal, Value
from jumpgate.dataflow.formats import DELETED, PARTITIONS
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.literals import coerce
from jumpgate.dataflow.operators import Operator, Project, Read, column
from jumpgate.dataflow.partitions import as_option, values_of
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import InvalidDataflow, SchemaMismatch
from jumpgate.lakes.columns import read_as

#: sets of files that one dataflow reads apart
PARTS_MAX = 100


@dataclass(frozen=True)
class Part:
    """Files of one shape. `stored`: names in the files of the table's columns that may be there; `folders`: columns
    that the folders' names hold; `constants`: columns with one value in all rows; other columns are NULL. `deleted`:
    rows by file, as texts of jumpgate.dataflow.deleted; `types`: of columns whose structs' fields have other names in
    the files, with these."""

    files: tuple[str, ...]
    stored: Mapping[str, str]
    folders: tuple[str, ...] = ()
    constants: Mapping[str, Value] = field(default_factory=dict)
    deleted: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, DataType] = field(default_factory=dict)


def refused(table: str, why: str) -> InvalidDataflow:
    """Return the error of a table with a feature that is not applied."""
    return InvalidDataflow(f"read: {table}: {why}", operator="read")


def first_line(error: Exception) -> str:
    """Return what a package's error says, without its own trace."""
    return (str(error) or type(error).__name__).splitlines()[0]


def operator(table: str, columns: Sequence[Field], parts: Sequence[Part]) -> Operator:
    """Return what reads the parts as a table with these columns. `table` is for messages. Raises InvalidDataflow,
    SchemaMismatch, and what files raise that cannot be read."""
    if not parts:
        raise refused(table, "this version has no files, and so no rows; no dataflow reads nothing")
    if len(parts) > PARTS_MAX:
        raise refused(
            table,
            f"its files differ in {len(parts)} ways in names or in values that only the table's log has, and a "
            f"dataflow reads {PARTS_MAX}; rewrite it (compact), or read some of its files",
        )
    members = [Dataflow(_member(table, columns, part)) for part in parts]
    return members[0].root if len(members) == 1 else members[0].union_all(*members[1:]).root


def is_in_folders(file: str, name: str, value: Value) -> bool:
    """Return whether the folders' names of a file hold the value of a column as readers understand them."""
    found = values_of(file)
    if name not in found or isinstance(value, float | bytes):
        return False
    text = str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
    return found[name] == text


def _member(table: str, columns: Sequence[Field], part: Part) -> Operator:
    found = {f.name: f.type for f in infer_schema(part.files, "parquet", {})}
    fields: list[Field] = []
    places: dict[str, int] = {}  # of the table's columns
    for wanted in columns:
        name = part.stored.get(wanted.name)
        if wanted.name in part.folders:
            fields.append(Field(wanted.name, wanted.type.with_nullable(True)))
        elif name in found and wanted.name not in part.constants:
            type = part.types.get(wanted.name, wanted.type)
            fields.append(Field(str(name), _read_as(table, Field(wanted.name, type), found[str(name)])))
        else:
            continue
        places[wanted.name] = len(fields) - 1
    schema = Schema(tuple(fields)) if fields else infer_schema(part.files, "parquet", {}).select((0,))
    options = [(PARTITIONS.name, as_option(part.folders))] if part.folders else []
    if any(map(part.deleted.get, part.files)):
        options.append((DELETED.name, ",".join(part.deleted.get(file, "") for file in part.files)))
    in_files = [places[wanted.name] for wanted in columns if wanted.name in places]
    read = Read(part.files, "parquet", schema, tuple(in_files), tuple(sorted(options)))
    if read.schema.names == tuple(c.name for c in columns) and all(
        c.type.is_opaque or r.type.is_opaque or r.type.same(c.type) for c, r in zip(columns, read.schema, strict=True)
    ):
        return read
    of_read = {place: position for position, place in enumerate(in_files)}
    expressions: list[Expression] = []
    for wanted in columns:
        if wanted.name in places:
            here = column(read.schema, of_read[places[wanted.name]])
            is_plain = here.type.is_opaque or wanted.type.is_opaque
            expressions.append(here if is_plain else cast_to(here, wanted.type))
        else:
            expressions.append(_constant(table, wanted, part.constants.get(wanted.name)))
    return Project(read, tuple(expressions), tuple(c.name for c in columns))


def _read_as(table: str, wanted: Field, stored: DataType) -> DataType:
    found = read_as(stored, wanted.type)
    if found is None:
        raise SchemaMismatch(
            f"{table}: column '{wanted.name}' is {wanted.type.name}, but {stored.name} in its files",
            column=wanted.name,
        )
    return found


def _constant(table: str, wanted: Field, value: Value) -> Literal:
    if wanted.type.is_opaque or (value is not None and wanted.type.is_nested):
        raise refused(table, f"column '{wanted.name}' is {wanted.type.name}, and not in its files")
    try:
        return Literal(wanted.type.with_nullable(True), None) if value is None else coerce(value, wanted.type)
    except TypeMismatch as mismatch:
        raise refused(table, f"column '{wanted.name}': {mismatch}") from None
