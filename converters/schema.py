"""Infers the schema of files; if they do not store one, from a sample of their text.

Sampled columns become int64, decimal, float64, bool, date, timestamp or string, all nullable: the type that holds every
value seen without loss (docs/files.md has the rules). JSON's objects become structs of all fields seen, its arrays
lists; a column that mixes these with other values is opaque.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from jumpgate.converters.text_files import beginning
from jumpgate.converters.text_rows import csv_rows, json_rows
from jumpgate.dataflow import types as t
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import MalformedData, SchemaMismatch

SAMPLE_BYTES = 2 << 20  # of each sampled file; more if its first row is longer
ROW_BYTES_MAX = 64 << 20  # the readers' limit
FILES_SAMPLED_MAX = 8
#: the most digits of a decimal
DIGITS_MAX = 38
#: the most fields of a JSON object that becomes a struct; more make a map
FIELDS_MAX = 1000
#: integers beyond it may not be exact doubles
DOUBLE_EXACT_MAX = 2**53
_NUMBER = re.compile(r"-?(?:(\d+)(?:\.(\d*))?|\.(\d+))([eE][+-]?\d+)?")
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)?"
#: other kinds of value that a text can be; the first that all values of a column match is its type
_PATTERNS: tuple[tuple[DataType, re.Pattern[str]], ...] = (
    (t.bool_, re.compile(r"true|false", re.IGNORECASE)),
    (t.date, re.compile(r"\d{4}-\d\d-\d\d")),
    (t.timestamp, re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6}0*)?" + _ZONE + ")?")),
)


def infer_schema(files: tuple[str, ...], format: str, options: Mapping[str, str]) -> Schema:
    """Return the schema that `files` share. `options` are the read's (dataflow.builder.read).

    Raises FileUnreadable, MalformedData (with file and line), SchemaMismatch (files or lines that cannot be one table)
    and InvalidDataflow (no such format).
    """
    return formats()[format].infer_schema(files, options)


def json_schema(files: tuple[str, ...], options: Mapping[str, str]) -> Schema:
    return _sampled(files, options, _of_json)


def csv_schema(files: tuple[str, ...], options: Mapping[str, str]) -> Schema:
    return _sampled(files, options, _of_csv)


def _sampled(
    files: tuple[str, ...],
    options: Mapping[str, str],
    look: Callable[[Sequence[str], Mapping[str, str]], Mapping[str, _Column]],
) -> Schema:
    step = max(1, len(files) // FILES_SAMPLED_MAX)
    seen = look(files[::step][:FILES_SAMPLED_MAX], options)
    if not seen:
        raise SchemaMismatch(f"'{files[0]}' holds no rows to find a schema in: give read() a schema", file=files[0])
    return Schema(tuple(Field(name, column.type()) for name, column in seen.items()))


class _Numbers:
    """The requirements of the numbers seen so far: digits on both sides of the point, an exponent, more than a double
    has."""

    def __init__(self) -> None:
        self.digits = self.scale = 0
        self.low = self.high = 0
        self.point = self.exponent = False

    def add(self, text: str) -> bool:
        """Add a number; return False if the text is none."""
        if len(text) <= 15 and text.isascii() and text.isdigit():
            self.digits = max(self.digits, len(text))
            return True
        number = _NUMBER.fullmatch(text) if text.isascii() else None
        if number is None:
            return False
        whole, fraction, bare_fraction, exponent = number.groups()
        self.point = self.point or "." in text
        if exponent is not None:
            self.exponent = True
            return True
        whole = (whole or "").lstrip("0")
        self.digits = max(self.digits, len(whole))
        self.scale = max(self.scale, len(fraction or bare_fraction or ""))
        if 15 < len(whole) <= DIGITS_MAX:
            value = -int(whole) if text[0] == "-" else int(whole)
            self.low, self.high = min(self.low, value), max(self.high, value)
        return True

    def type(self) -> DataType:
        if self.point or self.exponent:
            if self.digits <= DIGITS_MAX and self.low >= -DOUBLE_EXACT_MAX and self.high <= DOUBLE_EXACT_MAX:
                return t.float64
        elif self.digits <= DIGITS_MAX and self.low >= -(2**63) and self.high < 2**63:
            return t.int64
        if self.exponent or self.digits + self.scale > DIGITS_MAX:
            return t.string
        return t.decimal(DIGITS_MAX, self.scale)


class _Column:
    """The types that fit every value of a column seen so far."""

    def __init__(self) -> None:
        self.numbers: _Numbers | None = _Numbers()
        self.candidates = list(_PATTERNS)
        self.any = False
        self.fields: dict[str, _Column] | None = None  # if it holds objects
        self.element: _Column | None = None  # if it holds arrays
        self.too_deep = False

    def add(self, text: str) -> None:
        self.any = True
        if self.numbers is not None and not self.numbers.add(text):
            self.numbers = None
        if self.candidates:
            self.candidates = [c for c in self.candidates if c[1].fullmatch(text)]

    def type(self) -> DataType:
        if self.fields is not None or self.element is not None:
            return self._nested()
        if not self.any:
            return t.string
        if self.numbers is not None:
            return self.numbers.type()
        return self.candidates[0][0] if self.candidates else t.string

    def _nested(self) -> DataType:
        kinds = {"object": self.fields is not None, "array": self.element is not None, "scalar": self.any}
        if sum(kinds.values()) > 1:
            return t.opaque(f"JSON {' or '.join(kind for kind, there in kinds.items() if there)}")
        parts: tuple[Field, ...]
        if self.element is not None:
            parts = (Field("element", self.element.type()),)
        else:
            parts = tuple(Field(name, column.type()) for name, column in (self.fields or {}).items())
        if any(p.type.is_opaque for p in parts):
            return next(p.type for p in parts if p.type.is_opaque)
        if self.too_deep or max((p.type.depth for p in parts), default=0) >= t.NESTING_MAX:
            return t.opaque(f"JSON value of more than {t.NESTING_MAX} levels")
        if self.element is not None:
            return t.list_(parts[0].type)
        if len(parts) > FIELDS_MAX:
            return t.opaque(f"JSON object of more than {FIELDS_MAX} names; declare it as map<string, …>")
        return t.struct(*parts) if parts else t.map_(t.string, t.string)


def _of_json(files: Sequence[str], options: Mapping[str, str]) -> dict[str, _Column]:
    skip = options.get("on_error") == "skip"
    seen: dict[str, _Column] = {}
    for file in files:
        text, whole = _sample(file, options)
        for number, line in json_rows(text, whole):
            try:
                row = json.loads(line, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
                _check_surrogates(line, row)
            except (ValueError, RecursionError) as e:
                if skip:
                    continue
                raise MalformedData(f"{file}: line {number}: not valid JSON: {e}", file=file, line=number) from None
            if not isinstance(row, dict):
                if skip:
                    continue
                raise SchemaMismatch(f"{file}: line {number}: a line must hold a JSON object", file=file, line=number)
            for name, value in row.items():
                _add_json(seen.setdefault(name, _Column()), value)
    return seen


class _Number(str):
    """A JSON number as it is written."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _check_surrogates(line: str, row: Any) -> None:
    """Raise ValueError for an escaped half of a surrogate pair, which is not a character."""
    if "\\ud" in line.lower() and re.search("[\ud800-\udfff]", json.dumps(row, ensure_ascii=False)):
        raise ValueError("half of a surrogate pair (\\ud800 to \\udfff)")


