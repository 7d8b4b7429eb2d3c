"""DuckDB in this process: one database of a connection, with a cursor for each query over the tables that it names, and
one connection on which statements run."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb

from jumpgate.client.duckdb import installed
from jumpgate.client.sql.errors import typed
from jumpgate.client.sql.tables import Scan
from jumpgate.client.sql.tokens import parts_of, unquoted
from jumpgate.codegen import cache
from jumpgate.machine import memory_bound, memory_bytes

#: of this machine's memory the database may hold; what is beyond that is spilled, or fails
MEMORY_SHARE = 0.6
#: settings that change no answer
_HARMLESS = frozenset((
    "THREADS", "WORKER_THREADS", "MEMORY_LIMIT", "MAX_MEMORY", "TEMP_DIRECTORY", "MAX_TEMP_DIRECTORY_SIZE",
    "ENABLE_PROGRESS_BAR", "CHECKPOINT_THRESHOLD", "WAL_AUTOCHECKPOINT",
))  # fmt: skip
#: statements that leave all texts their meaning
_NEUTRAL = frozenset((
    "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY", "EXPLAIN", "ANALYZE", "VACUUM", "TRANSACTION", "DROP",
    "ALTER", "EXPORT", "ATTACH", "DETACH", "CALL",
))  # fmt: skip
#: what CREATE may make without giving a function or a type another meaning
_TABLES = frozenset(("TABLE", "VIEW", "SCHEMA", "INDEX", "UNIQUE", "SEQUENCE", "RECURSIVE", "SECRET"))
_MANNERS = frozenset(("OR", "REPLACE", "TEMP", "TEMPORARY", "PERSISTENT"))
_OWN_TO_MAIN = frozenset(("TEMP", "TEMPORARY"))


def memory_max() -> int:
    """Bytes that the database may hold."""
    return int(memory_bytes() * MEMORY_SHARE)


class Database:
    """The database. Statements run on `main`. Queries have cursors of their own, which see the same, until a statement
    leaves what only `main` has: a transaction, a temporary table, a setting. From then on queries run there, too.

    `is_changed`: texts may mean something else than over tables of the same names in a new database, as there are
    settings, functions or types of the user's.
    """

    def __init__(self, file: str | os.PathLike[str] | None, read_only: bool) -> None:
        try:
            self.main = duckdb.connect(":memory:" if file is None else os.fspath(file), read_only=read_only)
        except duckdb.Error as error:
            raise typed(error) from error
        self.main.execute("; ".join(f"SET GLOBAL {name} = {value}" for name, value in _settings().items()))
        self._lock = threading.RLock()
        self._cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self._words: frozenset[str] | None = frozenset()
        self._prepared: list[str] = []
        self.in_transaction = self._has_own = False
        self.is_changed = file is not None and self.main.execute(_OWN).fetchall() != [(0,)]
        if file is not None:
            self._words = None
        installed.register(self.main)

    @property
    def is_pinned(self) -> bool:
        """Return whether queries run on `main`."""
        return self.in_transaction or self._has_own

    def cursor(self, scans: Sequence[Scan] = ()) -> duckdb.DuckDBPyConnection:
        """A cursor that sees these tables as temporary views."""
        found = self.main.cursor()
        self._cursors.add(found)
        for scan in scans:
            scan.add_to(found)
        return found

    @contextmanager
    def seeing(self, scans: Sequence[Scan]) -> Iterator[duckdb.DuckDBPyConnection]:
        """`main`, which sees these tables meanwhile; for one thread at a time."""
        with self._lock, memory_bound.held():
            try:
                for scan in scans:
                    scan.add_to(self.main)
                yield self.main
            finally:
                for scan in scans:
                    scan.drop_from(self.main)

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Rows that `main` answers."""
        with self.seeing(()) as database:
            found: list[tuple[Any, ...]] = database.execute(text).fetchall()
        return found

    def note(self, kind: str, text: str) -> bool:
        """Take a statement of this kind into account, which has run or failed; return whether remembered plans may be
        others now."""
        words = [word for word in parts_of(text)[1] if word != ";"]
        if kind == "TRANSACTION":
            self.in_transaction = words[:1] in (["BEGIN"], ["START"])
            return True
        made = next((word for word in words[1:] if word not in _MANNERS), "")
        harmless = kind in _NEUTRAL or (kind == "CREATE" and made in _TABLES) or _is_harmless(kind, words)
        self.is_changed |= not harmless
        self._has_own |= bool(_OWN_TO_MAIN & set(words[1:4])) if kind == "CREATE" else not harmless
        if kind in ("INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY", "EXPLAIN"):
            return False
        if kind == "PREPARE":
            self._prepared.append(text)
        self._words = None
        return True

    def words(self) -> frozenset[str]:
        """Names in the views, functions and prepared statements of the user, in small letters."""
        if self._words is None:
            found = self.rows(_VIEWS) + (self.rows(_MACROS) if self.is_changed else [])
            texts = [*self._prepared, *(text for (text,) in found)]
            self._words = frozenset(unquoted(part).lower() for text in texts for part in parts_of(text)[0])
        return self._words

    def close(self) -> None:
        """Closes the database, also for cursors; may be called twice."""
        for cursor in list(self._cursors):
            with suppress(duckdb.Error):
                cursor.close()
        self.main.close()


_OWN = (
    "SELECT (SELECT count(*) FROM duckdb_functions() WHERE NOT internal) + "
    "(SELECT count(*) FROM duckdb_types() WHERE NOT internal)"
)
_VIEWS = "SELECT sql FROM duckdb_views() WHERE NOT internal AND sql IS NOT NULL"
_MACROS = "SELECT macro_definition FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL"


def _settings() -> dict[str, str]:
    """Settings of a database that installs and loads no extensions by itself, and sees no variables of Python."""
    return {
        "memory_limit": f"'{memory_max()}B'",
        "threads": str(len(os.sched_getaffinity(0))),
        "temp_directory": "'{}'".format(str(cache.folder("spool")).replace("'", "''")),
        "TimeZone": "'UTC'",
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_file_cache": "false",  # it takes a file written twice in a second for the first one
    }


def _is_harmless(kind: str, words: Sequence[str]) -> bool:
    named = words[2:3] if words[1:2] in (["GLOBAL"], ["SESSION"], ["LOCAL"]) else words[1:2]
    return kind == "SET" and set(named) <= _HARMLESS and bool(named)
