"""`read` for clients: as the builder's, but finds the schema in the files when none is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jumpgate.dataflow import builder
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.files import Paths
from jumpgate.dataflow.types import DataType, Schema


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
    decimals or dates matter.
    """
    return builder.read(paths, format=format, schema=_infer if schema is None else schema, columns=columns, **options)


def _infer(files: tuple[str, ...], format: str, options: dict[str, str]) -> Schema:
    from jumpgate.converters.probe import infer_schema

    return infer_schema(files, format, options)
