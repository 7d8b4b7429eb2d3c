"""Providers: the services whose stores are read, a module each. A provider says how an object is addressed, asked for
and written, and how its bucket is listed; all else is shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from jumpgate.stores.names import scheme

#: scheme of a store's objects → the module of its provider
MODULES = {"s3": "s3", "gs": "gs", "abfss": "azure", "hdfs": "hdfs"}


class Provider(Protocol):
    """All methods raise FileUnreadable, Forbidden, NotInstalled; FileUnreadable has the field `missing` where there is
    no such object or upload."""

    def head(self, name: str) -> tuple[int, str]:
        """Return size and ETag; where a service has none, another text that tells versions apart."""

    def content(self, name: str, most: int) -> bytes:
        """Return at most so many bytes of the front of an object, as it is now."""

    def below(self, name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        """Yield key, size and ETag of the objects of the bucket of `name` whose keys begin with `prefix`, at most so
        many (0: all), as pages of the listing arrive."""

    def address(self, name: str) -> str:
        """Return the URL of the object, which alone reads what anybody may."""

    def signed(self, name: str, seconds: int) -> tuple[str, str]:
        """Return a URL that reads the object for so long, and what the header Authorization must say; mostly empty."""

    def access(self, name: str) -> dict[str, str]:
        """Return how the package `deltalake` reaches the store of `name` at this moment. Credentials are among them."""

    def begin(self, name: str) -> str:
        """Begin an upload of an object, which appears when it is completed, and return its id."""

    def send(self, name: str, upload: str, number: int, part: bytes) -> str:
        """Send a part of an upload, of which the first has the number 1, and return its tag."""

    def complete(self, name: str, upload: str, tags: Sequence[str]) -> None:
        """Make an object of the parts."""

    def abort(self, name: str, upload: str) -> None:
        """End an upload without an object."""

    def remove(self, name: str) -> None:
        """Remove an object, which may be gone."""

    def forget(self) -> None:
        """Find credentials and endpoints anew."""


def of(name: str) -> Provider:
    """Return the provider of an object in a store."""
    return cast(Provider, import_module(f"jumpgate.stores.{MODULES[scheme(name)]}").PROVIDER)
