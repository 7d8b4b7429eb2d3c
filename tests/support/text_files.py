"""Files of text, and their readers' results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jumpgate.dataflow.types import Field, Schema, parse_type
from tests.support import probe


def two(a: str = "int64?", b: str = "string?") -> Schema:
    return Schema((Field("a", parse_type(a)), Field("b", parse_type(b))))


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def scan(format: str, path: str | list[str], schema: Schema, **how: Any) -> probe.Scan:
    return probe.scan(format, [path] if isinstance(path, str) else path, schema, **how)


def rows(format: str, path: str | list[str], schema: Schema, **how: Any) -> list[tuple[Any, ...]]:
    return list(zip(*scan(format, path, schema, **how).columns, strict=True))
