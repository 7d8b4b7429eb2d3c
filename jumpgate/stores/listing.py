"""Objects by folder and pattern, from listings of their bucket."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from jumpgate.errors import FileUnreadable, InvalidDataflow
from jumpgate.stores import objects, providers
from jumpgate.stores.names import bucket_and_key, canonical, scheme
from jumpgate.stores.objects import Object

#: in a folder that is a table of another kind than plain files: prefix, what ends a key below it, kind
TABLES = (("_delta_log/", "", "Delta"), (".hoodie/", "", "Hudi"), ("metadata/", ".metadata.json", "Iceberg"))
#: keys of a prefix that are looked at for such an end
LOOKED_MAX = 1000


def expand(name: str, is_data: Callable[[str], bool], has_magic: bool, braces: Callable[[str], list[str]]) -> list[str]:
    """Return the names of objects that a name, a folder or a pattern stands for, sorted.

    is_data: whether an object in a folder belongs to the read. Raises FileUnreadable, and InvalidDataflow for a folder
    or a pattern in a table of Delta, Hudi or Iceberg.
    """
    name = canonical(name)
    if not scheme(name):
        return [objects.ask(name).name]
    if has_magic and (found := _matching(braces(name))):
        return found
    if not name.endswith("/") and bucket_and_key(name)[1]:
        try:
            return [objects.ask(name).name]
        except FileUnreadable as error:
            if "missing" not in error.fields or has_magic:
                raise
    folder = name.rstrip("/") + "/"
    listed = _listed(folder)
    found = sorted(file for file in listed if not _hidden(file, folder) and is_data(file))
    if not found:
        raise FileUnreadable(f"read: there is no object {name!r}, and no file below it", file=name)
    return _plain(found, listed, folder)


def _listed(prefix: str) -> list[str]:
    """Return the objects whose names begin with the prefix, and remember what they are."""
    bucket, key = bucket_and_key(prefix)
    base = f"{scheme(prefix)}://{bucket}/"
    found = [Object(base + name, size, tag) for name, size, tag in providers.of(prefix).below(prefix, key)]
    objects.note(found)
    return [entry.name for entry in found if not entry.name.endswith("/")]  # which marks a folder


def _hidden(file: str, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in file[len(folder) :].split("/"))


def _matching(patterns: list[str]) -> list[str]:
    """Return the objects that match any of the patterns."""
    found: set[str] = set()
    for pattern in patterns:
        prefix = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        if "/" not in prefix.partition("://")[2]:
            raise InvalidDataflow(f"read: {pattern!r} has a pattern in its bucket; name one bucket", operator="read")
        listed = _listed(prefix)
        matching = [file for file in listed if _matches(pattern.split("/"), file.split("/"))]
        found.update(_plain(matching, listed, prefix))
    return sorted(found)


def _matches(patterns: list[str], parts: list[str]) -> bool:
    """Return whether each part of a name matches its pattern: `**` any folders, and one with a leading dot only a
    pattern with a dot."""
    if not patterns or not parts:
        return not patterns and not parts
    first, *rest = patterns
    shown = first.startswith(".") or not parts[0].startswith(".")
    if first == "**":
        return _matches(rest, parts) or (shown and _matches(patterns, parts[1:]))
    return shown and fnmatch.fnmatchcase(parts[0], first) and _matches(rest, parts[1:])


def _plain(files: list[str], listed: list[str], prefix: str) -> list[str]:
    """Return the files, unless they are of a table whose log says which of their rows there still are. `listed`: all
    objects whose names begin with `prefix`."""
    for folder in {folder for file in files for folder in _folders(file)}:
        if kind := _table_format(folder, listed, prefix):
            raise table_error(folder.rstrip("/"), kind)
    return files


def table_error(folder: str, kind: str) -> InvalidDataflow:
    """Return the error of a folder or a pattern in a table, with the table's kind as its field `table`."""
    ways = {"Delta": "read_delta(folder) reads", "Iceberg": "read_iceberg(metadata file) reads"}
    return InvalidDataflow(
        f"read: {folder!r} is a table of {kind}, whose files hold rows that it no longer has; "
        + (f"{ways[kind]} it" if kind in ways else "write what it has now as plain Parquet, or name single files"),
        operator="read",
        table=kind,
        folder=folder,
    )


def _folders(file: str) -> list[str]:
    """Return the folders that hold a file, but for those with a value in their names, where no table begins."""
    parts = file.split("/")
    return ["/".join(parts[:n]) + "/" for n in range(3, len(parts)) if n == 3 or "=" not in parts[n - 1]]


def _table_format(folder: str, listed: list[str], prefix: str) -> str:
    """Return what table a folder is, if it is one: by what is listed, or by another request."""
    bucket, key = bucket_and_key(folder)
    for inner, end, kind in TABLES:
        if folder.startswith(prefix):
            keys = [file for file in listed if file.startswith(folder + inner)]
        else:
            keys = [found for found, _, _ in providers.of(folder).below(folder, key + inner, LOOKED_MAX if end else 1)]
        if any(file.endswith(end) for file in keys):
            return kind
    return ""
