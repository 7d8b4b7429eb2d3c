"""Flight SQL, by clients that others wrote: ADBC's driver (in Go), and Arrow's own Flight client."""

from __future__ import annotations

import ast
import base64
import datetime
import decimal
import json
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import OperationalError, ProgrammingError
from pyarrow import flight

from jumpgate.errors import ConfigError
from jumpgate.flight import limits
from jumpgate.flight.callers import Audit, Caller, Callers
from jumpgate.flight.door import Door
from jumpgate.flight.failures import as_flight
from jumpgate.flight.messages import unwrap, wrap
from jumpgate.hosts.config import ClientConfig, TableConfig, local_hosts
from jumpgate.service.guard import Guard
from jumpgate.trust import certificates, tokens
from jumpgate.trust.tls import Identity
from jumpgate.v1 import flight_sql_pb2 as sql
from tests.support.flight import ROWS, Raw, Shop, ended, eventually, opened
from tests.support.served import printed

#: a query that ends when somebody ends it
ENDLESS = "SELECT sum(i * j) FROM range(100000000) t(i), range(100000000) u(j)"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with opened(tmp_path_factory.mktemp("flight")) as found:
        yield found


def refused(text: str, shop: Shop, name: str = "guest") -> str:
    """Return what the client is told."""
    with shop.connect(name) as connection, connection.cursor() as cursor:
        with pytest.raises((ProgrammingError, OperationalError)) as error:
            cursor.execute(text)
            cursor.fetchall()
        return str(error.value)


