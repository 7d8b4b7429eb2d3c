"""Reads of local files that a plan names itself."""

from __future__ import annotations

import urllib.parse

from substrait.algebra_pb2 import ReadRel
from substrait.type_pb2 import NamedStruct

from jumpgate.dataflow.files import list_files
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.substrait.types import Unmapped, read_type
from jumpgate.dataflow.types import Field, Schema

_FORMATS = {"parquet": "parquet", "orc": "orc"}


def read_files(files: ReadRel.LocalFiles, schema: NamedStruct) -> Read:
    """The read of all the plan's files; they have one format. Raises Unmapped, FileUnreadable."""
    paths, formats = [], set()
    for item in files.items:
        kind = item.WhichOneof("path_type") or ""
        if kind not in ("uri_file", "uri_path", "uri_folder", "uri_path_glob"):
            raise Unmapped("a file without a path")
        if item.start or item.length:
            raise Unmapped("parts of files are not known")
        paths.append(_path(getattr(item, kind)))
        formats.add(_FORMATS.get(item.WhichOneof("file_format") or ""))
    if len(formats) != 1 or None in formats:
        raise Unmapped("files are read in one format, Parquet or ORC")
    if len(schema.names) != len(schema.struct.types):
        raise Unmapped("a read's names and types do not belong together")
    fields = tuple(Field(n, read_type(t)) for n, t in zip(schema.names, schema.struct.types, strict=True))
    found, format = list_files(paths, formats.pop())
    return Read(found, format, Schema(fields), tuple(range(len(fields))))


def _path(uri: str) -> str:
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        raise Unmapped(f"'{parts.scheme}' files are not known")
    return urllib.parse.unquote(parts.path) if parts.scheme else uri