def _add_json(column: _Column, value: Any, depth: int = 0) -> None:
    if value is None:
        return
    if isinstance(value, dict):
        column.fields = column.fields or {}
        column.too_deep = column.too_deep or depth > t.NESTING_MAX
        for name, part in () if column.too_deep else value.items():
            _add_json(column.fields.setdefault(name, _Column()), part, depth + 1)
    elif isinstance(value, list):
        column.element = column.element or _Column()
        column.too_deep = column.too_deep or depth > t.NESTING_MAX
        for part in () if column.too_deep else value:
            _add_json(column.element, part, depth + 1)
    elif isinstance(value, bool):
        column.add("true" if value else "false")
    elif isinstance(value, _Number):
        column.add(value)
    else:  # "12" and "true" in quotes are strings; dates have no other form
        column.add(value if re.match(r"\d{4}-", value) else "text")


def _of_csv(files: Sequence[str], options: Mapping[str, str]) -> dict[str, _Column]:
    header = options.get("header") != "false"
    skip = options.get("on_error") == "skip"
    ragged = options.get("ragged") == "null"
    null = options.get("null", "")
    seen: dict[str, _Column] = {}
    first = ""
    for file in files:
        names: list[str] | None = None
        columns: list[_Column] = []
        text, whole = _sample(file, options, 2 if header else 1)
        for number, row in csv_rows(file, text, whole, options):
            if names is None:
                names = [f.text for f in row] if header else [f"column{i}" for i in range(len(row))]
                if any("\0" in name for name in names):
                    words = (
                        f'{file}: the header holds NUL characters: is it UTF-16? Then read it with encoding="utf-16le"'
                    )
                    raise MalformedData(words, file=file, line=1)
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
                columns = list(seen.values())
                if header:
                    continue
            if len(row) != len(names):
                blank = len(row) == 1 and not row[0].text and not row[0].quoted
                fits = ragged and len(row) < len(names)
                if blank or (skip and not fits):
                    continue
                if not fits:
                    words = f"{file}: line {number}: {len(row)} fields where {len(names)} are expected"
                    raise MalformedData(words, file=file, line=number)
            for column, field in zip(columns, row, strict=False):
                if field.text and (field.quoted or field.text != null):
                    column.add(field.text.strip() or field.text)
    return seen


def _sample(file: str, options: Mapping[str, str], lines: int = 1) -> tuple[str, bool]:
    """Return (the beginning of a file, whether it is all of it) with at least `lines` lines; the last one may be
    cut."""
    size = SAMPLE_BYTES
    while True:
        found = beginning(file, options, size)
        is_array = found.data.lstrip().startswith(b"[")
        ends = re.finditer(rb"\r\n?|\n", found.data)
        if found.whole or is_array or size > ROW_BYTES_MAX or len(list(islice(ends, lines))) == lines:
            break
        size *= 4
    data = found.data
    if not found.whole:  # the end may cut a character
        while data and data[-1] & 0xC0 == 0x80:
            data = data[:-1]
        data = data[:-1]
    try:
        return data.decode("utf-8"), found.whole
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        raise MalformedData(
            f"{file}: line {line}: not valid UTF-8; if it is another encoding, say which: encoding='latin-1'",
            file=file,
            line=line,
            offset=e.start,
        ) from None
