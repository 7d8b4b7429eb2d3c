"""Spark with the plugin answers what Spark alone answers, with a real service; and it does when there is none."""

from __future__ import annotations

import asyncio
import contextlib
import html
import re
import threading
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from jumpgate.hosts.config import local_hosts
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from jumpgate.stores import settings
from jumpgate.stores.hdfs import blocks
from jumpgate.testing.leaks import wait_until
from jumpgate.tpcds.data import generate
from tests.support import hdfs_cluster, hdfs_store, object_store, probe
from tests.support.object_store import KEY, SECRET, Store, credentials, write
from tests.support.spark import Spark, equal, own, received, tpcds_table
from tests.support.users_store import User, users_store

TABLES = ("store_sales", "store_returns", "item", "date_dim", "customer", "store")
FORMATS = ("parquet", "orc", "json", "csv")

#: name → text
QUERIES = {
    name.removeprefix("-- "): text
    for name, _, text in (
        part.partition("\n")
        for part in (Path(__file__).parents[1] / "cases/spark/queries.sql").read_text().split("\n\n")[1:]
    )
}


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """With TPC-DS tables by format: `item_orc`."""
    data = tmp_path_factory.mktemp("tpcds")
    generate(data, 0.01, FORMATS, TABLES)
    spark = Spark(one_host, data / "warehouse", spark_ui_enabled="true", spark_ui_port="0")
    for format in FORMATS:
        for table in TABLES:
            tpcds_table(spark.session, data, table, format).createOrReplaceTempView(f"{table}_{format}")
    yield spark
    spark.close()


@pytest.fixture
def session(spark: Spark) -> SparkSession:
    return spark.session


def of_format(query: str, format: str) -> str:
    return re.sub(rf"\b({'|'.join(TABLES)})\b", rf"\1_{format}", query)


def test_tables_in_stores_are_offloaded_where_that_is_set(spark: Spark, tmp_path: Path) -> None:
    for year in (2023, 2024):
        write(tmp_path / f"lake/t/y={year}/part.parquet", object_store.table(year, 100))
    session = spark.session.newSession()
    session.conf.set("fs.s3a.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")  # Spark's own way there
    session.conf.set("fs.viewfs.mounttable.lake.link./t", f"file://{tmp_path}/lake/t")
    text = "select y, count(*) n, sum(a) t, max(s) m from t where x > 253 group by y order by y"
    store = Store(tmp_path, access_key=KEY, secret_key=SECRET)
    with credentials(store.endpoint), contextlib.closing(store):
        session.read.parquet("s3a://lake/t").createOrReplaceTempView("t")
        expected = own(session, text)
        assert session.sql(text).collect() == expected and not store.requests
        session.conf.set("spark.jumpgate.stores", "true")
        frame, before = session.sql(text), spark.fallbacks
        assert frame.collect() == expected and len(expected) == 2
        offloaded, operators = spark.coverage(frame)
        assert offloaded == operators and spark.fallbacks == before
        assert {path for method, path, _ in store.requests if method == "GET"} >= {
            f"/lake/t/y={y}/part.parquet" for y in (2023, 2024)
        }


def test_a_query_is_read_with_the_credentials_of_its_session(spark: Spark, tmp_path: Path) -> None:
    """Two sessions of one application have rights of their own, and nobody the service's."""
    write(tmp_path / "mine/t/part.parquet", object_store.table(0, 100))
    own_key, *users = (User(f"KEY{n}", f"secret/{n}", f"token/{n}" * (n > 0), lists=["mine/"]) for n in range(3))
    own_key.reads, users[0].reads = ["mine/"], ["mine/t/"]
    text = "select count(*) n, sum(a) t, max(s) m from t where x > 3"

    def session_of(user: User | None) -> SparkSession:
        session = spark.session.newSession()
        session.conf.set("fs.s3a.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")
        session.conf.set("fs.viewfs.mounttable.mine.link./t", f"file://{tmp_path}/mine/t")
        session.read.parquet("s3a://mine/t").createOrReplaceTempView("t")
        session.conf.set("spark.jumpgate.stores", "true")
        session.conf.set("spark.jumpgate.stores.credentials", "user")
        if user is not None:
            session.conf.set("fs.s3a.secret.key", "of no bucket of its own")
            for name, value in (("access.key", user.key), ("secret.key", user.secret), ("session.token", user.token)):
                session.conf.set(f"fs.s3a.bucket.mine.{name}", value)
        return session

    with users_store(tmp_path, own_key, *users) as store:
        session = session_of(users[0])
        expected, before = own(session, text), spark.fallbacks
        store.who()
        frame = session.sql(text)
        assert frame.collect() == expected and len(expected) == 1
        offloaded, operators = spark.coverage(frame)
        assert offloaded == operators and spark.fallbacks == before and store.who() == {users[0].key}
        other = session_of(users[1])
        other.conf.set("spark.jumpgate.strict", "true")
        with pytest.raises(Exception, match="the store refuses these credentials") as caught:
            other.sql(text).collect()
        assert "secret/" not in str(caught.value) and "token/" not in str(caught.value)
        assert store.who() == {users[1].key}
        without = session_of(None)
        frame = without.sql(text)
        assert frame.collect() == expected and spark.coverage(frame)[0] == 0 and store.who() == set()
        shown = without.sql(f"explain {text}").collect()[0][0]
        assert "the session has no credentials of s3://mine: it takes fs.s3a.access.key" in shown


