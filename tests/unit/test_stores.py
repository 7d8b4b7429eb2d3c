"""Names, listings and rights of objects in stores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jumpgate.dataflow.file_state import file_states
from jumpgate.dataflow.files import list_files
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.errors import FileUnreadable, Forbidden, InvalidDataflow
from jumpgate.hosts.config import ClientConfig
from jumpgate.service.guard import Client
from jumpgate.stores import gs, objects, settings
from jumpgate.stores.names import canonical
from jumpgate.stores.s3 import PROVIDER as S3
from jumpgate.stores.settings import Store, check_secure, store_of

KEYS = (
    "plain/a.parquet",
    "plain/b.parquet",
    "plain/_hidden/c.parquet",
    "plain/.d.parquet",
    "plain/deep/er/e.csv",
    "delta/y=1/a.parquet",
    "delta/_delta_log/0.json",
    "ice/data/a.parquet",
    "ice/metadata/v1.metadata.json",
    "hudi/.hoodie/x",
    "hudi/a.parquet",
    "notes/metadata/readme.txt",
    "notes/a.parquet",
)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket `b` with KEYS."""

    def below(name: str, prefix: str, most: int = 0) -> Iterator[tuple[str, int, str]]:
        found = sorted(key for key in KEYS if key.startswith(prefix))
        yield from ((key, 1, f'"{key}"') for key in found[: most or None])

    def head(name: str) -> tuple[int, str]:
        key = name.removeprefix("s3://b/")
        if key not in KEYS:
            raise FileUnreadable("there is none", file=name, missing="true")
        return 1, f'"{key}"'

    monkeypatch.setattr(S3, "below", below)
    monkeypatch.setattr(S3, "head", head)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("s3://b/plain/a.parquet", ["plain/a.parquet"]),
        ("s3a://b/plain/*.parquet", ["plain/a.parquet", "plain/b.parquet"]),
        ("s3://b/plain/{b,a,z}.parquet", ["plain/a.parquet", "plain/b.parquet"]),
        ("s3://b/plain/[ab].parquet", ["plain/a.parquet", "plain/b.parquet"]),
        ("s3://b/plain/?.parquet", ["plain/a.parquet", "plain/b.parquet"]),
        ("s3://b/plain/.*.parquet", ["plain/.d.parquet"]),
        ("s3://b/**/e.csv", ["plain/deep/er/e.csv"]),
        ("s3://b/plain/deep", ["plain/deep/er/e.csv"]),
        ("s3://b/notes", ["notes/a.parquet"]),
    ],
)
def test_paths_of_a_bucket(bucket: None, path: str, found: list[str]) -> None:
    assert list_files(path)[0] == tuple(f"s3://b/{key}" for key in found)


@pytest.mark.parametrize(("folder", "kind"), [("delta", "Delta"), ("ice", "Iceberg"), ("hudi", "Hudi")])
def test_a_table_with_a_log_is_no_folder_of_files(bucket: None, folder: str, kind: str) -> None:
    for path in (f"s3://b/{folder}", f"s3://b/{folder}/**/*.parquet", f"s3://b/{folder[:2]}*/**/a.parquet"):
        with pytest.raises(InvalidDataflow, match=f"is a table of {kind}"):
            list_files(path)


def test_a_part_of_a_table_is_no_folder_of_files(bucket: None) -> None:
    for path in ("s3://b/delta/y=1", "s3://b/delta/y=1/*.parquet"):
        with pytest.raises(InvalidDataflow, match="is a table of Delta"):
            list_files(path)
    assert list_files("s3://b/delta/y=1/a.parquet")[0] == ("s3://b/delta/y=1/a.parquet",)


@pytest.mark.parametrize(
    "name",
    ["s3://", "s3:///k", "s3://b/a/../c", "https://h/%2e%2e/c", "s3://b/a\0", "http://u:p@h/a", "https://h/a?X-Amz-Signature=1",
     "https:///a", "https://h/a\r\nHost: x"],
)  # fmt: skip
def test_names_that_no_object_has(name: str) -> None:
    with pytest.raises(InvalidDataflow):
        canonical(name)


def test_the_longest_url_counts_and_where_it_leads_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_stores", None)
    settings.configure([Store("s3://b"), Store("s3://b/in", insecure=True), Store("s3://bb", profile="p")])
    assert [store_of(f"s3://{name}").url for name in ("b/x", "b/in/x", "b/inner", "bb/x", "c/x")] == [
        "s3://b", "s3://b/in", "s3://b", "s3://bb", "",
    ]  # fmt: skip
    for url, store in (
        ("http://127.0.0.1:1", Store("")),
        ("http://h", store_of("s3://b/in/x")),
    ):
        check_secure(url, store, "s3://b/x")
    check_secure("https://h", Store(""), "s3://b/x")
    with pytest.raises(Forbidden, match="insecure = true"):
        check_secure("http://h:9000", store_of("s3://b/x"), "s3://b/x")


def test_a_client_reads_the_objects_below_its_roots_only(tmp_path: Path) -> None:
    client = Client(ClientConfig("c", "t", roots=(str(tmp_path), "s3://b/mine")))

    def read(file: str) -> Read:
        return Read((file,), "parquet", Schema((Field("a", int64),)), (0,))

    assert client.below_roots(read("s3://b/mine/a.parquet")) == read("s3://b/mine/a.parquet")
    for file in ("s3://b/other/a.parquet", "s3://b/mine2/a.parquet", "https://h/a.parquet"):
        with pytest.raises(Forbidden, match="may not read"):
            client.below_roots(read(file))


def test_a_grant_shows_nothing() -> None:
    grant = objects.Grant("https://h/a?X-Amz-Signature=secret", "t", "", 1)
    assert "secret" not in f"{grant} {grant!r}"


def test_a_token_is_renewed_before_it_expires_but_not_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(gs.time, "monotonic", lambda: now[0])

    class Credentials:
        """Of a metadata server, which gives the same token until it has few minutes left."""

        token, valid, asked = "", False, 0
        expiry: datetime | None = None

        def refresh(self, request: object) -> None:
            self.asked += 1
            self.token, self.valid = f"token {self.asked}", True
            self.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=7)

    credentials = Credentials()
    token = gs._Token(credentials)
    assert [token.text() for _ in range(3)] == ["token 1"] * 3
    now[0] += gs.ASK_S + 1
    assert token.text() == "token 2"
    credentials.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=55)
    now[0] += gs.ASK_S + 1
    assert token.text() == "token 2"


def test_objects_are_asked_about_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=30)

    def head(name: str) -> tuple[int, str]:
        together.wait()
        return 1, '"t"'

    monkeypatch.setattr(S3, "head", head)
    names = [f"s3://side/{n}" for n in range(3)]
    assert [state.size for state in file_states(names).values()] == [1, 1, 1]
    for name in names:
        objects.forget(name)
