"""Names of objects: `s3://bucket/key` and `http(s)://host/path`."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from jumpgate.errors import InvalidDataflow

_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)


def is_remote(name: str) -> bool:
    """
    >>> is_remote("s3a://b/k"), is_remote("HTTPS://h/p"), is_remote("/d/s3://b"), is_remote("file:///d")
    (True, True, False, False)
    """
    return bool(_S3.match(name) or _WEB.match(name))


def is_s3(name: str) -> bool:
    return _S3.match(name) is not None


def canonical(name: str) -> str:
    """Return the one name that an object has here. Raises InvalidDataflow.

    >>> canonical("s3a://bucket/a b.csv"), canonical("HTTP://h/p")
    ('s3://bucket/a b.csv', 'http://h/p')
    """
    if "\0" in name or "\n" in name or "\r" in name:
        raise InvalidDataflow(f"read: {name!r} is not a path: it contains a control character", operator="read")
    if any(part in (".", "..") for part in unquote(name).split("/")):  # a server may take them for other names
        raise InvalidDataflow(f"read: {name!r} has a part '.' or '..': write the path without", operator="read")
    if is_s3(name):
        found = "s3://" + name.partition("://")[2]
        if not bucket_and_key(found)[0]:
            raise InvalidDataflow(f"read: {name!r} names no bucket; write s3://bucket/key", operator="read")
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
