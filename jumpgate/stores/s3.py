"""S3 by botocore, which finds and renews credentials, signs, and tries again."""

from __future__ import annotations

import functools
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
    found = _asked(name, lambda client: client.head_object(Bucket=bucket, Key=key))
    return found["ContentLength"], found.get("ETag", "")


def below(name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
    """Yield key, size and ETag of the objects of the bucket of `name` whose keys begin with `prefix`, at most so many
    (0: all), as pages of the listing arrive. Raises FileUnreadable."""
    bucket, _ = bucket_and_key(name)
    token: dict[str, str] = {}
    while True:
        asked = {"Bucket": bucket, "Prefix": prefix, **token, **({"MaxKeys": most} if most else {})}
        page = _asked(name, lambda client, asked=asked: client.list_objects_v2(**asked))  # type: ignore[misc]
        for entry in page.get("Contents", ()):
            yield entry["Key"], entry["Size"], entry.get("ETag", "")
        if most or not page.get("IsTruncated"):
            return
        token = {"ContinuationToken": page["NextContinuationToken"]}


def signed(name: str, seconds: int) -> str:
    """Return a URL that reads the object. Raises FileUnreadable."""
    bucket, key = bucket_and_key(name)
    params = {"Bucket": bucket, "Key": key}
    url = _asked(name, lambda client: client.generate_presigned_url("get_object", Params=params, ExpiresIn=seconds))
    return str(url)


def forget() -> None:
    """Find credentials and endpoints anew."""
    _client.cache_clear()


def _asked(name: str, ask: Callable[[Any], T]) -> T:
    with extras.explained():
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    store = settings.store_of(name)
    try:
        client = _client(store)
        settings.check_secure(client.meta.endpoint_url, store, name)
        return ask(client)
    except NoCredentialsError:
        raise FileUnreadable(
            f"cannot read '{name}': there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
            "AWS_PROFILE, or write anonymous = true in a [[store]] of jumpgate.toml",
            file=name,
        ) from None
    except ClientError as error:
        raise _explained(name, error.response) from None
    except BotoCoreError as error:
        raise FileUnreadable(
            f"cannot read '{name}': its store cannot be asked ({type(error).__name__})", file=name
        ) from None


def _explained(name: str, response: Any) -> JumpgateError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return FileUnreadable(f"cannot read '{name}': there is no such bucket", file=name)
    if status == 404:
        return FileUnreadable(f"cannot read '{name}': there is no such object", file=name, missing="true")
    if status == 403:
        return Forbidden(f"'{name}': the store refuses these credentials ({code})", file=name)
    return FileUnreadable(f"cannot read '{name}': its store answers {status} ({code})", file=name)


@functools.lru_cache(maxsize=64)
def _client(store: settings.Store) -> Any:
    with extras.explained():
        import botocore.session
        from botocore import UNSIGNED
        from botocore.config import Config

    session = botocore.session.Session(profile=store.profile or None)
    region = store.region or session.get_config_variable("region") or "us-east-1"
    config = Config(
        signature_version=UNSIGNED if store.anonymous else "s3v4",
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=CONNECTIONS,
    )
    return session.create_client("s3", region_name=region, endpoint_url=store.endpoint or None, config=config)
