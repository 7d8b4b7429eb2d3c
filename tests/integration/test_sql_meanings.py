"""Texts in which planners of SQL are easily wrong, kind by kind: in every mode rows, names and types are DuckDB's, what
means the same as a dataflow is a job, and `explain` says why the others stay."""

from __future__ import annotations

import datetime
import itertools
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.errors import InvalidSql
from jumpgate.errors import Cancelled, JumpgateError, MalformedData, Overflow
from tests.support import modes
from tests.support.modes import MODES, by_reference, differences, stays
from tests.support.tables import ARROW, write

MICROS = [1_500_000, -1_500_001, -1, None, 1_700_000_000_499_999, 500_000]
TABLES = {
    "x": pa.table({"k": [1, 2, 2, None], "v": [1, 2, 3, 4]}),
    "y": pa.table({"k": [3, 2, None], "w": [1, 2, 3], "j": [1, 1, 1]}),
    "z": pa.table({"k": [3, 2, 9], "j": [1, 2, 3], "q": [1, 2, 3]}),
    "u": pa.table(
        {"id": [1, 2, 2, 5, 7], "a": pa.array([2, None, 1, 5, 1], pa.int32()), "b": ["x", "z", None, "x", "y"]}
    ),
    "t": pa.table(
        {
            "id": [1, 2, 3, 4, 5, 6],
            "a": pa.array([1, 1, 2, None, 3, 0], pa.int32()),
            "b": ["x", "y", "x", None, "10%", "a_b"],
            "f": [0.5, -0.5, 16.0, None, 1.0, 2.5],
            "g": [1e15, -1e15, 3.0, 0.5, None, -16.0],
            "d": pa.array([0, -1, 19000, None, 20000, 19000], pa.int32()).cast(pa.date32()),
            "ts": pa.array(MICROS, pa.timestamp("us")),
            "tm": pa.array([m and m // 1000 for m in MICROS], pa.timestamp("ms")),
            "p": pa.array(list(map(Decimal, ("1.50", "0.05", "-3.25", "2.25", "99.99", "0.00"))), pa.decimal128(5, 2)),
            "sm": pa.array([1, -1, 126, None, -127, 0], pa.int8()),
        }
    ),
}  # fmt: skip
#: these run as jobs
OFFLOADED = """
SELECT max(a) AS n FROM t HAVING (SELECT count(*) FROM u) > 100
SELECT id FROM t WHERE id >= ALL (SELECT id FROM t)
SELECT * FROM x RIGHT JOIN y USING (k)
SELECT k, count(*) AS n FROM x RIGHT JOIN y USING (k) GROUP BY k
SELECT * FROM x LEFT JOIN y USING (k) RIGHT JOIN z USING (k)
SELECT k, x.k AS l, y.k AS r FROM x RIGHT JOIN y USING (k) WHERE k > 1
SELECT * FROM y RIGHT JOIN z USING (j)
SELECT * FROM z NATURAL JOIN y
SELECT * FROM x NATURAL LEFT JOIN y NATURAL LEFT JOIN z
SELECT k, sum(q) AS s FROM y NATURAL RIGHT JOIN z GROUP BY k
SELECT k, j FROM y NATURAL FULL JOIN z
SELECT * FROM (SELECT k AS "K", v FROM x) AS c NATURAL JOIN y
SELECT id, sum(id) OVER (w) AS s FROM t WINDOW w AS (ORDER BY id)
SELECT id, sum(id) OVER (w ORDER BY id) AS s FROM t WINDOW w AS (PARTITION BY a)
SELECT id, sum(id) OVER v AS s FROM t WINDOW w AS (PARTITION BY a), v AS (w ORDER BY id)
SELECT id, count(*) OVER (w ROWS 1 PRECEDING) AS s FROM t WINDOW w AS (PARTITION BY b ORDER BY id DESC)
SELECT id FROM t WHERE a = ANY (SELECT a FROM t WHERE id < 3)
SELECT id, a = ANY (SELECT a FROM u) AS r FROM t
SELECT count(*) AS n FROM t WHERE id > SOME (SELECT id FROM t) AND a = 1
SELECT count(*) AS n FROM (SELECT count(*) AS c FROM t) AS s WHERE (SELECT max(id) FROM u) < 0
WITH s AS (SELECT sum(a) AS n FROM t) SELECT n FROM s WHERE (SELECT max(id) FROM u) < 0
SELECT id FROM t WHERE a NOT IN (SELECT max(u.a) FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE a IN (SELECT count(*) FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE NOT EXISTS (SELECT count(*) FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b GROUP BY ROLLUP (u.a))
SELECT id FROM t WHERE CAST(p AS DECIMAL(4,1)) = 0.1
SELECT id FROM t WHERE CAST(p AS INTEGER) = 2
SELECT id FROM t WHERE CAST(id AS TINYINT) BETWEEN 2 AND 100
SELECT id FROM t WHERE tm = TIMESTAMP '1970-01-01 00:00:01.5001'
SELECT id FROM t WHERE tm < TIMESTAMP '1970-01-01 00:00:01.5001'
SELECT id FROM t WHERE tm IN (TIMESTAMP '1970-01-01 00:00:01.5001', TIMESTAMP '1970-01-01 00:00:00.5')
SELECT id, d + INTERVAL 1 HOUR AS r FROM t
SELECT id FROM t WHERE d - INTERVAL '36' HOUR < DATE '1970-01-01'
SELECT id FROM t WHERE ts < DATE '1970-01-01' + INTERVAL 1 SECOND
SELECT min(d) + INTERVAL '90 minutes' AS r FROM t
SELECT e + INTERVAL 1 HOUR AS r FROM (SELECT max(d) AS e FROM t) AS s
SELECT id, tm + INTERVAL 1 MICROSECOND AS r FROM t
SELECT id FROM t WHERE b LIKE '10$%' ESCAPE '$'
SELECT id FROM t WHERE b LIKE '10\\%'
SELECT * FROM x LEFT JOIN y USING (k) LEFT JOIN z USING (k)
SELECT * FROM x JOIN y USING (k) JOIN z USING (k)
SELECT t.id, u.id FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a AND t.b = u.b
SELECT t.id, u.id FROM t LEFT JOIN u ON t.id = u.id AND t.a IS NOT DISTINCT FROM u.a
SELECT id FROM t WHERE a NOT IN (SELECT u.a FROM u WHERE u.b = t.b)
SELECT id FROM t WHERE EXISTS (SELECT u.a FROM u WHERE u.b = t.b GROUP BY u.a HAVING count(*) > 0)
SELECT DISTINCT a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS s ORDER BY a LIMIT 3
SELECT a, b, count(*) AS n FROM t GROUP BY GROUPING SETS ((a), (b)), GROUPING SETS ((b), ())
SELECT a, b, count(*) AS n FROM t GROUP BY ROLLUP (a), ROLLUP (b)
SELECT id FROM t WHERE tm = ts
SELECT id, sum(g) OVER (ORDER BY id ROWS 1 PRECEDING) AS r, sum(g) OVER (ORDER BY id ROWS 2 PRECEDING) AS s FROM t
SELECT #2 AS c FROM u
SELECT c, a FROM u AS q(c)
SELECT b, sum(id) AS s FROM t GROUP BY ALL ORDER BY ALL
SELECT COLUMNS('i.*') FROM t
SELECT a AS c, c + 1 AS d FROM t
SELECT id // 2 AS h, b FROM t
SELECT * FROM z, x FULL JOIN y USING (k)
SELECT * FROM x FULL JOIN y USING (k) JOIN z USING (j)
SELECT a FROM t WHERE a IN (SELECT a FROM u EXCEPT ALL SELECT a FROM t)
SELECT a FROM t EXCEPT ALL SELECT f FROM t
SELECT count_if(a > 1) AS n FROM t
SELECT id, CAST(ts AS TIMESTAMP(0)) AS r FROM t
SELECT id, CAST(tm AS TIMESTAMP(0)) AS r FROM t
SELECT max(CAST(ts AS TIMESTAMP(3))) AS r FROM t
SELECT id FROM t WHERE CAST(ts AS TIMESTAMP(3)) < TIMESTAMP '1970-01-01 00:00:00'
SELECT id FROM t WHERE CAST(ts AS TIMESTAMP(0)) IN (TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '1970-01-01 00:00:01')
""".strip().splitlines()
#: DuckDB answers these itself; the reason
STAYING = (
    ("SELECT * FROM x POSITIONAL JOIN y", "POSITIONAL_JOIN"),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 5", "RECURSIVE_CTE"),
    (
        "WITH RECURSIVE r AS (SELECT k, v FROM x UNION SELECT y.k, r.v FROM r JOIN y ON y.w = r.k) SELECT k, v FROM r",
        "RECURSIVE_CTE",
    ),
    ("SELECT count(*) AS n FROM t TABLESAMPLE 100 PERCENT", "SAMPLE"),
    (
        "SELECT id, a >= ALL (SELECT a FROM t t2 WHERE t2.id <= t.id) AS r FROM t",
        "ANY, ALL and scalar subqueries but for equality",
    ),
    ("SELECT count(*) AS n FROM t HAVING random() < 0", "function random"),
    ("SELECT id FROM t WHERE a NOT IN (SELECT u.a FROM u WHERE u.b = t.b LIMIT 1)", "without an order"),
    ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b OFFSET 1)", "without an order"),
    (
        "SELECT id FROM t WHERE EXISTS ((SELECT 1 FROM u WHERE u.b = t.b LIMIT 1) "
        "UNION ALL SELECT 1 FROM u WHERE u.a = t.a)",
        "without an order",
    ),
    ("SELECT CAST('1969-12-31 23:59:59.9999' AS TIMESTAMP(3)) AS r", "it reads no table"),
    ("SELECT id FROM t WHERE CAST(p AS FLOAT) = 99.99", "CAST from DECIMAL(5,2) to FLOAT"),
    ("SELECT avg(ts) AS r FROM t", "avg(TIMESTAMP)"),
    ("SELECT b, avg(m) AS r FROM (SELECT b, tm AS m FROM t) AS s GROUP BY b", "avg(TIMESTAMP)"),
    ("SELECT id, avg(d) OVER (ORDER BY id) AS r FROM t", "avg(TIMESTAMP)"),
    ("SELECT ceil(0.5) AS a, floor(-0.5) AS b, ceil(99.5) AS c", "it reads no table"),
    ("SELECT id FROM t WHERE b NOT ILIKE 'A!_B' ESCAPE '!'", "not_ilike_escape"),
    ("SELECT id FROM t WHERE b LIKE replace(b, '%', '\\%')", "~~(VARCHAR, VARCHAR)"),
    ("SELECT substr('abc', -2) AS a, substring('abc', 0, 2) AS b", "it reads no table"),
    ("SELECT count(DISTINCT a) AS r, count(DISTINCT (a, b)) AS s FROM t", "type STRUCT is not offloaded"),
    ("SELECT count(*) AS n FROM t HAVING 1 = 0", "it reads no table"),
    ("SELECT * FROM (SELECT count(*) AS n FROM t) AS s WHERE 1 > 2", "it reads no table"),
    ("PIVOT (SELECT a, b, id FROM t) ON a USING sum(id)", "MULTI"),
    ("UNPIVOT x ON k, v", "a constant of type VARCHAR[]"),
    ("SELECT t.id, u.b FROM t ASOF JOIN u ON t.id >= u.id", "ASOF_JOIN"),
    ("SELECT b, list(id ORDER BY id) AS l FROM t GROUP BY b", "aggregate list"),
    ("SELECT (a, b) NOT IN (SELECT a, b FROM u) AS v FROM t", "IN of several columns"),
    ("SELECT id FROM t ORDER BY id LIMIT 20%", "LIMIT or OFFSET that is no number"),
    ("SELECT list_transform([1, 2], lambda x: x + 1) AS l", "a constant of type INTEGER[]"),
)


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    with jumpgate.connect(one_host) as found:
        modes.register(found, judge, TABLES, tmp_path_factory.mktemp("meanings"))
        yield found


@pytest.mark.parametrize("text", OFFLOADED)
def test_what_is_offloaded_means_what_duckdb_means(
    connection: Connection, judge: duckdb.DuckDBPyConnection, text: str
) -> None:
    assert not differences(connection, judge, text, ordered="ORDER BY" in text.rpartition(")")[2])
    assert not stays(connection, text)


@pytest.mark.parametrize(("text", "reason"), STAYING)
def test_what_stays_says_why(connection: Connection, judge: duckdb.DuckDBPyConnection, text: str, reason: str) -> None:
    assert not differences(connection, judge, text, ordered="ORDER BY" in text.rpartition(")")[2])
    assert reason in stays(connection, text)


@pytest.mark.parametrize("text", [OFFLOADED[0], "SELECT #2 AS c FROM u"])
def test_they_run_as_jobs(connection: Connection, judge: duckdb.DuckDBPyConnection, text: str) -> None:
    assert not differences(connection, judge, text, jobs=True)
    with connection.sql(text, offload="always") as query:
        query.to_arrow()
        assert len(query.jobs) == 1 and not query.split.kept


def test_ranges_of_the_smallest_integers(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT id, count(*) OVER (ORDER BY sm RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS r FROM t"
    assert not differences(connection, judge, text, jobs=True)
    assert not stays(connection, text)


def test_what_a_job_fails_at_duckdb_answers(connection: Connection, tmp_path: Path) -> None:
    most = 2**63 - 1
    parquet.write_table(pa.table({"i": [most, most, 1], "k": [1, 1, 2]}), tmp_path / "most.parquet")
    connection.register("most", tmp_path / "most.parquet")
    with connection.sql("SELECT k, sum(i) AS s FROM most GROUP BY ALL ORDER BY ALL", offload="always") as query:
        assert query.to_pylist() == [{"k": 1, "s": 2 * most}, {"k": 2, "s": 1}]
        assert "as a job it failed" in query.explain()


@pytest.mark.parametrize("kind", ["json", "csv", "orc", ARROW])
def test_stand_ins_are_of_every_kind(tmp_path: Path, kind: str) -> None:
    """The plan over a stand-in reads the table by its own reader; nothing in it comes from the stand-in."""
    table = pa.table({"k": pa.array([2, 1, 1]), "p": ["b", None, "a"]})
    groups = [{"k": 1, "n": 2, "m": "a"}, {"k": 2, "n": 1, "m": "b"}]
    with jumpgate.connect(offload="always") as connection:
        source = write(table, tmp_path / f"stood.{kind}", kind)
        connection.register("stood", source.data, **source.options)
        for text, rows in {
            "SELECT k, count(*) AS n, max(p) AS m FROM stood GROUP BY ALL ORDER BY ALL": groups,
            "SELECT COLUMNS('n') FROM (SELECT count(*) AS n, max(k) AS m FROM stood)": [{"n": 3}],
            "SELECT COLUMNS('k') FROM stood WHERE k + 1 = (SELECT count(*) FROM stood)": [{"k": 2}],
        }.items():
            with connection.sql(text) as query:
                assert not query.split.kept
                assert by_reference(query).to_pylist() == rows


def test_files_that_duckdb_reads(tmp_path: Path) -> None:
    """NaN is not in a file's statistics, a name is no pattern, and types that differ are widened in any order."""
    tables: dict[str, dict[str, pa.Array]] = {
        "nan": {"f": pa.array([1.0, float("nan")])},
        "x[1]": {"v": pa.array([1])},
        "x1": {"v": pa.array([2])},
        "small": {"u": pa.array([255], pa.uint8())},
        "large": {"u": pa.array([70000], pa.uint32())},
    }
    with jumpgate.connect(offload="never") as connection:
        files = {name: tmp_path / f"{name}.parquet" for name in tables}
        for name, columns in tables.items():
            parquet.write_table(pa.table(columns), files[name])
            connection.register(name, files[name])
        assert connection.sql("SELECT f FROM nan WHERE f > 5 GROUP BY ALL").to_arrow().num_rows == 1
        pairs = connection.sql('SELECT a.v AS a, b.v AS b FROM "x[1]" AS a, x1 AS b GROUP BY ALL')
        assert pairs.to_pylist() == [{"a": 1, "b": 2}]
        for order in (("small", "large"), ("large", "small")):
            connection.register("widening", [files[name] for name in order])
            found = connection.sql("SELECT u FROM widening GROUP BY ALL ORDER BY ALL").to_arrow()
            assert found["u"].type == pa.uint32() and found["u"].to_pylist() == [255, 70000]


@pytest.mark.parametrize("kind", ["csv", "orc", ARROW])
def test_duckdb_compares_what_arrow_holds(judge: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    values = [0.0, -0.0, float("nan"), float("nan"), 1.0, None]
    table = pa.table({"f": values, "i": range(6)})
    texts = ["SELECT i FROM nans WHERE f > 0.5", "SELECT count(*) AS n FROM nans AS a JOIN nans AS b USING (f)"]
    texts += ["SELECT f FROM nans WHERE i < 2 OR i IS NOT DISTINCT FROM 4"]
    if kind == ARROW:
        table = table.append_column("s", pa.array([{"x": value} for value in values]))
        table = table.append_column("e", pa.array(values).dictionary_encode())
        table = table.append_column("n", pa.array(range(-2, 4), pa.timestamp("ns")))
        texts += ["SELECT i FROM nans WHERE s.x > 0.5", "SELECT i FROM nans WHERE e >= 1"]
        texts += ["SELECT i FROM nans WHERE n > TIMESTAMP_NS '1969-12-31 23:59:59.999999999'"]
    judge.register("given", table)
    judge.execute("CREATE OR REPLACE TABLE nans AS FROM given")
    with jumpgate.connect() as connection:
        source = write(table, tmp_path / f"nans.{kind}", kind)
        connection.register("nans", source.data, **source.options)
        for text in texts:
            assert not differences(connection, judge, text, jobs=kind == ARROW)


@pytest.mark.parametrize("mode", MODES)
def test_ends_of_integers(connection: Connection, judge: duckdb.DuckDBPyConnection, mode: str) -> None:
    """A bound of a frame that is no integer of 64 bits is DuckDB's error."""
    ends = pa.table({"i": [-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1, None], "n": range(6)})
    connection.register("ends", ends)
    judge.register("ends", ends)
    text = "SELECT n, count(*) OVER (ORDER BY i RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS r FROM ends"
    with pytest.raises(duckdb.OutOfRangeException, match="Overflow in subtraction"):
        judge.execute(text).fetchall()
    with pytest.raises(Overflow, match="Overflow in subtraction"), connection.sql(text, offload=mode) as query:
        query.to_arrow()


def test_a_parameter_is_finer_than_its_column(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 500100)
    text = "SELECT id FROM t WHERE tm < $1 AND id > $2"
    for values in ([moment, 0], [moment.replace(microsecond=500000), 0]):
        assert not differences(connection, judge, text, values)
        assert not stays(connection, text, values)
    assert not differences(connection, judge, "SELECT id FROM t WHERE tm < $m", {"m": moment})


def test_files_that_a_text_names_run_as_jobs(
    connection: Connection, judge: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    parquet.write_table(TABLES["x"], tmp_path / "other.parquet")
    for source in (f"'{tmp_path}/other.parquet'", f"read_parquet('{tmp_path}/other.parquet')"):
        text = f"SELECT * FROM {source} NATURAL JOIN y"
        assert not differences(connection, judge, text)
        assert not stays(connection, text)


@pytest.mark.parametrize("mode", MODES)
def test_the_zone_is_utc_on_every_machine(connection: Connection, mode: str) -> None:
    with connection.sql("SELECT max(id) AS n, current_setting('TimeZone') AS zone FROM t", offload=mode) as query:
        assert query.to_pylist() == [{"n": 6, "zone": "UTC"}]


@pytest.mark.parametrize("mode", MODES)
def test_variables_of_python_are_no_tables(connection: Connection, mode: str) -> None:
    variable = TABLES["x"]
    for source in ("variable", "nothing"):
        with pytest.raises(InvalidSql, match=f"DuckDB: Catalog Error: Table with name {source} does not exist"):
            connection.sql(f"SELECT * FROM {source} NATURAL JOIN y", offload=mode)
    assert variable.num_rows


def test_an_error_of_a_file_is_that_error(connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"k": 1}\n{"k": 2\n')
    connection.register("bad", tmp_path / "bad.json", schema={"k": "int64"})
    with pytest.raises(MalformedData, match=r"bad\.json"):
        connection.sql("SELECT * FROM bad NATURAL JOIN x", offload="never").to_arrow()


@pytest.mark.parametrize("join", ["CROSS JOIN x a", "RIGHT JOIN x a USING (v)"])
def test_recursion_without_end(connection: Connection, join: str) -> None:
    text = f"WITH RECURSIVE r(v) AS (SELECT 1 UNION ALL SELECT v FROM r) SELECT count(*) AS n FROM r {join}"
    query = connection.sql(text, offload="never")
    begun = threading.Event()
    ended: list[BaseException] = []

    def read() -> None:
        batches = query.batches()
        begun.set()
        try:
            next(batches)
        except JumpgateError as error:
            ended.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait()
    query.close()
    thread.join()
    assert [type(error) for error in ended] == [Cancelled]


WIDENING: dict[str, tuple[list[Any], pa.DataType, list[Any], pa.DataType]] = {
    "timestamps": ([1500], pa.timestamp("ms"), [1500001], pa.timestamp("us")),
    "decimals": ([Decimal("1.50")], pa.decimal128(5, 2), [Decimal("1234567.25")], pa.decimal128(9, 2)),
    "unsigned": ([255], pa.uint8(), [70000], pa.uint32()),
    "signs": ([255], pa.uint8(), [-70000], pa.int32()),
    "fields": (
        [{"a": 1}],
        pa.struct([("a", pa.int64())]),
        [{"a": 2, "b": "x"}],
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
    ),
}


@pytest.mark.parametrize("kind", WIDENING)
def test_types_widen_in_any_order_of_files(connection: Connection, tmp_path: Path, kind: str) -> None:
    narrow, first, wide, second = WIDENING[kind]
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    parquet.write_table(pa.table({"id": [1], "v": pa.array(narrow, first)}), files[0])
    parquet.write_table(pa.table({"id": [2], "v": pa.array(wide, second)}), files[1])
    expected = [*pa.array(narrow, first).cast(second), *pa.array(wide, second)] if kind != "fields" else None
    for order, mode in itertools.product((files, files[::-1]), ("never", "always")):
        assert connection.register("widening", order).schema.field("v").type == second
        with connection.sql("SELECT id, v FROM widening ORDER BY id", offload=mode) as query:
            found = query.to_arrow()["v"]
        assert found.type == second
        assert found.to_pylist() == (
            [{"a": 1, "b": None}, *wide] if expected is None else [v.as_py() for v in expected]
        )


@pytest.mark.parametrize("mode", MODES)
def test_distinct_values_of_many_rows(connection: Connection, tmp_path: Path, mode: str) -> None:
    count = 200_000
    numbers = pa.array(range(count))
    parquet.write_table(pa.table({"k": numbers, "x": pa.compute.divide(numbers, 2)}), tmp_path / "many.parquet")
    connection.register("many", tmp_path / "many.parquet")
    text = "SELECT count(DISTINCT k) AS a, count(DISTINCT (k, x)) AS b, count(DISTINCT x) AS c FROM many"
    with connection.sql(text, offload=mode) as query:
        assert query.fetchall() == [(count, count, count // 2)]


def test_joins_at_the_end_of_int64(connection: Connection, tmp_path: Path) -> None:
    """Bounds of files are floats in estimates, and the next one above the largest integer is none."""
    most = 2**63 - 1
    parquet.write_table(pa.table({"k": [0, 1, 2, most] * 50, "n": range(200)}), tmp_path / "all.parquet")
    parquet.write_table(pa.table({"k": [most] * 20, "id": range(20)}), tmp_path / "last.parquet")
    connection.register("ends", tmp_path / "all.parquet")
    connection.register("last_ones", tmp_path / "last.parquet")
    text = "SELECT n, count(*) AS c FROM ends JOIN last_ones USING (k) WHERE id > 3 GROUP BY n ORDER BY n"
    with connection.sql(text, offload="always") as query:
        assert query.fetchall() == [(n, 16) for n in range(3, 200, 4)]
