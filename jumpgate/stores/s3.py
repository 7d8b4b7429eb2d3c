"""S3 by botocore, which finds and renews credentials, signs, and tries again."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from jumpgate import extras
from jumpgate.errors import FileUnreadable, Forbidden, JumpgateError
from jumpgate.stores import settings
from jumpgate.stores.names import bucket_and_key

#: attempts of one request, with growing pauses between
ATTEMPTS = 6
CONNECT_S, READ_S = 10, 30
CONNECTIONS = 32
T = TypeVar("T")


def head(name: str) -> tuple[int, str]:
    """Return size and ETag. Raises FileUnreadable, Forbidden."""
    bucket, key = bucket_and_key(name)
    if not key:
        raise FileUnreadable(f"cannot read '{name}': it is a bucket, not an object", file=name)
    found = ask(name, lambda client: client.head_object(Bucket=bucket, Key=key))
    return found["ContentLength"], found.get("ETag", "")


def content(name: str, most: int) -> bytes:
    """Return at most so many bytes of the front of an object, as it is now. Raises FileUnreadable, Forbidden."""
    bucket, key = bucket_and_key(name)
    return bytes(ask(name, lambda client: client.get_object(Bucket=bucket, Key=key)["Body"].read(most)))


def below(name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
    """Yield key, size and ETag of the objects of the bucket of `name` whose keys begin with `prefix`, at most so many
    (0: all), as pages of the listing arrive. Raises FileUnreadable."""
    bucket, _ = bucket_and_key(name)
    token: dict[str, str] = {}
    while True:
        asked = {"Bucket": bucket, "Prefix": prefix, **token, **({"MaxKeys": most} if most else {})}
        page = ask(name, lambda client, asked=asked: client.list_objects_v2(**asked))  # type: ignore[misc]
        for entry in page.get("Contents", ()):
            yield entry["Key"], entry["Size"], entry.get("ETag", "")
        if most or not page.get("IsTruncated"):
            return
        token = {"ContinuationToken": page["NextContinuationToken"]}


def signed(name: str, seconds: int) -> str:
    """Return a URL that reads the object. Raises FileUnreadable."""
    bucket, key = bucket_and_key(name)
    params = {"Bucket": bucket, "Key": key}
    url = ask(name, lambda client: client.generate_presigned_url("get_object", Params=params, ExpiresIn=seconds))
    return str(url)


def address(name: str) -> str:
    """Return the URL of the object, without a signature. Raises FileUnreadable."""
    return _address(name, settings.store_of(name))


@functools.lru_cache(maxsize=100_000)
def _address(name: str, store: settings.Store) -> str:
    return signed(name, 1).partition("?")[0]


def signed_select(name: str, seconds: int) -> str:
    """Return a URL by which S3 Select is asked about the object, whatever the statement. Raises FileUnreadable."""
    url = address(name) + "?select=&select-type=2"
    store = settings.store_of(name)
    if store.anonymous:
        return url
    with extras.explained():
        from botocore.auth import S3SigV4QueryAuth
        from botocore.awsrequest import AWSRequest

    credentials = ask(name, lambda _: _session(store).get_credentials())
    if credentials is None:
        raise _without_credentials(name)
    request = AWSRequest("POST", url)
    region = ask(name, lambda client: client.meta.region_name)
    S3SigV4QueryAuth(credentials.get_frozen_credentials(), "s3", region, seconds).add_auth(request)
    return str(request.url)


def access(name: str) -> dict[str, str]:
    """Return how other libraries reach the store of `name` at this moment, by the names of AWS's environment variables.
    Credentials are among them. Raises FileUnreadable, Forbidden."""
    store = settings.store_of(name)
    client = ask(name, lambda client: client)
    endpoint = str(client.meta.endpoint_url)
    found = {"AWS_REGION": client.meta.region_name, "AWS_ENDPOINT_URL": endpoint}
    if endpoint.startswith("http:"):
        found["AWS_ALLOW_HTTP"] = "true"
    if store.anonymous:
        return {**found, "AWS_SKIP_SIGNATURE": "true"}
    credentials = _session(store).get_credentials()
    if credentials is None:
        raise _without_credentials(name)
    frozen = credentials.get_frozen_credentials()
    found |= {"AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key}
    return {**found, **({"AWS_SESSION_TOKEN": frozen.token} if frozen.token else {})}


def forget() -> None:
    """Find credentials and endpoints anew."""
    _client.cache_clear()
    _address.cache_clear()


def ask(name: str, request: Callable[[Any], T], aim: str = "read") -> T:
    """Return the answer to a request to the store of an object. `aim`: read or write it. Raises FileUnreadable,
    Forbidden."""
    with extras.explained():
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    store = settings.store_of(name)
    try:
        client = _client(store)
        settings.check_secure(client.meta.endpoint_url, store, name)
        return request(client)
    except NoCredentialsError:
        raise _without_credentials(name, aim) from None
    except ClientError as error:
        raise _explained(name, error.response, aim) from None
    except BotoCoreError as error:
        raise FileUnreadable(
            f"cannot {aim} '{name}': its store cannot be asked ({type(error).__name__})", file=name
        ) from None


def _without_credentials(name: str, aim: str = "read") -> FileUnreadable:
    return FileUnreadable(
        f"cannot {aim} '{name}': there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
        "AWS_PROFILE, or write anonymous = true in a [[store]] of jumpgate.toml",
        file=name,
    )


def _explained(name: str, response: Any, aim: str) -> JumpgateError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return FileUnreadable(f"cannot {aim} '{name}': there is no such bucket", file=name)
    if status == 404:
        return FileUnreadable(f"cannot {aim} '{name}': there is no such object", file=name, missing="true")
    if status == 403:
        return Forbidden(f"'{name}': the store refuses these credentials ({code})", file=name)
    return FileUnreadable(f"cannot {aim} '{name}': its store answers {status} ({code})", file=name)


@functools.lru_cache(maxsize=64)
def _client(store: settings.Store) -> Any:
    with extras.explained():
        from botocore import UNSIGNED
        from botocore.config import Config

    session = _session(store)
    region = store.region or session.get_config_variable("region") or "us-east-1"
    config = Config(
        signature_version=UNSIGNED if store.anonymous else "s3v4",
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=CONNECTIONS,
    )
    authorities = session.get_config_variable("ca_bundle") or os.environ.get("SSL_CERT_FILE")
    return session.create_client(
        "s3", region_name=region, endpoint_url=store.endpoint or None, config=config, verify=authorities
    )


def _session(store: settings.Store) -> Any:
    with extras.explained():
        import botocore.session

    return botocore.session.Session(profile=store.profile or None)
