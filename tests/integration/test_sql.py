"""SQL connections: answers in every mode and format, names and types, parameters, errors that point at the place."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, orc, parquet

import jumpgate
from jumpgate.cli.main import main
from jumpgate.client.duckdb import decide
from jumpgate.client.sql import calibrate, database, tables
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.codegen import cache
from jumpgate.dataflow.formats import formats
from jumpgate.errors import (
    Cancelled,
    ConfigError,
    DataError,
    FileUnreadable,
    InvalidDataflow,
    JumpgateError,
    MemoryLimit,
    NotFound,
    SchemaMismatch,
    Unreachable,
)
from jumpgate.service import calibration
from jumpgate.study.answers import difference

MODES = ("always", "auto", "never")
ITEM = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, None], pa.int64()),
        "name": ["ale", "bread", "corn's", None, "egg"],
        "price": pa.array(
            [Decimal("1.50"), Decimal("2.25"), None, Decimal("0.10"), Decimal("9.99")], pa.decimal128(7, 2)
        ),
        "sold": pa.array([datetime.date(2024, 1, d) for d in (1, 2, 3, 4, 5)]),
    }
)
SALE = pa.table(
    {"item": pa.array([1, 1, 2, 9, None], pa.int64()), "number": pa.array([10, 20, 30, 40, 50], pa.int64())}
)
SCHEMAS = {
    "item": {"id": "int64", "name": "string", "price": "decimal(7, 2)", "sold": "date"},
    "sale": {"item": "int64", "number": "int64"},
}


def write(table: pa.Table, file: Path) -> Path:
    format = file.suffix[1:]
    if format == "parquet":
        parquet.write_table(table, file)
    elif format == "orc":
        orc.write_table(table, file)
    elif format == "csv":
        csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
    else:
        file.write_text("".join(json.dumps(row, default=number_or_text) + "\n" for row in table.to_pylist()))
    return file


def number_or_text(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


@pytest.fixture(scope="module")
def connection(one_host: str) -> Iterator[Connection]:
    with jumpgate.connect(one_host, offload="always") as connection:
        yield connection


@pytest.fixture(params=tuple(formats()))
def shop(connection: Connection, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """The tables item and sale in one format."""
    for name, table in (("item", ITEM), ("sale", SALE)):
        connection.register(name, write(table, tmp_path / f"{name}.{request.param}"), schema=SCHEMAS[name])
    yield connection
    connection.deregister("item")
    connection.deregister("sale")


@pytest.fixture
def small(connection: Connection, tmp_path: Path) -> Iterator[Connection]:
    """The tables item and sale in Parquet, schemas from the files."""
    connection.register("item", write(ITEM, tmp_path / "item.parquet"))
    connection.register("sale", write(SALE, tmp_path / "sale.parquet"))
    yield connection
    for name in connection.tables.names:
        connection.deregister(name)


QUERIES = (
    "SELECT * FROM item",
    "SELECT name, price * 2 AS twice FROM item WHERE price > 1 AND name IS NOT NULL ORDER BY name",
    "SELECT name, sum(number) AS n, count(*) FROM item JOIN sale ON id = item GROUP BY name ORDER BY n DESC",
    "SELECT id, number FROM item LEFT JOIN sale ON id = item ORDER BY id, number",
    "SELECT avg(price), min(sold), max(name), stddev(price) FROM item",
    "SELECT DISTINCT item IS NULL AS nothing FROM sale ORDER BY 1",
    "SELECT id FROM item WHERE id IN (SELECT item FROM sale) ORDER BY id",
    "SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = id) ORDER BY id",
    "SELECT id, number FROM item, sale WHERE id < number AND number < 25 ORDER BY id, number",
    "SELECT item FROM sale UNION ALL SELECT id FROM item ORDER BY 1 DESC LIMIT 4",
    "SELECT item FROM sale INTERSECT SELECT id FROM item ORDER BY 1",
    "SELECT item, number, rank() OVER (PARTITION BY item ORDER BY number DESC) AS r FROM sale ORDER BY 1, 2",
    "SELECT item, sum(number) FROM sale GROUP BY ROLLUP (item) ORDER BY 1, 2",
    "SELECT item, number % 3 AS n, number % 2 AS m, count(*), count(number), avg(number), min(number), sum(number) "
    "FROM sale WHERE item < 9 GROUP BY CUBE (item, n, m) ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT item, number, sum(number), count(*) FROM sale WHERE number < 0 GROUP BY ROLLUP (item, number)",
    "SELECT number / 4 AS quarter FROM sale ORDER BY 1",
    "WITH s AS (SELECT item, sum(number) AS n FROM sale GROUP BY item) "
    "SELECT a.item, b.n FROM s AS a JOIN s AS b ON a.item = b.item ORDER BY 1",
)


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("mode", MODES)
def test_answers_are_duckdbs(shop: Connection, mode: str) -> None:
    with duckdb.connect() as other:
        other.register("item", ITEM)
        other.register("sale", SALE)
        for text in QUERIES:
            expected = other.execute(text).to_arrow_table()
            with shop.sql(text, offload=mode) as query:
                found = query.to_arrow()
                assert not difference(found, expected, [], lambda: None), (text, query.explain())
                assert found.schema == query.schema


def test_modes_give_the_same_names_and_types(small: Connection) -> None:
    for text in QUERIES:
        queries = {mode: small.sql(text, offload=mode) for mode in MODES}
        assert queries["always"].split.cuts and not queries["auto"].split.cuts, text
        schemas = {mode: query.to_arrow().schema for mode, query in queries.items()}
        assert schemas["always"] == schemas["never"] == schemas["auto"], text


def test_accelerators_do_the_work(small: Connection) -> None:
    with small.sql("SELECT name, sum(number) AS n FROM item JOIN sale ON id = item GROUP BY name") as query:
        assert query.split.offloaded == query.split.operators
        assert query.to_arrow().num_rows == 2
        (job,) = query.jobs
        record = small.session.describe(job).record
        assert record is not None
        read = {s["name"]: s["rows"] for c in record["counters"].values() for s in c["sources"]}
        assert read == {"item.parquet": 5, "sale.parquet": 5}
    with small.sql("SELECT count(*) FROM item", offload="never") as query:
        assert query.to_arrow().to_pylist() == [{"count_star()": 5}]
        assert query.jobs == () and query.split.offloaded == 0


def test_columns_keep_names_that_repeat(small: Connection) -> None:
    for mode in MODES:
        with small.sql(
            "SELECT a.id, b.id FROM item AS a JOIN item AS b ON a.id = b.id ORDER BY 1", offload=mode
        ) as query:
            assert query.columns == ["id", "id"]
            assert [c.to_pylist() for c in query.to_arrow().columns] == [[1, 2, 3, 4]] * 2


def test_forms_of_a_result(small: Connection) -> None:
    query = small.sql("SELECT id FROM item WHERE id < 3 ORDER BY id")
    assert query.to_arrow().column("id").to_pylist() == [1, 2]
    assert list(query.to_pandas()["id"]) == [1, 2]
    assert query.to_pylist() == [{"id": 1}, {"id": 2}]
    assert sum(batch.num_rows for batch in query) == 2
    streamed = small.sql("SELECT id FROM item")
    assert sum(batch.num_rows for batch in streamed.batches()) == 5
    assert sum(batch.num_rows for batch in streamed.batches()) == 5
    reading = streamed.batches()
    next(reading)
    with pytest.raises(ValueError, match="are being read"):
        next(streamed.batches())
    reading.close()
    assert sum(batch.num_rows for batch in streamed) == 5
    assert small.table("sale").to_arrow().num_rows == 5


def test_arrow_tables_join_with_files(small: Connection) -> None:
    small.register("extra", pa.table({"id": [1, 2], "label": ["one", "two"]}))
    with small.sql(
        "SELECT label, sum(number) AS n FROM extra JOIN sale ON id = item GROUP BY label ORDER BY 1"
    ) as query:
        assert query.to_pylist() == [{"label": "one", "n": 30}, {"label": "two", "n": 30}]
        assert "extra" in query.explain()


def test_globs_and_directories(connection: Connection, tmp_path: Path) -> None:
    for format in tuple(formats()):
        folder = tmp_path / format
        folder.mkdir()
        for part in range(3):
            write(SALE, folder / f"part [{part}].{format}")
        connection.register("parts", folder, schema=SCHEMAS["sale"])
        try:
            for mode in MODES:
                assert connection.sql(
                    "SELECT count(*), sum(number) FROM parts", offload=mode
                ).to_arrow().to_pylist() == [{"count_star()": 15, "sum(number)": 450}]
        finally:
            connection.deregister("parts")


@pytest.mark.parametrize("mode", MODES)
def test_parameters_are_values(small: Connection, mode: str) -> None:
    text = "SELECT id FROM item WHERE name = $1 AND id >= $2"
    assert small.sql(text, ["corn's", 1], offload=mode).to_pylist() == [{"id": 3}]
    assert small.sql(text, ["' OR 1=1 --", 1], offload=mode).to_pylist() == []
    assert small.sql("SELECT id FROM item WHERE price = $p", {"p": Decimal("0.10")}, offload=mode).to_pylist() == [
        {"id": 4}
    ]
    with pytest.raises(InvalidSql, match="python value of type '<class 'object'>'"):
        small.sql(text, [object(), 1])


def test_explain_says_what_stays_and_why(small: Connection) -> None:
    query = small.sql("SELECT id FROM item", offload="never")
    assert "DuckDB answers here" in query.explain() and "offload = never" in query.explain()
    analysed = small.sql("SELECT sum(number) AS n FROM sale").explain(analyze=True)
    assert "in 1 job" in analysed and "rows 1" in analysed and "total" in analysed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELEC 1", 'syntax error at or near "SELEC"\n\nLINE 1: SELEC 1\n        ^'),
        ("SELECT id\nFROM item WHERE", "syntax error at end of input"),
        ("SELECT * FROM itm", 'Table with name itm does not exist!\nDid you mean "item"?'),
        ("SELECT nme FROM item", 'column "nme" not found in FROM clause!\nCandidate bindings: "name"\n\nLINE 1: '),
        ("SELECT i.nme FROM item AS i", 'does not have a column named "nme"'),
        ("SELECT nosuch(id) FROM item", "Function with name nosuch does not exist!"),
        ("CREATE TABLE t AS SELECT nme FROM item", 'column "nme" not found in FROM clause!'),
        ("INSERT INTO item VALUES (1)", "item is not an table"),
        ("SET nosuch = 1", 'unrecognized configuration parameter "nosuch"'),
        ("", "the text holds no query"),
    ],
)  # fmt: skip
def test_errors_of_the_text(small: Connection, text: str, message: str) -> None:
    with pytest.raises(InvalidSql) as raised:
        small.sql(text)
    assert message in str(raised.value)


def test_errors_of_tables(small: Connection, tmp_path: Path) -> None:
    small.register("item", ITEM.slice(0, 2))
    assert small.sql("SELECT count(*) AS n FROM item").to_pylist() == [{"n": 2}]
    with pytest.raises(FileUnreadable):
        small.register("item", tmp_path / "missing.parquet")
    assert small.sql("SELECT count(*) AS n FROM item").to_pylist() == [{"n": 2}]
    with pytest.raises(InvalidDataflow, match="cannot name a table"):
        small.register("a.b", ITEM)
    with pytest.raises(NotFound, match="there is no table 'itm'; did you mean 'item'"):
        small.table("itm")
    with pytest.raises(FileUnreadable, match="no file matches"):
        small.register("nothing", str(tmp_path / "*.json"))
    with pytest.raises(InvalidDataflow, match="object is neither a path nor Arrow data"):
        small.register("thing", object())
    with pytest.raises(ConfigError, match="offload is 'maybe'; it can be auto, always, never"):
        small.sql("SELECT 1", offload="maybe")
    with pytest.raises(Unreachable, match="no Jumpgate service answers"):
        jumpgate.connect("127.0.0.1:1")


def test_a_text_with_parameters_runs_when_its_result_is_asked_for(connection: Connection) -> None:
    endless = "WITH RECURSIVE r AS (SELECT $1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n, n FROM r"
    for parameters, text in ((1,), endless), ({"n": 1}, endless.replace("$1", "$n")):
        with connection.sql(text, parameters) as query:
            assert query.columns == ["n", "n"]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_wrong_with_the_data_is_said(connection: Connection, tmp_path: Path, mode: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"a": 1}\n{"a": \n')
    connection.register("bad", file, schema={"a": "int64"})
    try:
        with pytest.raises(DataError), connection.sql("SELECT sum(a) FROM bad", offload=mode) as query:
            query.to_arrow()
    finally:
        connection.deregister("bad")


def test_errors_after_the_first_rows_are_typed(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "late.json"
    file.write_text('{"a": 1}\n' * 400_000 + '{"a": \n')
    connection.register("late", file, schema={"a": "int64"})
    try:
        with pytest.raises(DataError, match="line 400001"), connection.sql("FROM late", offload="never") as query:
            list(query.batches())
    finally:
        connection.deregister("late")


def test_malformed_rows_are_skipped_on_every_road(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"a": 1}\n{"a": \n{"a": 2}\n')
    connection.register("bad", file, schema={"a": "int64"}, on_error="skip")
    try:
        for mode in ("auto", "always", "never"):
            assert connection.sql("SELECT sum(a) AS n FROM bad", offload=mode).to_pylist() == [{"n": 3}]
    finally:
        connection.deregister("bad")


def test_closing_a_query_leaves_others_of_its_text(connection: Connection, tmp_path: Path) -> None:
    rows = 400_000
    connection.register("long", write(pa.table({"n": range(rows)}), tmp_path / "long.json"), schema={"n": "int64"})
    try:
        first, second = (connection.sql("FROM long", offload="never") for _ in range(2))
        assert first.to_arrow().num_rows == rows
        third = connection.sql("FROM long", offload="never")
        batches = third.batches()
        found = next(batches).num_rows
        first.close()
        second.close()
        assert found + sum(batch.num_rows for batch in batches) == rows
    finally:
        connection.deregister("long")


def test_closing_early_cancels_the_jobs(connection: Connection, tmp_path: Path) -> None:
    rows = 400_000
    big = pa.table({"n": range(rows), "text": ["x" * 50] * rows})
    connection.register("big", write(big, tmp_path / "big.parquet"))
    try:
        with connection.sql("SELECT n, text FROM big") as query:
            assert next(iter(query.batches())).num_rows > 0
        (job,) = query.jobs
        deadline = time.monotonic() + 20
        while (state := connection.session.describe(job).state) == "running" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert state == "cancelled"
        with pytest.raises(Cancelled):
            closed = connection.sql("SELECT n FROM big")
            closed.close()
            closed.to_arrow()
    finally:
        connection.deregister("big")


def test_spooled_results_leave_no_file(small: Connection) -> None:
    small.register("extra", pa.table({"id": [1, 2]}))
    query = small.sql("SELECT array_agg(number) AS n FROM extra JOIN sale ON id = item")
    assert not query.split.cuts  # the list comes from DuckDB
    batches = query.batches()
    assert sorted(next(batches).to_pylist()[0]["n"]) == [10, 20, 30]
    assert not list(cache.folder("spool").iterdir())


def test_nesting_and_size_are_bounded(small: Connection) -> None:
    with pytest.raises(JumpgateError):
        small.sql("SELECT " + "(" * 10_000 + "1" + ")" * 10_000)
    with pytest.raises(InvalidSql, match="Max expression depth limit of 1000 exceeded"):
        small.sql("SELECT " + "id + " * 60_000 + "id FROM item")
    with pytest.raises(InvalidDataflow, match="and may have 1000000: pass long values as parameters"):
        small.sql("SELECT '" + "x" * (5 << 20) + "'")


def test_calibration_measures_both_sides(connection: Connection) -> None:
    effort = calibrate.Effort(20_000, 20_000, runs=1, factor_max=20.0, formats=("parquet", "csv"))
    seconds = calibrate.measure(connection, effort=effort)
    assert set(seconds) == set(calibration.WHO)
    for of_one in seconds.values():
        assert {"job", "probe large", "scan parquet text", "scan csv byte"} <= set(of_one)
        assert all(value >= 0 for value in of_one.values())
    assert connection.tables.names == ()


def test_command_line(tmp_path: Path, one_host: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(SALE, tmp_path / "sale.parquet")
    query = tmp_path / "query.sql"
    query.write_text("SELECT item, number FROM sale WHERE item = $1")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["sql", str(query), "--address", one_host, *arguments])
        out, err = capsys.readouterr()
        return int(str(ended.value.code)), out, err

    code, out, _ = run("--table", f"sale={file}", "-p", "2", "--json", "--offload", "always")
    assert code == 0 and json.loads(out)["result"] == [[2, 30]]
    code, out, _ = run("--tables", str(tmp_path), "--format", "parquet", "-p", "1", "--output", str(tmp_path / "a.csv"))
    assert code == 0 and "wrote 2 rows" in out
    code, out, _ = run("--table", f"sale={file}", "-p", "1", "--explain", "--offload", "never")
    assert code == 0 and "DuckDB answers here" in out
    code, _, err = run("--table", "sale")
    assert code == 1 and "write NAME=PATH" in err
    code, _, err = run("-p", "1")
    assert code == 1 and "Table with name sale does not exist" in err
    query.write_text("SELECT nothing FROM sale")
    code, _, err = run("--table", f"sale={file}")
    assert code == 1 and 'column "nothing" not found' in err


def test_a_text_reads_what_its_tables_hold_by_then(small: Connection, tmp_path: Path) -> None:
    file = write(SALE, tmp_path / "again.parquet")
    text = "SELECT item, sum(number) AS n FROM again GROUP BY item"
    for mode in MODES:
        small.register("again", write(SALE, file))
        answers = []
        for rows in (5, 2):
            write(SALE.slice(0, rows), file)
            answers.append(sorted(r["n"] for r in small.sql(text, offload=mode).to_pylist()))
        assert answers == [[30, 30, 40, 50], [30]], mode
        small.register("again", pa.table({"item": ["a"], "number": [7]}))
        assert small.sql(text, offload=mode).to_pylist() == [{"item": "a", "n": 7}]


def test_auto_takes_what_was_the_fastest(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "QUICK_S", 0.0)
    monkeypatch.setattr(decide, "STARTING_S", 0.0)
    file = write(SALE, tmp_path / "learnt.parquet")
    connection.register("learnt", file)
    text = "SELECT max(number) AS n FROM learnt"
    try:
        for kind, other in (("always", "never"), ("never", "always")):
            for mode, seconds in ((kind, 0.1), (other, 0.2)) * 2:
                connection._workspace.auto.experience.note(text, mode, seconds)
            query = connection.sql(text, offload="auto")
            assert bool(query.split.offloaded) == (kind == "always")
            assert query.to_pylist() == [{"n": 50}]
            connection._workspace.auto.experience.forget()
        connection._workspace.auto.experience.note(text, "always", float("inf"))  # it failed: the other one is tried
        assert not connection.sql(text, offload="auto").split.cuts
    finally:
        connection.deregister("learnt")


def test_membership_where_nulls_decide(small: Connection, tmp_path: Path) -> None:
    file = tmp_path / "members.parquet"
    parquet.write_table(pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]}), file)
    small.register("members", file)
    expected = {
        "SELECT a IN (SELECT a FROM members WHERE a > 1) AS v FROM members ORDER BY b": [False, True, None],
        "SELECT a NOT IN (SELECT a FROM members WHERE b <> 'x') AS v FROM members ORDER BY b": [None, False, None],
        "SELECT b AS v FROM members m WHERE a NOT IN (SELECT a FROM members WHERE b > m.b)": ["z"],
        "SELECT b AS v FROM members m WHERE a NOT IN (SELECT a + 1 FROM members WHERE b <> m.b AND b < 'z')": ["x"],
        "SELECT b AS v FROM members WHERE a IN (SELECT 1 AS a UNION ALL SELECT 7) OR b = 'z' ORDER BY b": ["x", "z"],
    }
    for text, values in expected.items():
        for mode in ("never", "auto", "always"):
            assert small.sql(text, offload=mode).to_arrow()["v"].to_pylist() == values, (text, mode)


def test_numbers_with_a_point_meet_floats_that_no_decimal_holds(small: Connection, tmp_path: Path) -> None:
    small.register("floats", write(pa.table({"f": [0.0, float("nan"), 1.5]}), tmp_path / "floats.parquet"))
    text = "SELECT CASE f WHEN 0.0 THEN 'zero' WHEN CAST('NaN' AS DOUBLE) THEN 'none' ELSE 'some' END AS c FROM floats"
    for mode in ("never", "auto", "always"):
        assert small.sql(text, offload=mode).to_arrow()["c"].to_pylist() == ["zero", "none", "some"]


def test_computed_zeros_are_found_in_lists(small: Connection, tmp_path: Path) -> None:
    small.register("zeros", write(pa.table({"f": [-0.0, 0.0, None, 1.0]}), tmp_path / "zeros.parquet"))
    text = "SELECT count(*) AS n FROM zeros WHERE coalesce(f, -0e0) IN (0.0, 7.5)"
    for mode in ("always", "auto", "never"):
        assert small.sql(text, offload=mode).to_pylist() == [{"n": 3}]


def test_duckdb_is_held_to_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(database, "memory_max", lambda: 32 << 20)
    table = pa.table({"k": pa.array(range(300_000), pa.int64()), "t": ["some text " * 20] * 300_000})
    file = write(table, tmp_path / "t.parquet")
    with jumpgate.connect(offload="never") as connection:
        connection.register("t", file)
        with pytest.raises(MemoryLimit, match="DuckDB: "):
            connection.sql("SELECT list(t || k) AS texts FROM t").to_arrow()
        assert connection.sql("SELECT count(*) AS n FROM t").to_arrow().to_pylist() == [{"n": 300_000}]
        assert not list(cache.folder("spool").iterdir())


def test_moments_have_no_zone_of_the_machine(small: Connection, tmp_path: Path) -> None:
    moments = pa.table({"n": [1, 2, 3], "t": pa.array([0, 1, None], pa.timestamp("us", "Asia/Kathmandu"))})
    found = "SELECT n, t, current_setting('TimeZone') AS zone FROM moments WHERE t = $1"
    for source in (moments, write(moments, tmp_path / "moments.parquet")):
        small.register("moments", source)
        for mode in MODES:
            with small.sql(found, [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)], offload=mode) as query:
                assert query.schema.field("t").type == pa.timestamp("us", "UTC")
                (row,) = query.to_arrow().drop(["t"]).to_pylist()
                assert row == {"n": 1, "zone": "UTC"}


def test_time_goes_on_from_run_to_run(small: Connection) -> None:
    for mode in MODES:
        for clock in ("now()", "current_timestamp", '"now"()'):
            text = f"SELECT {clock} AS t FROM item LIMIT 1"
            first, second = (small.sql(text, offload=mode).to_arrow()["t"][0].value for _ in range(2))
            assert first < second, (mode, clock)


def test_a_text_that_is_too_long_is_refused_before_it_is_parsed(connection: Connection) -> None:
    with pytest.raises(InvalidDataflow, match="the text has 1000011 characters, and may have 1000000: pass"):
        connection.sql(f"SELECT '{'x' * 1_000_000}' a")


def test_a_text_that_reads_too_many_columns_is_refused_before_it_is_bound(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "wide.jsonl"
    file.write_text('{"a": 1, "b": 2, "c": 3}\n')
    connection.register("wide", file)
    monkeypatch.setattr(tables, "COLUMNS_MAX", 2)
    with pytest.raises(InvalidDataflow, match="table 'wide': the text reads 3 of its columns, and may read 2: name"):
        connection.sql("SELECT * FROM wide")
    assert connection.sql("SELECT a, c FROM wide").to_arrow().to_pylist() == [{"a": 1, "c": 3}]


def test_files_that_became_others_are_seen_although_the_text_ran_before(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), file)
    with jumpgate.connect(offload="never") as connection:
        connection.register("t", file)
        registered, by_name = "SELECT sum(a) AS s FROM t", f"SELECT * FROM '{file}' ORDER BY ALL"
        for _ in range(3):
            assert connection.sql(registered).to_pylist() == [{"s": 3}]
            assert connection.sql(by_name).to_pylist() == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]
        pq.write_table(pa.table({"b": [7, 8], "a": [5, 6]}), file)
        assert connection.sql(registered).to_pylist() == [{"s": 11}]
        assert connection.sql(by_name).to_pylist() == [{"b": 7, "a": 5}, {"b": 8, "a": 6}]
        pq.write_table(pa.table({"a": [1.5, 6.0]}), file)
        with pytest.raises(SchemaMismatch, match="other types"):
            connection.sql(registered).to_arrow()
        pq.write_table(pa.table({"c": [1.5, 6.0]}), file)
        with pytest.raises(SchemaMismatch, match="column 'a'"):
            connection.sql(registered).to_arrow()
