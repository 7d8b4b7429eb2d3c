"""Makes the index tables of text objects: reads each whole, tells its records apart, and sorts them by a column."""

from __future__ import annotations

import codecs
import contextlib
import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import Schema, parse_type
from jumpgate.errors import CannotPlace, JumpgateError, MalformedData
from jumpgate.ncas.s3_select import fields, forms, intervals
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.ntf.codec import arrow_schema
from jumpgate.stores import indexes, objects, reading, uploads
from jumpgate.stores.indexes import Index, Table
from jumpgate.stores.names import is_remote, scheme

#: bytes that are looked at together, and of a record
BLOCK_BYTES, RECORD_BYTES_MAX = 8 << 20, 64 << 20
#: rows of a part of a table that is read at once, and values that are noted for estimates
GROUP_ROWS, BOUNDS = 8192, 129
_LF, _CR = 10, 13

Positions = npt.NDArray[np.int64]
#: what was done, and how much of how many
Progress = Callable[[str, int, int], object]


def create(
    read: Operator,
    column: str,
    source: str,
    to: str = "",
    kind: str | None = None,
    progress: Progress = lambda *_: None,
) -> Index:
    """Index a column of the objects of a Read, in their present versions. to: an `s3://` folder for the tables; empty:
    they stay on this machine. kind: the column's type, where it is another one. An older index of the same is dropped.
    Raises CannotPlace, MalformedData, …"""
    folder = indexes.folder()
    assert folder is not None and isinstance(read, Read)
    if kind is not None:
        typed = (replace(f, type=parse_type(kind)) if f.name == column else f for f in read.file_schema)
        read = replace(read, file_schema=Schema(tuple(typed)))
    field = _field(read, column, to)
    form = forms.form_of(read, True)
    types = arrow_schema(read.file_schema.select((read.file_schema.names.index(column),)))
    index = Index(source, column, field, intervals.reading_of(read, column), {})
    place = f"{to.rstrip('/')}/{index.id}" if to else str(folder / index.id)
    (folder / index.id).mkdir(parents=True)
    tables: dict[str, Table] = {}
    try:
        with uploads.together() as send:
            for number, file in enumerate(read.files):
                progress(file, number, len(read.files))
                path = folder / index.id / f"{number}.parquet"
                tables[file] = replace(_indexed(file, form, types, path), place=f"{place}/{path.name}")
                if to:
                    send(path, f"{place}/{path.name}")
        if to:
            shutil.rmtree(folder / index.id)
            tables = {file: replace(table, place_tag=objects.ask(table.place).tag) for file, table in tables.items()}
        index = replace(index, tables=tables)
        former = [i for i in indexes.found() if (i.source, i.column, i.reading) == (source, column, index.reading)]
        indexes.keep(index)
    except BaseException:
        shutil.rmtree(folder / index.id, ignore_errors=True)
        for table in tables.values() if to else ():
            with contextlib.suppress(JumpgateError):  # the error that leads here says more
                uploads.remove(table.place)
        raise
    for other in former:
        drop(other)
    return index


def drop(index: Index) -> None:
    """Remove an index: first its description, then its tables. Raises FileUnreadable, Forbidden."""
    folder = indexes.folder()
    assert folder is not None
    indexes.forget(index)
    shutil.rmtree(folder / index.id, ignore_errors=True)
    for table in index.tables.values():
        if is_remote(table.place):
            uploads.remove(table.place)


def _field(read: Read, column: str, to: str) -> str:
    """Return the type of a column that can be indexed. Raises CannotPlace."""

    def no(reason: str) -> CannotPlace:
        return CannotPlace(f"cannot index '{column}': {reason}")

    if read.format == "parquet":
        raise no("Parquet has page indexes and statistics of its own, which every read uses; sort its files by it")
    if found := forms.odd_text(read):
        raise no(f"{found.reason}. {found.remedy}".strip())
    if odd := next((file for file in read.files if not scheme(file)), None):
        raise no(f"'{odd}' is no object of a store that lists them, and local files are read whole")
    if odd := next((file for file in read.files if file.endswith(tuple(forms.PACKERS))), None):
        raise no(f"'{odd}' is packed, so no range of its bytes is a row; store it unpacked")
    if to and not scheme(to):
        raise no(f"'{to}' is no folder of a store")
    if column not in read.file_schema.names:
        raise no(f"the columns are {', '.join(read.file_schema.names)}")
    type = read.file_schema[read.file_schema.names.index(column)].type
    if type.kind not in intervals.KINDS or type.precision > intervals.DIGITS_MAX:
        raise no(
            f"it is {type.name}; integers, decimals of at most 18 digits, dates, timestamps and text can be indexed"
        )
    return type.name


