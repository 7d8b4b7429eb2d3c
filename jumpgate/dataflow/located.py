"""Files that only one host has, in the form that requests use: `file://HOST/path`. Other files have the same path
everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

from jumpgate.dataflow.operators import Operator, Read

_SCHEME = "file://"


def split(file: str) -> tuple[str, str]:
    """The host, "" for none, and the path there.

    >>> split("file://worker1/d/a%20b.csv"), split("/d/a.csv")
    (('worker1', '/d/a b.csv'), ('', '/d/a.csv'))
    """
    if not file.lower().startswith(_SCHEME):
        return "", file
    url = urlsplit(file)
    host = "" if url.netloc == "localhost" else url.netloc
    return (host, unquote(file[len(_SCHEME) + len(url.netloc) :])) if host else ("", file)


def joined(host: str, path: str) -> str:
    """
    >>> joined("worker1", "/d/a b.csv"), joined("", "/d/a b.csv")
    ('file://worker1/d/a%20b.csv', '/d/a b.csv')
    """
    return f"{_SCHEME}{host}{quote(path)}" if host else path


def hosts(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths of the files by their hosts."""
    found: dict[str, list[str]] = {}
    for file in files:
        host, path = split(file)
        found.setdefault(host, []).append(path)
    return found


def reads(root: Operator) -> list[Read]:
    """Return the Reads of files that certain hosts have."""
    return [node for node in root.walk() if isinstance(node, Read) and any(split(file)[0] for file in node.files)]