def test_a_query_is_read_with_the_delegation_token_of_its_user(spark: Spark, tmp_path: Path) -> None:
    write(tmp_path / "t/part.parquet", object_store.table(0, 100))
    session, jvm = spark.session.newSession(), spark.session._jvm
    assert jvm is not None
    session.conf.set("fs.hdfs.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")
    session.conf.set("fs.viewfs.mounttable.placed.link./t", f"file://{tmp_path}/t")
    session.conf.set("spark.jumpgate.stores", "true")
    session.conf.set("spark.jumpgate.stores.credentials", "user")
    session.read.parquet("hdfs://placed/t").createOrReplaceTempView("t")
    text = "select count(*) n, sum(a) t from t where x > 3"
    cluster = hdfs_store.Cluster(tmp_path)
    settings.configure([settings.Store("hdfs://placed", endpoint=cluster.endpoint)])
    try:
        frame = session.sql(text)
        expected = frame.collect()
        assert spark.coverage(frame)[0] == 0 and not cluster.requests
        assert "it takes a delegation token" in session.sql(f"explain {text}").collect()[0][0]
        kind, service = (jvm.org.apache.hadoop.io.Text(of) for of in ("HDFS_DELEGATION_TOKEN", "ha-hdfs:placed"))
        token = jvm.org.apache.hadoop.security.token.Token(b"who", b"a secret", kind, service)
        jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().addToken(token)
        frame, before = session.sql(text), spark.fallbacks
        assert frame.collect() == expected and spark.fallbacks == before
        offloaded, operators = spark.coverage(frame)
        assert offloaded == operators and {asked.who for asked in cluster.requests} == {token.encodeToUrlString()}
    finally:
        settings.configure([])
        cluster.close()


def test_tables_that_spark_writes_to_hdfs_are_offloaded(spark: Spark, tmp_path: Path) -> None:
    session = spark.session.newSession()
    text = "select y, count(*) n, sum(a) t, max(s) m from t where x > 253 group by y order by y"
    with hdfs_cluster.started(tmp_path) as hdfs:
        settings.configure([settings.Store(hdfs.base, endpoint=hdfs.endpoint)])
        try:
            rows = session.range(0, 20_000, 1, 2).selectExpr(
                "id % 2 y", "if(id % 7 = 0, null, id) a", "concat('é%', id * 2654435761 % 1000003) s", "id / 8 x"
            )
            for format in ("parquet", "orc"):
                table = f"{hdfs.base}/a b+%é/{format}"
                rows.write.format(format).partitionBy("y").save(table)
                session.conf.set("spark.jumpgate.stores", "false")
                session.read.format(format).load(table).createOrReplaceTempView("t")
                frame = session.sql(text)
                expected = frame.collect()
                assert spark.coverage(frame)[0] == 0 and len(expected) == 2
                session.conf.set("spark.jumpgate.stores", "true")
                frame, before = session.sql(text), spark.fallbacks
                assert frame.collect() == expected, format
                offloaded, operators = spark.coverage(frame)
                assert offloaded == operators and spark.fallbacks == before, format
            (name, *_) = read(f"{hdfs.base}/a b+%é/parquet").root.files
            assert [set(hosts) for hosts in blocks(name)] == [{"127.0.0.1"}]  # where both datanodes are
            hdfs.stop_datanode()
            assert session.sql(text).collect() == expected and spark.fallbacks == before
        finally:
            settings.configure([])


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_spark_s(spark: Spark, session: SparkSession, name: str) -> None:
    expected = own(session, of_format(QUERIES[name], "parquet"))
    before = spark.fallbacks
    for format in FORMATS:
        frame = session.sql(of_format(QUERIES[name], format))
        assert equal(frame.collect(), expected, "order by" in QUERIES[name] and "over" not in QUERIES[name]), format
        offloaded, operators = spark.coverage(frame)
        assert offloaded == operators if name != "partly" else 0 < offloaded < operators, format
    assert spark.fallbacks == before