def _indexed(file: str, form: Form, types: pa.Schema, path: Path) -> Table:
    """Write the table of an object."""
    grant = objects.grant(objects.ask(file).name)
    if not grant.tag or grant.tag.startswith("W/"):
        raise CannotPlace(f"cannot index '{file}': its store tells its versions by no strong ETag")
    values, firsts, lasts, header, count = [], [], [], b"", 0
    with reading.opened(file, grant) as source:
        for start, text, ends in _blocks(source, form, file):
            begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
            is_row = _rows(text, begins, ends, form)
            if not header and form.format == "csv" and form.options.get("header", "true") != "false" and is_row.any():
                first = int(np.argmax(is_row))
                header = text[begins[first] : ends[first]]
                is_row[: first + 1] = False
            begins, ends = begins[is_row], ends[is_row]
            if not len(begins):
                continue
            found = _values(text[begins[0] : ends[-1]], header, form, types, file)
            if len(found) != len(begins):
                raise MalformedData(f"{file}: its records are not told apart as they are read", file=file)
            known = pc.is_valid(found).to_numpy(zero_copy_only=False)
            values.append(_ordered(found.drop_null()))
            firsts.append(start + begins[known])
            lasts.append(start + ends[known] - 1)
            count += len(begins)
    kind = pa.string() if pa.types.is_string(types.field(0).type) else pa.int64()
    columns = {
        "value": pa.chunked_array(values, kind),
        "first_byte": np.concatenate([np.empty(0, np.int64), *firsts]),
        "last_byte": np.concatenate([np.empty(0, np.int64), *lasts]),
    }
    table = pa.table(columns).sort_by([("value", "ascending"), ("first_byte", "ascending")])
    parquet.write_table(table, path, row_group_size=GROUP_ROWS, write_page_checksum=True)
    rows, found = table.num_rows, table["value"]
    places = sorted({n * (rows - 1) // (BOUNDS - 1) for n in range(BOUNDS)}) if rows else []
    return Table(
        tag=grant.tag, size=grant.size, header=header.decode(), records=count, rows=rows,
        distinct=pc.count_distinct(found).as_py(), bounds=tuple(found[place].as_py() for place in places),
        place="", place_size=path.stat().st_size,
    )  # fmt: skip


def _blocks(source: IO[bytes], form: Form, file: str) -> Iterator[tuple[int, bytes, Positions]]:
    """Yield whole records: where they begin in the object, their text, and where each ends in it."""
    at, rest = 0, b""
    while True:
        data = source.read(BLOCK_BYTES)
        text = rest + data
        if not at and text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise MalformedData(f"{file}: it is UTF-16", file=file)
        if not at and text.startswith(codecs.BOM_UTF8):
            at, text = len(codecs.BOM_UTF8), text[len(codecs.BOM_UTF8) :]
        ends = _ends(text, form, not data, file)
        if not len(ends) and len(text) > RECORD_BYTES_MAX:
            raise MalformedData(f"{file}: a record is longer than {RECORD_BYTES_MAX >> 20} MiB", file=file)
        end = int(ends[-1]) if len(ends) else 0
        if end:
            yield at, text[:end], ends
        at, rest = at + end, text[end:]
        if not data:
            return


def _ends(text: bytes, form: Form, is_last: bool, file: str) -> Positions:
    """Return where the records of a text that begins with one end. Raises MalformedData where readers may tell them
    apart in another way: quotes within a field, and carriage returns that end no line."""
    bytes = np.frombuffer(text, np.uint8)
    is_end, inside = bytes == _LF, None
    if form.format == "csv":
        quote = ord(form.options.get("quote", '"'))
        quotes = bytes == quote
        inside = (np.cumsum(quotes, dtype=np.uint8) & 1).astype(bool)
        is_end &= ~inside
    ends = np.flatnonzero(is_end).astype(np.int64) + 1
    if is_last and len(text) and (not len(ends) or ends[-1] < len(text)):
        ends = np.append(ends, len(text))
    if inside is not None and len(ends):
        _check(bytes[: ends[-1]], inside[: ends[-1]], form, file)
    return ends


def _check(bytes: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_], form: Form, file: str) -> None:
    quote, delimiter = ord(form.options.get("quote", '"')), ord(form.options.get("delimiter", ","))
    before, after = np.append(np.uint8(_LF), bytes[:-1]), np.append(bytes[1:], np.uint8(_LF))
    quotes = bytes == quote
    opens = np.isin(before[quotes & inside], [_LF, delimiter, quote])
    closes = np.isin(after[quotes & ~inside], [_LF, _CR, delimiter, quote])
    if not opens.all() or not closes.all() or inside[-1]:
        raise MalformedData(f"{file}: it has quotes within fields, so that readers may differ about records", file=file)
    if (after[(bytes == _CR) & ~inside] != _LF).any():
        raise MalformedData(f"{file}: it has carriage returns that are not followed by a line feed", file=file)


def _rows(text: bytes, begins: Positions, ends: Positions, form: Form) -> npt.NDArray[np.bool_]:
    """Return which records are rows: blank lines are none, but for those of CSV with one column."""
    if form.format == "json":
        return np.array([bool(text[b:e].strip(b" \t\r\n")) for b, e in zip(begins, ends, strict=True)], bool)
    if len(form.names) == 1:
        return np.ones(len(ends), bool)
    bytes = np.frombuffer(text, np.uint8)
    is_short = (ends - begins == 1) | ((ends - begins == 2) & (bytes[begins] == _CR))
    is_row: npt.NDArray[np.bool_] = ~(is_short & (bytes[ends - 1] == _LF))
    return is_row


def _values(text: bytes, header: bytes, form: Form, types: pa.Schema, file: str) -> pa.Array:
    """Return the column of some records."""
    batches = fields.ranged(io.BytesIO(header + text), form, types, file)
    return pa.chunked_array([batch.column(0) for batch in batches], types.field(0).type).combine_chunks()


def _ordered(values: pa.Array) -> pa.Array:
    """Return values as tables have them, none of which is NULL."""
    type = values.type
    if pa.types.is_string(type):
        return values
    if pa.types.is_decimal(type):  # the lower half of 128 bits
        whole = np.frombuffer(values.buffers()[1] or b"", np.int64)
        return pa.array(whole[2 * values.offset :: 2][: len(values)])
    return values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date(type) else values.cast(pa.int64())
