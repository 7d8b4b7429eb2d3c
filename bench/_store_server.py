"""hadro over a folder, in a process of its own, that counts requests and bytes: `FOLDER KEY SECRET`."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn
from hadro.app import create_app
from hadro.config import Config

#: is answered with the counts since it was asked last
COUNTS = "/-/counts"


class Counting:
    """The store, with counts of what it has answered."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._requests = self._bytes = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == COUNTS:
            body = f"{self._requests} {self._bytes}".encode()
            self._requests = self._bytes = 0
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})
            return
        self._requests += 1

        async def counted(message: Any) -> None:
            self._bytes += len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, counted)


def main(folder: str, key: str, secret: str) -> None:
    place = socket.create_server(("127.0.0.1", 0))
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits for the head's acknowledgement
    app = Counting(create_app(Config.from_env(data=folder, access_key=key, secret_key=secret)))
    print(f"http://127.0.0.1:{place.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, interface="asgi3", log_level="critical", lifespan="off")
    uvicorn.Server(config).run(sockets=[place])


if __name__ == "__main__":
    main(*sys.argv[1:])
