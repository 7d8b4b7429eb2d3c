"""The state that queries of one connection share: database, tables, session, and findings about texts."""

from __future__ import annotations

import functools
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.decide import Auto
from jumpgate.client.sql import tables
from jumpgate.client.sql.catalog import Catalog, Table
from jumpgate.client.sql.data_files import DataFiles
from jumpgate.client.sql.errors import RAISED, typed
from jumpgate.client.sql.parsing import named
from jumpgate.client.sql.stopping import Stop
from jumpgate.converters.prober import prober
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import JumpgateError, MalformedData
from jumpgate.machine import memory_bound
from jumpgate.stores.credentials import used

if TYPE_CHECKING:
    from jumpgate.client.session import Session
    from jumpgate.client.sql.database import Database
    from jumpgate.client.sql.plan import Cut, Split
    from jumpgate.client.sql.stand_ins import StandIns

#: texts of which something is known, and those of which the tables stay opened
TEXTS_MAX, IDLE_MAX = 256, 16
#: of a text that may ask for the time, which is a constant in its plan
_CLOCK = re.compile(r"(?i)\b(now|today|(get_)?current_\w+|localtime(stamp)?|\w+_timestamp)\b")


@dataclass
class Known:
    """Findings about a text, which hold as long as the tables stay the same.

    is_own: only the connection's database can plan it, as it reads more than tables of the connection, or may mean
    something else than in a new database. lasts: it means the same the next time. description: DuckDB's types of the
    result, and its schema. whole: the text as one job, or why it is none. parts: the split where it is none.
    """

    text: str
    is_own: bool
    lasts: bool
    description: tuple[list[str], pa.Schema] | None = None
    whole: Cut | str | None = None
    parts: Split | None = None


