"""Azure Blob Storage, with and without hierarchical namespace, by Azure's packages: they find and renew credentials,
try again, list and upload. `abfss://container@account.dfs.core.windows.net/key` names a blob."""

from __future__ import annotations

import functools
import itertools
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from jumpgate import extras
from jumpgate.errors import FileUnreadable, Forbidden, InvalidDataflow, JumpgateError
from jumpgate.stores import credentials, settings
from jumpgate.stores.names import bucket_and_key

#: retries of one request, and seconds before the first, which grow
RETRIES, PAUSE_S = 5, 0.1
CONNECT_S, READ_S = 10, 30
#: hosts of accounts, in Azure's clouds: no other is told a credential, unless `endpoint` names it
_HOST = re.compile(r"([a-z0-9]+)\.(?:dfs|blob)\.(core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn))")
#: metadata of a blob: the upload that made it, and a folder of a hierarchical namespace
UPLOAD, FOLDER = "jumpgate_upload", "hdi_isfolder"
#: for which a key of the directory signs URLs
KEY_LIFE = timedelta(hours=24)
SCOPE = "https://storage.azure.com/.default"
T = TypeVar("T")


class _Place(NamedTuple):
    container: str
    account: str
    endpoint: str


@dataclass(frozen=True)
class _Secret:
    """At most one is there; without any the directory's default credential counts, unless `is_none`."""

    key: str = field(default="", repr=False)
    sas: str = field(default="", repr=False)
    is_none: bool = False


