"""Finds and reads the files of suites of SQL: sqllogictest's, and psql's scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.support import psql_script, sqllogic

#: readers by a file's suffix
READERS: dict[str, Callable[[Path], Iterator[sqllogic.Record]]] = {
    ".slt": sqllogic.parse,
    ".test": sqllogic.parse,
    ".sql": psql_script.parse,
}


def records(path: Path) -> Iterator[sqllogic.Record]:
    """The records of a file. Raises sqllogic.Malformed."""
    return READERS[path.suffix](path)


def files(folders: Sequence[Path]) -> list[list[Path]]:
    """The files of each suite, sorted."""
    return [sorted(p for p in folder.rglob("*") if p.suffix in READERS and p.is_file()) for folder in folders]
