"""hadro over a folder, in a process of its own, that counts requests and bytes: `FOLDER KEY SECRET [HOST [select]]`.
It ends with the process that started it.

With `select` DuckDB computes S3 Select, as fast as it scans a file here: hadro's own takes longer than a link does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import uvicorn
from hadro.app import create_app
from hadro.config import Config

from bench._pushdown_csv import FIELDS
from jumpgate.tpcds.data import quoted
from tests.support import parents
from tests.support.select_double import in_duckdb, message

#: is answered with the counts since it was asked last
COUNTS = "/-/counts"
#: bytes of an event's payload
RECORDS_BYTES = 1 << 20


class Counting:
    """The store, with counts of what it has answered."""

    def __init__(self, app: Any, folder: Path | None) -> None:
        """folder: DuckDB computes S3 Select over its files."""
        self._app, self._folder = app, folder
        self._database, self._tables, self._loading = duckdb.connect(), dict[int, str](), threading.Lock()
        self._counts, self._since_s = self._none(), time.process_time()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == COUNTS:
            found = {**self._counts, "cpu_s": time.process_time() - self._since_s}
            self._counts, self._since_s = self._none(), time.process_time()
            await _answer(send, json.dumps(found).encode())
            return
        self._counts["requests"] += 1

        async def counted(message: Any) -> None:
            self._counts["bytes"] += len(message.get("body", b""))
            await send(message)

        if self._folder is not None and scope["method"] == "POST":
            body = b""
            more = True
            while more:
                part = await receive()
                body, more = body + part.get("body", b""), part.get("more_body", False)
            file = self._folder / scope["path"].lstrip("/")
            self._counts["scanned"] += file.stat().st_size
            found = await asyncio.to_thread(self._selected, file, body)
            self._counts["returned"] += len(found)
            await _answer(counted, found)
        else:
            await self._app(scope, receive, counted)

    @staticmethod
    def _none() -> dict[str, int]:
        return {"requests": 0, "bytes": 0, "scanned": 0, "returned": 0}

    def _selected(self, file: Path, request: bytes) -> bytes:
        """Return the event stream that answers a request."""
        root = ElementTree.fromstring(request)
        statement = in_duckdb(next(str(e.text) for e in root.iter() if e.tag.endswith("Expression")))
        is_csv = root.find(".//{*}OutputSerialization/{*}CSV") is not None
        with self._database.cursor() as cursor, tempfile.TemporaryDirectory() as folder:
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW S3Object AS FROM {self._source(file)}")
            found = Path(folder) / "found"
            how = "FORMAT csv, HEADER false" if is_csv else "FORMAT json"
            cursor.execute(f"COPY ({statement}) TO {quoted(found)} ({how})")
            text = found.read_bytes()
        stats = f"<Stats><BytesScanned>{file.stat().st_size}</BytesScanned></Stats>".encode()
        pieces = [message("Records", text[at : at + RECORDS_BYTES]) for at in range(0, len(text), RECORDS_BYTES)]
        return b"".join([*pieces, message("Stats", stats), message("End", b"")])

    def _source(self, file: Path) -> str:
        """Return what reads an object; the fields of CSV are kept in memory, as text."""
        fields = Path(f"{file}{FIELDS}")
        if not fields.exists():
            return f"read_parquet({quoted(file)})"
        with self._loading:
            number = fields.stat().st_ino  # the same has several names
            if number not in self._tables:
                name = f"t{len(self._tables)}"
                with self._database.cursor() as cursor:
                    cursor.execute(f"CREATE TABLE {name} AS FROM read_parquet({quoted(fields)})")
                self._tables[number] = name
            return self._tables[number]


async def _answer(send: Any, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main(folder: str, key: str, secret: str, host: str = "127.0.0.1", select: str = "") -> None:
    parents.end_with(os.getppid())
    place = socket.create_server((host, 0))
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits for the head's acknowledgement
    hadro = create_app(Config.from_env(data=folder, access_key=key, secret_key=secret))
    print(f"http://{host}:{place.getsockname()[1]}", flush=True)
    app = Counting(hadro, Path(folder) if select else None)
    config = uvicorn.Config(app, interface="asgi3", log_level="critical", lifespan="off")
    uvicorn.Server(config).run(sockets=[place])


if __name__ == "__main__":
    main(*sys.argv[1:])
