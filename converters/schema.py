"""Finds the schema of files: exactly from the footers of Parquet and ORC, from a sample of JSON lines and CSV.

Sampled columns become int64, float64, bool, date, timestamp or string, all nullable: whatever holds every value seen.
Decimals cannot be told from floats, so a schema should be given where they matter.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jumpgate.converters import footers
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch

SAMPLE_BYTES = 2 << 20  # of each sampled file
FILES_SAMPLED_MAX = 8
#: the kinds of value that a text can be, each with its pattern; the first that all values of a column match is its type
_PATTERNS: tuple[tuple[DataType, re.Pattern[str]], ...] = (
    (t.int64, re.compile(r"-?\d{1,18}")),
    (t.float64, re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")),
    (t.bool_, re.compile(r"true|false", re.IGNORECASE)),
    (t.date, re.compile(r"\d{4}-\d\d-\d\d")),
    (t.timestamp, re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?")),
)


def infer_schema(files: tuple[str, ...], format: str, options: Mapping[str, str]) -> Schema:
    """The schema that `files` share. `options` are the read's (dataflow.builder.read).

    Raises FileUnreadable, MalformedData (with file and line), SchemaMismatch (files or lines that cannot be one table)
    and InvalidDataflow (no such format).
    """
    if format == "parquet":
        return footers.parquet_schema(files)
    if format == "orc":
        return footers.orc_schema(files)
    if format not in ("json", "csv"):
        raise InvalidDataflow(f"no schema can be found in files of format {format!r}", operator="read")
    step = max(1, len(files) // FILES_SAMPLED_MAX)
    sampled = files[::step][:FILES_SAMPLED_MAX]
    seen = _of_json(sampled, options) if format == "json" else _of_csv(sampled, options)
    if not seen:
        raise SchemaMismatch(f"'{files[0]}' holds no rows to find a schema in: give read() a schema", file=files[0])
    return Schema(tuple(Field(name, column.type()) for name, column in seen.items()))


class _Column:
    """The types that every value of a column seen so far has."""

    def __init__(self) -> None:
        self.candidates = list(_PATTERNS)
        self.any = False

    def add(self, text: str) -> None:
        self.any = True
        self.candidates = [c for c in self.candidates if c[1].fullmatch(text)]

    def type(self) -> DataType:
        return self.candidates[0][0] if self.any and self.candidates else t.string


def _of_json(files: Sequence[str], options: Mapping[str, str]) -> dict[str, _Column]:
    seen: dict[str, _Column] = {}
    nested: dict[str, str] = {}
    for file in files:
        for number, line in enumerate(_sample(file).splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
            except (ValueError, RecursionError) as e:
                if options.get("on_error") == "skip":
                    continue
                raise MalformedData(f"{file}: line {number}: not valid JSON: {e}", file=file, line=number) from None
            if not isinstance(row, dict):
                if options.get("on_error") == "skip":
                    continue
                raise SchemaMismatch(f"{file}: line {number}: a line must hold a JSON object", file=file, line=number)
            for name, value in row.items():
                if isinstance(value, dict | list):
                    nested[name] = f"{file}: line {number}"
                else:
                    _add_json(seen.setdefault(name, _Column()), value)
    for name in nested:
        seen.pop(name, None)  # Jumpgate has no nested types: such a column cannot be read, the others can
    if nested and not seen:
        name, place = next(iter(nested.items()))
        raise SchemaMismatch(f"{place}: every column holds objects or arrays, as '{name}' does; Jumpgate reads none")
    return seen


class _Number(str):
    """A JSON number as it is written."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _add_json(column: _Column, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        column.add("true" if value else "false")
    elif isinstance(value, _Number):
        column.add(value)
    else:  # "12" and "true" in quotes are strings; dates have no other form
        column.add(value if re.match(r"\d{4}-", value) else "text")


def _of_csv(files: Sequence[str], options: Mapping[str, str]) -> dict[str, _Column]:
    header = options.get("header", "true") == "true"
    null = options.get("null", "")
    seen: dict[str, _Column] = {}
    first = ""
    for file in files:
        names: list[str] | None = None
        for number, row in _csv_rows(file, options):
            if names is None:
                names = row if header else [f"column{i}" for i in range(len(row))]
                if len(set(names)) < len(names):
                    raise SchemaMismatch(f"{file}: two columns of the header have the same name", file=file)
                if not seen:
                    seen, first = {name: _Column() for name in names}, file
                elif names != list(seen):
                    raise SchemaMismatch(
                        f"files of one read differ: '{first}' has the columns {', '.join(seen)}, '{file}' has "
                        f"{', '.join(names)}. Give read() a schema of the columns that they share.",
                        file=file,
                        other=first,
                    )
                if header:
                    continue
            if len(row) != len(names):
                if options.get("on_error") == "skip" or (not row and len(names) > 1):
                    continue
                raise MalformedData(
                    f"{file}: line {number}: {len(row)} fields where {len(names)} are expected", file=file, line=number
                )
            for name, text in zip(names, row, strict=True):
                if text not in ("", null):
                    seen[name].add(text.strip() if text.strip() else text)
    return seen


def _csv_rows(file: str, options: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """(line number at its end, fields) of each row in the sample."""
    text = _sample(file, cut=False)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=options.get("delimiter", ","), quotechar=options.get("quote", '"'))
    csv.field_size_limit(SAMPLE_BYTES)
    whole = len(text.encode()) < SAMPLE_BYTES
    held: tuple[int, list[str]] | None = None
    try:
        for row in reader:
            if held is not None:
                yield held
            held = (reader.line_num, row)
    except csv.Error as e:
        raise MalformedData(f"{file}: line {reader.line_num}: {e}", file=file, line=reader.line_num) from None
    if held is not None and whole:  # else the sample cuts the last row
        yield held


def _sample(file: str, cut: bool = True) -> str:
    """The beginning of a file as text; `cut`: without the line that the sample's end cuts."""
    try:
        with open(file, "rb") as f:
            data = f.read(SAMPLE_BYTES)
    except OSError as e:
        raise FileUnreadable(f"cannot read '{file}': {e.strerror}", file=file) from None
    if cut and len(data) == SAMPLE_BYTES:
        data = data[: data.rfind(b"\n") + 1]
    try:
        return data.decode("utf-8-sig", errors="strict" if cut else "ignore")
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        raise MalformedData(f"{file}: line {line}: not valid UTF-8", file=file, line=line, offset=e.start) from None
