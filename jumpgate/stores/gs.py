"""Google Cloud Storage by its XML API, which is S3's protocol with tokens of OAuth: credentials as google-auth finds
and renews them."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from jumpgate import extras
from jumpgate.errors import FileUnreadable, InvalidDataflow
from jumpgate.stores import credentials, settings
from jumpgate.stores.credentials import Secret
from jumpgate.stores.names import bucket_and_key
from jumpgate.stores.s3_protocol import ATTEMPTS, CONNECT_S, S3Protocol, made
from jumpgate.stores.web import BUSY, PAUSE_S

ENDPOINT = "https://storage.googleapis.com"
#: aim of a request → the scope of its token
SCOPES = {
    "read": "https://www.googleapis.com/auth/devstorage.read_only",
    "write": "https://www.googleapis.com/auth/devstorage.read_write",
}
#: a token that is good for fewer seconds is renewed, so that a job can use it; seconds between such attempts, as a
#: metadata server gives the same one for a while
LIFE_S, ASK_S = 1800.0, 60.0


class Google(S3Protocol):
    """The provider of `gs://`."""

    ways_in = (
        "run `gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS to the file of a service "
        "account, or name that as credentials_file"
    )

    def client(self, store: settings.Store, aim: str, secret: Secret | None) -> Any:
        if secret is None or (brought := credentials.current()) is None:
            return _client(store, aim)
        return brought.made((store, secret), lambda: _made(store, lambda: _brought(store, secret)))

    def head(self, name: str) -> tuple[int, str]:
        size, tag = super().head(name)
        return size, _quoted(tag)

    def below(self, name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        for key, size, tag in super().below(name, prefix, most):
            yield key, size, _quoted(tag)

    def address(self, name: str) -> str:
        bucket, key = bucket_and_key(name)
        return f"{_endpoint(settings.store_of(name))}/{quote(bucket)}/{quote(key)}"

    def signed(self, name: str, seconds: int) -> tuple[str, str]:
        store, url = settings.store_of(name), self.address(name)
        settings.check_secure(url, store, name)
        if (secret := credentials.of(name)) is not None:
            return url, _brought(store, secret)
        return url, self.ask(name, lambda _: _authorization(store, "read"))

    def access(self, name: str) -> dict[str, str]:
        store = settings.store_of(name)
        endpoint = _endpoint(store)
        settings.check_secure(endpoint, store, name)
        found = {"google_base_url": endpoint} if endpoint != ENDPOINT else {}
        if endpoint.startswith("http:"):
            found["allow_http"] = "true"
        if credentials.of(name) is not None:
            raise InvalidDataflow(
                f"read: '{name}': the package deltalake reads Google's stores with no token, and the request brings "
                "one: read plain files, or a table of Iceberg",
                operator="read",
            )
        if _is_anonymous(store):
            return {**found, "google_skip_signature": "true"}
        if store.credentials_file:
            return {**found, "google_service_account": store.credentials_file}
        file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        return {**found, **({_kind(file, name): file} if file else {})}

    def forget(self) -> None:
        _client.cache_clear()
        _token.cache_clear()


PROVIDER = Google()


def _quoted(tag: str) -> str:
    """Return a tag as headers have it; listings may lack its quotes."""
    return tag if not tag or tag.endswith('"') else f'"{tag}"'


def _endpoint(store: settings.Store) -> str:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    emulator = emulator if "://" in emulator or not emulator else f"http://{emulator}"
    return (store.endpoint or emulator or ENDPOINT).rstrip("/")


def _is_anonymous(store: settings.Store) -> bool:
    """Return whether no token is sent: no emulator that the environment names gets one."""
    return store.anonymous or _is_emulated(store)


def _is_emulated(store: settings.Store) -> bool:
    return not (store.endpoint or _endpoint(store) == ENDPOINT)


def _kind(file: str, name: str) -> str:
    """Return the option of deltalake that a file with credentials is for. Raises FileUnreadable."""
    try:
        with open(file, encoding="utf-8") as opened:
            is_account = json.load(opened).get("type") == "service_account"
    except (OSError, ValueError, AttributeError):
        raise FileUnreadable(
            f"cannot read '{name}': its file with credentials of Google is missing or none", file=name
        ) from None
    return "google_service_account" if is_account else "google_application_credentials"


@functools.lru_cache(maxsize=64)
def _client(store: settings.Store, aim: str) -> Any:
    return _made(store, lambda: _authorization(store, aim))


def _made(store: settings.Store, authorization: Callable[[], str]) -> Any:
    """Return a client whose requests say what `authorization` returns; empty: nothing."""
    with extras.explained():
        import botocore.session
        from botocore import UNSIGNED

    checked = "when_required"  # its checksums are none of Google's
    client = made(
        botocore.session.Session(), store, _endpoint(store), signature_version=UNSIGNED,
        s3={"addressing_style": "path"}, request_checksum_calculation=checked, response_checksum_validation=checked,
    )  # fmt: skip

    def authorize(request: Any, **_: Any) -> None:
        if text := authorization():
            request.headers["Authorization"] = text

    client.meta.events.register("before-send.s3", authorize)
    return client


class _Token:
    """A token that is renewed before it expires."""

    def __init__(self, found: Any) -> None:
        self._credentials, self._lock, self._asked_s = found, threading.Lock(), -ASK_S

    def text(self) -> str:
        import urllib3
        from google.auth.transport.urllib3 import Request

        with self._lock:
            expiry = self._credentials.expiry
            left = (expiry - datetime.now(UTC).replace(tzinfo=None)).total_seconds() if expiry else LIFE_S
            is_short = left < LIFE_S and time.monotonic() > self._asked_s + ASK_S
            if is_short or not self._credentials.valid:
                retries = urllib3.Retry(ATTEMPTS, allowed_methods=None, status_forcelist=BUSY, backoff_factor=PAUSE_S)
                http = urllib3.PoolManager(timeout=CONNECT_S, retries=retries)
                self._credentials.refresh(Request(http))  # type: ignore[no-untyped-call]
                self._asked_s = time.monotonic()
            return str(self._credentials.token)


@functools.lru_cache(maxsize=64)
def _token(store: settings.Store, aim: str) -> _Token:
    import google.auth
    from google.oauth2.service_account import Credentials

    scopes = [SCOPES[aim]]
    if store.credentials_file:
        found = Credentials.from_service_account_file(store.credentials_file, scopes=scopes)  # type: ignore[no-untyped-call]
        return _Token(found)
    return _Token(google.auth.default(scopes=scopes)[0])


def _brought(store: settings.Store, secret: Secret) -> str:
    """Return the header of a request with a token that was brought."""
    return "" if _is_emulated(store) else f"Bearer {secret.token}"


def _authorization(store: settings.Store, aim: str) -> str:
    """Return the header of a request; empty if it needs none. Raises botocore's NoCredentialsError."""
    if _is_anonymous(store):
        return ""
    with extras.explained():
        from botocore.exceptions import NoCredentialsError
        from google.auth.exceptions import GoogleAuthError

    try:
        return f"Bearer {_token(store, aim).text()}"
    except (GoogleAuthError, OSError, ValueError):
        raise NoCredentialsError from None
