"""The child process that reads file contents for planning, one request at a time (prober.py starts it).

A damaged file may crash a reader or exhaust its memory: this process then ends by a signal or by its limits, and the
prober turns that into a typed error.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jumpgate.converters import probe_wire as wire
from jumpgate.converters import schema, selection, statistics
from jumpgate.converters.footers import each, field_ids, parquet_footer
from jumpgate.converters.parquet import pages
from jumpgate.dataflow.formats import formats
from jumpgate.errors import FileUnreadable, InternalError, JumpgateError, MalformedData, MemoryLimit, ProtocolError
from jumpgate.extras import load_arrow
from jumpgate.stores import objects

#: memory of a request beyond that of the process at its start
MEMORY_BYTES_MAX = 2 << 30
#: 1582-10-15, counted from 1970-01-01, and the microseconds of a day
GREGORIAN_DAY, DAY_US = -141427, 86_400_000_000


def _segments(files: tuple[str, ...], format: str, names: tuple[str, ...]) -> list[list[list[int]]]:
    find = formats()[format].segments
    return [] if find is None else each(files, lambda file: find(file, names))


def _late_days(files: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Return whether all these columns of dates and timestamps are of days that all calendars number alike."""
    first = {"date": GREGORIAN_DAY, "timestamp": GREGORIAN_DAY * DAY_US}
    for footer in map(parquet_footer, files):
        kinds = {field.name: field.type.kind for field in footer.schema}
        lows = ((footer.range(name), kinds[name]) for name in names)
        if not all(r.nulls == footer.rows or isinstance(r.low, int) and r.low >= first[kind] for r, kind in lows):
            return False
    return True


#: supported verbs; the first argument is the names of the files
VERBS: Mapping[str, Callable[..., Any]] = {
    "schema": lambda files, format, options: schema.infer_schema(files, format, dict(options)),
    "estimate": statistics.estimate,
    "column": statistics.column,
    "selection": selection.selection,
    "segments": _segments,
    "field_ids": lambda files: each(files, field_ids),
    "misread": lambda files: any((footer := parquet_footer(file)).encrypted or footer.misread for file in files),
    "late_days": _late_days,
    "with_checksums": pages.with_checksums,
    "pages": pages.check,
}


def main(descriptor: int, life: int) -> None:
    """Answer until the prober hangs up or has ended."""
    connection = socket.socket(fileno=descriptor)
    _warm_up()
    _limit_resources()
    wire.send(connection, {"ready": os.getpid()})
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            questions, limit_s, grants = wire.asked(connection)
            objects.lend(grants)
            with _bounded(life, limit_s):
                answers = [_answer(*question) for question in questions]
            _tell(connection, answers)
    os._exit(0)


def _warm_up() -> None:
    """Import the modules that the first request needs."""
    load_arrow()
    for found in formats().values():
        for library in found.libraries:
            importlib.import_module(library)


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES_MAX
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


@contextlib.contextmanager
def _bounded(life: int, limit_s: float) -> Iterator[None]:
    """End the process in the block when the time is over (SIGALRM) or the prober is gone (SIGIO), whatever it does:
    both signals kill by default. PR_SET_PDEATHSIG would follow the thread that started us, which may end early. Nothing
    is ever sent on the socket `life`: the signal of a sent question may arrive after the question was read."""
    flags = fcntl.fcntl(life, fcntl.F_GETFL)
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETFL, flags | os.O_ASYNC)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        fcntl.fcntl(life, fcntl.F_SETFL, flags)


def _answer(verb: str, files: tuple[str, ...], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return {"ok": value} or {"error": …}, as JumpgateError.to_dict but with unconverted fields."""
    try:
        return {"ok": VERBS[verb](files, *arguments)}
    except JumpgateError as e:
        error = e
    except MemoryError:
        error = MemoryLimit(f"a look into {_named(files)} takes more than {MEMORY_BYTES_MAX >> 30} GiB", file=files[0])
    except OSError as e:
        error = FileUnreadable(f"cannot read {_named(files)}: {e.strerror or e}", file=files[0])
    except Exception as e:
        error = MalformedData(f"{_named(files)} cannot be read: {type(e).__name__}: {e}", file=files[0])
    fields = {k: v if isinstance(v, int | float) else str(v) for k, v in error.fields.items()}
    return {"error": {**error.to_dict(), "fields": fields}}


def _tell(connection: socket.socket, answers: list[dict[str, Any]]) -> None:
    try:
        wire.send(connection, answers)
    except (TypeError, ProtocolError) as e:
        error = InternalError(f"what a look into files found cannot be told: {e}").to_dict()
        wire.send(connection, [{"error": error}] * len(answers))


def _named(files: tuple[str, ...]) -> str:
    return f"'{files[0]}'" + (f", or one of {len(files) - 1} files with it," if len(files) > 1 else "")


if __name__ == "__main__":
    try:
        main(*map(int, sys.argv[1:]))
    except (BrokenPipeError, ConnectionResetError, ProtocolError):
        os._exit(1)
