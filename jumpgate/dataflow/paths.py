"""Patterns of paths: `*`, `?`, `[abc]`, `**` (folders at any depth), `{a,b}`. Symbolic links may run in circles."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator

from jumpgate.errors import InvalidDataflow

#: the most patterns that braces expand to
PATTERNS_MAX = 10_000
_MAGIC = re.compile(r"[*?[{]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

#: device and inode of each visited folder
Visited = set[tuple[int, int]]


def has_magic(path: str) -> bool:
    return _MAGIC.search(path) is not None


def braces(pattern: str) -> list[str]:
    """
    >>> braces("/d/{a,b{1,2}}.csv")
    ['/d/a.csv', '/d/b1.csv', '/d/b2.csv']
    """
    done, open_ = [], [pattern]
    while open_:
        text = open_.pop(0)
        group = _BRACES.search(text)  # an innermost one
        if group is None:
            done.append(text)
            continue
        open_[:0] = [text[: group.start()] + choice + text[group.end() :] for choice in group[1].split(",")]
        if len(done) + len(open_) > PATTERNS_MAX:
            raise InvalidDataflow(f"read: the braces of {pattern!r} stand for over {PATTERNS_MAX} patterns")
    return list(dict.fromkeys(done))


def matches(pattern: str) -> Iterator[str]:
    """Return existing paths of an absolute pattern. A name with a leading dot is matched only by a pattern with one."""
    return _below("/", [part for part in pattern.split("/") if part])


def _below(folder: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _below(folder, rest)
        for below in _folders(folder, set()):
            yield from _below(below, rest)
    elif has_magic(part):
        pattern = re.compile(fnmatch.translate(part))
        for entry in _entries(folder):
            if pattern.match(entry.name) and (part.startswith(".") or not entry.name.startswith(".")):
                yield from _below(entry.path, rest)
    elif os.path.lexists(os.path.join(folder, part)):
        yield from _below(os.path.join(folder, part), rest)


def walk(folder: str, hidden: bool = True) -> Iterator[str]:
    """Yield the content of a folder and those below it, except folders; unless `hidden`, without names that begin with
    . or _.

    Raises OSError for a folder that cannot be listed.
    """
    yield from _walk(folder, hidden, set())


def _walk(folder: str, hidden: bool, visited: Visited) -> Iterator[str]:
    if not _is_new(folder, visited):
        return
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda e: e.name)
    for entry in found:
        if not hidden and entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _walk(entry.path, hidden, visited)
        else:
            yield entry.path


def _folders(folder: str, visited: Visited) -> Iterator[str]:
    """Yield all folders below, each real one once."""
    _is_new(folder, visited)
    for entry in _entries(folder):
        if not entry.name.startswith(".") and entry.is_dir() and _is_new(entry.path, visited):
            yield entry.path
            yield from _folders(entry.path, visited)


def _is_new(folder: str, visited: Visited) -> bool:
    """Mark a folder as visited; return whether it was new. Circular links lead to visited ones."""
    status = os.stat(folder)
    here = (status.st_dev, status.st_ino)
    if here in visited:
        return False
    visited.add(here)
    return True


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda e: e.name)
    except OSError:
        return []  # a folder that cannot be listed matches nothing
