"""A result that several calls fetch at once: each takes the next batch when it is ready for one.

No part has rows of its own beforehand. So a client that reads one part after another finds all rows in the first and
holds up no instance, and each row is in one part, however many are read at once. What a part has got is kept, up to a
bound, for a call that fetches it again because the connection broke.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from jumpgate.errors import Cancelled, NotFound
from jumpgate.flight.limits import KEPT_BYTES_MAX, RETRY_S_MAX

#: between two looks at whether a client is there
WATCH_S = 0.1


@dataclass
class _Part:
    """Batches that a part has got, unless it `is_lost`, and the call that fetches it."""

    kept: list[pa.RecordBatch] = field(default_factory=list)
    kept_bytes: int = 0
    is_lost: bool = False
    call: object = None

    def keep(self, batch: pa.RecordBatch, most: int) -> None:
        self.kept_bytes += batch.nbytes
        if self.kept_bytes > most:
            self.drop()
        elif not self.is_lost:
            self.kept.append(batch)

    def drop(self) -> None:
        self.is_lost = True
        self.kept.clear()


class Parts:
    """A result in `count` parts. Thread-safe: one thread fills it, each call reads a part."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._parts = [_Part() for _ in range(count)]
        self._waiting: deque[pa.RecordBatch] = deque()
        self._changed = threading.Condition()
        self._is_begun = self._is_ended = False
        self._error: Exception | None = None
        self._read_time = 0.0

    def begin(self) -> bool:
        """Return whether it is this caller who has the result filled in."""
        with self._changed:
            begins, self._is_begun = not self._is_begun, True
            self._read_time = time.monotonic()
            return begins

    def fill(self, batches: Iterable[pa.RecordBatch], check: Callable[[], None]) -> None:
        """Hand out the batches as fast as calls take them. Raises what `check` raises while it waits for these."""
        for batch in batches:
            with self._changed:
                while len(self._waiting) >= self.count:
                    self._changed.wait(WATCH_S)
                    check()
                self._waiting.append(batch)
                self._changed.notify_all()

    def end(self, error: Exception | None = None) -> None:
        """Say that there are no more batches, and why, if these are not all."""
        with self._changed:
            self._is_ended, self._error = True, error
            self._changed.notify_all()

    def drop(self) -> None:
        """Keep nothing for calls to come."""
        with self._changed:
            for part in self._parts:
                part.drop()

    def is_left(self) -> bool:
        """Return whether no call reads, and none will: a part that broke off cannot be fetched again, or was not."""
        with self._changed:
            if any(part.call for part in self._parts):
                return False
            late = time.monotonic() > self._read_time + RETRY_S_MAX
            return late or any(part.is_lost for part in self._parts)

    def read(self, number: int, is_gone: Callable[[], bool]) -> Iterator[pa.RecordBatch]:
        """Yield a part: what it got before, and then what no other part takes. A call before this one ends.

        Raises NotFound where the part cannot be had again, Cancelled where the client `is_gone`, and the error that
        ended the result.
        """
        part, call = self._parts[number], object()
        with self._changed:
            if part.is_lost:
                raise NotFound(
                    f"part {number + 1} of this result has been sent, and {KEPT_BYTES_MAX >> 20} MiB of a result are "
                    "kept for a minute: run the statement again"
                )
            part.call, again = call, list(part.kept)
            self._changed.notify_all()
        try:
            yield from again
            while (batch := self._take(part, call, is_gone)) is not None:
                yield batch
        finally:
            with self._changed:
                self._read_time = time.monotonic()
                if part.call is call:
                    part.call = None

    def _take(self, part: _Part, call: object, is_gone: Callable[[], bool]) -> pa.RecordBatch | None:
        with self._changed:
            while part.call is call and not (self._waiting or self._is_ended):
                self._changed.wait(WATCH_S)
                if is_gone():
                    raise Cancelled("the client has gone away, or has cancelled the call")
            if part.call is not call:
                raise Cancelled("another call fetches this part of the result")
            if self._error is not None:
                raise self._error
            if not self._waiting:
                return None
            batch = self._waiting.popleft()
            part.keep(batch, KEPT_BYTES_MAX // self.count)
            self._changed.notify_all()
            return batch
