"""Puts the data of the conformance kit into a store: hadro, in a process of its own, serves a folder."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from jumpgate.errors import InternalError, NotInstalled
from jumpgate.nca.interface import Place

BUCKET = "conformance"
#: hadro takes nothing alone for NULL in CSV, which the kit's files have another text for
FORMATS = ["parquet", "json"]
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
            yield Place(bucket, f"s3://{BUCKET}", (store,), tuple(FORMATS))
        finally:
            server.kill()
