"""JSON: an object a line, or one array of objects."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpgate.converters import writing
from jumpgate.converters.schema import json_schema
from jumpgate.converters.text import ENCODING, ON_ERROR, VALUES
from jumpgate.converters.text_samples import json_row_count, json_sample
from jumpgate.dataflow.formats import Format, Speeds


def _write(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    names = [json.dumps(name) for name in table.schema.names]
    with path.open("w", encoding="utf-8") as file:
        for row in writing.rows(table):
            file.write(f"{{{', '.join(f'{n}: {_value(v)}' for n, v in zip(names, row, strict=True))}}}\n")


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(n)}: {_value(v)}' for n, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.date | datetime.time) or (isinstance(value, float) and not math.isfinite(value)):
        return json.dumps(writing.text(value))
    return json.dumps(value)


def _duckdb(files: str, columns: str, options: Mapping[str, str]) -> str:
    skip = ", ignore_errors = true" if options.get("on_error") == "skip" else ""
    return f"read_json({files}, format = 'newline_delimited', columns = {columns}{skip})"


JSON = Format(
    name="json",
    title="JSON",
    suffixes=(".json", ".jsonl", ".ndjson"),
    packed=True,
    options=(ENCODING, ON_ERROR, VALUES),
    self_describing=False,
    nested=True,
    columnar=False,
    speeds=Speeds(byte=0.45e-9, decimal=12e-9),
    duckdb_speeds=Speeds(number=11e-9, decimal=25e-9, text=23e-9),
    infer_schema=json_schema,
    rows=json_row_count,
    sample=json_sample,
    write=_write,
    lacks=("binary",),
    duckdb=_duckdb,
    duckdb_copy="format json",
)
