"""Files in stores of Google and Azure: the same answers as from the folder that a store serves, or one typed error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import jumpgate
from jumpgate.client import Dataflow, col, count, read, read_delta, read_iceberg, sum_
from jumpgate.client.session import Session
from jumpgate.client.writing import write_parquet
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, InvalidDataflow
from jumpgate.stores import objects, providers, settings
from tests.support.azure_store import ACCOUNT, AzureApp
from tests.support.azure_store import KEY as AZURE_KEY
from tests.support.google_store import TOKEN, Account, GoogleApp
from tests.support.object_store import ROWS, Store, table, write
from tests.support.upload_store import UploadStore

AZURE = f"abfss://lake@{ACCOUNT}.dfs.core.windows.net"
SUM = sum(n for n in range(ROWS) if n % 7)


@dataclass(frozen=True)
class Cloud:
    """A store with credentials. `settings` are its [[store]]; `other`: a name of the same object."""

    base: str
    other: str
    store: Store
    settings: settings.Store
    secrets: tuple[str, ...]

    def use(self, **other: Any) -> None:
        settings.configure([replace(self.settings, **other)])
        providers.of(self.base).forget()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("clouds")
    for name in ("all.parquet", "all.orc", "all.csv.gz", "all.json", "d e/a+b %é.parquet"):
        write(found / "lake" / name, table())
    for year in (2023, 2024):
        write(found / f"lake/hive.parquet/y={year}/part.parquet", table(year, 100))
    write_deltalake(found / "lake/delta", pa.table({"a": [1, 2, 3], "y": [1, 1, 2]}), partition_by=["y"])
    return found


def google(folder: Path) -> Iterator[Cloud]:
    account = Account()
    store = Store(folder, outer=lambda app: GoogleApp(app, account))
    file = folder / "account.json"
    file.write_text(account.file(store.endpoint))
    told = settings.Store("gs://lake", endpoint=store.endpoint, credentials_file=str(file))
    yield Cloud("gs://lake", "gcs://lake", store, told, (TOKEN, account.key.splitlines()[1]))
    store.close()


def azure(folder: Path) -> Iterator[Cloud]:
    store = Store(folder, outer=lambda app: AzureApp(app, folder))
    file = folder / "key"
    file.write_text(AZURE_KEY)
    told = settings.Store(AZURE, endpoint=f"{store.endpoint}/{ACCOUNT}", credentials_file=str(file))
    yield Cloud(AZURE, AZURE.replace("abfss", "abfs"), store, told, (AZURE_KEY, "sig="))
    store.close()


@pytest.fixture(scope="module", params=[google, azure], ids=lambda of: str(of.__name__))
def made(request: pytest.FixtureRequest, folder: Path) -> Iterator[Cloud]:
    yield from request.param(folder)


@pytest.fixture
def cloud(made: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent")  # asks no metadata server
    made.use()
    yield made
    made.store.before = lambda number: ""
    settings.configure([])
    providers.of(made.base).forget()


def flow(path: str) -> Dataflow:
    schema = {"a": "int64", "s": "string", "x": "float64"}
    return read(path, schema=schema, **({"null": "\\N"} if ".csv" in path else {}))


@pytest.mark.parametrize("name", ["all.parquet", "all.orc", "all.csv.gz", "all.json", "d e/a+b %é.parquet"])
def test_every_format_has_the_rows_of_its_file(local: Session, cloud: Cloud, name: str) -> None:
    for base in (cloud.base, cloud.other):
        found = local.run(flow(f"{base}/{name}").sort("x")).to_arrow()
        assert found.column("s").to_pylist() == table().column("s").to_pylist(), base


def test_folders_and_patterns(local: Session, cloud: Cloud) -> None:
    expected = [{"y": y, "n": 100, "m": sum(n / 8 for n in range(y, y + 100))} for y in (2023, 2024)]
    for path in ("hive.parquet", "hive.parquet/*/*.parquet", "hive*/y={2023,2024}/part.parquet"):
        whole = read(f"{cloud.base}/{path}").aggregate(by=["y"], n=count(), m=sum_("x")).sort("y")
        assert local.run(whole).to_pylist() == expected, path
    cloud.store.requests.clear()
    some = read(f"{cloud.base}/hive.parquet").filter(col("y") == 2024).aggregate(n=count(), t=sum_("x"))
    assert local.run(some).to_pylist() == [{"n": 100, "t": expected[1]["m"]}]
    assert not [path for method, path, range_ in cloud.store.requests if range_ and method == "GET" and "2023" in path][
        1:
    ]
    for missing in ("nothing.parquet", "nothing/*.parquet"):
        with pytest.raises(FileUnreadable, match="no object|no such object|no file below"):
            read(f"{cloud.base}/{missing}")


def test_sql_is_duckdbs_answer(cloud: Cloud, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = ("url", "endpoint", "credentials_file")
    lines = (f'{key} = "{getattr(cloud.settings, key)}"' for key in told)
    (tmp_path / "jumpgate.toml").write_text("\n".join(("[[store]]", *lines)))
    monkeypatch.setenv("JUMPGATE_CONFIG", str(tmp_path / "jumpgate.toml"))
    text = "select count(*) n, sum(a) t, max(s) m from t where x >= 1000 and s <> '' and a is not null"
    with jumpgate.connect() as connection, duckdb.connect() as reference:
        connection.register("t", f"{cloud.base}/all.parquet")
        reference.execute(f"create view t as from '{folder}/lake/all.parquet'")
        expected = reference.execute(text).fetchall()
        for offload in ("always", "auto"):
            found = connection.sql(text, offload=offload).to_arrow().to_pylist()
            assert [tuple(row.values()) for row in found] == expected, offload


def test_tables_with_logs(local: Session, cloud: Cloud, folder: Path) -> None:
    for found in (read_delta(f"{cloud.base}/delta"), read(f"{cloud.base}/delta")):
        assert local.run(found.sort("a")).to_pylist() == [{"a": 1, "y": 1}, {"a": 2, "y": 1}, {"a": 3, "y": 2}]
    with pytest.raises(InvalidDataflow, match="is a table of Delta"):
        read(f"{cloud.base}/delta/*/*.parquet")
    catalog = SqlCatalog(
        "c", uri=f"sqlite:///{folder}/{cloud.base[:2]}.db", warehouse=f"{cloud.base}/ice", folder=str(folder / "lake"),
        base=cloud.base, **{"py-io-impl": "tests.support.mirrored.Mirrored"},
    )  # fmt: skip
    catalog.create_namespace("n")
    made = catalog.create_table("n.t", pa.schema([("a", pa.int64())]))
    made.append(pa.table({"a": [1, 2]}))
    made.append(pa.table({"a": [3]}))
    for of in (made.metadata_location, made):
        assert local.run(read_iceberg(of).sort("a")).to_pylist() == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_an_object_that_changes_while_it_is_read_is_an_error(local: Session, cloud: Cloud, folder: Path) -> None:
    path = folder / "lake/changing.parquet"
    write(path, table())
    before = read(f"{cloud.base}/changing.parquet").aggregate(n=count(), t=sum_("a"))
    changed: list[int] = []

    def replaced(number: int) -> str:
        if cloud.store.requests[-1][0] == "GET" and number > start + 2 and not changed:
            changed.append(number)
            write(path, table(1, ROWS - 1))
        return ""

    start = len(cloud.store.requests)
    cloud.store.before = replaced
    with pytest.raises(FileChanged, match=r"changing\.parquet.*(replaced|cut).*run the query again"):
        local.run(before).to_pylist()
    again = local.run(read(f"{cloud.base}/changing.parquet").aggregate(n=count())).to_pylist()
    assert again == [{"n": ROWS - 1}] and changed


@pytest.mark.parametrize("seed", range(3))
def test_a_store_that_fails_now_and_then_is_asked_again(local: Session, cloud: Cloud, seed: int) -> None:
    kinds = ("cut", "busy", "lost")
    start = len(cloud.store.requests)
    cloud.store.before = lambda number: kinds[(number + seed) % 3] if (number - start) * 7 % 3 == seed else ""
    for name in ("all.parquet", "all.csv.gz"):
        found = local.run(flow(f"{cloud.base}/{name}").aggregate(n=count(), t=sum_("a"))).to_pylist()
        assert found == [{"n": ROWS, "t": SUM}], name


def test_wrong_credentials_and_missing_ones(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{cloud.base}/all.parquet"
    (tmp_path / "wrong").write_text("d3Jvbmc=" if cloud.base == AZURE else Account().file(cloud.store.endpoint))
    cloud.use(credentials_file=str(tmp_path / "wrong"))
    with pytest.raises((Forbidden, FileUnreadable), match="refuses these credentials|there are no credentials"):
        read(name)
    for lacking in ({"credentials_file": str(tmp_path / "nothing")}, {"anonymous": True, "credentials_file": ""}):
        cloud.use(**lacking)
        with pytest.raises((Forbidden, FileUnreadable), match="credentials"):
            read(name)
    cloud.use(endpoint="http://192.0.2.1:9")
    with pytest.raises(Forbidden, match="insecure = true"):
        read(name)


def test_secrets_are_in_nothing_that_people_see(local: Session, cloud: Cloud) -> None:
    asked = flow(f"{cloud.base}/all.parquet").aggregate(n=count())
    result = local.run(asked)
    assert result.to_pylist() == [{"n": ROWS}]
    grant = objects.grant(f"{cloud.base}/all.parquet")
    shown = json.dumps(local.describe(result.job).record, default=str) + str(local.explain(asked)) + repr(grant)
    assert "all.parquet" in shown
    assert not [word for word in cloud.secrets if word in shown]
    assert any(word in grant.url + grant.authorization for word in cloud.secrets)


def uploading(cloud: Cloud, tmp_path: Path) -> tuple[Callable[[], list[str]], Callable[[str], None], Callable[[], Any]]:
    """Return what lists the objects of a store that takes uploads, what refuses to complete those, and what is left of
    uploads."""
    if cloud.base == AZURE:
        (tmp_path / "lake").mkdir()
        store = Store(tmp_path, outer=lambda app: AzureApp(app, tmp_path))
        cloud.use(endpoint=f"{store.endpoint}/{ACCOUNT}")
        files = lambda: sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file())  # noqa: E731
        return files, lambda name: setattr(store.app, "refused", f"/lake/{name}"), list
    other = UploadStore(tmp_path)
    cloud.use(endpoint=other.endpoint, anonymous=True)

    def refuse(name: str) -> None:
        other.before = lambda method, path: (
            403 if method == "POST" and path.startswith(f"/lake/{name}") and other.uploads else 0
        )

    return lambda: other.objects, refuse, lambda: other.uploads


def test_results_are_written_all_or_nothing(cloud: Cloud, tmp_path: Path) -> None:
    objects_, refuse, left = uploading(cloud, tmp_path)
    content = pa.table({"a": [1, 2, 3], "y": [1, 1, 2]})

    def write_it(target: str, **how: Any) -> None:
        write_parquet(content.to_batches(), content.schema, f"{cloud.base}/{target}", **how)

    write_it("one.parquet")
    write_it("parts", partition_by=("y",))
    done = ["lake/one.parquet", "lake/parts/y=1/part-0.parquet", "lake/parts/y=2/part-0.parquet"]
    assert objects_() == done and not left()
    assert pq.read_table(tmp_path / done[0]).equals(content)
    with pytest.raises(InvalidDataflow, match="has objects"):
        write_it("parts", partition_by=("y",))
    refuse("more/y=2")
    with pytest.raises(Forbidden, match="refuses these credentials"):
        write_it("more", partition_by=("y",))
    assert objects_() == done and not left()


@pytest.mark.parametrize("name", ["abfss://c@evil.example.org/k", "abfss://c@a.dfs.core.windows.net.example.org/k"])
def test_no_other_host_is_told_a_credential(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.configure([])
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "a")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=secret")
    with pytest.raises(InvalidDataflow, match="is no account of Azure"):
        read(name)


def test_azures_environment_is_for_its_account(monkeypatch: pytest.MonkeyPatch) -> None:
    settings.configure([])
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=mine;SharedAccessSignature=sv=1&sig=secret")
    signed = [providers.of(name).signed(name, 60)[0] for name in (
        "abfss://c@mine.dfs.core.windows.net/a b", "abfss://c/a b")]  # fmt: skip
    assert signed == ["https://mine.blob.core.windows.net/c/a%20b?sv=1&sig=secret"] * 2
    monkeypatch.setattr("jumpgate.stores.azure._default", lambda: pytest.fail("the directory is asked"))
    with pytest.raises(pytest.fail.Exception, match="the directory is asked"):
        providers.of("abfss://c@other.dfs.core.windows.net/k").signed("abfss://c@other.dfs.core.windows.net/k", 60)


def test_a_request_brings_its_own_credentials(local: Session, cloud: Cloud, folder: Path) -> None:
    name = f"{cloud.base}/all.parquet"
    token = TOKEN if cloud.base.startswith("gs:") else providers.of(name).signed(name, 600)[0].partition("?")[2]
    whole = flow(name).aggregate(n=count())
    cloud.use(credentials_file="/nonexistent")
    objects.forget(name)
    with Session(local.address, credentials={name: {"token": token}}) as session:
        result = session.run(whole)
        assert result.to_pylist() == [{"n": ROWS}]
        assert token not in json.dumps(session.describe(result.job).record, default=str)
        assert session.read(name).schema.names == ("a", "s", "x")
    with Session(local.address, credentials={name: {"token": "sig=another"}}) as session:
        with pytest.raises(Forbidden, match="the store refuses these credentials") as caught:
            session.run(whole)
        assert "another" not in str(caught.value)
    with pytest.raises(FileUnreadable):
        local.run(whole).to_pylist()
