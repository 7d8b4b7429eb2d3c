"""Resolves the files of a read: paths, file:// URLs, globs and directories become absolute paths, and those in stores
(jumpgate/stores) the names of objects."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from jumpgate.dataflow import beneath
from jumpgate.dataflow.formats import PACKED, Format, formats
from jumpgate.dataflow.paths import braces, has_magic, matches, walk
from jumpgate.errors import FileUnreadable, InvalidDataflow
from jumpgate.stores.names import is_remote

Paths = str | os.PathLike[str] | Iterable["str | os.PathLike[str]"]


#: schemes of stores that are not read → how their objects are
WAYS_OUT = {
    **dict.fromkeys(
        ("wasb", "wasbs", "az", "azure", "adl"), "name it abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
    ),
    "viewfs": "name what its mount table leads to, such as hdfs://NAMENODE:8020/PATH",
    **dict.fromkeys(("webhdfs", "swebhdfs"), "name it hdfs://NAMENODE:8020/PATH"),
}


def list_files(paths: Paths, format: str | None = None) -> tuple[tuple[str, ...], str]:
    """(absolute paths, format). Directories are searched recursively for the format's suffixes, hidden entries skipped,
    and results of a glob or directory are sorted; a list keeps its order. A file that a glob or directory reaches by
    several ways, as over symbolic links, is listed once.

    Raises FileUnreadable (missing, unreadable, no regular file, nothing matches) and InvalidDataflow (no format
    recognisable, a URL of a store, a folder or glob of a table of Delta, Hudi or Iceberg).
    """
    known = None if format is None else formats()[format]
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [file for name in names for file in _expand(os.fspath(name), known)]
    if not found:
        raise FileUnreadable("read: no files given")
    for file in found:
        if not is_remote(file):  # a store has told about it
            _check_readable(file)
    return tuple(found), (known or _format_of(found)).name


def implied_options(files: Iterable[str], format: Format, given: Mapping[str, str]) -> dict[str, str]:
    """Return the read options that the files' suffixes imply and the request does not give: .tsv and .tab are CSV with
    tabs.

    Raises InvalidDataflow if suffixes imply different options.
    """
    implied: dict[str, dict[str, str]] = {}  # suffix →
    for suffix in map(_suffix, files):
        implied[suffix] = {n: v for n, v in format.implied.get(suffix, {}).items() if n not in given}
    suffix, found = max(implied.items(), key=lambda item: len(item[1]))
    if any(other != found for other in implied.values()):
        names = " and ".join(found)
        raise InvalidDataflow(
            f"read: files with suffix {suffix} and others; give the option {names}, or read them apart", operator="read"
        )
    return found


def _expand(name: str, format: Format | None) -> list[str]:
    if not name:
        raise FileUnreadable("read: the path is empty", file=name)
    if is_remote(name):
        from jumpgate.stores import listing

        suffixes = _suffixes(format)
        return listing.expand(name, lambda file: _suffix(file) in suffixes, has_magic(name), braces)
    path = os.path.abspath(os.path.expanduser(_local(name)))
    if "\0" in path:
        raise FileUnreadable(f"read: {name!r} is not a path: it contains a NUL character", file=name)
    if os.path.isdir(path):
        return check_plain(_in_directory(path, format))
    if os.path.lexists(path) or not has_magic(path):
        return [path]
    files = [f for pattern in braces(path) for f in matches(pattern) if not os.path.isdir(f)]
    if not files:
        raise FileUnreadable(f"read: no file matches {name!r}", file=name)
    return check_plain(_once(sorted(set(files))))


def check_plain(files: list[str]) -> list[str]:
    """Return the files of a folder or pattern. Raises InvalidDataflow if they are of a table whose log says which of
    their rows there still are."""
    seen: set[str] = set()
    for file in files:
        folder = os.path.dirname(file)
        while folder not in seen:
            seen.add(folder)
            if kind := _table_format(folder):
                from jumpgate.stores.listing import table_error

                raise table_error(folder, kind)
            folder = os.path.dirname(folder)
    return files


def _table_format(folder: str) -> str:
    """Delta, Hudi or Iceberg; empty for a plain folder."""
    for name, kind in (("_delta_log", "Delta"), (".hoodie", "Hudi")):
        if os.path.isdir(os.path.join(folder, name)):
            return kind
    with contextlib.suppress(OSError):
        if any(name.endswith(".metadata.json") for name in os.listdir(os.path.join(folder, "metadata"))):
            return "Iceberg"
    return ""


def _local(name: str) -> str:
    """Return the path of a file:// URL, or `name` itself."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", name)
    if scheme is None:
        return name
    if scheme[1].lower() != "file":
        way_out = WAYS_OUT.get(scheme[1].lower(), "copy or mount them")
        raise InvalidDataflow(
            f"read: {name!r}: {scheme[1]}:// is not read, only s3://, gs://, abfss://, hdfs://, http(s):// and files "
            f"of this host (a path or file:///path); {way_out}",
            operator="read",
        )
    url = urlsplit(name)
    if url.netloc not in ("", "localhost"):
        raise InvalidDataflow(f"read: {name!r} is on host {url.netloc!r}; write file:///path", operator="read")
    return unquote(name[len(scheme[0]) + len(url.netloc) :])


