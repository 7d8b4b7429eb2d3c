"""Files of JSON lines, the reader's results for them, and the expected ones."""

from __future__ import annotations

import json
from typing import Any

from jumpgate.dataflow.types import Schema
from tests.support import probe, text_files

#: that the reader takes at once
CHUNK_BYTES = 512 << 10


def scan(path: str | list[str], schema: Schema, **how: Any) -> probe.Scan:
    return text_files.scan("json", path, schema, **how)


def rows(path: str | list[str], schema: Schema, **how: Any) -> list[tuple[Any, ...]]:
    return text_files.rows("json", path, schema, **how)


def parsed(line: bytes) -> tuple[Any, ...] | None:
    """Return the expected result for one line; None: refuse it."""
    try:
        row = json.loads(line, parse_float=str, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return None
    if not isinstance(row, dict):
        return None
    a, b = row.get("a"), row.get("b")
    if isinstance(a, str):
        try:
            whole = float(a)
        except ValueError:
            return None
        a = int(whole) if whole == int(whole) else None
        if a is None:
            return None
    if isinstance(a, bool | list | dict) or isinstance(b, list | dict):
        return None
    if isinstance(b, bool):
        b = str(b).lower()
    return (a, None if b is None else str(b).encode())
