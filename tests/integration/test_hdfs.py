"""Files of HDFS by WebHDFS and HttpFS: the same answers as from the folder that a cluster has, or one typed error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import jumpgate
from jumpgate.client import Dataflow, col, count, read, read_delta, read_iceberg, sum_
from jumpgate.client.session import Session
from jumpgate.client.writing import write_parquet
from jumpgate.dataflow.file_state import file_state
from jumpgate.dataflow.substrait import from_plan, to_plan
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, InvalidDataflow, JumpgateError
from jumpgate.stores import objects, providers, reading, settings
from tests.support.hdfs_store import TOKEN, Asked, Cluster
from tests.support.object_store import ROWS, table, write

BASE = "hdfs://nameservice"
SUM = sum(n for n in range(ROWS) if n % 7)
AWKWARD = "d e/a+b %é=1&x.parquet"
#: clusters by what is special of them
KINDS: dict[str, dict[str, Any]] = {"WebHDFS": {}, "HttpFS": {"is_httpfs": True}, "token": {"token": True}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("hdfs")
    for name in ("all.parquet", "all.orc", "all.csv", "all.csv.gz", "all.json", AWKWARD):
        write(found / "lake" / name, table())
    for year in (2023, 2024):
        write(found / f"lake/hive/y={year}/part.parquet", table(year, 100))
    for hidden in ("_temporary/part.parquet", ".part.parquet"):
        write(found / "lake/hive" / hidden, table(0, 10))
    (found / "lake/delta/_delta_log").mkdir(parents=True)
    (found / "lake/delta/_delta_log/00000000000000000000.json").write_text("{}")
    write(found / "lake/delta/part.parquet", table(0, 10))
    (found / "token").write_text(f"{TOKEN}\n")
    return found


@pytest.fixture(scope="module")
def clusters(folder: Path) -> Iterator[dict[str, Cluster]]:
    found = {kind: Cluster(folder, **how) for kind, how in KINDS.items()} | {"pair": Cluster(folder, namenodes=2)}
    yield found
    for cluster in found.values():
        cluster.close()


@pytest.fixture
def use(clusters: dict[str, Cluster], folder: Path) -> Iterator[Callable[..., Cluster]]:
    """Make names lead to one of the clusters."""

    def used(kind: str, **other: Any) -> Cluster:
        own = {"credentials_file": str(folder / "token")} if kind == "token" else {"user": "reader"}
        settings.configure([settings.Store(BASE, endpoint=clusters[kind].endpoint, **{**own, **other})])
        providers.of(BASE).forget()
        for _, name in list(objects._known):
            objects.forget(name)
        return clusters[kind]

    yield used
    settings.configure([])
    for cluster in clusters.values():
        cluster.before = lambda asked: ""
        cluster.requests.clear()


def flow(path: str) -> Dataflow:
    schema = {"a": "int64", "s": "string", "x": "float64"}
    return read(path, schema=schema, **({"null": "\\N"} if ".csv" in path else {}))


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_the_rows_of_its_file(local: Session, use: Callable[..., Cluster], kind: str) -> None:
    cluster = use(kind)
    for name in ("all.parquet", "all.orc", "all.csv", "all.csv.gz", "all.json", AWKWARD):
        found = local.run(flow(f"{BASE}/lake/{name}").sort("x")).to_arrow()
        assert found.column("s").to_pylist() == table().column("s").to_pylist(), name
    assert {asked.who for asked in cluster.requests} == {TOKEN if kind == "token" else "reader"}
    kinds = {asked.server.split()[0] for asked in cluster.requests if asked.op == "OPEN"}
    assert kinds == ({"httpfs"} if kind == "HttpFS" else {"namenode", "datanode"})


def test_folders_and_patterns(local: Session, use: Callable[..., Cluster]) -> None:
    cluster = use("WebHDFS")
    expected = [{"y": y, "n": 100, "m": sum(n / 8 for n in range(y, y + 100))} for y in (2023, 2024)]
    for path in ("lake/hive", "lake/hive/y=*/*.parquet", "lake/h*/y={2023,2024}/part.parquet", "*/hive/y=*/*.parquet"):
        whole = read(f"{BASE}/{path}").aggregate(by=["y"], n=count(), m=sum_("x")).sort("y")
        assert local.run(whole).to_pylist() == expected, path
    cluster.requests.clear()
    some = read(f"{BASE}/lake/hive").filter(col("y") == 2024).aggregate(n=count(), t=sum_("x"))
    assert local.run(some).to_pylist() == [{"n": 100, "t": expected[1]["m"]}]
    for missing in ("lake/nothing.parquet", "lake/nothing/*.parquet", "nothing"):
        with pytest.raises(FileUnreadable, match="no object|no such object|no file below"):
            read(f"{BASE}/{missing}")


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_sql_is_duckdbs_answer(
    use: Callable[..., Cluster], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    cluster = use("pair")
    lines = [f'url = "{BASE}"', f'endpoint = "{cluster.endpoint}"', 'user = "reader"']
    (tmp_path / "jumpgate.toml").write_text("\n".join(("[[store]]", *lines)))
    monkeypatch.setenv("JUMPGATE_CONFIG", str(tmp_path / "jumpgate.toml"))
    text = "select count(*) n, sum(a) t, max(s) m from t where x >= 1000 and s <> '' and a is not null"
    options = {"null": "\\N"} if format == "csv" else {}
    with jumpgate.connect() as connection, duckdb.connect() as reference:
        connection.register("t", f"{BASE}/lake/all.{format}", **options)
        call = {"parquet": "read_parquet('{}')", "csv": "read_csv('{}', nullstr='\\N')", "json": "read_json('{}')"}
        reference.execute(f"create view t as from {call[format].format(folder / f'lake/all.{format}')}")
        expected = reference.execute(text).fetchall()
        for offload in ("always", "auto"):
            found = connection.sql(text, offload=offload).to_arrow().to_pylist()
            assert [tuple(row.values()) for row in found] == expected, offload


def test_a_plan_of_substrait_reads_it(local: Session, use: Callable[..., Cluster]) -> None:
    use("WebHDFS")
    asked = flow(f"{BASE}/lake/{AWKWARD}").aggregate(n=count(), t=sum_("a"))
    assert local.run(Dataflow(from_plan(to_plan(asked.root), {}))).to_pylist() == [{"n": ROWS, "t": SUM}]


def test_a_table_of_iceberg(local: Session, use: Callable[..., Cluster], folder: Path) -> None:
    use("WebHDFS")
    catalog = SqlCatalog(
        "c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"{BASE}/ice", folder=str(folder), base=BASE,
        **{"py-io-impl": "tests.support.mirrored.Mirrored"},
    )  # fmt: skip
    catalog.create_namespace("n")
    made = catalog.create_table("n.t", pa.schema([("a", pa.int64())]))
    made.append(pa.table({"a": [1, 2]}))
    for of in (made.metadata_location, made):
        assert local.run(read_iceberg(of).sort("a")).to_pylist() == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_hosts_begin_with_what_is_on_their_disks(
    four_hosts: str, use: Callable[..., Cluster], folder: Path, format: str
) -> None:
    """There are no more files than hosts, so nothing is taken over: each reads the file whose block it has."""
    cluster = use("WebHDFS")
    own = {f"host{4 - part}": 100 * (part + 1) for part in range(4)}
    for part, (host, rows) in enumerate(own.items()):
        write(folder / f"near/{format}/{part}.{format}", table(0, rows))
        cluster.places[f"/near/{format}/{part}.{format}"] = [host]
    expected = sum(n for rows in own.values() for n in range(rows) if n % 7)
    with Session(four_hosts, parallelism=4) as session:
        found = session.run(flow(f"{BASE}/near/{format}/*.{format}").aggregate(s=sum_("a"))).to_pylist()
        assert found == [{"s": expected}]
        record = session.describe(session.jobs()[0].id).record
    assert record is not None
    hosts = {i["id"]: i["device"] for f in record["explain"]["fragments"].values() for i in f["instances"]}
    sources = [(hosts[i], c["sources"][0]) for i, c in record["counters"].items()]
    assert {host: source["rows"] for host, source in sources if source.get("shares")} == own
    cluster.places.clear()  # a namenode that does not tell costs no query


def once(kind: str, server: str, times: int = 1) -> Callable[[Asked], str]:
    """Return what spoils so many answers to OPEN."""
    left = [kind] * times
    return lambda asked: left.pop() if left and asked.op == "OPEN" and asked.server.startswith(server) else ""


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("WebHDFS", once("lost", "datanode", 3)),
        ("WebHDFS", once("cut", "datanode", 3)),
        ("WebHDFS", once("short", "datanode", 2)),
        ("WebHDFS", once("SafeModeException", "namenode", 2)),
        ("HttpFS", once("cut", "httpfs", 3)),
        ("pair", lambda asked: "StandbyException" if asked.server == "namenode 0" else ""),
        ("pair", lambda asked: "lost" if asked.server == "namenode 0" else ""),
    ],
    ids=["lost", "cut", "short", "safe mode", "HttpFS", "standby", "dead namenode"],
)
def test_what_passes_is_asked_again(
    local: Session, use: Callable[..., Cluster], kind: str, before: Callable[[Asked], str]
) -> None:
    use(kind).before = before
    for name in ("all.parquet", "all.csv"):
        found = local.run(flow(f"{BASE}/lake/{name}").aggregate(n=count(), t=sum_("a"))).to_pylist()
        assert found == [{"n": ROWS, "t": SUM}], name


def test_a_dead_datanode_is_passed_over(local: Session, use: Callable[..., Cluster]) -> None:
    cluster = use("WebHDFS")
    cluster.before = lambda asked: "lost" if asked.server == "datanode 0" else ""
    for _ in range(2):
        cluster.requests.clear()
        found = local.run(flow(f"{BASE}/lake/all.parquet").aggregate(n=count(), t=sum_("a"))).to_pylist()
        assert found == [{"n": ROWS, "t": SUM}]
    asked = [asked.server for asked in cluster.requests]
    assert asked.count("datanode 0") <= 16 and "datanode 1" in asked


def test_a_file_that_changes_while_it_is_read_is_an_error(
    local: Session, use: Callable[..., Cluster], folder: Path
) -> None:
    cluster = use("WebHDFS")
    path = folder / "lake/changing.csv"
    write(path, table())
    before = flow(f"{BASE}/lake/changing.csv").aggregate(n=count(), t=sum_("a"))
    changed: list[Asked] = []

    def replaced(asked: Asked) -> str:
        if asked.server.startswith("datanode") and not changed:
            changed.append(asked)
            path.write_bytes(path.read_bytes().replace(b"s1", b"t2"))  # as long as before
        return ""

    file_state(f"{BASE}/lake/changing.csv")
    cluster.before = replaced
    with pytest.raises(FileChanged, match=r"changing\.csv.*replaced.*run the query again"):
        local.run(before).to_pylist()
    again = flow(f"{BASE}/lake/changing.csv").aggregate(n=count(), t=sum_("a"))
    assert local.run(again).to_pylist() == [{"n": ROWS, "t": SUM}] and changed


@pytest.mark.parametrize(
    ("mischief", "error", "message"),
    [
        ("kerberos", Forbidden, "asks for Kerberos .SPNEGO.*credentials_file"),
        ("AccessControlException", Forbidden, "HDFS refuses its user"),
        ("InvalidToken", Forbidden, "refuses these credentials .InvalidToken"),
        ("FileNotFoundException", FileUnreadable, "no object"),
        ("StandbyException", FileUnreadable, "no namenode serves it.*active namenode"),
        ("SafeModeException", FileUnreadable, "safe mode"),
        ("IOException", FileUnreadable, "answers 403 .IOException"),
    ],
)
def test_refusals_are_typed_errors(
    use: Callable[..., Cluster],
    monkeypatch: pytest.MonkeyPatch,
    mischief: str,
    error: type[JumpgateError],
    message: str,
) -> None:
    monkeypatch.setattr("jumpgate.stores.web.PAUSE_S", 0.001)
    use("WebHDFS").before = lambda asked: mischief
    with pytest.raises(error, match=message) as found:
        read(f"{BASE}/lake/all.parquet")
    assert "secret of others" not in str(found.value)


def test_a_reader_without_the_right_is_told_in_the_run(local: Session, use: Callable[..., Cluster]) -> None:
    cluster = use("WebHDFS")
    asked = flow(f"{BASE}/lake/all.csv").aggregate(n=count())
    cluster.before = lambda asked: "AccessControlException" if asked.op == "OPEN" else ""
    with pytest.raises(FileUnreadable, match=r"all\.csv.*HDFS refuses it .AccessControlException"):
        local.run(asked).to_pylist()


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1:1/latest/meta-data",  # another file
        "https://127.0.0.1:1/webhdfs/v1/lake/all.csv",  # another protocol
        "http://192.0.2.1:1/webhdfs/v1/lake/all.csv",  # an open network
        "nowhere",
    ],
)
def test_a_namenode_leads_to_datanodes_only(local: Session, use: Callable[..., Cluster], to: str) -> None:
    use("WebHDFS").before = lambda asked: to if asked.op == "OPEN" and asked.server.startswith("namenode") else ""
    with pytest.raises(FileUnreadable, match="leads to what may not be followed"):
        local.run(flow(f"{BASE}/lake/all.csv").aggregate(n=count())).to_pylist()
    with pytest.raises((FileUnreadable, Forbidden), match="may not be followed|insecure = true"):
        reading.opened(f"{BASE}/lake/all.csv").read(1)


def test_secrets_are_in_nothing_that_people_see(local: Session, use: Callable[..., Cluster]) -> None:
    use("token")
    asked = flow(f"{BASE}/lake/all.parquet").aggregate(n=count())
    result = local.run(asked)
    assert result.to_pylist() == [{"n": ROWS}]
    grant = objects.grant(f"{BASE}/lake/all.parquet")
    shown = json.dumps(local.describe(result.job).record, default=str) + str(local.explain(asked)) + repr(grant)
    assert "all.parquet" in shown and "KAAEcm" not in shown and "KAAEcm" in grant.url
    use("token", credentials_file="", user="somebody")
    with pytest.raises(Forbidden, match="Kerberos") as found:
        read(f"{BASE}/lake/all.parquet")
    assert "KAAEcm" not in str(found.value)


def test_what_is_not_done_is_refused_by_name(use: Callable[..., Cluster], tmp_path: Path) -> None:
    use("WebHDFS")
    content = table(0, 1)
    with pytest.raises(InvalidDataflow, match="is on HDFS, which is only read"):
        write_parquet(content.to_batches(), content.schema, f"{BASE}/lake/new.parquet")
    with pytest.raises(InvalidDataflow, match="deltalake does not read"):
        read_delta(f"{BASE}/lake/delta")
    with pytest.raises(InvalidDataflow, match="is a table of Delta"):
        read(f"{BASE}/lake/delta/*.parquet")
    with pytest.raises(InvalidDataflow, match=r"viewfs:// is not read.*mount table"):
        read("viewfs://cluster/t.parquet")
    for wrong in ("hdfs:///lake/all.parquet", "hdfs://me@nameservice/lake/all.parquet"):
        with pytest.raises(InvalidDataflow, match="no namenode"):
            read(wrong)
    settings.configure([])
    with pytest.raises(Forbidden, match="read from http://elsewhere.*insecure = true"):
        read("hdfs://elsewhere:8020/t.parquet")
    with pytest.raises(Forbidden, match="read from http://other.*insecure = true"):
        settings.configure([settings.Store(BASE, endpoint="http://127.0.0.1:1, http://other:9870")])
        read(f"{BASE}/lake/all.parquet")


def test_a_request_brings_its_own_token(local: Session, use: Callable[..., Cluster]) -> None:
    """Listings on several threads, statuses, footers and reads all name who asks."""
    use("token")
    whole = flow(f"{BASE}/lake/all.parquet").aggregate(n=count())
    cluster = use("token", credentials_file="/nonexistent")
    mine, other = ({BASE: {"token": token}} for token in (TOKEN, "KAAEsomebody+else"))
    with Session(local.address, credentials=mine) as session:
        cluster.requests.clear()
        assert session.run(whole).to_pylist() == [{"n": ROWS}]
        assert session.run(session.read(f"{BASE}/lake/hive").aggregate(n=count())).to_pylist() == [{"n": 200}]
        assert {asked.who for asked in cluster.requests} == {TOKEN}
    with Session(local.address, credentials=other) as session, pytest.raises(Forbidden) as caught:
        session.run(whole)
    assert "somebody" not in str(caught.value)
    with pytest.raises(FileUnreadable, match="credentials_file cannot be read"):
        local.run(whole).to_pylist()
