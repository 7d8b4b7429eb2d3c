"""S3: credentials as botocore finds and renews them, and URLs that they sign."""

from __future__ import annotations

import functools
import threading
from typing import Any

from jumpgate import extras
from jumpgate.stores import credentials, settings
from jumpgate.stores.credentials import Secret
from jumpgate.stores.names import bucket_and_key
from jumpgate.stores.s3_protocol import S3Protocol, made


class S3(S3Protocol):
    """The provider of `s3://`."""

    ways_in = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE"

    def client(self, store: settings.Store, aim: str, secret: Secret | None) -> Any:
        if secret is None or (brought := credentials.current()) is None:
            return _client(store)
        return brought.made((store, secret), lambda: _client_of(store, secret))

    def address(self, name: str) -> str:
        return _address(name, settings.store_of(name))

    def signed(self, name: str, seconds: int) -> tuple[str, str]:
        bucket, key = bucket_and_key(name)
        params = {"Bucket": bucket, "Key": key}
        url = self.ask(
            name, lambda client: client.generate_presigned_url("get_object", Params=params, ExpiresIn=seconds)
        )
        return str(url), ""

    def signed_select(self, name: str, seconds: int) -> str:
        """Return a URL by which S3 Select is asked about the object, whatever the statement. Raises FileUnreadable."""
        url = self.address(name) + "?select=&select-type=2"
        store, secret = settings.store_of(name), credentials.of(name)
        if store.anonymous and secret is None:
            return url
        with extras.explained():
            from botocore.auth import S3SigV4QueryAuth
            from botocore.awsrequest import AWSRequest

        found = self.ask(name, lambda _: _keys(store, secret))
        if found is None:
            raise self.without_credentials(name)
        request = AWSRequest("POST", url)
        region = self.ask(name, lambda client: client.meta.region_name)
        S3SigV4QueryAuth(found.get_frozen_credentials(), "s3", region, seconds).add_auth(request)
        return str(request.url)

    def access(self, name: str) -> dict[str, str]:
        store, secret = settings.store_of(name), credentials.of(name)
        client = self.ask(name, lambda client: client)
        endpoint = str(client.meta.endpoint_url)
        found = {"AWS_REGION": client.meta.region_name, "AWS_ENDPOINT_URL": endpoint}
        if endpoint.startswith("http:"):
            found["AWS_ALLOW_HTTP"] = "true"
        if store.anonymous and secret is None:
            return {**found, "AWS_SKIP_SIGNATURE": "true"}
        own = _keys(store, secret)
        if own is None:
            raise self.without_credentials(name)
        frozen = own.get_frozen_credentials()
        found |= {"AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key}
        return {**found, **({"AWS_SESSION_TOKEN": frozen.token} if frozen.token else {})}

    def forget(self) -> None:
        _client.cache_clear()
        _models.cache_clear()
        _address.cache_clear()


PROVIDER = S3()
#: sessions are not thread-safe
_making = threading.Lock()


@functools.lru_cache(maxsize=100_000)
def _address(name: str, store: settings.Store) -> str:
    return PROVIDER.signed(name, 1)[0].partition("?")[0]


@functools.lru_cache(maxsize=64)
def _client(store: settings.Store) -> Any:
    with extras.explained():
        from botocore import UNSIGNED

    return made(_session(store), store, store.endpoint, signature_version=UNSIGNED if store.anonymous else "s3v4")


def _client_of(store: settings.Store, secret: Secret) -> Any:
    keys = {
        "aws_access_key_id": secret.access_key,
        "aws_secret_access_key": secret.secret_key,
        "aws_session_token": secret.session_token or None,
    }
    with _making:
        return made(_models(store), store, store.endpoint, keys, signature_version="s3v4")


@functools.lru_cache(maxsize=64)
def _models(store: settings.Store) -> Any:
    """Return a session for clients with keys of requests: to load what it knows of services takes some 0.1 s."""
    return _session(store)


def _keys(store: settings.Store, secret: Secret | None) -> Any:
    """Return botocore's credentials, those of the request or the process; None if there are none."""
    if secret is None:
        return _session(store).get_credentials()
    from botocore.credentials import Credentials

    return Credentials(secret.access_key, secret.secret_key, secret.session_token or None)


def _session(store: settings.Store) -> Any:
    with extras.explained():
        import botocore.session

    return botocore.session.Session(profile=store.profile or None)