class Opened:
    """The tables of a text for one query at a time: `scans`, and a cursor of the database that sees them."""

    def __init__(self, database: Database, scans: list[tables.Scan], known: Known) -> None:
        self.scans, self.known = scans, known
        self._database = database
        self._cursor: duckdb.DuckDBPyConnection | None = None

    @contextmanager
    def seeing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, which sees the tables. Raises what DuckDB raises in the block as errors of Jumpgate."""
        try:
            if not self._database.is_pinned and self._cursor is None:
                self._cursor = self._database.cursor(self.scans)
            pinned = self._database.is_pinned
            with (
                memory_bound.held(),
                self._database.seeing(self.scans) if pinned else nullcontext(self._cursor) as database,
            ):
                assert database is not None
                yield database
        except RAISED as error:
            raise self._typed(error) from error

    @property
    def files(self) -> list[str]:
        """Return the files that DuckDB reads itself."""
        return [file for scan in self.scans if scan.reads_files for file in scan.files]

    def close(self) -> None:
        """End jobs that still read; may be called twice."""
        for scan in self.scans:
            scan.close()

    def _typed(self, error: Exception) -> JumpgateError:
        failed = next((scan.error for scan in self.scans if scan.error is not None), None)
        if failed is None and type(error) is duckdb.Error:  # of its Parquet reader alone
            names = named(self.known.text)
            files = self.files + ([] if names is None else sorted(n for n in names.tables if "/" in n or "." in n))
            return MalformedData(f"DuckDB, of {', '.join(files[:3])}: {error}")
        return failed or typed(error)


class Workspace:
    """The shared state of one connection. Thread-safe. address and options: as of jumpgate.client.session.Session."""

    def __init__(self, database: Database, address: str | None, options: Mapping[str, Any]) -> None:
        self.database = database
        self.tables = Catalog(self._changed)
        self.data = DataFiles()
        self.auto = Auto()
        self._address, self._options = address, options
        self._lock, self._texts_lock = threading.Lock(), threading.Lock()
        self._session: Session | None = None
        self._stand_ins: StandIns | None = None
        self._stops: weakref.WeakSet[Stop] = weakref.WeakSet()
        self._texts: OrderedDict[str, Known] = OrderedDict()
        self._idle: OrderedDict[str, Opened] = OrderedDict()
        if address is not None:
            self.session.jobs()  # that nobody answers there is said at once
        prober.hold()  # its start is not part of the first query's time
        self._holds = True

    @property
    def session(self) -> Session:
        """The session with the service, connected at first use."""
        with self._lock:
            if self._session is None:
                from jumpgate.client.session import Session

                # DuckDB is here, too, and answers until programs are built
                self._session = Session(self._address, **{"first_runs": False, **self._options})
            return self._session

    def rights(self) -> AbstractContextManager[None]:
        """Read and write stores in a block with the credentials that the connection was given, if it was."""
        return used(self.session.credentials) if self._options.get("credentials") else nullcontext()

    @property
    def is_started(self) -> bool:
        """Return whether there is a session."""
        return self._session is not None

    @property
    def has_stand_ins(self) -> bool:
        """Return whether the database that plans is open."""
        return self._stand_ins is not None

    @property
    def stand_ins(self) -> StandIns:
        """The database that plans, opened at first use."""
        with self._lock:
            if self._stand_ins is None:
                from jumpgate.client.sql.stand_ins import StandIns

                self._stand_ins = StandIns(self._read, constants=self._address is None)
            return self._stand_ins

    def stop(self) -> Stop:
        """Return a new stop with the deadline of queries, which `close` closes, too."""
        found = Stop(float(self._options.get("timeout_ms") or 0) / 1000)
        self._stops.add(found)
        return found

    def scans(self, text: str) -> list[tables.Scan]:
        """Find the tables that a text reads."""
        return tables.find(self.tables, text, lambda: self.session, self._address is None, self.database.words)

    def open(self, text: str) -> Opened:
        """Open the tables of a query, or take those that an earlier run of it has left open."""
        with self._texts_lock:
            if (idle := self._idle.pop(text, None)) is not None:
                return idle
            known = self._texts.get(text) or self._new(text)
            _keep(self._texts, text, known, TEXTS_MAX)
        return Opened(self.database, self.scans(text), known)

    def keep(self, opened: Opened) -> None:
        """Keep the tables of a query open for the next run of its text."""
        with self._texts_lock:
            if self._texts.get(opened.known.text) is opened.known:  # else the tables are others now
                _keep(self._idle, opened.known.text, opened, IDLE_MAX)

    def ran(self, kind: str, text: str) -> None:
        """Take into account that a statement ran, or failed: what is known of texts may be otherwise now."""
        if self.database.note(kind, text):
            self._forget()

    def close(self) -> None:
        """Cancel what still runs, and close session and database; may be called twice."""
        for stop in list(self._stops):
            stop.close()
        with self._lock:
            if self._session is not None:
                self._session.close()
            if self._holds:
                prober.release()
            self._holds = False
        self._forget()
        if self._stand_ins is not None:
            self._stand_ins.close()
        self.data.close()
        self.database.close()

    def _new(self, text: str) -> Known:
        names = named(text)
        is_over_tables = names is not None and names.reads_only({table.name.lower() for table in self.tables})
        lasts = is_over_tables and not _asks_the_time(text)
        return Known(text, self.database.is_changed or not is_over_tables, lasts)

    def _changed(self, name: str) -> None:
        self.data.forget(name)
        self._forget()
        self.auto.experience.forget()

    def _forget(self) -> None:
        with self._texts_lock:
            self._texts.clear()
            self._idle.clear()

    def _read(self, table: Table) -> Operator | None:
        """How accelerators read a table; None for data that is only here."""
        if table.read is not None:
            return table.read
        return self.data.read(table) if self._address is None and self.data.can_hold(table) else None


@functools.lru_cache(TEXTS_MAX)
def _asks_the_time(text: str) -> bool:
    return _CLOCK.search(text) is not None


def _keep(kept: OrderedDict[str, Any], text: str, value: object, most: int) -> None:
    """Keep the values of the texts that were used last."""
    kept[text] = value
    kept.move_to_end(text)
    if len(kept) > most:
        kept.popitem(last=False)
