"""Credentials of stores that requests bring: each job reads with its own rights, and nobody's serve another.

A and B are users of a store, beside the service's own identity. Of everything that is remembered by an object's name
there is a test in which who may not read it asks for the same after who may.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import jumpgate
from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.converters import probe
from jumpgate.dataflow.file_state import file_state
from jumpgate.dataflow.request import Request
from jumpgate.errors import FileUnreadable, Forbidden, InvalidDataflow, JumpgateError
from jumpgate.hosts.config import ClientConfig, Config, local_hosts, parse
from jumpgate.lakes.objects_io import ObjectsIO
from jumpgate.service import embedded
from jumpgate.service.facade import Call
from jumpgate.service.guard import Client
from jumpgate.service.server import _is_private
from jumpgate.stores import chunks, indexes, objects, placement, settings
from jumpgate.stores import credentials as stores_credentials
from jumpgate.stores.credentials import Secret, checked, used
from jumpgate.stores.settings import Store as StoreSettings
from jumpgate.trust import tokens
from tests.support.upload_store import UploadStore
from tests.support.users_store import User, UsersStore, users_store

SCHEMA = {"a": "int64", "s": "string"}
ROWS = 1000


class Shop:
    """A store with users, and a service whose own identity is one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = User("OWNKEY", "own-secret/1", reads=["lake/own/", "lake/all/"], lists=["lake/"])
        self.a = User("AKEY", "a-secret/2", "a+token/2==", reads=["lake/a/", "lake/all/"], lists=["lake/"])
        self.b = User("BKEY", "b-secret/3", "b+token/3==", reads=["lake/b/", "lake/all/"], lists=["lake/"])

    def write(self, name: str, rows: int = ROWS) -> str:
        file = self.folder / "store" / "lake" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({"a": list(range(rows)), "s": [f"hidden{n % 7}" for n in range(rows)]})
        if name.endswith("csv"):
            pa.csv.write_csv(table, file)
        else:
            pq.write_table(table, file, row_group_size=max(1, rows // 4))
        return f"s3://lake/{name}"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    found = Shop(tmp_path_factory.mktemp("credentials"))
    for who in ("a", "b", "own", "all"):
        found.write(f"{who}/t.parquet")
        found.write(f"{who}/u.parquet")
    return found


@pytest.fixture(scope="module")
def store(shop: Shop) -> Iterator[UsersStore]:
    with users_store(shop.folder / "store", shop.own, shop.a, shop.b) as found:
        yield found


@pytest.fixture(autouse=True)
def restored(shop: Shop, store: UsersStore) -> Iterator[None]:
    before = {user.key: (user.token, [*user.reads], [*user.lists]) for user in store.users.values()}
    yield
    for user in store.users.values():
        user.token, user.reads, user.lists = before[user.key]
        user.error = ""


@pytest.fixture(scope="module")
def address(store: UsersStore) -> Iterator[str]:
    with _serving(local_hosts(1)) as found:
        yield found


@contextlib.contextmanager
def _serving(config: Config) -> Iterator[str]:
    service = embedded.start(config)
    try:
        yield service.address
    finally:
        service.close()
        settings.configure(())


@contextlib.contextmanager
def as_(address: str, user: User | None, *urls: str, **more: Any) -> Iterator[Session]:
    brought = {} if user is None else {"credentials": user.brought(*(urls or ("s3://lake",)))}
    with Session(address, **brought, **more) as session:
        yield session


def flow(*names: str) -> Dataflow:
    """A dataflow without a look at its files: the client has none of the rights."""
    return Dataflow(
        replace(read(str(Path(__file__)), format="csv", schema=SCHEMA).root, files=names, format="parquet", options=())
    )


def total(session: Session, *names: str) -> list[dict[str, Any]]:
    return session.run(flow(*names).aggregate(n=count(), t=sum_("a"))).to_pylist()


ANSWER = [{"n": ROWS, "t": ROWS * (ROWS - 1) // 2}]


def refused(session: Session, dataflow: Dataflow) -> None:
    for ask in (lambda: session.run(dataflow).to_pylist(), lambda: session.explain(dataflow)):
        with pytest.raises(Forbidden, match="the store refuses these credentials") as caught:
            ask()
        assert "secret" not in str(caught.value) and "token" not in str(caught.value)


def test_a_job_reads_with_its_own_rights_alone(address: str, shop: Shop, store: UsersStore) -> None:
    """Of planning, footers, statistics and instances every request is signed with the job's own key."""
    with as_(address, shop.a) as session:
        store.who()
        assert total(session, "s3://lake/a/t.parquet", "s3://lake/a/u.parquet") == [
            {"n": 2 * ROWS, "t": ROWS * (ROWS - 1)}
        ]
        found = session.read("s3://lake/a/*.parquet")
        assert session.run(found.filter(col("a") == 7)).to_pylist() == [{"a": 7, "s": "hidden0"}] * 2
        assert session.prepare(found) >= 0 and "t.parquet" in session.explain(found)
        assert store.who() == {shop.a.key}
    with as_(address, None) as session:
        assert total(session, "s3://lake/own/t.parquet") == ANSWER
        assert store.who() == {shop.own.key}


def _asked_in_turn(shop: Shop) -> list[tuple[str, User | None, list[User | None]]]:
    return [
        ("s3://lake/a/t.parquet", shop.a, [shop.b, None]),
        ("s3://lake/b/t.parquet", shop.b, [shop.a, None]),
        ("s3://lake/own/t.parquet", None, [shop.a, shop.b]),
    ]


def test_who_may_not_read_is_refused_after_who_may(address: str, shop: Shop, store: UsersStore) -> None:
    """The same text, on the same service, at once: plans, states, footers and statistics are those of who asked."""
    for name, reader, others in _asked_in_turn(shop):
        wanted = flow(name).filter(col("a") >= 5).aggregate(n=count())
        for _ in range(2):
            with as_(address, reader) as session:
                assert session.run(wanted).to_pylist() == [{"n": ROWS - 5}]
                assert "rows" in session.explain(wanted)
            for other in others:
                with as_(address, other) as session:
                    refused(session, wanted)


def test_a_right_that_is_taken_away_counts_for_the_next_job(address: str, shop: Shop, store: UsersStore) -> None:
    with as_(address, shop.a) as session:
        assert total(session, "s3://lake/a/t.parquet") == ANSWER
        shop.a.reads.remove("lake/a/")
        time.sleep(objects.FRESH_S)  # for which an answer of the store holds, of the same user
        refused(session, flow("s3://lake/a/t.parquet"))


def test_other_secrets_of_the_same_key_are_others(address: str, shop: Shop, store: UsersStore) -> None:
    """A key is public: who knows it, and neither secret nor token, gets nothing of what its owner has read."""
    with as_(address, shop.a) as session:
        assert total(session, "s3://lake/a/t.parquet") == ANSWER
    thief = replace(shop.a, secret="guessed")  # noqa: S106
    other = replace(shop.a, token="guessed")  # noqa: S106
    for pretending in (thief, other):
        with as_(address, pretending) as session:
            refused(session, flow("s3://lake/a/t.parquet"))


# ---- what is remembered, piece by piece: each fails if its key lacks the identity ----


def _secrets(user: User) -> stores_credentials.Credentials | None:
    return stores_credentials.parse(user.brought("s3://lake"))


def test_states_are_of_who_asked(shop: Shop, store: UsersStore) -> None:
    name = "s3://lake/a/t.parquet"
    with used(_secrets(shop.a)):
        assert file_state(name).size > 0 and objects.known(name) is not None
    for other in (_secrets(shop.b), None):
        with used(other):
            assert objects.known(name) is None
            with pytest.raises(Forbidden):
                file_state(name)
            with pytest.raises(Forbidden):
                objects.grant(name)


def test_grants_are_of_who_asked(shop: Shop, store: UsersStore) -> None:
    name, urls = "s3://lake/all/t.parquet", []
    for user in (shop.a, shop.b):
        with used(_secrets(user)):
            urls += [objects.grant(name).url, objects.selecting(name)]
            assert all(f"{user.key}%2F" in url for url in urls[-2:])
    urls += [objects.grant(name).url, objects.selecting(name)]
    assert all(f"{shop.own.key}%2F" in url for url in urls[-2:]) and len(set(urls)) == 6


def test_footers_and_statistics_are_of_who_read_them(shop: Shop, store: UsersStore) -> None:
    """B may list what A has read, which tells B the version, and sees nothing of its footer: neither in this process,
    nor in the prober's."""
    for other in (shop.b, shop.own):
        name = shop.write(f"a/footer-{other.key}.parquet")
        rights = None if other is shop.own else _secrets(other)
        with used(_secrets(shop.a)):
            assert probe.estimate((name,), "parquet").rows == ROWS
        with used(rights):
            _list(name)
            assert objects.known(name) is not None
            assert probe.estimate((name,), "parquet").rows is None
            with pytest.raises(Forbidden):
                probe.infer_schema((name,), "parquet", {})
        with used(_secrets(shop.a)):  # whose own answer is not B's
            assert probe.estimate((name,), "parquet").rows == ROWS


def _list(name: str) -> None:
    from jumpgate.stores import listing

    listing._listed(name)


def test_samples_of_text_are_of_who_read_them(shop: Shop, store: UsersStore) -> None:
    name = shop.write("a/sample.csv")
    with used(_secrets(shop.a)):
        assert probe.infer_schema((name,), "csv", {}).names == ("a", "s")
    with used(_secrets(shop.b)):
        _list(name)
        with pytest.raises(Forbidden):
            probe.infer_schema((name,), "csv", {})


def test_what_is_on_the_disk_is_of_who_may_read_it(shop: Shop, store: UsersStore, tmp_path: Path) -> None:
    """A's job leaves ranges on the host's disk, of which B may use none."""
    chunked = replace(local_hosts(1), service={"cache_bytes": 1 << 30})
    with _serving(chunked) as address:
        name = shop.write("a/chunks.parquet", 50_000)
        with as_(address, shop.a) as session:
            assert total(session, name)[0]["n"] == 50_000
            with used(_secrets(shop.a)):
                assert chunks.ranges(objects.kept_in(name))
        for other in (shop.b, None):
            with as_(address, other) as session:
                refused(session, flow(name))
    chunks.configure(Path(), 0)


def test_indexes_serve_no_rights_but_the_services(tmp_path: Path, shop: Shop) -> None:
    table = indexes.Table('"t"', 9, "", 1, 1, 1, (1, 2), str(tmp_path / "t.csv"), 9)
    indexes.configure(tmp_path)
    try:
        indexes.keep(indexes.Index("s3://lake/a", "a", "int64", {}, {"s3://lake/a/t.csv": table}))
        assert len(indexes.found()) == 1
        with used(_secrets(shop.a)):
            assert indexes.found() == ()
    finally:
        indexes.configure(None)


def test_places_of_blocks_are_of_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "hdfs://cluster/placed"
    mine, other = (stores_credentials.parse({"hdfs://cluster": {"token": text}}) for text in ("one", "another"))
    asked: list[str] = []

    def blocks(name: str) -> list[list[str]]:
        asked.append(stores_credentials.key())
        return [["h1"]]

    monkeypatch.setattr("jumpgate.stores.hdfs.blocks", blocks)
    with used(mine):
        placement.look({file: 1})
        assert placement.owners([file], {file: 1}, [["h1"]]) == {file: [0]}
    for rights in (other, None):
        with used(rights):
            assert placement.owners([file], {file: 1}, [["h1"]]) == {}
    assert asked == [mine.key if mine else ""]  # on a thread of its own


def test_iceberg_reads_with_them_on_its_own_threads(shop: Shop, store: UsersStore) -> None:
    with used(_secrets(shop.a)):
        files = ObjectsIO()
    store.who()
    found = files.new_input("s3://lake/a/t.parquet")
    assert found.exists() and len(found) > 0 and found.open().read(4) == b"PAR1" and store.who() == {shop.a.key}


def test_plans_and_first_runs_are_of_who_asked(shop: Shop) -> None:
    from jumpgate.service.plans import key_of

    asked = Request(Request.of(_message("s3://lake/a/t.parquet")).flow)
    keys = {key_of(replace(asked, credentials=who)) for who in (_secrets(shop.a), _secrets(shop.b), None)}
    assert len(keys) == 3
    assert key_of(replace(asked, credentials=_secrets(shop.a))) in keys  # another request with the same secrets
    alone = checked([Secret("s3://lake", "k", "s")])
    assert alone is not None and alone.key != alone.alone().key


def _message(name: str) -> Any:
    from jumpgate.dataflow.dialect import DEFAULT
    from jumpgate.dataflow.operators import Send
    from jumpgate.dataflow.request import Flow

    return Request(Flow.of(Send(flow(name).root, ("",)), DEFAULT)).message()


# ---- what may be brought, and how ----


def test_what_brings_no_credentials_of_a_store_uses_the_services(address: str, shop: Shop, store: UsersStore) -> None:
    with as_(address, shop.a, "s3://other") as session:
        assert total(session, "s3://lake/own/t.parquet") == ANSWER
        refused(session, flow("s3://lake/a/t.parquet"))
    with as_(address, shop.a, "s3://lake/a") as session:  # the longest url counts, by whole parts
        assert total(session, "s3://lake/a/t.parquet", "s3://lake/own/t.parquet")[0]["n"] == 2 * ROWS


def _policies(shop: Shop, tmp_path: Path) -> Config:
    clients = []
    for policy in ("allow", "require", "never"):
        (tmp_path / policy).write_text(tokens.new())
        clients.append(ClientConfig(policy, str(tmp_path / policy), ("s3://lake",), credentials=policy))
    return replace(local_hosts(1), clients=tuple(clients))


def test_a_clients_policy_holds(shop: Shop, store: UsersStore, tmp_path: Path) -> None:
    with _serving(_policies(shop, tmp_path)) as address:
        theirs, ours = "s3://lake/a/t.parquet", "s3://lake/own/t.parquet"
        for policy in ("allow", "require"):
            with as_(address, shop.a, token_file=tmp_path / policy) as session:
                assert total(session, theirs) == ANSWER
                assert session.run(session.read(theirs).aggregate(n=count())).to_pylist() == [{"n": ROWS}]
        for user in (None, shop.a):
            urls = () if user is None else ("s3://other",)
            with as_(address, user, *urls, token_file=tmp_path / "require") as session:
                store.who()
                for ask in (
                    lambda: total(session, ours),
                    lambda: session.explain(flow(ours)),
                    lambda: session.read(ours),
                ):
                    with pytest.raises(Forbidden, match="brings no credentials of s3://lake, and those of the service"):
                        ask()
                assert store.who() == set()
        with as_(address, None, token_file=tmp_path / "allow") as session:
            assert total(session, ours) == ANSWER
        brings_none = pytest.raises(Forbidden, match="client 'never' may not bring credentials of stores")
        with as_(address, shop.a, token_file=tmp_path / "never") as session, brings_none:
            total(session, theirs)
        with as_(address, None, token_file=tmp_path / "never") as session:
            assert total(session, ours) == ANSWER
        outside = pytest.raises(Forbidden, match="may not read s3://elsewhere")  # whatever the store says
        with as_(address, shop.a, token_file=tmp_path / "allow") as session, outside:
            total(session, "s3://elsewhere/t.parquet")


def test_a_stores_policy_holds(shop: Shop, store: UsersStore) -> None:
    stores = (StoreSettings("s3://lake/a", credentials="require"), StoreSettings("s3://lake/own", credentials="never"))
    with _serving(replace(local_hosts(1), stores=stores)) as address:
        with as_(address, shop.a) as session:
            assert total(session, "s3://lake/a/t.parquet") == ANSWER
            with pytest.raises(Forbidden, match="is read with the service's own credentials alone"):
                total(session, "s3://lake/own/t.parquet")
        with as_(address, None) as session:
            assert total(session, "s3://lake/own/t.parquet") == ANSWER
            with pytest.raises(Forbidden, match="the request brings no credentials of s3://lake"):
                total(session, "s3://lake/a/t.parquet")


def test_secrets_that_expire(address: str, shop: Shop, store: UsersStore) -> None:
    soon = shop.a.brought("s3://lake", expires_s=time.time() + 1.5)
    with Session(address, credentials=soon) as session:
        assert total(session, "s3://lake/a/t.parquet") == ANSWER
        time.sleep(1.6)
        with pytest.raises(Forbidden, match=r"credentials of s3://lake expired at 20\d\d-.*; bring new ones") as caught:
            total(session, "s3://lake/a/t.parquet")
        assert shop.a.secret not in str(caught.value) and shop.a.token not in str(caught.value)
    shop.a.error = "ExpiredToken"  # nobody said when
    with as_(address, shop.a) as session:
        time.sleep(objects.FRESH_S)
        with pytest.raises((Forbidden, FileUnreadable), match=r"s3://lake/a/t.parquet.*") as caught:
            total(session, "s3://lake/a/t.parquet")
        assert shop.a.secret not in str(caught.value) and shop.a.token not in str(caught.value)


def test_a_secret_that_expires_while_its_job_reads(address: str, shop: Shop, store: UsersStore) -> None:
    """What instances have is signed with it, and the store says so."""
    name = shop.write("a/expires.parquet")
    with as_(address, shop.a) as session:
        result = session.explain(flow(name))  # the footer is known, and instances ask for it anew

        def expire(number: int) -> str:
            if store.requests[-1][0] == "GET":
                shop.a.error = "ExpiredToken"
            return ""

        assert "expires.parquet" in result
        store.before = expire
        try:
            with pytest.raises(FileUnreadable, match="the store refuses it.*, or the right to it expired") as caught:
                session.run(flow(name)).to_arrow()
        finally:
            store.before = lambda number: ""
        assert name in str(caught.value)
        assert not [text for text in (shop.a.secret, shop.a.token, "X-Amz") if text in str(caught.value)]


def test_new_secrets_are_asked_for_each_dataflow(address: str, shop: Shop, store: UsersStore) -> None:
    given = shop.a.brought("s3://lake")
    with Session(address, credentials=lambda: given) as session:
        assert total(session, "s3://lake/a/t.parquet") == ANSWER
        shop.a.token = "renewed"  # noqa: S105
        given = shop.a.brought("s3://lake")
        assert total(session, "s3://lake/a/t.parquet") == ANSWER


@pytest.mark.parametrize(
    ("brought", "reason"),
    [
        ({"s3://lake": {"access_key": "k"}}, "credentials of s3://lake: secret_key is missing"),
        ({"s3://lake": {"access_key": "k", "secret_key": "SHH", "token": "t"}}, "token is not of s3://"),
        ({"gs://lake": {"token": "a\r\nX: SHH"}}, "token has a blank, a character"),
        ({"gs://lake": {"token": "SHH" * 4000}}, "more than 8192 characters"),
        ({"gs://lake": {"tokn": "SHH"}}, "there is no tokn; there are access_key"),
        ({"gs://lake": {"token": 7}}, "token is no text"),
        ({"gs://lake": {"token": "SHH", "expires_s": float("nan")}}, "expires_s is nan, no seconds since the epoch"),
        ({"http://lake": {"token": "SHH"}}, "they are of s3://BUCKET"),
        (dict.fromkeys(("s3://lake", "s3a://lake/"), {"access_key": "k", "secret_key": "SHH"}), "two of s3://lake"),
        ({f"s3://b{n}": {"access_key": "k", "secret_key": "SHH"} for n in range(33)}, "a request brings 32 at most"),
    ],
)  # fmt: skip
def test_credentials_that_are_none(brought: dict[str, dict[str, str]], reason: str) -> None:
    with pytest.raises(InvalidDataflow) as caught:
        stores_credentials.parse(brought)
    assert reason in str(caught.value) and "SHH" not in str(caught.value)


def test_secrets_are_in_nothing_that_people_see(address: str, shop: Shop, store: UsersStore) -> None:
    with as_(address, shop.a) as session:
        result = session.run(flow("s3://lake/a/t.parquet").aggregate(n=count()))
        assert result.to_pylist() == [{"n": ROWS}]
        shown = json.dumps(session.describe(result.job).record, default=str)
        shown += session.explain(flow("s3://lake/a/t.parquet"), verbose=True) + repr(_secrets(shop.a))
        shown += repr(_secrets(shop.a).secrets[0]) + session.explain_job(result.job)  # type: ignore[union-attr]
    assert "t.parquet" in shown
    assert not [word for word in (shop.a.secret, shop.a.token, shop.a.key, "X-Amz") if word in shown]


def test_they_are_not_sent_where_others_could_read_them(shop: Shop, store: UsersStore) -> None:
    with Session("192.0.2.1:7411", credentials=shop.a.brought("s3://lake"), timeout_ms=1) as session:
        for ask in (session.run, session.explain, session.prepare):
            with pytest.raises(Forbidden, match=r"not sent to 192.0.2.1:7411, as the connection is not encrypted.*tls"):
                ask(flow("s3://lake/a/t.parquet"))
        with pytest.raises(Forbidden, match="not encrypted"):
            session.read("s3://lake/a/t.parquet")


def test_they_are_not_taken_where_others_could_read_them(shop: Shop) -> None:
    brought = _secrets(shop.a)
    over_tls = {"transport_security_type": (b"ssl",)}
    for peer, connection, is_private in (
        ("ipv4:10.0.0.7:5", {}, False), ("ipv6:%5Bfd00::7%5D:5", {}, False), ("ipv4:10.0.0.7:5", over_tls, True),
        ("ipv4:127.0.0.1:5", {}, True), ("ipv6:%5B::1%5D:5", {}, True),
    ):  # fmt: skip
        assert _is_private(peer, connection) == is_private, peer
    assert Call(Client(), "ipv4:10.0.0.7:5", is_private=False).credentials(None) is None
    with pytest.raises(Forbidden, match=r"taken over TLS, or from this machine.*\[tls\].*replace what was sent"):
        Call(Client(), "ipv4:10.0.0.7:5", is_private=False).credentials(brought)


def test_policies_are_checked_when_they_are_read() -> None:
    for table in ({"client": [{"name": "c", "token_file": "f", "credentials": "alow"}]},
                  {"store": [{"url": "s3://lake", "credentials": "alow"}]}):  # fmt: skip
        with pytest.raises(JumpgateError, match="'alow'; it can be allow, require, never"):
            parse(table)
    with pytest.raises(JumpgateError, match="a web server takes none"):
        parse({"store": [{"url": "https://host", "credentials": "require"}]})


def test_sql_reads_and_writes_with_the_connections_credentials(address: str, shop: Shop, store: UsersStore) -> None:
    with jumpgate.connect(address, offload="always", credentials=shop.a.brought("s3://lake")) as connection:
        store.who()
        connection.register("t", "s3://lake/a/*.parquet")
        assert connection.sql("select count(*) n from t where a = 3").to_pylist()[0]["n"] >= 2
        with pytest.raises(Forbidden):
            connection.register("u", "s3://lake/b/t.parquet")
        assert store.who() == {shop.a.key}


def test_results_are_written_with_them(address: str, shop: Shop, store: UsersStore, tmp_path: Path) -> None:
    signed: list[str] = []

    class Noting(UploadStore):
        def taken(self, request: Any) -> tuple[int, str]:
            signed.append(request.headers["authorization"])
            return super().taken(request)

    uploads = Noting(tmp_path)
    settings.configure([StoreSettings("s3://out", endpoint=uploads.endpoint)])
    try:
        brought = shop.a.brought("s3://lake", "s3://out")
        with jumpgate.connect(address, offload="always", credentials=brought) as connection:
            connection.register("t", "s3://lake/a/t.parquet")
            connection.sql("select count(*) n from t").write_parquet("s3://out/n.parquet")
        assert pq.read_table(tmp_path / "out/n.parquet").to_pylist() == [{"n": ROWS}]
        assert len(signed) >= 3 and all(f"Credential={shop.a.key}/" in text for text in signed)
    finally:
        settings.configure(())
        uploads.close()


def test_tables_of_delta_are_read_with_them(address: str, shop: Shop, store: UsersStore) -> None:
    write_deltalake(shop.folder / "store/lake/a/delta", pa.table({"a": [1, 2, 3]}))
    with jumpgate.connect(address, offload="always", credentials=shop.a.brought("s3://lake")) as connection:
        store.who()
        connection.register("d", "s3://lake/a/delta")
        assert connection.sql("select sum(a) t from d").to_pylist() == [{"t": 6}] and store.who() == {shop.a.key}
    with (
        jumpgate.connect(address, credentials=shop.b.brought("s3://lake")) as connection,
        pytest.raises((Forbidden, FileUnreadable)) as caught,
    ):
        connection.register("d", "s3://lake/a/delta")
    assert store.who() == {shop.b.key} and shop.b.secret not in str(caught.value)
