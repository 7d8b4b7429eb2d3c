"""Decides prepared transactions beside one of PostgreSQL's servers, as the switch says to all at once.

The switch multicasts the answer to a transaction that has statements. Each server's agent keeps it there, then commits
or rolls back what is prepared, whether the coordinator lives or not. If a datagram is lost, the coordinator decides, as
it does where there is no agent. Recovery takes a kept answer for one that was logged.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from jumpgate.errors import JumpgateError
from jumpgate.p4.programs import transactions as p4
from jumpgate.transactions import postgres
from jumpgate.transactions.channel import DATAGRAM_BYTES_MAX, Address
from jumpgate.transactions.records import is_done
from jumpgate.transactions.shared import Folder


class Agent:
    """Give `address` to the database. `folder` is the database's: it says which workers are its own.

    `decided` counts the transactions that were decided here. Use as a context manager, or call `close`.
    """

    def __init__(self, url: str, folder: Path, server: str = "", number: int = 0, host: str = "127.0.0.1") -> None:
        self.url, self.server, self.decided = url, server, 0
        self._folder = Folder(folder, number)
        self._base: dict[str, Any] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self.address: Address = self._socket.getsockname()
        self._thread = threading.Thread(target=self._serve, name="agent", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End once what came is decided. May be called again."""
        if self._thread.is_alive():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
                end.sendto(b"", self.address)
            self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        while datagram := self._socket.recv(DATAGRAM_BYTES_MAX):
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(self.url, autocommit=True)
                self._decide(connection, datagram)
            except (psycopg.Error, JumpgateError):
                continue  # the coordinator decides, or recovery
        if connection is not None:
            connection.close()

    def _decide(self, connection: psycopg.Connection[Any], datagram: bytes) -> None:
        found = p4.unpack(datagram)
        if found is None or not self._knows(found[0]):
            return
        number = found[0].id
        log = postgres.log_of(self._base["log"], self.server)
        node = postgres.preparer(connection, log, number)
        if node is not None:
            postgres.keep_decision(connection, self._base["log"], number, datagram)
            self.decided += postgres.decide(connection, log, node, number, is_done(datagram), is_kept=True)

    def _knows(self, header: p4.Header) -> bool:
        """Tell if it is the answer to one of the database's workers, which alone know their secrets."""
        for _ in range(2):
            if any(lease[:2] == [header.flow, header.secret] for lease in self._base.get("leases", [])):
                return True
            self._base = self._folder.read() or {}
        return False
