"""Index tables of text objects (PushdownDB, ICDE 2020, section IV): which ones exist, and what they hold.

An index is over one column of some objects. Each object has a table |value|first_byte|last_byte| of its rows that have
a value, in the order of the values. A description, one file here, names the tables and the version of each object that
they are of: with another version a table is of no use. The tables are files beside the description, or objects.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jumpgate.stores import credentials, objects
from jumpgate.stores.names import is_remote

Value = int | str
#: the least and the greatest value, both included; None: there is no such bound
Interval = tuple[Value | None, Value | None]

#: where descriptions are; None: nowhere. _reads_files: whether hosts see the files of this machine
_folder: Path | None = None
_reads_files = True


@dataclass(frozen=True)
class Table:
    """The index table of one object, whose version is `tag` and `size`. header: the record before the first row.
    records: the rows of the object; rows: those with a value, `distinct` of which differ. bounds: values at even
    distances in their order, from the least to the greatest. place: the table itself, a path or the name of an object
    with the version `place_tag` and `place_size`."""

    tag: str
    size: int
    header: str
    records: int
    rows: int
    distinct: int
    bounds: tuple[Value, ...]
    place: str
    place_size: int
    place_tag: str = ""

    def estimate(self, intervals: Iterable[Interval]) -> float:
        """Return about how many rows have a value in the intervals, which do not overlap.

        >>> table = Table("", 0, "", 100, 100, 100, (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99), "", 0)
        >>> round(table.estimate([(10, 29)])), round(table.estimate([(42, 42)])), table.estimate([(100, None)])
        (20, 1, 0.0)
        """
        return min(float(self.rows), sum(map(self._estimate, intervals)))

    def _estimate(self, interval: Interval) -> float:
        low, high = interval
        bounds: Any = self.bounds  # of one type, as the ends of the interval are
        if not bounds or (low is not None and low > bounds[-1]) or (high is not None and high < bounds[0]):
            return 0.0
        begin, end = 0.0, len(bounds) - 1.0
        if low is not None:
            begin = self._place(low, bisect.bisect_left(bounds, low))
        if isinstance(high, int):
            end = self._place(high + 1, bisect.bisect_left(bounds, high + 1))
        elif high is not None:
            end = self._place(high, bisect.bisect_right(bounds, high))
        return max(self.rows / self.distinct, (end - begin) / max(1, len(bounds) - 1) * self.rows)

    def _place(self, value: Value, after: int) -> float:
        """Return where a value is among the bounds, the first `after` of which are before it."""
        if not 0 < after < len(self.bounds):
            return min(float(after), len(self.bounds) - 1.0)
        left, right = self.bounds[after - 1], self.bounds[after]
        if isinstance(value, int) and isinstance(left, int) and isinstance(right, int):
            return after - 1 + (value - left) / (right - left)
        return after - 0.5


@dataclass(frozen=True)
class Index:
    """`source` is the path that was indexed. reading: the format and the options by which records are told. tables: by
    the name of the object."""

    source: str
    column: str
    type: str
    reading: Mapping[str, str]
    tables: Mapping[str, Table]
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    def stale(self, files: Iterable[str]) -> str:
        """Return the first of the objects that has no table, or changed since; empty if there is none."""
        for file in files:
            known, table = objects.known(file), self.tables.get(file)
            if table is None or known is None or (known.tag, known.size) != (table.tag, table.size):
                return file
        return ""


def configure(folder: Path | None, reads_files: bool = True) -> None:
    """Set where this process finds indexes, and whether all of its hosts read the files of this machine."""
    global _folder, _reads_files
    _folder, _reads_files = folder, reads_files


def folder() -> Path | None:
    """Return where descriptions are; None: nowhere."""
    return _folder


def stamp() -> int:
    """Return a number that is another one once an index was made or dropped."""
    try:
        return os.stat(_folder).st_mtime_ns if _folder else 0
    except OSError:
        return 0


def found() -> tuple[Index, ...]:
    """Return all indexes; none for a request with credentials of its own, as they hold what this process has read."""
    return _read(_folder, stamp()) if _folder and not credentials.key() else ()


def get(id: str) -> Index | None:
    """Return the index of that id; None if it was dropped."""
    return next((index for index in found() if index.id == id), None)


def usable(files: Sequence[str], column: str, type: str, reading: Mapping[str, str]) -> Index | str:
    """Return the index over a column of objects that is of use; else why none is, empty if there is none."""
    reason = ""
    for index in found():
        if index.column != column or not any(file in index.tables for file in files):
            continue
        if index.type != type or dict(index.reading) != dict(reading):
            reason = f"the index over '{column}' is of objects that are read otherwise, with {column} as {index.type}"
        elif file := index.stale(files):
            reason = f"the index over '{column}' does not have '{file}' as it is now"
        elif not _reads_files and not all(is_remote(index.tables[file].place) for file in files):
            reason = f"the index over '{column}' is on this machine, and not all hosts are"
        else:
            return index
    return reason


def keep(index: Index) -> None:
    """Write the description of an index, whose tables are there."""
    assert _folder is not None
    staged = _folder / f".{index.id}"
    staged.write_text(json.dumps(asdict(index)))
    staged.rename(_folder / f"{index.id}.json")


def forget(index: Index) -> None:
    """Remove the description of an index."""
    assert _folder is not None
    (_folder / f"{index.id}.json").unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _read(folder: Path, stamp: int) -> tuple[Index, ...]:
    indexes = []
    for file in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # dropped meanwhile, or of another version
            told = json.loads(file.read_text())
            tables = {name: Table(**{**t, "bounds": tuple(t["bounds"])}) for name, t in told["tables"].items()}
            indexes.append(Index(**{**told, "tables": tables}))
    return tuple(indexes)
