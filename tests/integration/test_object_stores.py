"""Files in stores: the same answers as from the folder that a store serves, or one typed error."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import Dataflow, col, count, max_, read, sum_
from jumpgate.client.session import Session
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, InvalidDataflow
from jumpgate.trust import certificates
from tests.support.object_store import KEY, ROWS, SECRET, Store, credentials, table, write

without_asan = pytest.mark.skipif(
    os.environ.get("JUMPGATE_RUNTIME_VARIANT") == "asan",
    reason="ASan refuses RTLD_DEEPBIND, which keeps libcrypto from calling into libparquet's copy of OpenSSL",
)
#: names of files in the bucket, by the format that DuckDB reads them as
FILES = {
    "all.parquet": "parquet",
    "all.orc": "",
    "all.csv": "csv",
    "all.csv.gz": "csv",
    "all.json": "json",
    "all.json.gz": "json",
    "none.parquet": "parquet",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("stores")
    for name in FILES:
        write(found / "lake" / name, table() if name.startswith("all") else table().slice(0, 0))
    for year in (2023, 2024):
        write(found / f"lake/hive/y={year}/part.parquet", table(year, 100))
    write(found / "lake/delta/part.parquet", table(0, 10))
    (found / "lake/delta/_delta_log").mkdir()
    (found / "lake/delta/_delta_log/00000000000000000000.json").write_text("{}")
    write(found / "lake/ice/data/part.parquet", table(0, 10))
    (found / "lake/ice/metadata").mkdir()
    (found / "lake/ice/metadata/v1.metadata.json").write_text("{}")
    return found


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Store]:
    """A store with credentials."""
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    with credentials(found.endpoint):
        yield found
    found.close()


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[Store]:
    """The same folder on a server without credentials."""
    found = Store(folder)
    yield found
    found.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an authority for certificates, which alone is believed."""
    found = tmp_path_factory.mktemp("authority")
    certificates.init(found)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR"):
            patch.delenv(name, raising=False)
        patch.setenv("SSL_CERT_FILE", str(found / "ca.pem"))
        yield found


@pytest.fixture
def spoiled(store: Store) -> Iterator[Store]:
    yield store
    store.before = lambda number: ""


SCHEMA = {"a": "int64", "s": "string", "x": "float64"}


def flow(path: str) -> Dataflow:
    return read(path, schema=SCHEMA, **({"null": "\\N"} if ".csv" in path else {}))


@pytest.mark.parametrize("name", FILES)
def test_every_format_has_the_rows_of_its_file(
    local: Session, store: Store, web: Store, folder: Path, name: str
) -> None:
    here = local.run(flow(str(folder / "lake" / name)).sort("x")).to_arrow()
    expected = table() if name.startswith("all") else table().slice(0, 0)
    assert here.num_rows == expected.num_rows and here.column("s").to_pylist() == expected.column("s").to_pylist()
    for path in (f"s3://lake/{name}", f"{web.endpoint}/lake/{name}"):
        assert local.run(flow(path).sort("x")).to_arrow().equals(here), path
        few = flow(path).filter((col("x") >= 100) & (col("x") < 101)).aggregate(n=count(), t=sum_("a"), m=max_("s"))
        assert local.run(few).to_pylist() == local.run(
            flow(str(folder / "lake" / name)).filter((col("x") >= 100) & (col("x") < 101)).aggregate(
                n=count(), t=sum_("a"), m=max_("s"))
        ).to_pylist()  # fmt: skip


def test_patterns_folders_and_values_in_names(local: Session, store: Store) -> None:
    for path in ("s3a://lake/hive", "s3://lake/hive/", "s3://lake/hive/*/*.parquet", "s3n://lake/h*/**/p?rt.parquet",
                 "s3://lake/hive/y={2023,2024}/part.parquet"):  # fmt: skip
        found = local.run(read(path).aggregate(by=["y"], n=count(), m=max_("x")).sort("y")).to_pylist()
        assert found == [{"y": y, "n": 100, "m": (y + 99) / 8} for y in (2023, 2024)], path
    with pytest.raises(FileUnreadable, match="no object 's3://lake/nothing/\\*.parquet'|no such object"):
        read("s3://lake/nothing/*.parquet")
    with pytest.raises(FileUnreadable, match="no such bucket"):
        read("s3://nowhere/a.parquet")