def test_explain_shows_what_is_offloaded_and_why_the_rest_is_not(
    session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    session.sql(of_format("select i_color, round(cast(i_item_sk as double), 1) from item", "orc")).explain()
    shown = capsys.readouterr().out
    assert "Jumpgate [" in shown and "scan of orc" in shown
    assert "2 of 3 operators (66 %) offloaded" in shown
    assert "Project stays: [expression] rounding of double is Spark's own" in shown


def test_the_ui_names_accelerators_and_the_job(session: SparkSession) -> None:
    session.sql(of_format("select count(*) from item where i_brand_id > 3", "json")).collect()
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    shown = session._jsparkSession.sharedState().statusStore().executionsList().last().physicalPlanDescription()
    found = re.search(r"; by ([a-z_]+(?:, [a-z_]+)*); the timeline of job (\S+) is in the tab Jumpgate", shown)
    assert found, shown
    with Session(session.conf.get("spark.jumpgate.address")) as service:
        record = service.describe(found[2]).record
    assert record and {instance["nca"] for instance in record["instances"]} <= set(found[1].split(", "))


def test_the_tab_lists_jobs_and_draws_them(session: SparkSession) -> None:
    session.sparkContext.setJobDescription("<b>brands</b>")
    try:
        session.sql(of_format("select count(*) from item where i_brand_id > 4", "json")).collect()
    finally:
        session.sparkContext.setJobDescription(None)
    listed = ui_page(session, "/jumpgate/")
    row = next(r for r in listed.split("<tr>") if "&lt;b&gt;brands" in r)
    job = re.search(r'href="(/jumpgate/report/\?job=[^"]+)"', row)
    assert job and re.search(r'href="/SQL/execution/\?id=\d+"', row) and "cpp" in row
    framed = re.search(r'<iframe srcdoc="([^"]+)"', ui_page(session, job[1]))
    assert framed
    drawn = html.unescape(framed[1])
    assert "<svg" in drawn and job[1].partition("=")[2] in drawn and "<script" not in drawn
    unknown = ui_page(session, "/jumpgate/report/?job=%3Cscript%3E")
    assert "This application has no job " in unknown and "no job <script>" not in unknown


def ui_page(session: SparkSession, path: str) -> str:
    url = session.sparkContext.uiWebUrl
    assert url
    with urllib.request.urlopen(url + path, timeout=30) as answer:
        return str(answer.read().decode())


def test_what_spark_reads_otherwise_is_left_to_spark(spark: Spark, session: SparkSession, tmp_path: Path) -> None:
    """Spark has NULL for values of other types, and for lines that are not JSON."""
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": "2"}\n{"a": 3.0}\n{"a": \n')
    session.read.schema("a int").json(str(tmp_path)).createOrReplaceTempView("odd")
    before = spark.fallbacks
    assert [r[0] for r in session.sql("select a from odd").collect()] == [1, None, None, None]
    assert spark.fallbacks == before + 1


@pytest.mark.parametrize("mode", ["permissive", "dropMalformed"])
def test_malformed_fields_that_no_query_reads(spark: Spark, session: SparkSession, tmp_path: Path, mode: str) -> None:
    """Spark makes NULL of the whole line, or leaves it out."""
    (tmp_path / "t.json").write_text('{"a": 1, "b": 1}\n{"a": 2, "b": tru}\n{"a": 3, "b": 01}\n{"a": 4, "b": 4}\n')
    table = session.read.schema("a int, b int").option("mode", mode).json(str(tmp_path))
    table.createOrReplaceTempView("odd")
    for query in (
        "select a from odd",
        "select sum(a) from odd where a > 1",
        "select count(*) from odd where a is null",
    ):
        before = spark.fallbacks
        assert equal(session.sql(query).collect(), own(session, query)), query
        assert spark.fallbacks == before + 1, query


def test_csv_as_spark_reads_it(spark: Spark, session: SparkSession, tmp_path: Path) -> None:
    """By position, whatever the header says; what Spark may read otherwise is left to it."""
    plain = "x|y\n1|'a|b'\n \n2|\n|c\n"
    for name, text, fallbacks in [
        ("plain", plain, 0), ("escaped", plain + "3|'a\\'b'\n", 1), ("doubled", plain + "3|'a''b'\n", 1),
        ("empty", plain + "3|''\n", 1), ("short", plain + "3\n", 1), ("wide", plain + "3|d|e\n", 1),
        ("number", plain + "3.0|d\n", 1), ("lines", plain + "3|'d\ne'\n", 1),
    ]:  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(text)
        table = (
            session.read.schema("a int, b string").options(header="true", sep="|", quote="'").csv(str(tmp_path / name))
        )
        table.createOrReplaceTempView("t")
        before = spark.fallbacks
        assert equal(session.sql("select a, b from t").collect(), own(session, "select a, b from t")), name
        assert spark.fallbacks == before + fallbacks, name


def test_options_of_text_files_that_are_spark_s_own(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,x\n")
    for option in (
        {"nullValue": "x"},
        {"comment": "#"},
        {"multiLine": "true"},
        {"dateFormat": "dd.MM.yy"},
        {"sep": "::"},
    ):
        frame = session.read.schema("a int, b string").options(**option).csv(str(tmp_path))
        plan: Any = frame._jdf.queryExecution().executedPlan()
        assert "Jumpgate [" not in plan.toString(), option


def test_an_error_of_a_query_is_spark_s(session: SparkSession) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        session.sql(of_format("select i_item_sk / (i_item_sk - i_item_sk) from item", "parquet")).collect()


def test_partition_columns(spark: Spark, session: SparkSession, tmp_path: Path) -> None:
    frame = session.range(20).selectExpr("id % 3 p", "if(id % 4 = 0, null, concat('a b', id % 2)) q", "id v")
    frame.write.partitionBy("p", "q").parquet(str(tmp_path / "parts"))
    session.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("parts")
    query = "select p, q, sum(v) from parts where p > 0 group by p, q"
    before = spark.fallbacks
    assert equal(session.sql(query).collect(), own(session, query), ordered=False)
    assert spark.fallbacks == before


#: rand() stays with Spark, which receives more than it sends with its tasks
RECEIVED = "select ss_item_sk, ss_ticket_number, ss_list_price from store_sales_parquet where ss_quantity > 10"
LARGE = f"select ss_item_sk, ss_ticket_number, ss_list_price from (select *, rand() r from ({RECEIVED})) where r >= 0"


def test_a_result_is_read_again(spark: Spark, session: SparkSession) -> None:
    before, frame = spark.fallbacks, session.sql(LARGE)
    expected = own(session, RECEIVED)
    for _ in range(3):
        assert equal(frame.collect(), expected)
    again = received(frame)
    for _ in range(2):
        assert equal(again.collect(), expected)
    assert spark.coverage(frame)[0] > 0
    assert spark.fallbacks == before


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("query", [RECEIVED, LARGE], ids=["whole", "part"])
def test_a_cached_table_that_was_offloaded(spark: Spark, session: SparkSession, query: str) -> None:
    before, expected = spark.fallbacks, own(session, RECEIVED)
    cached = session.sql(query).persist(StorageLevel.MEMORY_ONLY)
    try:
        assert "Jumpgate [" in cached._jdf.queryExecution().executedPlan().toString()
        for _ in range(2):
            assert equal(cached.collect(), expected)
            for rdd in session.sparkContext._jsc.getPersistentRDDs():
                spark.jvm.org.apache.spark.SparkEnv.get().blockManager().removeRdd(rdd)
    finally:
        cached.unpersist(blocking=True)
    assert spark.fallbacks == before


def test_a_cached_table_beside_what_is_offloaded(spark: Spark, session: SparkSession) -> None:
    query = "select i_brand, sum(price) from bought join item_orc on item = i_item_sk where i_brand_id > 5 group by 1"
    session.sql("select ss_item_sk item, ss_list_price price from store_sales_json").createOrReplaceTempView("bought")
    expected = own(session, query)
    session.sql("cache table bought")
    try:
        frame = session.sql(query)
        assert equal(frame.collect(), expected)
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert "scan of orc" in plan and "Scan In-memory table bought" in plan
    finally:
        session.sql("uncache table bought")


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_groups_of_a_part_of_a_union(spark: Spark, session: SparkSession, ansi: str) -> None:
    """Of which the other part stays with Spark: its rows and the groups make the answer."""
    query = """
        select ss_store_sk + 1 k, sum(ss_quantity), avg(ss_quantity), sum(ss_list_price) / count(*), avg(ss_list_price),
               count(ss_quantity), count(*), min(ss_item_sk), max(ss_net_paid), sum(p),
               count(ss_quantity) filter (where ss_item_sk > 100), sum(ss_item_sk) filter (where ss_quantity > 5)
        from (select ss_store_sk, ss_item_sk, ss_quantity, ss_list_price, ss_net_paid, ss_net_paid / 3d p
              from store_sales_parquet where ss_item_sk < 1000
              union all
              select ss_store_sk, ss_item_sk, ss_quantity, ss_list_price, ss_net_paid, ss_net_paid / 3d
              from (select *, rand() r from store_sales_orc) where r >= 0)
        group by ss_store_sk + 1"""
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for text in (query, query.replace("ss_store_sk + 1 k, ", "").partition("group by")[0]):
            before, frame = spark.fallbacks, session.sql(text)
            assert equal(frame.collect(), own(session, text))
            assert spark.fallbacks == before
            plan = frame._jdf.queryExecution().executedPlan().toString()
            assert re.search(r"Jumpgate \[.*aggregate.*scan of parquet", plan), plan
    finally:
        session.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("phase", ["plan", "execute"])
def test_cancelling_a_job_group_ends_the_job(spark: Spark, session: SparkSession, phase: str) -> None:
    service = embedded.start(local_hosts(1))
    entered, left = threading.Event(), threading.Event()
    prepare, execute = service.engine.prepare, service.engine.execute

    async def held() -> None:
        entered.set()
        try:
            await asyncio.sleep(600)
        finally:
            left.set()

    async def prepared(*arguments: Any) -> Any:
        if phase == "plan":
            await held()
        return await prepare(*arguments)

    async def executed(id: str, *more: Any) -> AsyncGenerator[Event, None]:
        async with contextlib.aclosing(execute(id, *more)) as events:
            async for event in events:
                if event.state == "done":
                    await held()
                yield event

    service.engine.prepare, service.engine.execute = prepared, executed  # type: ignore[method-assign, assignment]
    session.conf.set("spark.jumpgate.address", service.address)
    before, context = spark.fallbacks, session.sparkContext

    def run() -> str:
        context.setJobGroup("held", "a query that somebody cancels")
        try:
            session.sql(of_format("select count(*) from item", "orc")).collect()
        except Exception as error:
            return str(error)
        return "an answer"

    with ThreadPoolExecutor(1) as pool:
        try:
            outcome = pool.submit(run)
            assert entered.wait(60)
            # the job that stands for it may not have begun yet
            assert wait_until(lambda: bool(context.statusTracker().getJobIdsForGroup("held")))
            context.cancelJobGroup("held")
            assert "cancelled job group held" in outcome.result(60)
            assert left.wait(60)
        finally:
            service.close()
            session.conf.set("spark.jumpgate.address", context.getConf().get("spark.jumpgate.address"))
    assert spark.fallbacks == before
    assert session.sql(of_format("select count(*) from item", "orc")).collect() == own(
        session, of_format("select count(*) from item", "orc")
    )


def test_a_service_that_is_gone(spark: Spark, session: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    service = embedded.start(local_hosts(1))
    session.conf.set("spark.jumpgate.address", service.address)
    query = of_format("select count(*), sum(ss_quantity) from store_sales", "parquet")
    expected = own(session, query)
    try:
        assert session.sql(query).collect() == expected
        service.close()
        before = spark.fallbacks
        assert session.sql(query).collect() == expected
        assert spark.fallbacks == before + 1
        session.conf.set("spark.jumpgate.strict", "true")
        with pytest.raises(Exception, match="spark.jumpgate.strict is set: no Jumpgate service answers"):
            session.sql(query).collect()
        assert spark.fallbacks == before + 1
        session.conf.set("spark.jumpgate.offload", "auto")  # decided before anything runs
        for adaptive in ("true", "false"):
            session.conf.set("spark.sql.adaptive.enabled", adaptive)
            frame = session.sql(query)
            frame.explain()
            assert "Aggregate stays: [service] no Jumpgate service answers" in capsys.readouterr().out
            assert frame.collect() == expected
            assert spark.coverage(frame)[0] == 0
    finally:
        service.close()
        session.conf.unset("spark.sql.adaptive.enabled")
        session.conf.set("spark.jumpgate.strict", "false")
        session.conf.set("spark.jumpgate.offload", "always")
        session.conf.set("spark.jumpgate.address", session.sparkContext.getConf().get("spark.jumpgate.address"))


def test_auto_waits_for_no_program(
    spark: Spark, session: SparkSession, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark answers as long as programs take longer to build than they save."""
    service = embedded.start(local_hosts(1))
    session.conf.set("spark.jumpgate.address", service.address)
    session.conf.set("spark.jumpgate.offload", "auto")
    query = of_format("select ss_store_sk, sum(ss_quantity * 3) s from store_sales group by ss_store_sk", "parquet")
    expected = own(session, query)

    def is_offloaded() -> bool:
        frame = session.sql(query)
        offloaded, operators = spark.coverage(frame)
        assert equal(frame.collect(), expected)
        return offloaded == operators

    try:
        session.sql(query).explain()
        assert "stays: [cost] its programs are built" in capsys.readouterr().out
        assert wait_until(is_offloaded, 120)
    finally:
        service.close()
        session.conf.set("spark.jumpgate.offload", "always")
        session.conf.set("spark.jumpgate.address", session.sparkContext.getConf().get("spark.jumpgate.address"))


def test_what_has_failed_by_its_values_stays_with_spark(
    spark: Spark, session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    query, before = of_format("select first(i_item_sk), count(*) from item", "orc"), spark.fallbacks
    assert session.sql(query).collect() == own(session, query)
    assert spark.fallbacks == before + 1
    session.conf.set("spark.jumpgate.offload", "auto")
    try:
        session.sql(query).explain()
        assert "Aggregate stays: [cost] its job has failed: " in capsys.readouterr().out
        assert session.sql(query).collect() == own(session, query)
    finally:
        session.conf.set("spark.jumpgate.offload", "always")
    assert spark.fallbacks == before + 1


def test_row_groups_are_skipped_by_what_orc_s_java_library_writes(session: SparkSession, tmp_path: Path) -> None:
    """Row indexes and Bloom filters: those of the values that a file has, and not of values between them."""
    rows, stride = 40_000, 5_000
    frame = session.range(0, rows, 1, 1).selectExpr(
        "id * 10 n", "cast(-id as int) i", "date_add(date'1970-01-01', cast(id as int)) day", "id / 8D x",
        "concat('name ', id * 2) name", "id row",
    )  # fmt: skip
    options = {"columns": "n,i,day,name", "fpp": "0.000001"}
    writer = frame.write.option("orc.row.index.stride", stride)
    for name, value in options.items():
        writer = writer.option(f"orc.bloom.filter.{name}", value)
    writer.orc(str(tmp_path / "t"))
    (path,) = (tmp_path / "t").glob("*.orc")
    types = {"n": t.int64, "i": t.int32, "day": t.date, "x": t.float64, "name": t.string, "row": t.int64}
    schema = Schema(tuple(Field(name, type_) for name, type_ in types.items()))

    def found(column: str, value: object) -> probe.Scan:
        bound = (schema.names.index(column), "eq", str(value).encode())
        return probe.scan("orc", [str(path)], schema, bounds=[bound])

    for row in (0, 1, stride - 1, stride, 12_345, rows - 1):
        for column, value in {"n": row * 10, "i": -row, "day": row, "x": row / 8, "name": f"name {row * 2}"}.items():
            scan = found(column, value)
            assert row in scan.columns[-1] and scan.rows == stride, (column, value)
        for column, value in {"n": row * 10 + 5, "name": f"name {row * 2 + 1}"}.items():
            assert found(column, value).rows == 0, (column, value)
