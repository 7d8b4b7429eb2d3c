"""CSV: fields between delimiters, a record a line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpgate.converters import writing
from jumpgate.converters.schema import csv_schema
from jumpgate.converters.text import ENCODING, ON_ERROR, VALUES
from jumpgate.converters.text_samples import csv_row_count, csv_sample
from jumpgate.dataflow.formats import Format, Option, Speeds

#: NULL in files that are written here, so that an empty string is one
NULL = "\\N"
TABS = {"delimiter": "\t"}


def _no_letter(text: str) -> str:
    if len(text.encode()) != 1 or text in ("\n", "\r", "\0"):
        return "it must be one ASCII character"
    return ""


def _write(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """Write with a header, and NULL for NULL. The second variant quotes all strings."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(_field(name, False) for name in table.schema.names) + "\n")
        for row in writing.rows(table):
            file.write(",".join(NULL if v is None else _field(v, variant == 1) for v in row) + "\n")


def _field(value: Any, quotes: bool) -> str:
    text = writing.text(value)
    if (quotes and isinstance(value, str)) or not text or text == NULL or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _duckdb(files: str, columns: str, options: Mapping[str, str]) -> str:
    def quoted(name: str, default: str) -> str:
        return "'" + options.get(name, default).replace("'", "''") + "'"

    skip = ", ignore_errors = true" if options.get("on_error") == "skip" else ""
    return (
        f"read_csv({files}, columns = {columns}, auto_detect = false, allow_quoted_nulls = false, "
        f"header = {options.get('header') != 'false'}, "
        f"delim = {quoted('delimiter', ',')}, quote = {quoted('quote', chr(34))}, nullstr = {quoted('null', '')}{skip})"
    )


CSV = Format(
    name="csv",
    title="CSV",
    suffixes=(".csv", ".tsv", ".tab"),
    implied={".tsv": TABS, ".tab": TABS},
    packed=True,
    options=(
        Option("delimiter", ",", problem=_no_letter),
        Option("quote", '"', problem=_no_letter),
        Option("header", "true", ("true", "false", "skip")),
        Option("null", ""),
        Option("ragged", "error", ("error", "null")),
        ENCODING,
        ON_ERROR,
        VALUES,
    ),
    self_describing=False,
    columnar=False,
    opaque=False,
    substrait="text",
    speeds=Speeds(byte=0.42e-9, decimal=9e-9, text=10e-9),
    duckdb_speeds=Speeds(number=9e-9, decimal=19e-9, text=26e-9),
    infer_schema=csv_schema,
    rows=csv_row_count,
    sample=csv_sample,
    write=_write,
    variants=2,
    lacks=("binary",),
    written_options={"null": NULL},
    duckdb=_duckdb,
    duckdb_copy="format csv, header true",
)
