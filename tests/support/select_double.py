"""A test double of S3 Select, not a store: DuckDB evaluates the statement over the object's file.

Its aggregates are like MinIO's where that differs from SQL: numbers are doubles, and a sum of no values is 0.
"""

from __future__ import annotations

import binascii
import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb

from jumpgate.tpcds.data import quoted

_AGGREGATE = re.compile(r"SELECT (?:COUNT|SUM|MIN|MAX)\(")


class SelectDouble:
    """`statements` are those that it was asked, `rows` the number that it returned. cases: whether it knows CASE."""

    def __init__(self, cases: bool = True) -> None:
        self.statements: list[str] = []
        self.rows = 0
        self.cases = cases
        self._database = duckdb.connect()

    def __call__(self, file: Path, request: bytes) -> tuple[int, bytes]:
        root = ElementTree.fromstring(request)
        statement = next(str(e.text) for e in root.iter() if e.tag.endswith("Expression"))
        self.statements.append(statement)
        if not self.cases and "CASE WHEN" in statement:
            return 400, b"<Error><Code>ParseUnexpectedKeyword</Code></Error>"
        is_aggregate = _AGGREGATE.match(statement) is not None
        with self._database.cursor() as connection:
            connection.execute(f"CREATE TEMP VIEW S3Object AS FROM {_object(connection, file)}")
            result = connection.execute(statement)
            names = [column[0] for column in result.description]
            rows = [
                {n: _written(v, is_aggregate) for n, v in zip(names, row, strict=True)} for row in result.fetchall()
            ]
        self.rows += len(rows)
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        scanned = f"<Stats><BytesScanned>{file.stat().st_size}</BytesScanned></Stats>".encode()
        return 200, b"".join([message("Records", lines), message("Stats", scanned), message("End", b"")])


def _object(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """Return what reads the object with integers of 64 bits, as stores compute."""
    found = f"read_parquet({quoted(file)})"
    columns = connection.execute(f"DESCRIBE FROM {found}").fetchall()
    wide = [f'"{name}"::BIGINT AS "{name}"' for name, type, *_ in columns if type in ("TINYINT", "SMALLINT", "INTEGER")]
    return f"(SELECT * REPLACE ({', '.join(wide)}) FROM {found})" if wide else found


def _written(value: Any, is_aggregate: bool) -> Any:
    if is_aggregate:
        return 0 if value is None else float(value) if isinstance(value, int) else value
    return value


def message(kind: str, payload: bytes) -> bytes:
    """Return an event of Amazon's event stream encoding."""
    headers = b""
    for name, value in ((":message-type", "event"), (":event-type", kind)):
        headers += struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", binascii.crc32(message))