def _in_directory(path: str, format: Format | None) -> list[str]:
    suffixes = _suffixes(format)
    try:
        found = [f for f in walk(path, hidden=False) if _suffix(f) in suffixes]
    except OSError as e:
        raise FileUnreadable(f"read: cannot list directory {e.filename!r}: {e.strerror}", file=path) from None
    if not found:
        listed = ", ".join(sorted(suffixes))
        raise FileUnreadable(f"read: directory {path!r} holds no files with suffix {listed}", file=path)
    return _once(sorted(found))


def _suffixes(format: Format | None) -> set[str]:
    return set(formats().by_suffix if format is None else format.suffixes)


def _once(files: list[str]) -> list[str]:
    """Return the first name of each real file."""
    real: dict[object, str] = {}
    for file in files:
        try:
            status = os.stat(file)
            real.setdefault((status.st_dev, status.st_ino), file)
        except OSError:
            real[file] = file  # opening reports the error
    return list(real.values())


def _check_readable(file: str) -> None:
    try:
        mode = os.stat(file).st_mode
        if not stat.S_ISREG(mode):
            raise FileUnreadable(f"read: cannot read {file!r}: it is {_kind(mode)}, not a file", file=file)
        os.close(beneath.opener(file, os.O_RDONLY | os.O_NONBLOCK))  # should it have become a pipe meanwhile
    except OSError as e:
        raise FileUnreadable(f"read: cannot read {file!r}: {e.strerror}", file=file) from None


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def split_suffix(file: str) -> tuple[str, str]:
    """Split a name into the part without suffixes and the lower-case suffix of the format: t.csv.gz is t and .csv."""
    base, last = os.path.splitext(file)
    if last.lower() in PACKED:
        inner_base, inner = os.path.splitext(base)
        format = formats().by_suffix.get(inner.lower())
        if format is not None and format.packed:
            return inner_base, inner.lower()
    return base, last.lower()


def _suffix(file: str) -> str:
    return split_suffix(file)[1]


def _format_of(files: list[str]) -> Format:
    known = formats().by_suffix
    for file in files:
        if _suffix(file) not in known:
            raise InvalidDataflow(
                f"read: the suffix of {file!r} tells no format; give format={' | '.join(formats())}", operator="read"
            )
    first, *others = {known[_suffix(file)].name: known[_suffix(file)] for file in files}.values()
    if not others:
        return first
    raise InvalidDataflow(
        f"read: files of several formats ({', '.join(sorted(f.name for f in (first, *others)))}); "
        "read each with its own read and union_all them",
        operator="read",
    )
