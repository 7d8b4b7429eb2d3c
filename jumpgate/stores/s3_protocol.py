"""The protocol of S3 by botocore, which tries again, lists and uploads: what stores that speak it share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from jumpgate import extras
from jumpgate.errors import FileUnreadable, Forbidden, JumpgateError
from jumpgate.stores import credentials, settings
from jumpgate.stores.credentials import Secret
from jumpgate.stores.names import bucket_and_key

#: attempts of one request, with growing pauses between
ATTEMPTS = 6
CONNECT_S, READ_S = 10, 30
CONNECTIONS = 32
T = TypeVar("T")


class S3Protocol(ABC):
    """A provider (providers.py) whose stores are asked by a client of botocore. `ways_in`: how one gives it
    credentials."""

    ways_in = ""

    @abstractmethod
    def client(self, store: settings.Store, aim: str, secret: Secret | None) -> Any:
        """Return botocore's client of a store. `aim`: read or write. secret: what the request brings for it."""

    def head(self, name: str) -> tuple[int, str]:
        bucket, key = bucket_and_key(name)
        if not key:
            raise FileUnreadable(f"cannot read '{name}': it is a bucket, not an object", file=name)
        found = self.ask(name, lambda client: client.head_object(Bucket=bucket, Key=key))
        return found["ContentLength"], found.get("ETag", "")

    def content(self, name: str, most: int) -> bytes:
        bucket, key = bucket_and_key(name)
        return bytes(self.ask(name, lambda client: client.get_object(Bucket=bucket, Key=key)["Body"].read(most)))

    def below(self, name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        bucket, _ = bucket_and_key(name)
        token: dict[str, str] = {}
        while True:
            asked = {"Bucket": bucket, "Prefix": prefix, **token, **({"MaxKeys": most} if most else {})}
            page = self.ask(name, lambda client, asked=asked: client.list_objects_v2(**asked))  # type: ignore[misc]
            for entry in page.get("Contents", ()):
                yield entry["Key"], entry["Size"], entry.get("ETag", "")
            if most or not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def begin(self, name: str) -> str:
        made = self.ask(name, lambda client: client.create_multipart_upload(**_place(name)), "write")
        return str(made["UploadId"])

    def send(self, name: str, upload: str, number: int, part: bytes) -> str:
        of = {**_place(name), "UploadId": upload, "PartNumber": number, "Body": part}
        return str(self.ask(name, lambda client: client.upload_part(**of), "write")["ETag"])

    def complete(self, name: str, upload: str, tags: Sequence[str]) -> None:
        parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
        of = {**_place(name), "UploadId": upload, "MultipartUpload": {"Parts": parts}}
        self.ask(name, lambda client: client.complete_multipart_upload(**of), "write")

    def abort(self, name: str, upload: str) -> None:
        of = {**_place(name), "UploadId": upload}
        self.ask(name, lambda client: client.abort_multipart_upload(**of), "write")

    def remove(self, name: str) -> None:
        self.ask(name, lambda client: client.delete_object(**_place(name)), "write")

    def ask(self, name: str, request: Callable[[Any], T], aim: str = "read") -> T:
        """Return the answer to a request to the store of an object. `aim`: read or write it. Raises FileUnreadable,
        Forbidden."""
        with extras.explained():
            from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        store, secret = settings.store_of(name), credentials.of(name)
        try:
            client = self.client(store, aim, secret)
            settings.check_secure(client.meta.endpoint_url, store, name)
            return request(client)
        except NoCredentialsError:
            raise self.without_credentials(name, aim) from None
        except ClientError as error:
            raise _explained(name, error.response, aim) from None
        except BotoCoreError as error:
            raise FileUnreadable(
                f"cannot {aim} '{name}': its store cannot be asked ({type(error).__name__})", file=name
            ) from None

    def without_credentials(self, name: str, aim: str = "read") -> FileUnreadable:
        return FileUnreadable(
            f"cannot {aim} '{name}': there are no credentials; {self.ways_in}, or write anonymous = true in a "
            "[[store]] of jumpgate.toml",
            file=name,
        )


def made(
    session: Any, store: settings.Store, endpoint: str, keys: Mapping[str, str | None] | None = None, **more: Any
) -> Any:
    """Return a client of botocore for a store. keys: its credentials; None: those that the session finds. more: of its
    configuration."""
    with extras.explained():
        from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=CONNECTIONS,
        **more,
    )
    region = store.region or session.get_config_variable("region") or "us-east-1"
    authorities = session.get_config_variable("ca_bundle") or os.environ.get("SSL_CERT_FILE")
    return session.create_client(
        "s3", region_name=region, endpoint_url=endpoint or None, config=config, verify=authorities, **(keys or {})
    )


def _place(name: str) -> dict[str, str]:
    bucket, key = bucket_and_key(name)
    return {"Bucket": bucket, "Key": key}


def _explained(name: str, response: Any, aim: str) -> JumpgateError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return FileUnreadable(f"cannot {aim} '{name}': there is no such bucket", file=name)
    if status == 404:
        return FileUnreadable(f"cannot {aim} '{name}': there is no such object", file=name, missing="true")
    if status in (401, 403) or code in ("ExpiredToken", "InvalidToken"):
        return Forbidden(f"'{name}': the store refuses these credentials ({code})", file=name)
    return FileUnreadable(f"cannot {aim} '{name}': its store answers {status} ({code})", file=name)
