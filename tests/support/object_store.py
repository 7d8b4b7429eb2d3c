"""A store over a folder for tests: hadro, with mischief on the way, in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvicorn
from hadro.app import create_app
from hadro.config import Config

from jumpgate.dataflow.formats import formats
from jumpgate.stores.s3 import PROVIDER as S3

KEY, SECRET = "AKIATESTKEY", "a+secret/that=nobody_may_see"
START_S = 60.0
#: of `table`
ROWS = 20_000

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
#: an object's file and a request → the status and the body of the answer
Select = Callable[[Path, bytes], tuple[int, bytes]]
#: the status of an answer that refuses
REFUSALS = {"busy": 503, "refused": 405}


class Store:
    """Serves the folders in `folder` as buckets, by https with a `certificate`. `requests` are methods, paths and
    ranges; `before` is called for each with its number, and may answer "cut", "busy", "refused", "lost", "grown" or
    "wordy" (headers that are repeated) to spoil it. Requests are answered one by one: `before` may change a file, and
    each answer is of one version. `select` answers S3 Select in hadro's place."""

    def __init__(
        self,
        folder: Path,
        certificate: Path | None = None,
        outer: Callable[[Any], Any] = lambda app: app,
        **settings: Any,
    ) -> None:
        """outer: makes what answers of hadro's application."""
        self.folder = folder
        self.requests: list[tuple[str, str, str]] = []
        self.before: Callable[[int], str] = lambda number: ""
        self._turn = asyncio.Lock()
        self.select: Select | None = None
        self._settings = {"data": str(folder), **settings}
        self.app = outer(create_app(Config.from_env(**self._settings)))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host = "http://127.0.0.1" if certificate is None else "https://localhost"
        self.endpoint = f"{host}:{self._socket.getsockname()[1]}"
        tls: dict[str, Any] = (
            {}
            if certificate is None
            else {"ssl_certfile": certificate / "cert.pem", "ssl_keyfile": certificate / "key.pem"}
        )
        self._server = uvicorn.Server(
            uvicorn.Config(self._serve, interface="asgi3", log_level="critical", lifespan="off", **tls)
        )
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = self._server.force_exit = True  # else asyncio waits 30 s for the end of kept TLS
        self._thread.join()
        self._socket.close()

    @contextlib.contextmanager
    def failing(self, **settings: Any) -> Iterator[None]:
        """Serve with these settings of hadro in the block."""
        was, self.app = self.app, create_app(Config.from_env(**self._settings, **settings))
        try:
            yield
        finally:
            self.app = was

    async def _serve(self, scope: Scope, receive: Any, send: Send) -> None:
        async with self._turn:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Any, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        self.requests.append((scope["method"], scope["path"], headers.get(b"range", b"").decode()))
        mischief = self.before(len(self.requests))
        if mischief in REFUSALS:
            status = REFUSALS[mischief]
            await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        elif mischief == "lost":
            raise ConnectionResetError
        else:
            spoilt = {"cut": _cutting, "grown": _growing, "wordy": _repeating}.get(mischief)
            send = spoilt(send) if spoilt else send
            if self.select is not None and scope["method"] == "POST":
                await self._select(scope, receive, send, self.select)
            else:
                await self.app(scope, receive, send)

    async def _select(self, scope: Scope, receive: Any, send: Send, select: Select) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        status, answer = select(self.folder / scope["path"].lstrip("/"), body)
        length = str(len(answer)).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": answer})


def _cutting(send: Send) -> Send:
    """What sends the first half of a body, and then breaks off."""

    async def cut(message: Message) -> None:
        body = message.get("body", b"")
        if message["type"] == "http.response.body" and len(body) > 1:
            await send({**message, "body": body[: len(body) // 2], "more_body": True})
            raise ConnectionResetError
        await send(message)

    return cut


def _growing(send: Send) -> Send:
    """Return a `send` that names ranges of a longer object, under the same tag."""

    async def grown(message: Message) -> None:
        headers = [
            (name, value + b"1" if name.lower() == b"content-range" else value)
            for name, value in message.get("headers", ())
        ]
        await send({**message, "headers": headers} if headers else message)

    return grown


def _repeating(send: Send) -> Send:
    """Return a `send` that repeats a header, as MinIO does."""

    async def repeated(message: Message) -> None:
        headers = [*message.get("headers", ()), (b"vary", b"Origin"), (b"vary", b"Accept-Encoding")]
        await send({**message, "headers": headers} if message["type"] == "http.response.start" else message)

    return repeated


def table(first: int = 0, rows: int = ROWS) -> pa.Table:
    """Rows with NULLs, empty strings, and values that no compression makes few bytes of."""
    numbers = range(first, first + rows)
    return pa.table(
        {
            "a": pa.array([None if n % 7 == 0 else n for n in numbers], pa.int64()),
            "s": pa.array(
                [None if n % 11 == 0 else "" if n % 13 == 0 else f"s{n * 2654435761 % 1000003}" for n in numbers]
            ),
            "x": pa.array([n / 8 for n in numbers], pa.float64()),
        }
    )


def write(path: Path, content: pa.Table, part_rows: int = 5000) -> None:
    """Write a file in the format that its name ends with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    formats()[plain.suffix[1:]].write(content, plain, part_rows=part_rows)
    if plain != path:
        path.write_bytes(gzip.compress(plain.read_bytes()))


@contextlib.contextmanager
def credentials(endpoint: str, key: str = KEY, secret: str = SECRET) -> Iterator[None]:
    """Make AWS's environment variables name a store in the block."""
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        S3.forget()
        yield
    S3.forget()
