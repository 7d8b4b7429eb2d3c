"""Names of objects: `SCHEME://bucket/key` of a store, which lists them (a bucket of HDFS is a namenode), and `http(s)://host/path`."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from jumpgate.errors import InvalidDataflow

#: schemes of stores → the one that their objects have here
SCHEMES = {
    "s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfss", "abfss": "abfss", "hdfs": "hdfs",
}  # fmt: skip
_STORE = re.compile(f"({'|'.join(SCHEMES)})://", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)


def is_remote(name: str) -> bool:
    """
    >>> is_remote("s3a://b/k"), is_remote("HTTPS://h/p"), is_remote("/d/s3://b"), is_remote("file:///d")
    (True, True, False, False)
    """
    return bool(_STORE.match(name) or _WEB.match(name))


def scheme(name: str) -> str:
    """Return the one scheme of a store's objects; empty for other names.

    >>> scheme("s3a://b/k"), scheme("ABFS://c@a/k"), scheme("https://h/p")
    ('s3', 'abfss', '')
    """
    found = _STORE.match(name)
    return SCHEMES[found[1].lower()] if found else ""


def is_priced(name: str) -> bool:
    """Return whether a store takes money for requests about an object.

    >>> is_priced("s3://b/k"), is_priced("hdfs://n/p"), is_priced("https://h/p")
    (True, False, False)
    """
    return scheme(name) not in ("", "hdfs")


def canonical(name: str) -> str:
    """Return the one name that an object has here. Raises InvalidDataflow.

    >>> canonical("s3a://bucket/a b.csv"), canonical("gcs://bucket/k"), canonical("HTTP://h/p")
    ('s3://bucket/a b.csv', 'gs://bucket/k', 'http://h/p')
    """
    if "\0" in name or "\n" in name or "\r" in name:
        raise InvalidDataflow(f"read: {name!r} is not a path: it contains a control character", operator="read")
    if any(part in (".", "..") for part in unquote(name).split("/")):  # a server may take them for other names
        raise InvalidDataflow(f"read: {name!r} has a part '.' or '..': write the path without", operator="read")
    if kind := scheme(name):
        found = f"{kind}://{name.partition('://')[2]}"
        if not bucket_and_key(found)[0]:
            lacking, way_out = ("namenode", "namenode:8020/path") if kind == "hdfs" else ("bucket", "bucket/key")
            raise InvalidDataflow(f"read: {name!r} names no {lacking}; write {kind}://{way_out}", operator="read")
        return found
    url = urlsplit(name)
    if url.username or url.password or url.query or url.fragment:
        raise InvalidDataflow(
            f"read: {url.scheme}://{url.hostname}{url.path} has more than a host and a path: a user, a query or a "
            "fragment may hold a secret, which plans and reports would show; write it without",
            operator="read",
        )
    if not url.hostname:
        raise InvalidDataflow(f"read: {name!r} names no host", operator="read")
    return url._replace(scheme=url.scheme.lower()).geturl()


def bucket_and_key(name: str) -> tuple[str, str]:
    """
    >>> bucket_and_key("s3://bucket/a/b.csv"), bucket_and_key("s3://bucket")
    (('bucket', 'a/b.csv'), ('bucket', ''))
    """
    bucket, _, key = name.partition("://")[2].partition("/")
    return bucket, key
