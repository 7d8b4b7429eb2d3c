"""CSV: fields between delimiters, a record a line."""

from __future__ import annotations

from collections.abc import Mapping

from jumpgate.converters import writing
from jumpgate.converters.schema import csv_schema
from jumpgate.converters.text import ENCODING, ON_ERROR
from jumpgate.converters.text_samples import csv_row_count, csv_sample
from jumpgate.dataflow.formats import Format, Option, Speeds

TABS = {"delimiter": "\t"}


def _no_letter(text: str) -> str:
    if len(text.encode()) != 1 or text in ("\n", "\r", "\0"):
        return "it must be one ASCII character"
    return ""


def _duckdb(files: str, columns: str, options: Mapping[str, str]) -> str:
    def quoted(name: str, default: str) -> str:
        return "'" + options.get(name, default).replace("'", "''") + "'"

    skip = ", ignore_errors = true" if options.get("on_error") == "skip" else ""
    return (
        f"read_csv({files}, columns = {columns}, auto_detect = false, allow_quoted_nulls = false, "
        f"header = {options.get('header', 'true')}, "
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
        Option("header", "true", ("true", "false")),
        Option("null", ""),
        Option("ragged", "error", ("error", "null")),
        ENCODING,
        ON_ERROR,
    ),
    self_describing=False,
    columnar=False,
    opaque=False,
    substrait="text",
    speeds=Speeds(scan=0.7e9, accelerated=6e8, client=3.5e8),
    infer_schema=csv_schema,
    rows=csv_row_count,
    sample=csv_sample,
    write=writing.csv,
    variants=2,
    lacks=("binary",),
    written_options={"null": writing.NULL},
    duckdb=_duckdb,
    duckdb_copy="format csv, header true",
)
