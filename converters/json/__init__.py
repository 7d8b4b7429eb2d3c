"""JSON: an object a line, or one array of objects."""

from __future__ import annotations

from collections.abc import Mapping

from jumpgate.converters import writing
from jumpgate.converters.schema import json_schema
from jumpgate.converters.text import ENCODING, ON_ERROR
from jumpgate.converters.text_samples import json_row_count, json_sample
from jumpgate.dataflow.formats import Format, Speeds


def _duckdb(files: str, columns: str, options: Mapping[str, str]) -> str:
    skip = ", ignore_errors = true" if options.get("on_error") == "skip" else ""
    return f"read_json({files}, format = 'newline_delimited', columns = {columns}{skip})"


JSON = Format(
    name="json",
    title="JSON",
    suffixes=(".json", ".jsonl", ".ndjson"),
    packed=True,
    options=(ENCODING, ON_ERROR),
    self_describing=False,
    columnar=False,
    speeds=Speeds(scan=1.5e9, accelerated=1.6e9, client=2.5e8),
    infer_schema=json_schema,
    rows=json_row_count,
    sample=json_sample,
    write=writing.json,
    lacks=("binary",),
    duckdb=_duckdb,
    duckdb_copy="format json",
)
