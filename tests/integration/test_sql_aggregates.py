"""Aggregates of SQL, grouped, over all rows and over none: jobs have the same values and types as DuckDB."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.errors import Overflow
from tests.support import modes
from tests.support.modes import differences, stays

PAIRS = (("f", "i"), ("d", "f"), ("i", "w"))
OF_PAIRS = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_count", "regr_r2", "regr_avgx",
            "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")  # fmt: skip
OF_NUMBERS = ("sum({})", "avg({})", "sum(DISTINCT {})", "avg({}) FILTER (WHERE id > 50)", "stddev({})", "var_pop({})",
              "count(DISTINCT {})", "count({}) FILTER (WHERE id < 0)", "mean({})")  # fmt: skip
OF_ANYTHING = ("first({} ORDER BY id)", "last({} ORDER BY s DESC, id)", "first({} ORDER BY id) FILTER (WHERE id > 100)",
               "last({} ORDER BY i NULLS FIRST, id)", "arg_min({}, id)", "arg_max({}, id) FILTER (WHERE id < 99)",
               "min({})", "max({})")  # fmt: skip
OF_TEXTS = ("string_agg(s, ',' ORDER BY id)", "string_agg(s, ', ' ORDER BY i DESC NULLS LAST, id)",
            "string_agg(DISTINCT s, '-' ORDER BY s DESC)", "string_agg(s, 'é' ORDER BY id) FILTER (WHERE id % 7 = 0)",
            "string_agg(s || 'x', '' ORDER BY id)", "string_agg(i, '|' ORDER BY id)")  # fmt: skip
OF_LISTS = ("list(s ORDER BY id)", "array_agg(i ORDER BY s DESC NULLS LAST, id)", "len(array_agg(d ORDER BY id DESC))",
            "list(h ORDER BY id)[2]", "list_contains(list(i ORDER BY id), 7)", "array_agg(DISTINCT s ORDER BY s DESC)",
            "string_split(max(s || 'b'), 'b')",
            "length(str_split(min(s), 'a'))", "list_extract(array_agg(ts ORDER BY id), -1)")  # fmt: skip
OF_INTEGERS = ("bit_and({})", "bit_or({})", "bit_xor({})", "bit_or({}) FILTER (WHERE id < 0)",
               "count_if({} > 7)", "countif({} < 3)")  # fmt: skip
#: → why DuckDB answers it
STAYS = {
    "string_agg(s, ',')": "aggregate string_agg without ORDER BY joins rows as they come",
    "first(s)": "aggregate first is not offloaded",
    "last(s)": "aggregate last is not offloaded",
    "any_value(s)": "aggregate any_value is not offloaded",
    "list(s)": "aggregate list without ORDER BY has rows as they come",
    "list(s ORDER BY s)": "aggregate list without ORDER BY has rows as they come",  # the plan sorts a list of these
    "array_agg(s ORDER BY h)": "array_agg(VARCHAR) is not offloaded like this",
    "mode(i ORDER BY id)": "aggregate mode",
    "median(b)": "median(BIGINT) is not offloaded like this",
    "median(f)": "median(DOUBLE) is not offloaded like this",
    "median(w)": "median(DECIMAL(30,2)) is not offloaded like this",
    "quantile_cont(i, 0.75)": "aggregate quantile_cont with ORDER BY is not offloaded",
    "quantile_disc(i, 0.3)": "quantile_disc(INTEGER) is not offloaded like this",
    "percentile_cont(0.1) WITHIN GROUP (ORDER BY d DESC)": "an aggregate with properties that are not known",
    "product(i)": "aggregate product is not offloaded",
    "max(i, 2)": "max(INTEGER, BIGINT) is not offloaded",
    "approx_count_distinct(i)": "aggregate approx_count_distinct is not offloaded",
}


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    r, n = random.Random(1), 240
    nan, inf, day = float("nan"), float("inf"), datetime.datetime(2020, 1, 1)

    def some(type: pa.DataType, *values: Any) -> pa.Array:
        return pa.array([r.choice((None, *values)) for _ in range(n)], type)

    cents = [Decimal(c) / 100 for c in range(-999, 999, 7)]
    table = pa.table(
        {
            "g": pa.array([r.randrange(6) for _ in range(n)], pa.int32()),
            "i": some(pa.int32(), *range(-5, 90)),
            "b": some(pa.int64(), 2**40, -(2**39), 5, 7),
            "large": some(pa.int64(), 2**63 - 1, 2**63 - 2, 2**62),
            "f": some(pa.float64(), 0.1, 0.7, 1.5, 0.0),
            "h": some(pa.float64(), 0.3, nan, inf, 2.0),
            "d": some(pa.decimal128(9, 2), *cents),
            "w": some(pa.decimal128(30, 2), *cents),
            "s": some(pa.string(), "a", "bb", "c", "é", ""),
            "day": some(pa.date32(), *((day + datetime.timedelta(i)).date() for i in range(99))),
            "ts": some(pa.timestamp("us"), *(day + datetime.timedelta(seconds=i) for i in range(99))),
            "id": pa.array(r.sample(range(n), n), pa.int64()),
        }
    )
    with jumpgate.connect(one_host) as found:
        modes.register(found, judge, {"t": table}, tmp_path_factory.mktemp("aggregates"))
        yield found


def expressions() -> dict[str, list[str]]:
    found = {"texts": list(OF_TEXTS)}
    found["pairs"] = [f"{function}({y}, {x})" for y, x in PAIRS for function in OF_PAIRS]
    found["integers"] = [call.format(c) for c in ("i", "b") for call in OF_INTEGERS]
    found["integers"] += ["median(i)", "median(DISTINCT i)", "median(i) FILTER (WHERE id > 50)"]
    found["numbers"] = [call.format(c) for c in ("i", "b", "f", "d", "w") for call in OF_NUMBERS]
    found["lists"] = list(OF_LISTS)
    for some in (("i", "h", "w"), ("s", "day", "ts")):
        found[", ".join(some)] = [call.format(c) for c in some for call in OF_ANYTHING]
    return found


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("kind", expressions())
def test_jobs_answer_as_duckdb_does(connection: Connection, judge: duckdb.DuckDBPyConnection, kind: str) -> None:
    listed = ", ".join(f"{call} AS v{i}" for i, call in enumerate(expressions()[kind]))
    grouped = f"SELECT g, {listed} FROM t GROUP BY g ORDER BY g"
    for text in (grouped, *(f"SELECT {listed} FROM t{end}" for end in ("", " WHERE id < 0"))):
        assert not differences(connection, judge, text, ordered=True, jobs=True)
        assert not stays(connection, text)


@pytest.mark.parametrize("call", STAYS)
def test_what_stays_says_why(connection: Connection, judge: duckdb.DuckDBPyConnection, call: str) -> None:
    text = f"SELECT g, {call} AS v FROM t GROUP BY g"
    assert STAYS[call] in stays(connection, text)
    assert not differences(connection, judge, text)


def test_means_of_large_integers(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    """Whose sum is no int64."""
    for text in (
        "SELECT avg(large) AS a, avg(DISTINCT large) AS b, avg(-large) AS c FROM t",
        "SELECT g, avg(large) FILTER (WHERE id > 50) AS a FROM t GROUP BY g ORDER BY g",
    ):
        assert not differences(connection, judge, text, ordered=True, jobs=True)


def test_means_of_infinity(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    calls = "regr_avgx(i, h) AS a, regr_avgy(h, i) AS b, covar_pop(h, i) AS c, covar_samp(i, h) AS d"
    for condition in ("isinf(h) AND i > 80", "NOT isnan(h) AND id = 7", "isnan(h) AND i < 3"):
        text = f"SELECT {calls} FROM t WHERE {condition}"
        assert not differences(connection, judge, text, jobs=True)


@pytest.mark.parametrize("mode", modes.MODES)
def test_statistics_of_infinity_are_errors(connection: Connection, judge: duckdb.DuckDBPyConnection, mode: str) -> None:
    text = "SELECT var_pop(h) AS v FROM t"
    with pytest.raises(duckdb.OutOfRangeException, match="out of range"):
        judge.execute(text).fetchall()
    with pytest.raises(Overflow, match="out of range"), connection.sql(text, offload=mode) as query:
        query.to_arrow()


def test_where_rows_tie_duckdb_answers(connection: Connection, judge: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT arg_max(id, s) AS v, arg_min(id, day) AS w FROM t"
    assert not stays(connection, text)
    assert not differences(connection, judge, text, jobs=True)
    with connection.sql(text, offload="always") as query:
        query.to_arrow()
        assert "as a job it failed" in query.explain()


def test_correlations_of_a_constant_are_null_however_it_is_read(one_host: str, tmp_path: Path) -> None:
    """Merging the means of several threads could make a constant vary by its last digit; then a slope is no NULL."""
    text = (
        "SELECT corr(y, x) AS a, corr(x, y) AS b, regr_r2(y, x) AS c, regr_slope(x, y) AS d, max(y) AS m, "
        "regr_intercept(x, y) FILTER (WHERE x > 0.1) AS e FROM halves"
    )
    for count in (6, 12, 22, 25):
        for half in range(2):
            rows = pa.table({"y": [0.1] * count, "x": [i / 10 for i in range(count)], "g": [half] * count})
            pyarrow.parquet.write_table(rows.slice(half * 4), tmp_path / f"{half}.parquet")
        with jumpgate.connect(one_host) as connection, duckdb.connect() as judge:
            connection.register("halves", tmp_path)
            judge.execute(f"CREATE VIEW halves AS FROM '{tmp_path}/*.parquet'")
            for end in ("", " GROUP BY ROLLUP (x > 9)"):
                assert not differences(connection, judge, text + end, jobs=True)
