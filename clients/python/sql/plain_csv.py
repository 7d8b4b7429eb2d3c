"""Plain CSV files, read without a job: while the runtime is built, and where no compiler can build a program.

Only what all readers agree on is read: no options, rows of as many fields as the header, and values in their usual
form. Of other files there is no answer here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from jumpgate.codegen import toolchain
from jumpgate.dataflow import beneath
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import DataType
from jumpgate.errors import BuildError
from jumpgate.ntf.codec import arrow_type

#: of one table
BYTES_MAX = 64 << 20
#: kind of a type → form of its values
FORMS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), r"^-?(0|[1-9][0-9]{0,17})$"),
    "float64": r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$",
    "date": r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$",
    "string": "",
}
_FIELD = rb'(?:"[^"]*"|[^",]*)'
_ROW = re.compile(_FIELD + rb"(?:," + _FIELD + rb")*")
#: in texts that readers may take in different ways
_UNUSUAL = (b"\r", b"\0", b"\n\n", b"\xef\xbb\xbf")

_is_ready = False


def is_ready() -> bool:
    """Return whether jobs of this machine can begin: the runtime needs no build."""
    global _is_ready
    try:
        _is_ready = _is_ready or toolchain.is_built()
    except BuildError:
        return False
    return _is_ready


def table(read: Operator, names: list[str]) -> pa.Table | None:
    """Return those columns of the rows that are read, and one of any name if there are none; None if a file is not
    plain."""
    if not isinstance(read, Read) or (read.format, read.options, read.predicate) != ("csv", (), None):
        return None
    types = {field.name: field.type for field in read.file_schema}
    wanted = names or [*types][:1]
    if not wanted or any(types[name].kind not in FORMS for name in wanted):
        return None
    try:
        if sum(Path(file).stat().st_size for file in read.files) > BYTES_MAX:
            return None
        texts = [_texts(Path(file), wanted) for file in read.files]
        found = pa.concat_tables(texts)
        return pa.table({name: _typed(found[name], types[name]) for name in wanted})
    except (OSError, ValueError, KeyError):  # Arrow's are among these
        return None


def _texts(file: Path, names: list[str]) -> pa.Table:
    """Return the columns as text; raises ValueError if the file is not plain."""
    with open(file, "rb", opener=beneath.opener) as opened:
        content = opened.read()
    if file.suffix != ".csv" or content[:1] in (b"", b"\n") or any(part in content for part in _UNUSUAL):
        raise ValueError(file)
    lines = content.removesuffix(b"\n").split(b"\n")
    header = lines[0].split(b",")
    if len(set(header)) < len(header) or any(b'"' in line and not _ROW.fullmatch(line) for line in lines):
        raise ValueError(file)
    return csv.read_csv(
        pa.py_buffer(content),
        csv.ReadOptions(use_threads=False, block_size=len(content) + 1),
        csv.ParseOptions(ignore_empty_lines=False),
        csv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.string()), null_values=[""],
            strings_can_be_null=True, quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip


def _typed(texts: pa.ChunkedArray, type: DataType) -> pa.ChunkedArray:
    """Return the values; raises ValueError if one has another form."""
    form = FORMS[type.kind]
    if form and pc.all(pc.match_substring_regex(texts, form)).as_py() is False:
        raise ValueError(type)
    return texts.cast(arrow_type(type))