@pytest.mark.parametrize(("name", "kind"), [("delta", "Delta"), ("ice", "Iceberg")])
def test_tables_with_a_log_are_refused_wherever_they_are(
    local: Session, store: Store, folder: Path, name: str, kind: str
) -> None:
    for path in (f"s3://lake/{name}", f"s3://lake/{name}/**/p*.parquet", str(folder / "lake" / name)):
        with pytest.raises(InvalidDataflow, match=f"is a table of {kind}"):
            local.read(path)
        if kind == "Delta" and "*" not in path:  # which the client reads: test_lakes
            continue
        with pytest.raises(InvalidDataflow, match=f"is a table of {kind}"):
            read(path)
        with jumpgate.connect() as connection, pytest.raises(InvalidDataflow, match=f"is a table of {kind}"):
            connection.register("t", path)


def test_sql_over_objects_is_duckdbs_answer(store: Store, folder: Path) -> None:
    text = "select count(*) n, sum(a) t, max(s) m from t where x >= 1000 and s <> '' and a is not null"
    with jumpgate.connect() as connection, duckdb.connect() as reference:
        for name in ("all.parquet", "all.csv", "all.json"):
            options = {"null": "\\N"} if name.endswith("csv") else {}
            connection.register("t", f"s3://lake/{name}", **options)
            reference.execute(f"create or replace view t as from '{folder}/lake/all.parquet'")
            expected = reference.execute(text).fetchall()
            for offload in ("always", "auto"):
                found = connection.sql(text, offload=offload).to_arrow().to_pylist()
                assert [tuple(row.values()) for row in found] == expected, (name, offload)


def test_a_query_of_few_columns_asks_little(local: Session, store: Store, folder: Path) -> None:
    name = folder / "lake/wide.parquet"
    pq.write_table(pa.table({f"c{i}": pa.array(range(i, i + 400_000)) for i in range(8)}), name, row_group_size=100_000,
                   compression="none", use_dictionary=False)  # fmt: skip
    narrow = read("s3://lake/wide.parquet").filter(col("c0") >= 350_000).aggregate(n=count(), t=sum_("c1"))
    store.requests.clear()
    assert local.run(narrow).to_pylist() == [{"n": 50_000, "t": sum(range(350_001, 400_001))}]
    data = [r for r in store.requests if r[0] == "GET" and r[2]]
    fetched = sum(int(b) - int(a) + 1 for _, _, r in data for a, b in [r.removeprefix("bytes=").split("-")])
    assert fetched < 2.5 * 8 * 100_000, data  # of two columns one of four row groups
    assert len(data) <= 6, data


def test_an_object_that_changes_after_the_plan_is_an_error(local: Session, store: Store, folder: Path) -> None:
    path = folder / "lake/changing.parquet"
    write(path, table())
    before = read("s3://lake/changing.parquet").aggregate(n=count(), t=sum_("a"))
    store.requests.clear()

    def replaced(number: int) -> str:
        if store.requests[-1][0] == "GET" and number > 2 and not changed:
            changed.append(number)
            write(path, table(1, ROWS - 1))
        return ""

    changed: list[int] = []
    store.before = replaced
    try:
        with pytest.raises(FileChanged, match=r"changing\.parquet.*(replaced|cut).*run the query again"):
            local.run(before).to_pylist()
    finally:
        store.before = lambda number: ""
    again = local.run(read("s3://lake/changing.parquet").aggregate(n=count())).to_pylist()
    assert again == [{"n": ROWS - 1}] and changed


def test_an_object_of_another_size_is_another_version(local: Session, store: Store) -> None:
    before = read("s3://lake/all.parquet").aggregate(t=sum_("x"))
    store.before = lambda number: "grown" if store.requests[-1][2] else ""
    try:
        with pytest.raises(FileChanged, match=r"all\.parquet.*replaced.*run the query again"):
            local.run(before).to_pylist()
    finally:
        store.before = lambda number: ""


@pytest.mark.parametrize("seed", range(6))
def test_a_store_that_fails_now_and_then_is_asked_again(local: Session, spoiled: Store, seed: int) -> None:
    kinds = ("cut", "busy", "lost")
    spoiled.before = lambda number: kinds[(number + seed) % 3] if (number * 7 + seed) % 3 == 0 else ""
    for name in ("all.parquet", "all.csv", "all.json.gz"):
        found = local.run(flow(f"s3://lake/{name}").aggregate(n=count(), t=sum_("a"))).to_pylist()
        assert found == [{"n": ROWS, "t": sum(n for n in range(ROWS) if n % 7)}], name


