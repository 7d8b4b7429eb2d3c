"""S3: credentials as botocore finds and renews them, and URLs that they sign."""

from __future__ import annotations

import functools
from typing import Any

from jumpgate import extras
from jumpgate.stores import settings
from jumpgate.stores.names import bucket_and_key
from jumpgate.stores.s3_protocol import S3Protocol, made


class S3(S3Protocol):
    """The provider of `s3://`."""

    ways_in = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE"

    def client(self, store: settings.Store, aim: str) -> Any:
        return _client(store)

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
        store = settings.store_of(name)
        if store.anonymous:
            return url
        with extras.explained():
            from botocore.auth import S3SigV4QueryAuth
            from botocore.awsrequest import AWSRequest

        credentials = self.ask(name, lambda _: _session(store).get_credentials())
        if credentials is None:
            raise self.without_credentials(name)
        request = AWSRequest("POST", url)
        region = self.ask(name, lambda client: client.meta.region_name)
        S3SigV4QueryAuth(credentials.get_frozen_credentials(), "s3", region, seconds).add_auth(request)
        return str(request.url)

    def access(self, name: str) -> dict[str, str]:
        store = settings.store_of(name)
        client = self.ask(name, lambda client: client)
        endpoint = str(client.meta.endpoint_url)
        found = {"AWS_REGION": client.meta.region_name, "AWS_ENDPOINT_URL": endpoint}
        if endpoint.startswith("http:"):
            found["AWS_ALLOW_HTTP"] = "true"
        if store.anonymous:
            return {**found, "AWS_SKIP_SIGNATURE": "true"}
        credentials = _session(store).get_credentials()
        if credentials is None:
            raise self.without_credentials(name)
        frozen = credentials.get_frozen_credentials()
        found |= {"AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key}
        return {**found, **({"AWS_SESSION_TOKEN": frozen.token} if frozen.token else {})}

    def forget(self) -> None:
        _client.cache_clear()
        _address.cache_clear()


PROVIDER = S3()


@functools.lru_cache(maxsize=100_000)
def _address(name: str, store: settings.Store) -> str:
    return PROVIDER.signed(name, 1)[0].partition("?")[0]


@functools.lru_cache(maxsize=64)
def _client(store: settings.Store) -> Any:
    with extras.explained():
        from botocore import UNSIGNED

    return made(_session(store), store, store.endpoint, signature_version=UNSIGNED if store.anonymous else "s3v4")


def _session(store: settings.Store) -> Any:
    with extras.explained():
        import botocore.session

    return botocore.session.Session(profile=store.profile or None)
