"""Records of text as batches of typed columns: what a store returns of CSV and JSON objects, and these objects
themselves where they are read by ranges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv

from jumpgate.errors import MalformedData, SchemaMismatch
from jumpgate.ncas.s3_select.forms import PACKERS, Form
from jumpgate.ncas.s3_select.letters import value_of

#: bytes of a block of CSV, and rows of a batch of JSON
BLOCK_BYTES, BATCH_ROWS = 4 << 20, 10_000


class Unfit(Exception):
    """A store returned values that are not the fields' text, or cannot be told from others."""


class _Letters(str):
    """A number as JSON has it."""


def answered(text: bytes, form: Form, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    """Yield records that a store returned, columns c0, c1, …, as the columns of the schema. Raises Unfit,
    MalformedData, Overflow."""
    if not form.returns_csv:
        lines = (_object(line, number, file) for number, line in enumerate(text.splitlines(), 1))
        for columns in _columns(lines, [f"c{i}" for i in range(len(wanted))]):
            kept = [_sure(c, f, form) for c, f in zip(columns, wanted, strict=True)]
            yield _batch([_texts(c) for c in kept], form, wanted, file)
        return
    if b"0x" not in text and b"0X" not in text:  # which Arrow takes for integers
        try:
            yield from _quickly(text, form, wanted)
            return
        except pa.ArrowInvalid:
            pass
    options = csv.ConvertOptions(column_types=dict.fromkeys(wanted.names, pa.string()), strings_can_be_null=False)
    try:
        for batch in _parsed(pa.BufferReader(text), wanted.names, options).to_batches():
            yield _batch(batch.columns, form, wanted, file)
    except pa.ArrowInvalid as error:
        raise Unfit(str(error)) from None


def _quickly(text: bytes, form: Form, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the columns as Arrow converts them. Raises ArrowInvalid unless all are in plain notation."""
    plain = pa.types.is_integer, pa.types.is_decimal, pa.types.is_date, pa.types.is_string
    if not all(any(is_kind(field.type) for is_kind in plain) for field in wanted):
        raise pa.ArrowInvalid("Arrow takes other texts for such values, too")
    types = {field.name: field.type for field in wanted}
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=["", form.null])
    for batch in _parsed(pa.BufferReader(text), wanted.names, options).to_batches():
        yield pa.RecordBatch.from_arrays([_known(c, form) for c in batch.columns], schema=wanted)


def _parsed(source: Any, names: Sequence[str], options: csv.ConvertOptions) -> pa.Table:
    read = csv.ReadOptions(use_threads=False, column_names=[*names], block_size=BLOCK_BYTES)
    parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) > 1)
    return csv.read_csv(source, read, parse, options)


def _known(texts: pa.Array, form: Form) -> pa.Array:
    """Return a column in which text that means NULL is NULL."""
    if form.format != "csv" or not pa.types.is_string(texts.type):
        return texts
    return pc.if_else(pc.equal(texts, form.null), pa.scalar(None, pa.string()), texts)


def _batch(columns: Iterable[pa.Array], form: Form, wanted: pa.Schema, file: str) -> pa.RecordBatch:
    """Return texts as values; of CSV, nothing is no value of a type that is not text."""
    values = []
    for texts, field in zip(columns, wanted, strict=True):
        texts = _known(texts, form)
        if form.format == "csv" and not pa.types.is_string(field.type):
            texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        values.append(value_of(texts, field, file))
    return pa.RecordBatch.from_arrays(values, schema=wanted)


def _sure(values: list[Any], field: pa.Field, form: Form) -> list[Any]:
    """Return values that a store returned as JSON. Raises Unfit for a number in a column of text, whose letters may
    have been others, and for a number with a point in another one, which the store may have rounded."""
    if pa.types.is_string(field.type):
        if any(v is not None and (isinstance(v, _Letters) or not isinstance(v, str)) for v in values):
            raise Unfit("a store has a number for text")
    elif any(isinstance(v, _Letters) and not v.removeprefix("-").isdigit() for v in values):
        raise Unfit("a store has a float for another number")
    return values


def _texts(values: list[Any]) -> pa.Array:
    return pa.array([_text(v) for v in values], pa.string())


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _columns(rows: Iterable[dict[str, Any]], names: Sequence[str]) -> Iterator[list[list[Any]]]:
    """Yield batches of rows by columns."""
    columns: list[list[Any]] = [[] for _ in names]
    count = 0
    for row in rows:
        for name, values in zip(names, columns, strict=True):
            values.append(row.get(name))
        count += 1
        if count == BATCH_ROWS:
            yield columns
            columns, count = [[] for _ in names], 0
    if count:
        yield columns


def _object(line: bytes, number: int, file: str) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_int=_Letters, parse_float=_Letters, parse_constant=_no_constant)
    except ValueError as error:
        raise MalformedData(f"{file}: line {number}: {error}", file=file, line=number) from None
    if not isinstance(row, dict):
        raise MalformedData(f"{file}: line {number}: not an object", file=file, line=number)
    return row


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def ranged(source: IO[bytes], form: Form, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    """Yield columns of a whole object. Raises MalformedData, SchemaMismatch, Overflow."""
    packer = next((name for suffix, name in PACKERS.items() if file.endswith(suffix)), "")
    stream: Any = pa.PythonFile(source, "r")
    if packer:
        stream = pa.CompressedInputStream(stream, {"GZIP": "gzip", "BZIP2": "bz2"}[packer])
    try:
        yield from (_of_json if form.format == "json" else _of_csv)(stream, form, wanted, file)
    except (pa.ArrowInvalid, OSError) as error:
        raise MalformedData(f"{file}: {error}", file=file) from None


def _of_csv(stream: Any, form: Form, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    header = form.options.get("header", "true")
    read = csv.ReadOptions(
        use_threads=False,
        block_size=BLOCK_BYTES,
        skip_rows=int(header == "skip"),
        column_names=None if form.has_header else [*form.names],
    )
    parse = csv.ParseOptions(
        delimiter=form.options.get("delimiter", ","),
        quote_char=form.options.get("quote", '"'),
        newlines_in_values=True,
        ignore_empty_lines=len(form.names) > 1,
    )
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(wanted.names, pa.string()),
        include_columns=wanted.names,
        null_values=[form.null],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        reader = csv.open_csv(stream, read, parse, convert)
    except KeyError as error:
        raise SchemaMismatch(f"{file}: its header lacks a column: {error}", file=file) from None
    for batch in reader:
        columns = []
        for texts, field in zip(batch.columns, wanted, strict=True):
            if not pa.types.is_string(field.type):
                texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
            columns.append(value_of(texts, field, file))
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def _of_json(stream: Any, form: Form, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    lines = enumerate(_lines(stream), 1)
    rows = (_object(line, number, file) for number, line in lines if line.strip(b" \t\r\n"))
    for columns in _columns(rows, wanted.names):
        for values, field in zip(columns, wanted, strict=True):
            if any(isinstance(v, dict | list) for v in values):
                what = f"{file}: column '{field.name}' holds an object or an array"
                raise MalformedData(what, file=file, column=field.name)
        yield _batch([_texts(c) for c in columns], form, wanted, file)


def _lines(stream: Any) -> Iterator[bytes]:
    rest = b""
    while data := stream.read(BLOCK_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
    if rest:
        yield rest
