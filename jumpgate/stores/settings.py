"""The stores of this process: `[[store]]` of jumpgate.toml, and what their providers' tools would use for the rest."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from jumpgate.errors import Forbidden, InvalidDataflow
from jumpgate.stores.names import canonical, is_remote, scheme

#: that S3 Select reads
SELECT_FORMATS = ("parquet", "csv", "json")
#: whether requests may bring credentials, must, or must not
CREDENTIALS = ("allow", "require", "never")


@dataclass(frozen=True)
class Store:
    """How names that begin with `url` are reached. Credentials are those of `profile` (S3), `credentials_file` (others)
    or `user` (HDFS), else those that the provider's tools would use; none if `anonymous`. `insecure`: its endpoint may
    be http. `select`: it has S3 Select, which may be used; `select_dialect` says what that computes, `select_formats`
    which objects it may be asked about. `credentials`: whether requests may bring those that read it (credentials.py).

    The rest is for estimates; 0: unknown. Prices are of 10⁹ bytes that Select scans and returns, and of 1000
    requests; the defaults are those that AWS published in dollars."""

    url: str
    endpoint: str = ""
    region: str = ""
    profile: str = ""
    credentials_file: str = ""
    user: str = ""
    anonymous: bool = False
    credentials: str = "allow"
    insecure: bool = False
    select: bool = False
    select_dialect: str = "filters"
    select_formats: tuple[str, ...] = ("parquet",)
    latency_ms: float = 0.0
    bits_per_s: float = 0.0
    scanned_bytes_per_s: float = 0.0
    price_scanned: float = 0.002
    price_returned: float = 0.0007
    price_requests: float = 0.0004

    def has(self, name: str) -> bool:
        """Return whether the name lies in the store, by whole parts of the path."""
        base = self.url.rstrip("/")
        return name == base or name.startswith(base + "/")


#: None: those of this process's own configuration, which is not loaded yet
_stores: tuple[Store, ...] | None = None


def configure(stores: Iterable[Store]) -> None:
    """Take the stores of a configuration for this process."""
    global _stores
    _stores = tuple(sorted(stores, key=lambda store: -len(store.url)))


def store_of(name: str) -> Store:
    """Return the store with the longest `url` that has the name; one without settings if none has."""
    if _stores is None:
        configure(_own())
    return next((store for store in _stores or () if store.has(name)), Store(""))


def parse(table: Mapping[str, Any]) -> Store:
    """Return the store of a [[store]] table whose keys are known. Raises InvalidDataflow for a wrong url or format."""
    if not is_remote(table["url"]):
        raise InvalidDataflow(
            f"url of a [[store]] is {table['url']!r}, not s3://BUCKET, gs://BUCKET, "
            "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net, hdfs://NAMENODE:8020 or https://HOST"
        )
    formats = tuple(table.get("select_formats", Store.select_formats))
    if unknown := next((format for format in formats if format not in SELECT_FORMATS), None):
        known = ", ".join(SELECT_FORMATS)
        raise InvalidDataflow(f"select_formats of a [[store]] has {unknown!r}; there are {known}")
    if table.get("select") and scheme(table["url"]) != "s3":
        raise InvalidDataflow(f"select of the [[store]] '{table['url']}' is true; only s3:// has S3 Select")
    if "credentials" in table and not scheme(table["url"]):
        raise InvalidDataflow(f"credentials of the [[store]] '{table['url']}': a web server takes none")
    if table.get("credentials", "allow") not in CREDENTIALS:
        known = ", ".join(CREDENTIALS)
        raise InvalidDataflow(
            f"credentials of the [[store]] '{table['url']}' is {table['credentials']!r}; it can be {known}"
        )
    return Store(**{**table, "url": canonical(table["url"]).rstrip("/"), "select_formats": formats})


def _own() -> list[Store]:
    """Return the stores of a client's own jumpgate.toml, where jumpgate.hosts.config looks for it; none of a file that
    cannot be read, which that reports."""
    try:
        with open(os.environ.get("JUMPGATE_CONFIG") or "jumpgate.toml", "rb") as file:
            return [parse(table) for table in tomllib.load(file).get("store", [])]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InvalidDataflow):
        return []


def check_secure(url: str, store: Store, name: str) -> None:
    """Raise Forbidden for an address on another machine that is not https, unless the operator allows it."""
    found = urlsplit(url)
    if found.scheme == "https" or store.insecure or _is_here(found.hostname or ""):
        return
    raise Forbidden(
        f"'{name}' is read from http://{found.hostname}, where anybody on the way can read and change it; if "
        "that network is trusted, write insecure = true in a [[store]] of jumpgate.toml with its url",
        file=name,
    )


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