def test_a_store_that_always_fails_is_one_error(
    local: Session, spoiled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = flow("s3://lake/all.parquet").aggregate(n=count())
    assert local.run(planned).to_pylist() == [{"n": ROWS}]
    spoiled.before = lambda number: "cut" if spoiled.requests[-1][2] else ""
    monkeypatch.setattr("jumpgate.stores.web.PAUSE_S", 0.001)
    with pytest.raises((FileUnreadable, FileChanged), match=r"all\.parquet"):
        local.run(flow("s3://lake/all.parquet").aggregate(t=sum_("a"))).to_pylist()


def test_headers_may_be_repeated(local: Session, spoiled: Store) -> None:
    spoiled.before = lambda number: "wordy"
    assert local.run(flow("s3://lake/all.parquet").aggregate(n=count())).to_pylist() == [{"n": ROWS}]
    assert local.run(flow("s3://lake/all.csv").aggregate(n=count())).to_pylist() == [{"n": ROWS}]


def test_wrong_credentials_are_refused(store: Store) -> None:
    for key, secret in (("AKIAOTHER", SECRET), (KEY, "wrong")):
        with credentials(store.endpoint, key, secret), pytest.raises(Forbidden, match="refuses these credentials"):
            read("s3://lake/all.parquet")


@without_asan
def test_https_has_the_same_answers(folder: Path, authority: Path) -> None:
    certificate = certificates.issue(authority, "store", ["localhost"])
    with Session() as session, contextlib.ExitStack() as stores:
        s3, web = (Store(folder, certificate, **keys) for keys in ({"access_key": KEY, "secret_key": SECRET}, {}))
        stores.callback(s3.close)
        stores.callback(web.close)
        stores.enter_context(credentials(s3.endpoint))
        for name in ("all.parquet", "all.csv", "all.json.gz", "all.orc"):
            for path in (f"s3://lake/{name}", f"{web.endpoint}/lake/{name}"):
                found = session.run(flow(path).sort("x")).to_arrow()
                assert found.column("s").to_pylist() == table().column("s").to_pylist(), path
        s3.before = web.before = lambda number: ("cut", "busy", "lost")[number % 3] if number % 2 else ""
        for path in ("s3://lake/all.csv", f"{web.endpoint}/lake/all.csv"):
            assert session.run(flow(path).aggregate(n=count(), m=max_("x"))).to_pylist() == [
                {"n": ROWS, "m": (ROWS - 1) / 8}
            ]


@without_asan
@pytest.mark.parametrize(
    ("hosts", "days", "why"),
    [(["example.org"], 1, "Hostname mismatch"), (["localhost"], -0.02, "has expired"),
     (["localhost"], 0, "unable to get local issuer")],
)  # fmt: skip
def test_a_wrong_certificate_is_one_error(
    local: Session, folder: Path, authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    hosts: list[str], days: float, why: str,
) -> None:  # fmt: skip
    other = tmp_path / "other"
    certificates.init(other)
    certificate = certificates.issue(authority if days else other, f"wrong {why}", hosts, days or 1)  # type: ignore[arg-type]
    web = Store(folder, certificate)
    try:
        with pytest.raises(FileUnreadable, match=f"certificate of its server is not accepted: .*{why}"):
            read(f"{web.endpoint}/lake/all.parquet")
        if not days:  # the planner believes it, the instances do not
            monkeypatch.setenv("SSL_CERT_FILE", str(other / "ca.pem"))
            with pytest.raises(FileUnreadable, match=r"all\.parquet.*TLS: .*certificate verify failed"):
                local.run(flow(f"{web.endpoint}/lake/all.parquet").aggregate(n=count())).to_pylist()
    finally:
        web.close()


def test_secrets_are_in_nothing_that_people_see(local: Session, store: Store) -> None:
    result = local.run(flow("s3://lake/all.parquet").aggregate(n=count()))
    assert result.to_pylist() == [{"n": ROWS}]
    record = local.describe(result.job).record
    shown = json.dumps(record, default=str) + str(local.explain(flow("s3://lake/all.parquet")))
    assert "all.parquet" in shown
    assert not [word for word in (SECRET, "X-Amz-Signature", "X-Amz-Credential", KEY) if word in shown]