class Azure:
    """The provider of `abfss://`."""

    def head(self, name: str) -> tuple[int, str]:
        container, key = bucket_and_key(name)
        if not key:
            raise FileUnreadable(f"cannot read '{name}': '{container}' is a container, not an object", file=name)
        found = self._ask(name, lambda service: _blob(service, name).get_blob_properties())
        if _is_folder(found):
            raise _missing(name, "read")
        return int(found.size), _quoted(found.etag)

    def content(self, name: str, most: int) -> bytes:
        return bytes(
            self._ask(name, lambda service: _blob(service, name).download_blob(offset=0, length=most).readall())
        )

    def below(self, name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        asked: dict[str, Any] = {"name_starts_with": prefix or None, "include": ["metadata"]}
        asked |= {"results_per_page": most} if most else {}
        container = _place(name).container
        pages = self._ask(name, lambda service: service.get_container_client(container).list_blobs(**asked).by_page())
        found = self._listed(name, pages)
        return itertools.islice(found, most) if most else found

    def _listed(self, name: str, pages: Iterator[Any]) -> Iterator[tuple[str, int, str]]:
        while (
            page := self._ask(name, lambda _: [*found] if (found := next(pages, None)) is not None else None)
        ) is not None:
            yield from ((blob.name, int(blob.size), _quoted(blob.etag)) for blob in page if not _is_folder(blob))

    def address(self, name: str) -> str:
        return f"{_place(name).endpoint}/{quote(_place(name).container)}/{quote(bucket_and_key(name)[1])}"

    def signed(self, name: str, seconds: int) -> tuple[str, str]:
        """For a default credential, a key of the directory signs."""
        place, store = _place(name), settings.store_of(name)
        found, url = _secret(name, store, place), self.address(name)
        settings.check_secure(url, store, name)
        if found.is_none:
            return url, ""
        if found.sas:
            return f"{url}?{found.sas}", ""
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        if found.key:
            by: dict[str, Any] = {"account_key": found.key}
        else:
            delegated = self._ask(name, lambda service: _delegated(store, place).until(service, until))
            by = {"user_delegation_key": delegated}
        from azure.storage.blob import BlobSasPermissions, generate_blob_sas

        key, may = bucket_and_key(name)[1], BlobSasPermissions(read=True)
        return f"{url}?{generate_blob_sas(place.account, place.container, key, permission=may, expiry=until, **by)}", ""

    def access(self, name: str) -> dict[str, str]:
        place, store = _place(name), settings.store_of(name)
        settings.check_secure(place.endpoint, store, name)
        found = {"azure_storage_account_name": place.account, "azure_storage_endpoint": place.endpoint}
        found |= {"allow_http": "true"} if place.endpoint.startswith("http:") else {}
        secret = _secret(name, store, place)
        if secret.is_none:
            return {**found, "azure_skip_signature": "true"}
        if secret.key:
            return {**found, "azure_storage_account_key": secret.key}
        if secret.sas:
            return {**found, "azure_storage_sas_token": secret.sas}
        token = self._ask(name, lambda _: _default().get_token(SCOPE))
        return {**found, "azure_storage_token": token.token}

    def begin(self, name: str) -> str:
        return secrets.token_hex(8)

    def send(self, name: str, upload: str, number: int, part: bytes) -> str:
        tag = f"{upload}-{number:05}"
        self._ask(name, lambda service: _blob(service, name).stage_block(tag, part), "write")
        return tag

    def complete(self, name: str, upload: str, tags: Sequence[str]) -> None:
        from azure.storage.blob import BlobBlock

        blocks, metadata = [BlobBlock(tag) for tag in tags], {UPLOAD: upload}
        self._ask(name, lambda service: _blob(service, name).commit_block_list(blocks, metadata=metadata), "write")

    def abort(self, name: str, upload: str) -> None:
        """Blocks that nothing was made of are Azure's to remove, after a week."""
        try:
            found = self._ask(name, lambda service: _blob(service, name).get_blob_properties(), "write")
        except FileUnreadable as error:
            if error.fields.get("missing"):
                return
            raise
        if found.metadata.get(UPLOAD) == upload:
            raise _missing(name, "write")  # no upload any more, but an object

    def remove(self, name: str) -> None:
        try:
            self._ask(name, lambda service: _blob(service, name).delete_blob(), "write")
        except FileUnreadable as error:
            if not error.fields.get("missing"):
                raise

    def forget(self) -> None:
        _service.cache_clear()
        _default.cache_clear()
        _delegated.cache_clear()

    def _ask(self, name: str, request: Callable[[Any], T], aim: str = "read") -> T:
        with extras.explained():
            from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
            from azure.identity import CredentialUnavailableError

        store, place = settings.store_of(name), _place(name)
        settings.check_secure(place.endpoint, store, name)
        try:
            return request(_service_for(name, store, place))
        except HttpResponseError as error:
            is_unknown = isinstance(error, CredentialUnavailableError) or (
                isinstance(error, ClientAuthenticationError) and error.status_code is None
            )
            raise _without_credentials(name, aim) if is_unknown else _explained(name, error, aim) from None
        except AzureError as error:
            raise FileUnreadable(
                f"cannot {aim} '{name}': its store cannot be asked ({type(error).__name__})", file=name
            ) from None


PROVIDER = Azure()


def _place(name: str) -> _Place:
    """Return where a name is, by itself, its store's endpoint, and the environment. Raises InvalidDataflow."""
    bucket, endpoint = bucket_and_key(name)[0], settings.store_of(name).endpoint.rstrip("/")
    container, _, host = bucket.partition("@")
    known = _HOST.fullmatch(host)
    if known:
        return _Place(container, known[1], endpoint or f"https://{known[1]}.blob.{known[2]}")
    if host:
        raise InvalidDataflow(
            f"read: '{name}': '{host}' is no account of Azure; write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY",
            operator="read",
        )
    if endpoint:  # whose last part is the account, or the first of its host
        url = urlsplit(endpoint)
        return _Place(container, url.path.strip("/") or (url.hostname or "").partition(".")[0], endpoint)
    account = _told(os.environ)[0]
    if not account:
        raise InvalidDataflow(
            f"read: '{name}' names no account; write abfss://{container}@ACCOUNT.dfs.core.windows.net/KEY, or set "
            "AZURE_STORAGE_ACCOUNT",
            operator="read",
        )
    return _Place(container, account, f"https://{account}.blob.core.windows.net")


def _told(environment: Mapping[str, str]) -> tuple[str, _Secret]:
    """Return the account that the environment names, and its secret.

    >>> account, secret = _told({"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_SAS_TOKEN": "?sig=x"})
    >>> account, secret.sas
    ('a', 'sig=x')
    """
    parts = _parts(environment.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    names = ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")
    keys = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY")
    account = next((environment[name] for name in names if environment.get(name)), "") or parts.get("AccountName", "")
    if parts and parts.get("AccountName", account) == account:
        return account, _parsed(environment["AZURE_STORAGE_CONNECTION_STRING"])
    key = next((environment[name] for name in keys if environment.get(name)), "")
    return account, _Secret(key) if key else _Secret(sas=environment.get("AZURE_STORAGE_SAS_TOKEN", "").lstrip("?"))


def _parts(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (part.partition("=") for part in text.split(";")) if value}


def _parsed(text: str) -> _Secret:
    """Return the secret in a connection string, or a text that is an account's key or a SAS token.

    >>> _parsed("AccountName=a;AccountKey=k==").key, _parsed("?sv=1&sig=x").sas, _parsed("k==").key
    ('k==', 'sv=1&sig=x', 'k==')
    """
    parts = _parts(text)
    if "AccountKey" in parts or "SharedAccessSignature" in parts:
        return _Secret(parts.get("AccountKey", ""), parts.get("SharedAccessSignature", "").lstrip("?"))
    return _Secret(sas=text.lstrip("?")) if "sig=" in text else _Secret(text)


def _secret(name: str, store: settings.Store, place: _Place) -> _Secret:
    """Return the secret that the request brings, else that of a store; the environment's is for the account that the
    environment names alone."""
    if (brought := credentials.of(name)) is not None:
        return _Secret(sas=brought.token.lstrip("?"))
    if store.anonymous:
        return _Secret(is_none=True)
    if store.credentials_file:
        try:
            with open(store.credentials_file, encoding="utf-8") as opened:
                return _parsed(opened.read().strip())
        except (OSError, ValueError):
            raise FileUnreadable(f"cannot read '{name}': its credentials_file cannot be read", file=name) from None
    account, found = _told(os.environ)
    return found if account == place.account else _Secret()


def _service_for(name: str, store: settings.Store, place: _Place) -> Any:
    secret, brought = _secret(name, store, place), credentials.current()
    if brought is None or credentials.of(name) is None:
        return _service(store, place, secret)
    return brought.made((store, place, secret), lambda: _service_of(place, secret))


@functools.lru_cache(maxsize=64)
def _service(store: settings.Store, place: _Place, secret: _Secret) -> Any:
    return _service_of(place, secret)


def _service_of(place: _Place, secret: _Secret) -> Any:
    with extras.explained():
        from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
        from azure.storage.blob import BlobServiceClient, ExponentialRetry

    if secret.key:
        credential: Any = AzureNamedKeyCredential(place.account, secret.key)
    elif secret.sas:
        credential = AzureSasCredential(secret.sas)
    elif secret.is_none:
        credential = None
    else:
        credential = _default()
        credential.get_token(SCOPE)  # else a failure is tried again with each request
    retries = ExponentialRetry(initial_backoff=PAUSE_S, increment_base=1.5, retry_total=RETRIES, random_jitter_range=0)  # type: ignore[arg-type]
    return BlobServiceClient(
        place.endpoint, credential, retry_policy=retries, connection_timeout=CONNECT_S, read_timeout=READ_S,
        connection_verify=os.environ.get("SSL_CERT_FILE") or True,
    )  # fmt: skip


@functools.lru_cache(maxsize=1)
def _default() -> Any:
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()


class _Delegated:
    """A key of the directory that signs URLs of an account, kept until it expires."""

    def __init__(self) -> None:
        self._key: Any = None
        self._ends = datetime.fromtimestamp(0, UTC)
        self._lock = threading.Lock()

    def until(self, service: Any, moment: datetime) -> Any:
        """Return one that is valid until then."""
        with self._lock:
            if self._ends < moment:
                now = datetime.now(UTC)
                self._key = service.get_user_delegation_key(now - timedelta(minutes=5), now + KEY_LIFE)
                self._ends = now + KEY_LIFE
            return self._key


@functools.lru_cache(maxsize=64)
def _delegated(store: settings.Store, place: _Place) -> _Delegated:
    return _Delegated()


def _blob(service: Any, name: str) -> Any:
    return service.get_blob_client(_place(name).container, bucket_and_key(name)[1])


def _is_folder(found: Any) -> bool:
    return (found.metadata or {}).get(FOLDER) == "true"


def _quoted(tag: str) -> str:
    """Return a tag as headers have it; listings lack its quotes."""
    return '"' + tag.strip('"') + '"'


def _missing(name: str, aim: str) -> FileUnreadable:
    return FileUnreadable(f"cannot {aim} '{name}': there is no such object", file=name, missing="true")


def _without_credentials(name: str, aim: str) -> FileUnreadable:
    return FileUnreadable(
        f"cannot {aim} '{name}': there are no credentials; run `az login`, set AZURE_STORAGE_ACCOUNT and "
        "AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or write credentials_file or anonymous = true in a [[store]] of "
        "jumpgate.toml",
        file=name,
    )


def _explained(name: str, error: Any, aim: str) -> JumpgateError:
    code, status = getattr(error, "error_code", None) or "", error.status_code or 0
    code = str(getattr(code, "value", code))
    if code == "ContainerNotFound":
        return FileUnreadable(f"cannot {aim} '{name}': there is no such container", file=name)
    if status == 404:
        return _missing(name, aim)
    if status in (401, 403):
        return Forbidden(f"'{name}': the store refuses these credentials ({code})", file=name)
    return FileUnreadable(f"cannot {aim} '{name}': its store answers {status} ({code})", file=name)
