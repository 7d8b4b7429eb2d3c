"""A consumer's end of an encrypted connection, as a socket."""

from __future__ import annotations

import socket
import ssl
from typing import Any

#: taken from the system at once: the ssl module's own sockets take every record of 16 KiB with two calls
READ_BYTES = 128 << 10


class TlsSocket(socket.socket):
    """Takes over a connected socket. `recv_into` fills the memory, as with MSG_WAITALL. One thread reads or writes at a
    time; any may shut it down. Where the socket does not block, BlockingIOError says that more must come first."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        timeout = connection.gettimeout()
        super().__init__(fileno=connection.detach())
        self.settimeout(timeout)
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_side=True)
        self._memory = memoryview(bytearray(READ_BYTES))
        self._is_open = False

    def shake_hands(self) -> None:
        """Does what is left of the handshake. Raises OSError."""
        while not self._is_open:
            try:
                self._tls.do_handshake()
                self._is_open = True
            except ssl.SSLWantReadError:
                self._leave()
                if not self._take():
                    raise ConnectionResetError("it hung up during the handshake") from None
            finally:
                self._leave()

    @property
    def has_pending(self) -> bool:
        """Return whether bytes have come that no selector tells of."""
        return self._arrived.pending > 0 or self._tls.pending() > 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                if not self._take():
                    return b""

    def recv_into(self, memory: Any, size: int = 0, flags: int = 0) -> int:
        view, got = memoryview(memory), 0
        while got < len(view):
            try:
                got += self._tls.read(len(view) - got, view[got:])  # type: ignore[operator]
            except ssl.SSLWantReadError:
                if not self._take():
                    break
        return got

    def sendall(self, data: Any, flags: int = 0) -> None:
        self._tls.write(data)
        self._leave()

    def send(self, data: Any, flags: int = 0) -> int:
        self.sendall(data)
        return len(data)

    def _take(self) -> int:
        got = super().recv_into(self._memory)
        self._arrived.write(self._memory[:got])
        return got

    def _leave(self) -> None:
        if self._leaving.pending:
            super().sendall(self._leaving.read())