def test_a_query(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT b, count(*) AS n, sum(a) AS s FROM t WHERE a < ? GROUP BY b ORDER BY b", (100,))
        assert cursor.fetch_arrow_table().slice(0, 2).to_pylist() == [
            {"b": "x0", "n": 10, "s": 450},
            {"b": "x1", "n": 10, "s": 460},
        ]
        cursor.execute("SELECT * FROM extra.more ORDER BY c")
        assert cursor.fetchall() == [(1, "x"), (2, "y")]


def test_a_client_that_is_withdrawn_is_let_in_no_more(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("guest's")
    guard = Guard((ClientConfig("guest", str(tmp_path / "token")),), "127.0.0.1:1")
    told: list[tuple[str, ...]] = []
    audit = Audit(lambda *who: told.append(who), lambda client, peer, error: told.append((client, peer, error.code)))
    callers = Callers(guard, audit)

    def call(method: flight.FlightMethod, authorization: str) -> Caller:
        return callers.start_call(flight.CallInfo(method), {"authorization": [authorization]})

    password = base64.b64encode(b"guest:guest's").decode()
    granted = call(flight.FlightMethod.HANDSHAKE, f"Basic {password}").granted
    again = call(flight.FlightMethod.HANDSHAKE, f"Bearer {granted}").granted
    for token in (granted, again):
        assert call(flight.FlightMethod.DO_GET, f"Bearer {token}").client.name == "guest"
    guard.replace(())
    for token in (granted, again):
        with pytest.raises(flight.FlightUnauthenticatedError, match="does not know this token"):
            call(flight.FlightMethod.DO_GET, f"Bearer {token}")
    assert told == [("guest", "flight")] * 2 + [("", "flight", "unauthenticated")] * 2


def test_sessions_and_refused_statements_are_told_with_their_peer(shop: Shop) -> None:
    told: list[tuple[str, ...]] = []
    audit = Audit(
        lambda *who: told.append(("login", *who)),
        lambda client, peer, error: told.append((error.code, client, peer)),
    )
    door = Door(shop.clients, "127.0.0.1", 0, None, audit)
    try:
        raw = Raw(flight.connect(door.address), shop.tokens["guest"])
        raw.info("SELECT 1")
        with pytest.raises(flight.FlightUnauthorizedError):
            raw.info("SELECT * FROM glob('/etc/*')")
        (_, _, peer), _ = told
        assert peer.startswith("ipv4:127.0.0.1:")
        assert told == [("login", "guest", peer), ("forbidden", "guest", peer)]
    finally:
        door.close()


def test_frames_of_pandas_and_polars(shop: Shop) -> None:
    text = "SELECT a, b FROM t WHERE a < 3 ORDER BY a"
    with shop.connect("guest") as connection:
        assert pandas.read_sql(text, connection)["b"].tolist() == ["x0", "x1", "x2"]
        assert polars.read_database(text, connection)["a"].to_list() == [0, 1, 2]
    place = shop.door.address.removeprefix("grpc://")
    with pytest.raises(ProgrammingError, match="wants a token"):  # the driver drops the URI's user and password
        polars.read_database_uri(text, f"flightsql://guest:{shop.tokens['guest']}@{place}?transport=tcp", engine="adbc")


def test_a_large_result_is_whole(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT a, b, repeat('é', 200) AS c FROM t")
        table = cursor.fetch_arrow_table()
    assert table.num_rows == ROWS
    assert sum(table["a"].to_pylist()) == ROWS * (ROWS - 1) // 2


def test_a_query_is_offloaded_where_the_session_says_so(shop: Shop) -> None:
    raw, before = shop.raw("guest"), shop.jobs()
    assert not raw.option("offload", "always").errors and not raw.option("objective", "cost").errors
    info = raw.info("SELECT b, sum(a) AS s FROM t GROUP BY b ORDER BY b")
    assert json.loads(info.app_metadata) == {"offloaded": True, "reason": ""}
    assert raw.get(info).read_all().to_pylist()[0] == {"b": "x0", "s": sum(range(0, ROWS, 10))}
    assert shop.jobs() == before + 1
    with pytest.raises(pa.ArrowInvalid, match="mode = always"):
        raw.info("SELECT * FROM extra.more")


def test_session_options(shop: Shop) -> None:
    raw = shop.raw("guest")
    assert raw.option("offload", "sometimes").errors["offload"].value == sql.SetSessionOptionsResult.INVALID_VALUE
    assert raw.option("colour", "red").errors["colour"].value == sql.SetSessionOptionsResult.INVALID_NAME
    assert not raw.option("timeout_ms", "200").errors
    assert raw.option("objective", "fame").errors["objective"].value == sql.SetSessionOptionsResult.INVALID_VALUE
    assert not raw.option("objective", "cost").errors
    answer = raw.action("GetSessionOptions", sql.GetSessionOptionsRequest(), wrapped=False)
    found = sql.GetSessionOptionsResult.FromString(answer).session_options
    assert (found["timeout_ms"].int64_value, found["offload"].string_value) == (200, "auto")
    assert found["objective"].string_value == "cost"
    with pytest.raises(flight.FlightTimedOutError, match="longer than 200 ms: raise the session option timeout_ms"):
        raw.get(raw.info(ENDLESS)).read_all()
    raw.action("CloseSession", sql.CloseSessionRequest(), wrapped=False)
    answer = raw.action("GetSessionOptions", sql.GetSessionOptionsRequest(), wrapped=False)
    assert sql.GetSessionOptionsResult.FromString(answer).session_options["timeout_ms"].int64_value == 0


def test_metadata(shop: Shop) -> None:
    with shop.connect("guest") as connection:
        assert connection.adbc_get_info()["vendor_name"] == "Jumpgate"
        assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
        assert connection.adbc_get_table_schema("t") == pa.schema([("a", pa.int64()), ("b", pa.utf8())])
        (catalog,) = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        found = {
            schema["db_schema_name"]: [table["table_name"] for table in schema["db_schema_tables"]]
            for schema in catalog["catalog_db_schemas"]
        }
        assert found == {"extra": ["more"], "main": ["gone", "t"]}
        (catalog,) = connection.adbc_get_objects(depth="columns", table_name_filter="t").read_all().to_pylist()
        (table,) = [t for schema in catalog["catalog_db_schemas"] for t in schema["db_schema_tables"]]
        assert [column["column_name"] for column in table["table_columns"]] == ["a", "b"]


@pytest.mark.parametrize(
    "command",
    [
        sql.CommandGetSqlInfo(),
        sql.CommandGetXdbcTypeInfo(),
        sql.CommandGetXdbcTypeInfo(data_type=4),
        sql.CommandGetPrimaryKeys(table="t"),
        sql.CommandGetExportedKeys(table="t"),
        sql.CommandGetImportedKeys(table="t"),
        sql.CommandGetCrossReference(pk_table="t", fk_table="t"),
        sql.CommandGetDbSchemas(db_schema_filter_pattern="ma%"),
        sql.CommandGetTables(catalog="elsewhere"),
        sql.CommandGetTables(include_schema=True, table_types=["TABLE"]),
    ],
)
def test_metadata_comes_with_the_columns_that_were_told(shop: Shop, command: Any) -> None:
    raw = shop.raw("guest")
    descriptor = flight.FlightDescriptor.for_command(wrap(command))
    info = raw.client.get_flight_info(descriptor, raw.options)
    assert raw.client.get_schema(descriptor, raw.options).schema == info.schema
    table = raw.get(info).read_all()
    assert table.schema == info.schema
    has_rows = not any(word in type(command).__name__ for word in ("Key", "Cross"))
    assert bool(table.num_rows) == (has_rows and getattr(command, "catalog", "") == "")


def test_transactions(shop: Shop) -> None:
    with shop.connect("guest", autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE own (k INTEGER, v VARCHAR)")
        cursor.executemany("INSERT INTO own VALUES (?, ?)", [(1, "a"), (2, "b")])
        assert cursor.rowcount == 2
        cursor.execute("SELECT count(*) FROM own")
        assert cursor.fetchone() == (2,)
        connection.commit()
        cursor.execute("DELETE FROM own")
        connection.rollback()
        cursor.execute("SELECT * FROM own ORDER BY k")
        assert cursor.fetchall() == [(1, "a"), (2, "b")]
    with shop.connect("guest") as other, other.cursor() as cursor, pytest.raises(ProgrammingError, match="own"):
        cursor.execute("SELECT * FROM own")  # it was the session's


def test_types_of_parameters_before_their_values(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        found = cursor.adbc_prepare("SELECT * FROM t WHERE a = ? AND b LIKE ? LIMIT ?")
        assert found.types == [pa.int64(), pa.utf8(), pa.int64()]
        assert cursor.adbc_prepare("SELECT a FROM t WHERE a = $x OR b = $x").types == [pa.null()]
        assert cursor.adbc_prepare("SELECT ?, 1").types == [pa.null()]
        cursor.execute("CREATE TABLE typed (d DATE, p DECIMAL(9, 2))")
        text = "INSERT INTO typed VALUES (?, ?)"
        assert cursor.adbc_prepare(text).types == [pa.date32(), pa.decimal128(9, 2)]
        cursor.execute(text, (datetime.date(2024, 2, 29), decimal.Decimal("1.25")))
        cursor.execute("SELECT * FROM typed")
        assert cursor.fetchone() == (datetime.date(2024, 2, 29), decimal.Decimal("1.25"))
        cursor.execute("CREATE TABLE timed (z TIMESTAMPTZ, n TIMESTAMP_NS, t TIME_NS, s TIMESTAMP_S)")
        found = cursor.adbc_prepare("INSERT INTO timed VALUES (?, ?, ?, ?)")
        assert found.types == [pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.time64("ns"), pa.timestamp("s")]


def test_parameters_keep_their_nanoseconds(shop: Shop) -> None:
    instants = pa.array([-9_000_000_000_000_000_001, None, 1_684_158_330_123_456_789], pa.timestamp("ns"))
    times = pa.array([1, None, 86_399_999_999_999], pa.time64("ns"))
    sent = pa.record_batch([instants, times], ["i", "t"])
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE precise (i TIMESTAMP_NS, t TIME_NS)")
        cursor.execute("CREATE TABLE coarse (i TIMESTAMP, t TIME)")
        cursor.executemany("INSERT INTO precise VALUES (?, ?)", sent)
        cursor.execute("FROM precise ORDER BY i NULLS LAST")
        kept = cursor.fetch_arrow_table()
        assert kept["i"].combine_chunks() == instants.take([0, 2, 1])
        assert kept["t"].combine_chunks() == times.take([0, 2, 1])
        cursor.execute("SELECT count(*) FROM precise WHERE i = ?", (sent.column(0)[2],))
        assert cursor.fetchone() == (1,)
        told = r"parameter 1 has nanoseconds, where the statement has timestamp\[us\]: round it, or ingest"
        with pytest.raises(ProgrammingError, match=told):
            cursor.executemany("INSERT INTO coarse VALUES (?, ?)", sent)
        rounded = pa.record_batch([instants.slice(1, 1), pa.array([86_399_999_999_000], pa.time64("ns"))], ["i", "t"])
        cursor.executemany("INSERT INTO coarse VALUES (?, ?)", rounded)
        cursor.execute("FROM coarse")
        assert cursor.fetchall() == [(None, datetime.time(23, 59, 59, 999_999))]


def test_a_value_that_cannot_be_bound(shop: Shop) -> None:
    late = pa.record_batch([pa.array([1 << 60], pa.timestamp("us"))], ["t"])
    told = "parameter 1 has a value that cannot be bound"
    with (
        shop.connect("guest") as connection,
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match=told),
    ):
        cursor.executemany("SELECT ?", late)


def test_instants_are_shown_in_utc(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT TIMESTAMPTZ '2024-07-01 12:00:00+02' AS i")
        found = cursor.fetch_arrow_table()
    assert found.schema.field("i").type == pa.timestamp("us", "UTC")
    assert found["i"].to_pylist() == [datetime.datetime(2024, 7, 1, 10, tzinfo=datetime.UTC)]


def test_instants_of_the_last_day_are_bound(shop: Shop) -> None:
    last = datetime.datetime(9999, 12, 31, 23, tzinfo=datetime.UTC)  # the year after, where it is in Tokyo
    sent = pa.record_batch([pa.array([last], pa.timestamp("s", "Asia/Tokyo"))], ["z"])
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CAST(? AS TIMESTAMPTZ) = TIMESTAMPTZ '9999-12-31 23:00:00Z' AS same", sent)
        assert cursor.fetchall() == [(True,)]


def test_an_error_inside_duckdb_is_told_without_its_stack() -> None:
    found = as_flight(duckdb.InternalException("INTERNAL Error: a cast\n\nStack Trace:\n\n/opt/lib.so(f+1)"))
    assert isinstance(found, flight.FlightInternalError)
    assert "INTERNAL Error: a cast" in str(found)
    assert "/opt" not in str(found)


def test_memory_of_sessions_follows_the_configuration(shop: Shop) -> None:
    config = replace(local_hosts(1), service={"memory_limit_bytes": 64 << 20})
    door = Door(replace(shop.clients, config=lambda: config), "127.0.0.1", 0, None)
    try:
        found = []
        for limit in (64 << 20, 32 << 20):
            config = replace(config, service={"memory_limit_bytes": limit})
            raw = Raw(flight.connect(door.address), shop.tokens["guest"])
            found += raw.get(raw.info("SELECT current_setting('memory_limit') AS m")).read_all()["m"].to_pylist()
        assert found == ["64.0 MiB", "32.0 MiB"]
    finally:
        door.close()


def test_several_rows_of_parameters_are_one_change(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE keyed (k INTEGER PRIMARY KEY)")
        with pytest.raises(ProgrammingError, match="duplicate key"):
            cursor.executemany("INSERT INTO keyed VALUES (?)", [(1,), (2,), (1,)])
        cursor.execute("SELECT count(*) FROM keyed")
        assert cursor.fetchone() == (0,)


def test_ingested_instants_within_nested_values_are_exact(shop: Shop) -> None:
    instant = pa.timestamp("ns", "UTC")
    fine = {
        "s": pa.array([{"a": 1, "z": 2_001}], pa.struct([("a", pa.int64()), ("z", instant)])),
        "l": pa.array([[2_001]], pa.list_(instant)),
        "m": pa.array([[("k", [2_001])]], pa.map_(pa.string(), pa.large_list(instant))),
        "f": pa.array([[2_001, None]], pa.list_(instant, 2)),
        "d": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([2_001], instant)),
    }
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        for name, values in fine.items():
            with pytest.raises(ProgrammingError, match="an instant has nanoseconds, .* round it"):
                cursor.adbc_ingest("fine", pa.table({name: values}), mode="create")
        whole = pa.table({"l": pa.array([[2_000], None, []], pa.list_(instant)), "k": [1, 2, 3]})
        assert cursor.adbc_ingest("whole", whole, mode="create") == 3
        cursor.execute("SELECT l FROM whole ORDER BY k")
        assert cursor.fetch_arrow_table()["l"].to_pylist() == [
            [datetime.datetime(1970, 1, 1, 0, 0, 0, 2, datetime.UTC)], None, [],
        ]  # fmt: skip


def test_ingestion(shop: Shop) -> None:
    sent = pa.table({"k": range(50_000), "v": [None, "é"] * 25_000})
    with shop.connect("guest", autocommit=False) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("sent", sent, mode="create") == 50_000
        assert cursor.adbc_ingest("sent", sent.select(["v", "k"]).to_reader(), mode="append") == 50_000
        cursor.execute("SELECT count(v), sum(k) FROM sent")
        assert cursor.fetchone() == (50_000, 2 * sum(range(50_000)))
        assert cursor.adbc_ingest("sent", sent.slice(0, 5), mode="replace") == 5
        with pytest.raises(ProgrammingError, match="mode append or replace"):
            cursor.adbc_ingest("sent", sent, mode="create")
        scaled = pa.table({"v": pa.array([decimal.Decimal("9900")], pa.decimal128(2, -2))})
        with pytest.raises(ProgrammingError, match=r"v is decimal128\(2, -2\); .* no negative scale: cast it"):
            cursor.adbc_ingest("scaled", scaled, mode="create")
        wide = pa.table({f"c{i}": [1] for i in range(100_000)})
        with pytest.raises(ProgrammingError, match="have 100000 columns and may have 32768: ingest fewer"):
            cursor.adbc_ingest("wide", wide, mode="create")
        instants = pa.table({"z": pa.array([1_000, None, 2_001], pa.timestamp("ns", "Asia/Tokyo"))})
        with pytest.raises(ProgrammingError, match="an instant has nanoseconds, .* round it"):
            cursor.adbc_ingest("instants", instants, mode="create")
        assert cursor.adbc_ingest("instants", instants.slice(0, 2), mode="create") == 2
        cursor.execute("FROM instants ORDER BY z")
        assert cursor.fetch_arrow_table()["z"].to_pylist() == [
            datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.UTC),
            None,
        ]
        with pytest.raises(ProgrammingError, match="no table other: ingest with mode create"):
            cursor.adbc_ingest("other", sent, mode="append")


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("COPY t TO '/tmp/out.parquet'", "COPY is not served: take the result with the client"),
        ("EXPLAIN ANALYZE COPY t TO '/tmp/out.parquet'", "EXPLAIN of this is not served"),
        ("SET threads = 1", "SET is not served: session options are set by the driver"),
        ("PRAGMA threads = 1", "SET is not served"),
        ("ATTACH 'x.db'", "ATTACH is not served"),
        ("INSTALL httpfs", "LOAD is not served"),
        ("PREPARE p AS SELECT 1", "PREPARE is not served"),
        ("BEGIN", "transactions by the driver"),
        ("SELECT 1; SELECT 2", "2 statements: send one at a time"),
        ("-- nothing", "0 statements"),
        ("CREATE TEMP TABLE x (a INTEGER)", "leave out TEMPORARY"),
        ("SELECT * FROM gone", "table gone has no files: nothing is at"),
        ("SELECT nothing FROM t", "nothing"),
        ("SELECT 1 + '" + "x" * limits.TEXT_BYTES_MAX + "'", "may have 4194304: ingest large data"),
        ("SELECT * FROM s", "Table with name s does not exist"),
        ("SELECT * FROM shop", "Table with name shop does not exist"),  # no variable of the service's program
        ("SELECT * FROM read_text('/etc/passwd')", "can be read by name, and nothing by path"),
        ("SELECT * FROM glob('/etc/*')", "can be read by name, and nothing by path"),
    ],
)
def test_what_a_client_may_not_do(shop: Shop, text: str, way_out: str) -> None:
    assert way_out in refused(text, shop)


def test_a_table_is_read_by_its_readers(shop: Shop) -> None:
    with shop.connect("analyst") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM s")
        assert cursor.fetchall() == [(1,)]
    raw = shop.raw("analyst")
    raw.option("offload", "always")
    assert raw.get(raw.info("SELECT sum(secret) AS n FROM s")).read_all().to_pylist() == [{"n": 1}]


def test_strangers_are_not_served(shop: Shop) -> None:
    wrong = {"username": "guest", "password": "x"}
    of_another = {"username": "analyst", "password": shop.tokens["guest"]}
    for credentials in ({}, wrong, of_another):
        with pytest.raises((ProgrammingError, OperationalError), match="UNAUTHENTICATED"):
            adbc.connect(shop.door.address, db_kwargs=credentials, autocommit=True).cursor().execute("SELECT 1")


def test_a_name_and_a_password(shop: Shop) -> None:
    credentials = {"username": "guest", "password": shop.tokens["guest"]}
    connected = adbc.connect(shop.door.address, db_kwargs=credentials, autocommit=True)
    with connected as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE mine AS SELECT 1 AS a")
        cursor.execute("SELECT * FROM mine")
        assert cursor.fetchall() == [(1,)]


def test_a_ticket_is_good_again_on_another_connection(shop: Shop) -> None:
    raw = shop.raw("guest")
    info = raw.info("SELECT a FROM t ORDER BY a")
    assert raw.get(info).read_chunk().data.num_rows  # the rest is not read
    again = shop.raw("guest").get(info).read_all()
    assert again["a"].to_pylist() == list(range(ROWS))
    with pytest.raises(KeyError, match="no such session"):  # nobody else's
        shop.raw("analyst").get(info).read_all()


def test_old_results_are_forgotten(shop: Shop) -> None:
    raw = shop.raw("guest")
    first = raw.info("SELECT 1 AS a")
    for _ in range(limits.RESULTS_MAX):
        last = raw.info("SELECT 2 AS a")
    assert raw.get(last).read_all().to_pylist() == [{"a": 2}]
    with pytest.raises(KeyError, match="no such result: a session keeps the last 64 results"):
        raw.get(first)


def test_prepared_statements_are_bounded(shop: Shop) -> None:
    raw, request = shop.raw("guest"), sql.ActionCreatePreparedStatementRequest(query="SELECT ?")
    for _ in range(limits.PREPARED_MAX):
        answer = unwrap(raw.action("CreatePreparedStatement", request))
    assert isinstance(answer, sql.ActionCreatePreparedStatementResult)
    with pytest.raises(pa.ArrowInvalid, match="256 prepared statements open, which is the most: close some"):
        raw.action("CreatePreparedStatement", request)
    handle = answer.prepared_statement_handle
    raw.action("ClosePreparedStatement", sql.ActionClosePreparedStatementRequest(prepared_statement_handle=handle))
    raw.action("CreatePreparedStatement", request)


@pytest.mark.parametrize("name", ["CancelFlightInfo", "CancelQuery"])
def test_cancellation(shop: Shop, name: str) -> None:
    raw = shop.raw("guest")
    info = raw.info("SELECT i FROM range(100000000000) t(i)")
    reader = raw.get(info)
    assert reader.read_chunk().data.num_rows
    if name == "CancelQuery":
        answer = unwrap(raw.action(name, sql.ActionCancelQueryRequest(info=info.serialize())))
    else:
        request = sql.CancelFlightInfoRequest(info=info.serialize())
        answer = sql.ActionCancelQueryResult.FromString(raw.action(name, request, wrapped=False))
    assert isinstance(answer, sql.ActionCancelQueryResult)
    assert answer.result == sql.ActionCancelQueryResult.CANCELLED
    for found in (reader, raw.get(info)):
        with pytest.raises((flight.FlightCancelledError, KeyboardInterrupt)):  # pyarrow takes the status for Ctrl-C
            while True:
                found.read_chunk()


def test_a_client_that_goes_away_ends_its_statement(shop: Shop) -> None:
    connection = shop.connect("guest")
    cursor = connection.cursor()
    failed: list[Exception] = []

    def run() -> None:
        try:
            cursor.execute(ENDLESS)
            cursor.fetchall()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: not ended(shop))
    cursor.adbc_cancel()
    thread.join()
    eventually(lambda: ended(shop))
    assert failed
    cursor.close()
    connection.close()


def test_results_wait_for_who_reads_them(shop: Shop) -> None:
    """A result of 80 GB is begun, and none of it is kept anywhere."""
    raw = shop.raw("guest")
    reader = raw.get(raw.info("SELECT i, i + 1 AS j FROM range(5000000000) t(i)"))
    assert reader.read_chunk().data["j"][0].as_py() == 1
    reader.cancel()
    eventually(lambda: ended(shop))


def test_sessions_of_a_client_are_bounded(shop: Shop) -> None:
    first = shop.raw("guest")
    first.option("timeout_ms", "77")
    for _ in range(limits.SESSIONS_MAX):
        shop.raw("guest").option("offload", "never")
    answer = first.action("GetSessionOptions", sql.GetSessionOptionsRequest(), wrapped=False)
    assert sql.GetSessionOptionsResult.FromString(answer).session_options["timeout_ms"].int64_value == 0


def test_new_files_are_seen(shop: Shop, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    config = replace(local_hosts(1), tables=(TableConfig("t", (str(tmp_path),), "parquet"),))
    door = Door(replace(shop.clients, config=lambda: config), "127.0.0.1", 0, None)
    try:
        raw = Raw(flight.connect(door.address), shop.tokens["guest"])
        assert raw.get(raw.info("SELECT * FROM t")).read_all().num_rows == 1
        pq.write_table(pa.table({"a": [2]}), tmp_path / "2.parquet")
        assert raw.get(raw.info("SELECT * FROM t")).read_all().num_rows == 2
        raw.get(raw.info("CREATE TABLE own AS FROM t"))
        pq.write_table(pa.table({"a": [3]}), tmp_path / "3.parquet")
        with pytest.raises(flight.FlightUnavailableError, match="table t has other files .* connect again"):
            raw.info("SELECT * FROM t")
    finally:
        door.close()


def test_a_port_that_is_taken(shop: Shop) -> None:
    port = int(shop.door.address.rpartition(":")[2])
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port} for Flight SQL.*--flight"):
        Door(shop.clients, "127.0.0.1", port, None)


def test_what_is_no_flight_sql(shop: Shop) -> None:
    raw = shop.raw("guest")
    with pytest.raises(pa.ArrowInvalid, match="no message of Flight SQL"):
        raw.client.get_flight_info(flight.FlightDescriptor.for_command(b"hello"), raw.options)
    with pytest.raises(pa.ArrowInvalid, match="no command of Flight SQL"):
        raw.client.do_get(flight.Ticket(sql.CommandGetCatalogs().SerializeToString()), raw.options)
    with pytest.raises(pa.ArrowInvalid, match="action 'Dance' is not known"):
        raw.action("Dance", sql.CloseSessionRequest())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder in which `jumpgate serve --flight` runs, with the page's file and table, and what it printed."""
    program = Path(sys.executable).with_name("jumpgate")
    for line in code_of_the_page()[0].splitlines():
        if line.startswith(("python", "printf")):
            subprocess.run(line.replace("python", sys.executable, 1), shell=True, cwd=tmp_path, check=True)
    command = [program, "serve", "--port", "0", "--flight", "0", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        yield tmp_path, printed(process)
        process.terminate()
        assert process.wait() == 0


def code_of_the_page() -> list[str]:
    """Return the indented blocks of docs/flight-sql.md."""
    page = (Path(__file__).parents[2] / "docs" / "flight-sql.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}[^\n]*)?\n)+", page, re.M)
    return [found for block in blocks if (found := textwrap.dedent(block).strip("\n"))]


def test_the_tour_of_the_page(served: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    folder, printed = served
    for text in code_of_the_page()[1:3]:
        assert "://127.0.0.1:7412" in text
        text = text.replace("127.0.0.1:7412", printed["flight"].removeprefix("grpc://"))
        exec(compile(text, "flight-sql.md", "exec"), {})
    result, tables = capsys.readouterr().out.splitlines()
    assert tables == "['sales']"
    found = ast.literal_eval(result)
    assert found["day"] == list(range(7))
    assert sum(found["total"]) == sum(range(1000)) / 2


def test_errors_show_nothing_of_the_service(served: tuple[Path, dict[str, Any]]) -> None:
    _, printed = served
    raw = Raw(flight.connect(printed["flight"]), tokens.find(printed["address"]) or "")
    with pytest.raises(pa.ArrowInvalid, match="nothing") as error:
        raw.info("SELECT nothing FROM sales")
    assert "File " not in str(error.value)


def test_options_by_the_driver(shop: Shop) -> None:
    with shop.connect("guest") as connection, connection.cursor() as cursor:
        connection.adbc_connection.set_options(**{"adbc.flight.sql.session.option.offload": "always"})
        assert connection.adbc_connection.get_option("adbc.flight.sql.session.option.offload") == "always"
        with pytest.raises(ProgrammingError, match="mode = always"):
            cursor.execute("SELECT random()")


def test_a_session_by_its_cookie(shop: Shop) -> None:
    raw = shop.raw("guest")
    raw.option("timeout_ms", "55")
    (session,) = [s for s in shop.door._sessions._by_id.values() if s.timeout_ms == 55]
    cookie = f"jumpgate-session={session.id.hex()}"
    for name, seen in (("guest", 55), ("analyst", 0)):
        other = replace(shop.raw(name), cookie=cookie)
        answer = other.action("GetSessionOptions", sql.GetSessionOptionsRequest(), wrapped=False)
        assert sql.GetSessionOptionsResult.FromString(answer).session_options["timeout_ms"].int64_value == seen


def test_certificates_at_both_ends(shop: Shop, tmp_path: Path) -> None:
    certificates.init(tmp_path)
    for name in ("service", "client"):
        certificates.issue(tmp_path, name, ["127.0.0.1"])
    door = Door(shop.clients, "127.0.0.1", 0, Identity.load(tmp_path / "service"))
    shown = Identity.load(tmp_path / "client")
    options = {
        DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {shop.tokens['guest']}",
        DatabaseOptions.TLS_ROOT_CERTS.value: shown.ca.decode(),
    }
    own = {
        DatabaseOptions.MTLS_CERT_CHAIN.value: shown.certificate.decode(),
        DatabaseOptions.MTLS_PRIVATE_KEY.value: shown.key.decode(),
    }
    try:
        connected = adbc.connect(door.address, db_kwargs={**options, **own}, autocommit=True)
        with connected as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t")
            assert cursor.fetchone() == (ROWS,)
        with pytest.raises(OperationalError):
            adbc.connect(door.address, db_kwargs=options, autocommit=True).cursor().execute("SELECT 1")
    finally:
        door.close()
