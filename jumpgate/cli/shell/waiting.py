"""Shows on stderr that a statement runs, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jumpgate.words import duration

if TYPE_CHECKING:
    from jumpgate.client.sql.query import Query

#: seconds before it is shown, and between two changes
AFTER_S, EVERY_S = 1.0, 1.0


@contextmanager
def waiting(query: Query, shown: bool) -> Iterator[None]:
    """Show it while the block runs; how far jobs are is shown by their session beside it."""
    if not shown:
        yield
        return
    ended = threading.Event()
    shower = threading.Thread(target=_show, args=(ended,), name="jumpgate-waiting", daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()


def _show(ended: threading.Event) -> None:
    begun = time.monotonic()
    if ended.wait(AFTER_S):
        return
    from jumpgate.client.progress import Progress, display

    class Elapsed(Progress):
        """The time since the statement began."""

        title = "running"

        def __str__(self) -> str:
            return f"{duration(time.monotonic() - begun)}, Ctrl-C ends it"

    where = display()
    while where is not None:
        where.show("statement", Elapsed(0, 0, 0, 0))
        if ended.wait(EVERY_S):
            where.drop("statement")
            return
