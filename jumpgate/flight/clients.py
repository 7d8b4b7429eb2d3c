"""Makes sessions for clients of the service: what each may read, and in whose name its jobs run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from jumpgate.flight.database import Database, session_memory
from jumpgate.flight.running import OwnService, StatementCalls
from jumpgate.flight.sessions import Session
from jumpgate.flight.tables import Files, files_of, readable
from jumpgate.hosts.config import Config
from jumpgate.service.facade import Service
from jumpgate.service.guard import Client, Guard


@dataclass(frozen=True)
class Clients:
    """The clients of a service that runs on `loop`. config: the configuration of now."""

    config: Callable[[], Config]
    service: Service
    loop: asyncio.AbstractEventLoop

    @property
    def guard(self) -> Guard:
        """Return what knows the clients' tokens."""
        return self.service.guard

    def session(self, client: Client) -> Session:
        """Return a new session for the client."""
        tables = readable(self.config().tables, client.config)

        def make(files: Files) -> Database:
            calls = StatementCalls(self.service, self.loop, _reading(client, files))
            return Database(
                files, OwnService(calls, self.guard.address), self._memory(client), reads_paths=client.config is None
            )

        return Session(client.name, make, lambda: files_of(tables))

    def _memory(self, client: Client) -> int:
        own = 0 if client.config is None else client.config.memory_limit_bytes
        return session_memory(own or self.config().service.get("memory_limit_bytes", 0))


def _reading(client: Client, files: Files) -> Client:
    """Return the client as jobs of its session run: they may read the tables' files, too."""
    if client.config is None:
        return client
    folders = {os.path.dirname(file) for source in files.values() for file in source.files}
    return Client(replace(client.config, roots=(*client.config.roots, *sorted(folders))))
