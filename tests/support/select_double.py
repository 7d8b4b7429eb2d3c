"""A test double of S3 Select, not a store: DuckDB evaluates the statement over the object's file.

Its aggregates are like MinIO's where that differs from SQL: numbers are doubles, and a sum of no values is 0. Fields of
CSV are text, also those that are empty.
"""

from __future__ import annotations

import binascii
import csv
import gzip
import io
import json
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pyarrow as pa

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
            try:
                source = text_of(root, file)
                if isinstance(source, pa.Table):
                    connection.register("S3Object", source)
                else:
                    found = source or _object(connection, file)
                    connection.execute(f"CREATE OR REPLACE TEMP VIEW S3Object AS FROM {found}")
                result = connection.execute(in_duckdb(statement))
                names, found_rows = [column[0] for column in result.description], result.fetchall()
            except (duckdb.Error, ValueError) as error:
                return 400, f"<Error><Code>{type(error).__name__}</Code></Error>".encode()
            finally:
                connection.execute("DROP VIEW IF EXISTS S3Object")
        rows = [[_written(v, is_aggregate) for v in row] for row in found_rows]
        self.rows += len(rows)
        if root.find(".//{*}OutputSerialization/{*}CSV") is not None:
            lines = _csv(rows)
        else:
            texts = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
            lines = "".join(f"{text}\n" for text in texts).encode()
        scanned = f"<Stats><BytesScanned>{file.stat().st_size}</BytesScanned></Stats>".encode()
        return 200, b"".join([message("Records", lines), message("Stats", scanned), message("End", b"")])


def text_of(request: ElementTree.Element, file: Path) -> str | pa.Table | None:
    """Return what reads an object of text; None for Parquet. Fields of CSV are text, and none of them is NULL."""
    if (node := request.find(".//{*}InputSerialization/{*}CSV")) is not None:
        header = node.findtext("{*}FileHeaderInfo")
        delimiter, quote = (quoted(str(node.findtext(f"{{*}}{name}"))) for name in ("FieldDelimiter", "QuoteCharacter"))
        read = (
            f"read_csv({quoted(file)}, all_varchar = true, auto_detect = false, header = {header != 'NONE'}, "
            f"delim = {delimiter}, quote = {quote}, escape = {quote}, nullstr = 'no field', columns = "
        )
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8-sig") as lines:
            names = next(csv.reader(lines, delimiter=str(node.findtext("{*}FieldDelimiter"))), [])
        if header != "USE":
            names = [f"_{i + 1}" for i in range(len(names))]
        columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
        return f"{read}{{{columns}}})"
    if request.find(".//{*}InputSerialization/{*}JSON") is not None:
        rows = [json.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
        return pa.Table.from_pylist(rows, pa.schema([(name, _kind(rows, name)) for row in rows[:1] for name in row]))
    return None


def _kind(rows: Sequence[dict[str, Any]], name: str) -> pa.DataType:
    return pa.array([row.get(name) for row in rows]).type


def in_duckdb(statement: str) -> str:
    """Return a statement of S3 Select as DuckDB's."""
    return statement.replace(" AS FLOAT)", " AS DOUBLE)").replace(" AS INT)", " AS BIGINT)")


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(["" if v is None else v for v in row] for row in rows)
    return text.getvalue().encode()


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
