"""The result of a run: Arrow record batches as they arrive, and never a short answer."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from jumpgate import debug, extras
from jumpgate.client import notebook
from jumpgate.errors import Cancelled, InvalidDataflow, JumpgateError, ProtocolError, from_dict

if TYPE_CHECKING:
    import pandas
    import polars

    from jumpgate.client.progress import Follower

#: how long a stream that broke off waits for the service to say why
CAUSE_WAIT_S = 8.0
#: of a result, at the top of the debugging ladder
SHOWN_ROWS = 5


class Stream(Protocol):
    """The receiving end of the job's last edge: jumpgate.ntf.receive.Endpoint. `bytes`: of the frames so far."""

    bytes: int

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Batches in order of arrival; ends when every producer's end frame has matched."""

    def close(self, reason: JumpgateError | None = None) -> None:
        """Gives up: wakes a reader, who gets `reason`; may be called twice and from any thread."""


class Execution:
    """The running job as the service reports it: whoever hears of its events says so with `see` and `end`.

    `stop` is called with the job's error, so that nobody waits for data. `submitted` is what the service answers, or
    the error that keeps the job from starting; the `follower` that is made of it sees the events after it, too.
    `finished` hears once that the job has ended, and of its error.
    """

    def __init__(
        self,
        stop: Callable[[JumpgateError], None],
        follower: Callable[[Any], Follower] | None = None,
        finished: Callable[[JumpgateError | None], None] = lambda _: None,
    ) -> None:
        self.submitted: Future[Any] = Future()
        self.events: list[Any] = []
        self.error: JumpgateError | None = None
        self.ended = threading.Event()
        self.follower: Follower | None = None
        self._stop, self._follower_of, self._finished = stop, follower, finished

    def see(self, event: Any) -> None:
        """The next event."""
        if event.state == "submitted":
            self.follower = None if self._follower_of is None else self._follower_of(event.submitted)
            self.submitted.set_result(event.submitted)
            return
        self.events.append(event)
        if self.follower is not None:
            self.follower.see(event)
        if event.state == "done":  # the service then takes the job down; nobody need wait for that
            self._finish()
        elif event.state in ("failed", "cancelled"):
            self.end(from_dict(json.loads(event.detail_json)))

    def end(self, error: JumpgateError | None) -> None:
        """There are no more events; `error` is the job's, and they lack an end if it has none."""
        state = self.events[-1].state if self.events else ""
        if error is None and state != "done":
            error = ProtocolError(f"the service ended the job's events in state {state!r}, before it was done")
        if error is not None and not self.ended.is_set():
            self.error = self.error or error
            self._stop(self.error)
        self._finish()
        if error is not None and not self.submitted.done():
            self.submitted.set_exception(error)

    def _finish(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            self._finished(self.error)


class Result:
    """One run's answer. Iterate it once for record batches, or take it as a whole (which may be asked for again).

    Batches are handed out as they arrive; iterating ends normally only after every producer's end frame matched *and*
    the service reported success, else it raises the job's error. A result that is dropped unread cancels its job.
    Where it failed before anything came, `again` may run the dataflow anew (without a device that was full, say): `job`
    is then that one.
    """

    def __init__(
        self,
        job: str,
        schema: pa.Schema,
        stream: Stream,
        execution: Execution,
        cancel: Callable[[], None],
        restore: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        again: Callable[[JumpgateError], Result | None] | None = None,
    ) -> None:
        """`restore` makes batches of `schema` of what the stream delivers."""
        self.job = job
        self.schema = schema
        self._stream = stream
        self._execution = execution
        self._iterated = False
        self._table: pa.Table | None = None
        self._restore = restore
        self._again = again
        self._release = weakref.finalize(self, _release, stream, execution, cancel)

    @property
    def events(self) -> tuple[Any, ...]:
        """The service's reports so far: states, stages and, at the end, the instances' counters."""
        return tuple(self._execution.events)

    @property
    def producers(self) -> int:
        """The number of instances that send the result."""
        return int(self._execution.submitted.result().producers)

    @property
    def received_bytes(self) -> int:
        """The bytes of the result's frames so far."""
        return self._stream.bytes

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def batches(self, *, watched: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the batches. watched: show the job's progress to the end, not only until the first batch, for callers
        that only keep the batches."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        if self._iterated:
            raise ValueError("a result can be iterated once; use to_arrow() to read it again")
        self._iterated = True
        delivered = 0
        while True:
            failure: JumpgateError | None = None
            follower = self._execution.follower
            try:
                if follower is not None:
                    follower.wait()
                for received in self._stream:
                    batch = received if self._restore is None else self._restore(received)
                    if delivered == 0 and debug.level() >= 5:
                        debug.note("client", self.job, "\n".join(map(str, batch.slice(0, SHOWN_ROWS).to_pylist())))
                    delivered += 1
                    if follower is not None and not watched:
                        follower.rest()
                    yield batch
                self._execution.ended.wait()
            except JumpgateError as broken:
                self._execution.ended.wait(CAUSE_WAIT_S)  # the stream shows the symptom, the service names the cause
                failure = broken
            finally:
                if follower is not None:
                    follower.rest()
                self._release()
            failure = self._execution.error or failure
            if failure is None:
                return
            other = None if delivered or self._again is None else self._again(failure)
            if other is None:
                raise failure from None
            self._begin_again(other)

    def _begin_again(self, other: Result) -> None:
        """Goes on as another run of the same dataflow."""
        self.job, self._stream, self._execution = other.job, other._stream, other._execution
        self._again, self._release = other._again, other._release
        self._other = other  # which would cancel its job if it were dropped

    def to_arrow(self) -> pa.Table:
        """The whole result; raises the job's error if it failed."""
        if self._table is None:
            self._table = pa.Table.from_batches(list(self.batches(watched=True)), self.schema)
        return self._table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result as a stream of Arrow's C interface; once, unless `to_arrow()` has taken it as a whole."""
        reader = pa.RecordBatchReader.from_batches(self.schema, iter(self))
        return reader.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """For notebooks: the first rows of what was taken as a whole; else the columns that are to come."""
        if self._table is not None:
            shown, more = self._table.slice(0, notebook.ROWS_SHOWN), self._table.num_rows > notebook.ROWS_SHOWN
            return notebook.rows(shown, more, f"job {self.job}")
        state = "has ended" if self._execution.ended.is_set() else "is running"
        columns = notebook.listing(("column", "type"), ((f.name, str(f.type)) for f in self.schema))
        return f"<p>job {self.job} {state}; to_arrow() takes its result</p>{columns}"

    def to_polars(self) -> polars.DataFrame:
        """The whole result as a polars DataFrame. Raises NotInstalled without polars, and what `to_arrow` raises."""
        with extras.explained():
            import polars

        return polars.DataFrame(polars.from_arrow(self.to_arrow()))

    def to_pandas(self) -> pandas.DataFrame:
        """The whole result as a pandas DataFrame. Raises NotInstalled without pandas, and what `to_arrow` raises."""
        with extras.explained():
            return self.to_arrow().to_pandas()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries of Python values. Raises InvalidDataflow where columns share a name, as a dictionary
        would lose all but one of them: `to_arrow()` has them by position."""
        names = self.schema.names
        if again := [n for i, n in enumerate(names) if n in names[:i]]:
            raise InvalidDataflow(
                f"two columns are called '{again[0]}', and a row's dictionary holds one: rename one of them, or take "
                "to_arrow(), in which columns have positions",
                column=again[0],
            )
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def cancel(self) -> None:
        """Ends the job if it still runs; reading on raises Cancelled."""
        if not self._execution.ended.is_set():
            self._execution.error = self._execution.error or Cancelled(f"job {self.job} was cancelled", job=self.job)
        self._release()


def _release(stream: Stream, execution: Execution, cancel: Callable[[], None]) -> None:
    """Ends what still runs and closes the endpoint."""
    if not execution.ended.is_set():
        cancel()
    stream.close()
