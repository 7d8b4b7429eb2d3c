"""Reads of local files that a plan names itself."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import TypeAlias

from substrait.algebra_pb2 import ReadRel
from substrait.type_pb2 import NamedStruct

from jumpgate.dataflow.files import list_files
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.substrait.types import Unmapped, read_schema
from jumpgate.errors import InvalidDataflow
from jumpgate.stores.names import canonical, is_remote

#: Substrait's only format with options
TEXT = "text"
Text: TypeAlias = ReadRel.LocalFiles.FileOrFiles.DelimiterSeparatedTextReadOptions


def read_files(files: ReadRel.LocalFiles, schema: NamedStruct) -> Read:
    """Return the read of all the plan's files, which share one format. Raises Unmapped, FileUnreadable."""
    paths, kinds, options = [], set(), set()
    for item in files.items:
        kind = item.WhichOneof("path_type") or ""
        if kind not in ("uri_file", "uri_path", "uri_folder", "uri_path_glob"):
            raise Unmapped("a file without a path")
        if item.start or item.length:
            raise Unmapped("parts of files are not known")
        uri = getattr(item, kind)
        if is_remote(uri) and kind not in ("uri_file", "uri_path"):
            raise Unmapped("folders and patterns in stores are not known; name their files")
        paths.append(canonical(uri) if is_remote(uri) else _path(uri))
        kinds.add(item.WhichOneof("file_format") or "")
        options.add(_text(item.text) if item.WhichOneof("file_format") == TEXT else ())
    known = format_names()
    if len(kinds) != 1 or len(options) != 1 or not kinds <= set(known):
        raise Unmapped(f"files are read in one format of {', '.join(known)}")
    columns, format = read_schema(schema), known[kinds.pop()]
    if len({is_remote(path) for path in paths}) > 1:
        raise Unmapped("files in stores and others are read apart")
    # no store is asked yet: whether the sender may read from it is the service's to say
    found = tuple(paths) if is_remote(paths[0]) else list_files(paths, format)[0]
    return Read(found, format, columns, tuple(range(len(columns))), options.pop())


def format_names() -> dict[str, str]:
    """Formats by Substrait's names."""
    return {found.substrait: name for name, found in formats().items() if found.substrait}


def _path(uri: str) -> str:
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        raise Unmapped(f"'{parts.scheme}' files are not known")
    return urllib.parse.unquote(parts.path) if parts.scheme else uri


def _text(text: Text) -> tuple[tuple[str, str], ...]:
    """Return the options of a read of CSV."""
    if not text.quote or text.escape not in ("", text.quote) or text.header_lines_to_skip > 1:
        raise Unmapped("text files are known with a quote that is doubled, and at most one header line")
    if not text.HasField("value_treated_as_null"):
        raise Unmapped("text files without a value that stands for NULL are not known")
    options = {
        "delimiter": text.field_delimiter or ",",
        "quote": text.quote,
        "header": "true" if text.header_lines_to_skip else "false",
        "null": text.value_treated_as_null,
    }
    if problems := formats()[format_names()[TEXT]].problems(options):
        raise Unmapped(problems[0])
    return tuple(options.items())


def write_text(options: Mapping[str, str]) -> Text:
    """Convert the options of a read of CSV; options that Substrait lacks must have their defaults."""
    if options.get("on_error", "fail") != "fail":
        raise InvalidDataflow("Substrait has no reads that skip what is malformed", operator="read")
    unsaid = {"encoding": "utf-8", "ragged": "error", "partitions": ""}
    for name in (n for n, value in unsaid.items() if options.get(n, value) != value):
        raise InvalidDataflow(f"Substrait's reads have no option {name!r}", operator="read")
    quote = options.get("quote", '"')
    return Text(
        field_delimiter=options.get("delimiter", ","),
        quote=quote,
        escape=quote,
        header_lines_to_skip=int(options.get("header", "true") == "true"),
        value_treated_as_null=options.get("null", ""),
    )
