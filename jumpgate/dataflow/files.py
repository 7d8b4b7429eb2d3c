"""The files that a read names: paths, globs and directories become concrete absolute paths."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable

from jumpgate.dataflow.operators import FORMATS
from jumpgate.errors import FileUnreadable, InvalidDataflow

Paths = str | os.PathLike[str] | Iterable["str | os.PathLike[str]"]

SUFFIXES = {
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".csv": "csv",
}


def list_files(paths: Paths, format: str | None = None) -> tuple[tuple[str, ...], str]:
    """(absolute paths, format). Directories are searched recursively for the format's suffixes, hidden entries skipped,
    and results of a glob or directory are sorted; a list keeps its order.

    Raises FileUnreadable (missing, unreadable, nothing matches) and InvalidDataflow (no format recognisable).
    """
    if format is not None and format not in FORMATS:
        raise InvalidDataflow(f"read: unknown format {format!r}; Jumpgate reads {', '.join(FORMATS)}", operator="read")
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [file for name in names for file in _expand(os.fspath(name), format)]
    if not found:
        raise FileUnreadable("read: no files given")
    for file in found:
        _check_readable(file)
    return tuple(found), format or _format_of(found)


def _expand(name: str, format: str | None) -> list[str]:
    if not name:
        raise FileUnreadable("read: the path is empty", file=name)
    path = os.path.abspath(os.path.expanduser(name))
    if "\0" in path:
        raise FileUnreadable(f"read: {name!r} is no path: it contains a NUL character", file=name)
    if os.path.isdir(path):
        return _in_directory(path, format)
    if os.path.exists(path) or not glob.has_magic(path):
        return [path]
    matches = [m for m in sorted(glob.glob(path, recursive=True)) if os.path.isfile(m)]
    if not matches:
        raise FileUnreadable(f"read: no file matches {name!r}", file=name)
    return matches


def _in_directory(path: str, format: str | None) -> list[str]:
    def unreadable(error: OSError) -> None:
        raise FileUnreadable(f"read: cannot list directory {error.filename!r}: {error.strerror}", file=path)

    suffixes = {s for s, f in SUFFIXES.items() if format in (None, f)}
    found = []
    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "_")))
        found += [
            os.path.join(folder, n)
            for n in names
            if not n.startswith((".", "_")) and os.path.splitext(n)[1].lower() in suffixes
        ]
    if not found:
        listed = ", ".join(sorted(suffixes))
        raise FileUnreadable(f"read: directory {path!r} holds no files with suffix {listed}", file=path)
    return sorted(found)


def _check_readable(file: str) -> None:
    try:
        mode = os.stat(file).st_mode
        if not stat.S_ISREG(mode):
            raise FileUnreadable(f"read: cannot read {file!r}: it is {_kind(mode)}, not a file", file=file)
        os.close(os.open(file, os.O_RDONLY | os.O_NONBLOCK))  # should it have become a pipe meanwhile
    except OSError as e:
        raise FileUnreadable(f"read: cannot read {file!r}: {e.strerror}", file=file) from None


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _format_of(files: list[str]) -> str:
    formats = {SUFFIXES.get(os.path.splitext(f)[1].lower()) for f in files}
    if None not in formats and len(formats) == 1:
        return str(formats.pop())
    if None in formats:
        strange = next(f for f in files if os.path.splitext(f)[1].lower() not in SUFFIXES)
        raise InvalidDataflow(
            f"read: the suffix of {strange!r} tells no format; give format={' | '.join(FORMATS)}", operator="read"
        )
    raise InvalidDataflow(
        f"read: files of several formats ({', '.join(sorted(f for f in formats if f))}); "
        "read each with its own read and union_all them",
        operator="read",
    )
