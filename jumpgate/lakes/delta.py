"""Delta Lake by the `deltalake` package, which reads the log: a snapshot's files, columns and values of partitions."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from jumpgate import extras
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import DataType, Field
from jumpgate.errors import FileUnreadable, JumpgateError
from jumpgate.lakes import deletes
from jumpgate.lakes.columns import data_type
from jumpgate.lakes.scan import Part, first_line, is_in_folders, operator, refused
from jumpgate.stores import providers
from jumpgate.stores.names import bucket_and_key, canonical, is_remote, scheme

#: features for readers that change no row, or that are looked at here
KNOWN = (
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint",
    "vacuumProtocolCheck",
)  # fmt: skip

PHYSICAL_NAME = "delta.columnMapping.physicalName"

Version = int | str | datetime.datetime


def read(path: str, version: Version | None = None) -> Operator:
    """Return what reads a version of the table in a folder: its number, a moment (also as ISO 8601), or the newest.

    Raises FileUnreadable for a table or version that cannot be read, InvalidDataflow for one with a feature that is not
    applied, SchemaMismatch, NotInstalled.
    """
    folder = canonical(path).rstrip("/") if is_remote(path) else os.path.abspath(os.path.expanduser(path))
    name = f"Delta table '{folder}'"
    if is_remote(folder) and not scheme(folder):
        raise refused(name, "a web server lists no files; name single files, or a folder of an object store")
    if scheme(folder):  # whose errors say who may not read
        _, key = bucket_and_key(folder)
        if not any(providers.of(folder).below(folder, f"{key}/_delta_log/".lstrip("/"), 1)):
            raise FileUnreadable(f"cannot read {name}: it has no _delta_log", file=folder)
    with extras.explained():
        import pyarrow as pa
        from deltalake import DeltaTable
    try:
        table = DeltaTable(folder, storage_options=providers.of(folder).access(folder) if scheme(folder) else None)
        if version is not None:
            table.load_as_version(version)
        features = _check(name, table)
        actions = pa.table(table.get_add_actions())
        files = [_file(name, folder, path) for path in actions.column("path").to_pylist()]
        vectors = table.deletion_vectors() if "deletionVectors" in features else None
        lost = {} if vectors is None else deletes.of_delta(name, vectors, files)
        columns = [Field(f.name, data_type(f.type)) for f in pa.schema(table.schema().to_arrow())]
    except JumpgateError:
        raise
    except Exception as error:  # the package has many
        raise FileUnreadable(f"cannot read {name}: {first_line(error)}", file=folder) from None
    return operator(name, columns, _parts(name, table, columns, actions, files, lost))


def _check(name: str, table: Any) -> list[str]:
    """Return the features that the table's readers must have. Raises InvalidDataflow for one that is not known."""
    protocol = table.protocol()
    features = list(protocol.reader_features or ())
    if unknown := sorted(set(features) - set(KNOWN)):
        raise refused(name, f"it needs a feature of readers that is not known: {', '.join(unknown)}")
    if protocol.min_reader_version > 3:
        raise refused(name, f"it needs readers of version {protocol.min_reader_version}; 3 is known")
    return features


def _parts(
    name: str, table: Any, columns: list[Field], actions: Any, files: list[str], lost: Mapping[str, str]
) -> list[Part]:
    metadata = table.metadata()
    stored, types = _stored(name, metadata, table, columns)
    keys = list(metadata.partition_columns)
    values = actions.column("partition").to_pylist() if "partition" in actions.column_names else [{}] * len(actions)
    rows = [{key: _value(name, stored, row, key) for key in keys} for row in values]
    in_folders = tuple(
        key
        for key in keys
        if stored[key] == key and all(is_in_folders(f, key, row[key]) for f, row in zip(files, rows, strict=True))
    )
    groups: dict[tuple[tuple[str, Value], ...], list[str]] = {}
    for file, row in zip(files, rows, strict=True):
        groups.setdefault(tuple((k, v) for k, v in row.items() if k not in in_folders), []).append(file)
    for key in keys:
        del stored[key]
    return [
        Part(tuple(sorted(of)), stored, in_folders, dict(constants), lost, types) for constants, of in groups.items()
    ]


def _file(name: str, folder: str, path: str) -> str:
    """Return the absolute name of a file of the log."""
    if ":" in path.partition("/")[0] or path.startswith("/"):
        raise refused(name, f"its file {path!r} is not in its folder, as in a clone; read the table that it is of")
    return f"{folder}/{unquote(path)}"


def _stored(name: str, metadata: Any, table: Any, columns: list[Field]) -> tuple[dict[str, str], dict[str, DataType]]:
    """Return the names of the columns in the files, and types with such names of those that have parts."""
    mode = metadata.configuration.get("delta.columnMapping.mode", "none")
    fields = json.loads(table.schema().to_json())["fields"]
    if mode == "none":
        return {field["name"]: field["name"] for field in fields}, {}
    if mode != "name":
        raise refused(name, f"its columns are found by columnMapping of mode {mode!r}; only `name` is known")
    stored = {field["name"]: field["metadata"][PHYSICAL_NAME] for field in fields}
    nested = {field["name"]: field["type"] for field in fields if isinstance(field["type"], dict)}
    return stored, {c.name: _in_files(nested[c.name], c.type) for c in columns if c.name in nested}


def _in_files(declared: Any, type: DataType) -> DataType:
    """Return a type of the log with the names that structs' fields have in the files."""
    if not type.is_nested:
        return type
    if type.kind == "struct":
        found = [(field["metadata"][PHYSICAL_NAME], field["type"]) for field in declared["fields"]]
    else:
        found = [(part.name, declared[f"{part.name}Type"]) for part in type.parts]
    parts = [Field(name, _in_files(of, part.type)) for (name, of), part in zip(found, type.parts, strict=True)]
    return replace(type, parts=tuple(parts))


def _value(name: str, stored: Mapping[str, str], row: Mapping[str, Value], key: str) -> Value:
    """Return a file's value of a partition column, which may go by its name in the files."""
    if key not in row and stored[key] not in row:
        raise refused(name, f"its log has no values of the partition column '{key}'")
    return row[key] if key in row else row[stored[key]]
