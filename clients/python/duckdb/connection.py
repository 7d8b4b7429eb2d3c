"""`jumpgate.accelerate`: a DuckDB connection of which accelerators answer what they do exactly as DuckDB does."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable
from types import FrameType, TracebackType
from typing import Any

import duckdb

from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.answers import Query, in_sight_of, relation_over
from jumpgate.client.duckdb.decide import HERE, JOB, SMALL, Auto, small
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.streams import Stream
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.file_state import FileStates, file_states
from jumpgate.errors import Cancelled, CannotPlace, ComputeError, ConfigError, DataError, JumpgateError

MODES = ("auto", "always", "never")
#: texts of which a connection remembers that DuckDB answers them
LEFT_MAX = 1024
NO_QUERY = "it is not one SELECT"
#: what fetches the result of `execute`
_FETCHES = frozenset((
    "fetchone", "fetchmany", "fetchall", "fetchnumpy", "fetchdf", "fetch_df", "df", "fetch_df_chunk", "pl", "torch",
    "tf", "arrow", "fetch_arrow_table", "to_arrow_table", "fetch_record_batch", "to_arrow_reader", "description",
))  # fmt: skip


class Shared:
    """The state that a connection and its cursors share: the session with the service, and what was learned."""

    def __init__(self, address: str | None, options: dict[str, Any]) -> None:
        self.auto = Auto()
        #: texts that DuckDB answers at once while these files are as they were, and why
        self.left: dict[str, tuple[FileStates, str]] = {}
        self._address, self._options = address, options
        self._session: Session | None = None
        self._lock = threading.Lock()

    @property
    def session(self) -> Session:
        """The session, connected at first use. Raises Unreachable."""
        with self._lock:
            if self._session is None:
                # DuckDB is here, too, and answers until programs are built
                self._session = Session(self._address, **{"first_runs": False, **self._options})
            return self._session

    def close(self) -> None:
        """Ends the session and what runs in it; may be called twice."""
        with self._lock:
            if self._session is not None:
                self._session.close()


class Connection:
    """Use it in place of the DuckDB connection that it holds, whose methods it has. A context manager.

    `sql`, `query` and `execute` offload a SELECT whole, or leave it to DuckDB: `explain` says why. Everything else goes
    to DuckDB as it is. `last_reason`: why DuckDB answered the last text; empty if accelerators did.

    streams: the result of `execute` is read once, by `to_arrow_reader`, while it arises.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        mode: str,
        shared: Shared,
        *,
        is_cursor: bool = False,
        streams: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ConfigError(f"mode is {mode!r}; it can be {', '.join(MODES)}")
        self.duckdb = connection
        self.mode = mode
        self.last_reason = ""
        self._shared, self._is_cursor, self._streams = shared, is_cursor, streams
        self._answer: Any = None  # a relation of DuckDB's, or a Stream
        self._compared = ""  # the text that auto would have offloaded if DuckDB were slower

    def sql(self, query: Any, *, alias: str = "", params: object = None) -> Any:
        """A query's result, computed when it is asked for; other statements run at once. As DuckDB's `sql`."""
        frame = sys._getframe(1)
        more = {name: value for name, value in (("alias", alias), ("params", params)) if value}
        relation = in_sight_of(frame, self.duckdb.sql, query, **more)
        if not self._may_offload(query, params or alias):
            return relation
        return Query(self, query, relation)

    query = sql

    def execute(self, query: Any, parameters: object = None) -> Connection:
        """Runs a statement, whose result the connection then hands out. As DuckDB's `execute`."""
        self._answer = None
        frame = sys._getframe(1)
        try:
            if self._may_offload(query, parameters):
                self._answer = self.answer(query)
        except CannotPlace:
            in_sight_of(frame, self.duckdb.sql, query, **({} if parameters is None else {"params": parameters}))
            raise  # where the text itself is wrong, DuckDB has said so
        if self._answer is None:
            self._here(query, frame, *(() if parameters is None else (parameters,)))
        return self

    def explain(self, query: str) -> str:
        """Return whether the text would be offloaded, and why not; nothing is run."""
        if not planning.is_query(self.duckdb, query):
            return f"DuckDB runs it: {NO_QUERY}"
        try:
            found = planning.offload(self.duckdb, query)
        except Stays as stays:
            return f"DuckDB runs it: {stays}"
        try:
            reason = self._reason(query, found)
            if reason:
                return f"DuckDB runs it: {reason}"
            found.files.fill()
            return self._shared.session.explain(Dataflow(found.operator), DUCKDB)
        finally:
            found.files.close()

    def answer(self, text: str) -> Any:
        """The accelerators' answer, as a relation of DuckDB's; None if DuckDB is to give it. Raises CannotPlace where
        mode is always."""
        try:
            found = planning.offload(self.duckdb, text)
        except Stays as stays:
            self._left(text, self._leave(text, (), str(stays)))
            return None
        answer = None
        try:
            reason = self._reason(text, found)
            if not reason:
                answer = self._run(text, found)
                return answer
        except Stays as stays:
            reason = str(stays)
        finally:
            if not isinstance(answer, Stream):  # which still reads them
                found.files.close()
        self._left(text, reason)
        return None

    def cursor(self) -> Connection:
        """Another connection to the same database."""
        return Connection(self.duckdb.cursor(), self.mode, self._shared, is_cursor=True)

    @property
    def producers(self) -> int:
        """Return how many instances wait for the last result to be read; 0 where no job runs."""
        if not isinstance(self._answer, Stream) or self._answer.is_complete:
            return 0
        return self._answer.result.producers

    def forget(self) -> None:
        """Looks again at texts that DuckDB was left: a statement may have made other tables of the names in them."""
        self._shared.left.clear()

    def interrupt(self) -> None:
        """Ends what DuckDB, or the last result's job, computes; from any thread."""
        if isinstance(self._answer, Stream):
            self._answer.close()
        self.duckdb.interrupt()

    def close(self) -> None:
        """Closes the DuckDB connection and, unless it is a cursor, ends what runs; may be called twice."""
        if isinstance(self._answer, Stream):
            self._answer.close()
        if not self._is_cursor:
            self._shared.close()
        self.duckdb.close()

    def __getattr__(self, name: str) -> Any:
        """DuckDB's: of the accelerators' answer where that is the last result."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _FETCHES and self._answer is not None:
            return getattr(self._answer, name)
        return getattr(self.duckdb, name)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _may_offload(self, query: Any, parameters: object) -> bool:
        """Return whether the text is worth a look. Raises CannotPlace as `answer` does."""
        if not isinstance(query, str) or self.mode == "never":
            self.last_reason = "mode = never" if self.mode == "never" else NO_QUERY
        elif not planning.is_query(self.duckdb, query):
            self.last_reason = NO_QUERY
            self.forget()
        elif parameters:
            self._left(query, "a text with parameters is not offloaded")
        elif self.mode == "auto" and (reason := self._known_reason(query)):
            self.last_reason = reason
        else:
            return True
        return False

    def _known_reason(self, query: str) -> str:
        """Why DuckDB answers a text that was looked at; empty if its files are others now."""
        known, reason = self._shared.left.get(query, ({}, ""))
        try:
            if file_states(known) == known:
                return reason
        except DataError:
            pass  # DuckDB says what became of them
        del self._shared.left[query]
        return ""

    def _leave(self, text: str, files: Iterable[str], reason: str) -> str:
        """Remembers the reason."""
        self._shared.left[text] = file_states(files), reason
        if len(self._shared.left) > LEFT_MAX:
            del self._shared.left[next(iter(self._shared.left))]
        return reason

    def _reason(self, text: str, found: Offloaded) -> str:
        """Why DuckDB answers a text that could be offloaded."""
        if self.mode != "auto":
            return ""
        if found.files.tables:
            reason = f"table '{min(found.files.tables)}' is DuckDB's own: it is faster where it is"
            return self._leave(text, (), reason)
        if small(found.files.files):
            return self._leave(text, found.files.files, SMALL)
        found.files.fill()
        self._compared = text
        return self._shared.auto.reason(text, found.operator, self._shared.session)

    def _run(self, text: str, found: Offloaded) -> Any:
        """The answer of a job; None where the job found what DuckDB has an error or another road for."""
        start = time.perf_counter()
        found.files.fill()
        names = self.duckdb.sql(text).columns
        try:
            result = self._shared.session.run(Dataflow(found.operator), DUCKDB, text=text)
            if self._streams:
                answer: Any = Stream(self.duckdb, result, names, found)
            else:
                answer = relation_over(self.duckdb, result.to_arrow(), names, found.types)
        except JumpgateError as error:
            if isinstance(error, Cancelled) or (
                self.mode == "always" and not isinstance(error, ComputeError | DataError)
            ):
                raise
            self._shared.auto.experience.note(text, JOB, math.inf)
            self.last_reason = f"as a job it failed: {error.message}"
            return None
        if not isinstance(answer, Stream) or answer.is_complete:  # else it takes as long as its reader
            self._shared.auto.experience.note(text, JOB, time.perf_counter() - start)
        self.last_reason = ""
        return answer

    def _left(self, text: str, reason: str) -> None:
        """Notes why DuckDB answers. Raises CannotPlace for mode = always."""
        self.last_reason = reason
        if self.mode == "always":
            raise CannotPlace(f'mode = always, and this stays in DuckDB: {reason}. Take mode = "auto": {text[:200]}')

    def _here(self, query: Any, frame: FrameType, *parameters: object) -> None:
        start = time.perf_counter()
        in_sight_of(frame, self.duckdb.execute, query, *parameters)
        if query == self._compared and not parameters:
            self._shared.auto.experience.note(query, HERE, time.perf_counter() - start)


def accelerate(
    connection: duckdb.DuckDBPyConnection, *, mode: str = "auto", address: str | None = None, **options: Any
) -> Connection:
    """A connection to use in place of a DuckDB connection.

    mode: `auto` offloads what is faster on accelerators, `always` every SELECT that can be, and raises CannotPlace for
    others, `never` nothing. address: of a service (host:port); None starts one inside this process when a text needs
    it. options: those of jumpgate.client.session.Session.
    """
    return Connection(connection, mode, Shared(address, options))
