"""The write-ahead log in PostgreSQL, in place of the local one or beside it, and the values that plain SQL may read.

Records are those of the local log. Threads that append at the same time share one transaction of PostgreSQL. It also
says what the switch has held since, so that `jumpgate.balance` is not older than what was acknowledged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from jumpgate.errors import ConfigError, InvalidDataflow

LOCAL, POSTGRES, BOTH = JOURNALS = ("local", "postgres", "both")


@dataclass(frozen=True)
class Held:
    """The value of a register after the transaction `gid`, with its base."""

    array: int
    index: int
    gid: int
    value: int


class Mirror:
    """`append` returns when the record is committed; what nobody waits for goes, in order, with the next that somebody
    waits for. `connection` is the mirror's own."""

    def __init__(self, connection: psycopg.Connection[Any], log: str, node: int) -> None:
        self._connection, self._log, self._node = connection, log, node
        connection.execute("SET synchronous_commit = on")
        self._open: list[bytes] = []
        self._held: dict[tuple[int, int], Held] = {}
        self._appended = self._committed = 0
        self._is_committing = False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()

    def append(self, record: bytes, wait: bool = True, held: Iterable[Held] = ()) -> None:
        """Raises ConfigError if PostgreSQL fails: from then on always, as what is there is not known."""
        with self._changed:
            self._open.append(record)
            for each in held:
                place = each.array, each.index
                self._held[place] = max(self._held.get(place, each), each, key=lambda found: found.gid)
            self._appended += 1
            number = self._appended
            while wait and self._committed < number and self._failure is None:
                if self._is_committing:
                    self._changed.wait()
                else:
                    self._lead()
            if wait and self._committed < number:
                reason = str(self._failure).partition("\n")[0]  # what follows has the record, with a worker's secret
                raise ConfigError(
                    f"cannot write the log in PostgreSQL: {reason}. Open the database again: it recovers"
                ) from None

    def _lead(self) -> None:
        """Commit what all have appended by now, while others append."""
        records, held, upto = self._open, list(self._held.values()), self._appended
        self._open, self._held, self._is_committing = [], {}, True
        self._changed.release()
        failure: BaseException | None = None
        try:
            self._commit(records, held)
        except BaseException as error:
            failure = error
            if not isinstance(error, psycopg.Error):
                raise
        finally:
            self._changed.acquire()
            self._is_committing, self._failure = False, failure
            if failure is None:
                self._committed = upto
            self._changed.notify_all()

    def _commit(self, records: list[bytes], held: list[Held]) -> None:
        with self._connection.transaction():
            self._connection.execute(
                "INSERT INTO jumpgate.log (log, node, record) SELECT %s, %s, unnest(%s::bytea[])",
                (self._log, self._node, records),
                prepare=True,
            )
            if held:
                columns = [[getattr(each, name) for each in held] for name in ("array", "index", "gid", "value")]
                self._connection.execute(
                    "UPDATE jumpgate.hot h SET value = v.value, gid = v.gid "
                    "FROM unnest(%s::int[], %s::int[], %s::bigint[], %s::bigint[]) AS v(a, i, gid, value) "
                    "WHERE h.array_number = v.a AND h.place = v.i AND h.gid < v.gid", columns, prepare=True,
                )  # fmt: skip

    def close(self) -> None:
        self._connection.close()


def check_journal(journal: str) -> None:
    if journal not in JOURNALS:
        raise InvalidDataflow(f"there is no journal '{journal}': it is one of {', '.join(JOURNALS)}")


def read_base(connection: psycopg.Connection[Any], number: int) -> str | None:
    """Return the base of a database that has its log in PostgreSQL."""
    row = connection.execute("SELECT base FROM jumpgate.base WHERE number = %s", (number,)).fetchone()
    return None if row is None else str(row[0])


def write_base(connection: psycopg.Connection[Any], number: int, log: str, base: str | None) -> None:
    """Replace the base, or forget it, and empty the log, whose records do not count any more."""
    with connection.transaction():
        connection.execute("DELETE FROM jumpgate.base WHERE number = %s", (number,))
        connection.execute("DELETE FROM jumpgate.log WHERE log = %s", (log,))
        if base is not None:
            connection.execute("INSERT INTO jumpgate.base VALUES (%s, %s)", (number, base))


def read_records(connection: psycopg.Connection[Any], log: str, node: int | None = None) -> list[bytes]:
    """Return the records of one node or all."""
    rows = connection.execute(
        "SELECT record FROM jumpgate.log WHERE log = %s AND node = coalesce(%s, node) ORDER BY position", (log, node)
    ).fetchall()
    return [bytes(record) for (record,) in rows]
