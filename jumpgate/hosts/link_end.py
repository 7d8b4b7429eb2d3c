"""An end of a way between hosts that is measured: a Python program of the agents, which listens, or sends.

Verbs on its standard input, one JSON object a line as in the control protocol (docs/protocol.md): `listen`, `measure`
and `destroy`. A connection begins with the token that the listener was told. Then come `PINGS` single bytes, each of
which is echoed, and zeros until the sender ends. The listener answers how many bytes came, and in how many seconds.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from jumpgate.errors import InternalError, JumpgateError, Unreachable
from jumpgate.ntf.addresses import host_of

PINGS = 32
BLOCK = bytes(1 << 16)
#: for each step of a peer; a slow link takes long to empty the buffers of both ends
PATIENCE_S = 20.0
#: the longest measurement
SECONDS_MAX = 10.0


def measure(address: str, token: str, seconds: float) -> dict[str, float]:
    """Measure the way to a listener: `delay_s`, half of the shortest round trip, and `bytes_per_s`, as they arrive.

    Raises Unreachable.
    """
    try:
        port = int(address.rpartition(":")[2])
        with socket.create_connection((host_of(address), port), PATIENCE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(token.encode())
            trips = []
            for _ in range(PINGS):
                since = time.perf_counter()
                connection.sendall(b"p")
                if not connection.recv(1):
                    raise ConnectionError("the other end hung up")
                trips.append(time.perf_counter() - since)
            until = time.monotonic() + min(seconds, SECONDS_MAX)
            while time.monotonic() < until:
                connection.sendall(BLOCK)
            connection.shutdown(socket.SHUT_WR)
            arrived = json.loads(connection.makefile("rb").readline(100))
    except (OSError, ValueError) as error:
        raise Unreachable(f"nothing was measured on the way to {address}: {error}") from None
    return {"delay_s": min(trips) / 2, "bytes_per_s": arrived["bytes"] / arrived["seconds"]}


class Listener:
    """Serves one sender after the other; those that do not know the token are hung up on."""

    def __init__(self, bind: str, token: str) -> None:
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        self._socket = socket.create_server((bind, 0), family=family)
        self._token = token.encode()
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(PATIENCE_S)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        said = connection.recv(len(self._token), socket.MSG_WAITALL)
        if not hmac.compare_digest(said, self._token):
            return
        for _ in range(PINGS):
            if not connection.recv(1):
                return
            connection.sendall(b"p")
        buffer = bytearray(len(BLOCK))
        bytes = connection.recv_into(buffer)
        since = time.perf_counter()
        arrived = 0  # after the first ones, which the clock starts with
        while bytes:
            bytes = connection.recv_into(buffer)
            arrived += bytes
        taken = max(time.perf_counter() - since, 1e-9)
        connection.sendall(json.dumps({"bytes": arrived, "seconds": taken}).encode() + b"\n")


def main() -> None:
    control = socket.socket(fileno=0)
    listeners: list[Listener] = []

    def listen(bind: str, token: str) -> dict[str, int]:
        listeners.append(Listener(bind, token))
        return {"port": listeners[-1].port}

    verbs: dict[str, Callable[..., dict[str, Any]]] = {"listen": listen, "measure": measure, "destroy": dict}
    with control.makefile("rb") as requests:
        for line in requests:
            request = json.loads(line)
            try:
                answer = {"ok": verbs[request["verb"]](**request.get("arguments", {}))}
            except JumpgateError as error:
                answer = {"error": error.to_dict()}
            except Exception as error:  # the controller must hear of it
                answer = {"error": InternalError(f"{type(error).__name__}: {error}").to_dict()}
            control.sendall(json.dumps({"id": request["id"], **answer}).encode() + b"\n")
            if request["verb"] == "destroy":
                break
    sys.stdout.flush()
    os._exit(0)  # the listener's thread waits for nobody


if __name__ == "__main__":
    main()
