"""Puts the data of the conformance kit into a store: hadro, in a process of its own, serves a folder."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.errors import InternalError, NotInstalled
from jumpgate.nca.interface import Place

BUCKET = "conformance"
FORMATS = ["parquet", "csv", "json"]
#: serves until its standard input ends; says where
_SERVER = """
import sys, hadro
with hadro.Server(data=sys.argv[1]) as server:
    print(server.endpoint, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def placing(folder: Path) -> Iterator[Place]:
    """Serve a new folder in `folder` as a bucket. Raises NotInstalled."""
    if importlib.util.find_spec("hadro") is None:
        raise NotInstalled("hadro, a store to check with, is not installed; run `pip install 'hadro>=0.7.1,<0.8'`")
    bucket = folder / BUCKET
    bucket.mkdir()
    command = [sys.executable, "-c", _SERVER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            endpoint = server.stdout.readline().strip()
            if not endpoint:
                raise InternalError("hadro ended before it served anything; its standard error says why")
            store = {
                "url": f"s3://{BUCKET}",
                "endpoint": endpoint,
                "anonymous": True,
                "select": True,
                "select_dialect": "hadro",
                "select_formats": FORMATS,
            }
            yield Place(bucket, f"s3://{BUCKET}", (store,), tuple(FORMATS), with_nothing)
        finally:
            server.kill()


def with_nothing(read: Operator) -> Operator:
    """Write nothing in CSV for NULL, which hadro takes for it alone, and for empty text. A line of one column would be
    blank then: such files stay as they are."""
    assert isinstance(read, Read)
    null = dict(read.options).get("null")
    if read.format != "csv" or not null or len(read.file_schema) < 2:
        return read
    for file in map(Path, read.files):
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [["" if field == null else field for field in row] for row in csv.reader(lines)]
        with file.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines, lineterminator="\n").writerows(rows)
    return replace(read, options=tuple(o for o in read.options if o[0] != "null"))
