"""`read` for clients: as the builder's, but finds the schema in the files when none is given, and tables of Delta Lake
and Iceberg by their logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumpgate.dataflow import builder
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.files import Paths
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import InvalidDataflow
from jumpgate.stores.names import canonical, is_remote

if TYPE_CHECKING:
    from jumpgate.lakes.delta import Version


def read(
    paths: Paths,
    *,
    format: str | None = None,
    schema: Schema | Mapping[str, DataType | str] | None = None,
    columns: Sequence[str] | None = None,
    **options: object,
) -> Dataflow:
    """Files of one format: a path, a glob, a directory, or a list of them. See jumpgate.dataflow.builder.read.

    schema: None reads it from the files: exact where they have one; JSON and CSV are sampled, so give a schema where
    decimals or dates matter. The folder of a Delta table is read as its newest version.
    """
    try:
        return read_files(paths, format=format, schema=schema, columns=columns, **options)
    except InvalidDataflow as error:
        if schema is not None or options or format not in (None, "parquet"):
            raise
        return read_delta(delta_folder(error, paths), columns=columns)


def read_files(
    paths: Paths,
    *,
    format: str | None = None,
    schema: Schema | Mapping[str, DataType | str] | None = None,
    columns: Sequence[str] | None = None,
    **options: object,
) -> Dataflow:
    """Return plain files as `read` does. Raises InvalidDataflow for a table's folder."""
    return builder.read(paths, format=format, schema=_infer if schema is None else schema, columns=columns, **options)


def delta_folder(error: InvalidDataflow, paths: Paths) -> str:
    """Return the folder of the Delta table that `paths` names, by which reading plain files failed. Raises the error if
    it names none, or a part of one."""
    if error.fields.get("table") != "Delta" or not isinstance(paths, str | os.PathLike):
        raise error
    path, folder = os.fspath(paths), str(error.fields["folder"])
    named = canonical(path).rstrip("/") if is_remote(path) else os.path.abspath(os.path.expanduser(path))
    if named != folder:
        raise error
    return folder


def read_delta(path: str, *, version: Version | None = None, columns: Sequence[str] | None = None) -> Dataflow:
    """Return a version of a Delta table: by number, by moment (also as ISO 8601), or the newest.

    Its files are known from then on: what is written later is not read. Raises FileUnreadable, InvalidDataflow for a
    feature of the format that is not applied, SchemaMismatch, and NotInstalled without `jumpgate-nca[delta]`.
    """
    from jumpgate.lakes import delta

    flow = Dataflow(delta.read(path, version))
    return flow if columns is None else flow.select(*columns)


def read_iceberg(
    table: str | os.PathLike[str] | Any, *, snapshot: int | None = None, columns: Sequence[str] | None = None
) -> Dataflow:
    """Return a snapshot of an Iceberg table, by its id, or the newest. `table`: the name of a metadata file
    (….metadata.json), a folder with metadata/version-hint.text, or a table that pyiceberg loaded from a catalogue.

    Its files are known from then on: what is written later is not read. Raises FileUnreadable, InvalidDataflow for a
    feature of the format that is not applied, SchemaMismatch, and NotInstalled without `jumpgate-nca[iceberg]`.
    """
    from jumpgate.lakes import iceberg

    flow = Dataflow(iceberg.read(table, snapshot))
    return flow if columns is None else flow.select(*columns)


def _infer(files: tuple[str, ...], format: str, options: dict[str, str]) -> Schema:
    from jumpgate.converters.probe import infer_schema

    return infer_schema(files, format, options)
