"""The functions that SQL sessions have beside DataFusion's, against DuckDB's of the same name."""

from __future__ import annotations

import datetime

import datafusion
import pyarrow as pa
import pytest

from jumpgate.client.sql.errors import from_datafusion, invalid_sql
from jumpgate.client.sql.functions import PARSED, SPECIFIERS, expand, register
from jumpgate.client.sql.local import context

duckdb = pytest.importorskip("duckdb")

DAY, TIME = datetime.date, datetime.datetime
TABLE = pa.table(
    {
        "g": [1, 1, 1, 2, 2, 3],
        "x": pa.array([5, 5, 7, None, 9, None], pa.int32()),
        "m": pa.array([1, 1, 1, 2, None, 2], pa.decimal128(5, 2)),
        "s": ["b", "a", "a", "é", "é", None],
        "f": [1.5, 1.5, float("inf"), 0.0, 0.0, -2.0],
        "d": [DAY(2024, 2, 29), DAY(1, 1, 1), None, DAY(1969, 12, 31), DAY(2024, 12, 30), DAY(9999, 12, 31)],
        "t": pa.array(
            [TIME(2024, 2, 29, 13, 4, 5, 678), TIME(1969, 12, 31, 23, 59, 59, 999999), None, TIME(2021, 1, 3),
             TIME(2024, 12, 30, 12, 30), TIME(1900, 1, 1)], pa.timestamp("us"),
        ),
        "n": pa.array([0, 1, -1000, None, 10**18, 7], pa.timestamp("ns")),
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> datafusion.SessionContext:
    found = context()
    register(found)
    found.register_record_batches("t", [TABLE.to_batches()])
    return found


def answer(session: datafusion.SessionContext, query: str) -> list[dict[str, object]]:
    return session.sql(expand(query)).to_arrow_table().to_pylist()


def check(session: datafusion.SessionContext, query: str) -> None:
    theirs = duckdb.connect()
    theirs.register("t", TABLE)
    assert answer(session, query) == theirs.sql(query).to_arrow_table().to_pylist()


@pytest.mark.parametrize("column", ["x", "m", "s", "f", "d", "t", "n"])
def test_quantiles(session: datafusion.SessionContext, column: str) -> None:
    for share in (0, 0.25, 0.5, 0.75, 1):
        check(session, f"SELECT quantile_disc({column}, {share}) AS q FROM t")
    check(session, f"SELECT g, quantile_disc({column}, 0.5) AS q FROM t GROUP BY g ORDER BY g")
    check(session, f"SELECT quantile_disc({column}, 0.5) AS q FROM t WHERE g > 9")


@pytest.mark.parametrize("column", ["x", "m", "s", "f"])
def test_modes(session: datafusion.SessionContext, column: str) -> None:
    check(session, f"SELECT mode({column}) AS m FROM t WHERE x IS NULL OR x < 9")
    check(session, f"SELECT g, mode({column}) AS m FROM t WHERE g < 3 OR x = 0 GROUP BY g ORDER BY g")
    check(session, f"SELECT mode({column}) AS m FROM t WHERE g > 9")


def test_of_several_modes_the_least_is_taken(session: datafusion.SessionContext) -> None:
    query = "SELECT g, mode(d) AS m FROM t GROUP BY g ORDER BY g"
    assert [r["m"] for r in answer(session, query)] == [DAY(1, 1, 1), DAY(1969, 12, 31), DAY(9999, 12, 31)]


def test_filters_and_nesting(session: datafusion.SessionContext) -> None:
    check(
        session, "SELECT mode(x) FILTER (WHERE x > 5) AS a, quantile_disc(x + 1, 0.5) FILTER (WHERE g = 1) AS b FROM t"
    )
    check(session, "SELECT quantile_disc(v, 0.5) AS q FROM (SELECT mode(x) AS v FROM t GROUP BY g)")
    check(session, "SELECT strftime(strptime(strftime(t, '%Y%m%d'), '%Y%m%d'), '(%d,%m)') AS x FROM t")


@pytest.mark.parametrize("specifier", [*sorted(SPECIFIERS), "f", "%", "-d", "-H", "-I", "-j", "-m", "-M", "-S"])
def test_times_as_text(session: datafusion.SessionContext, specifier: str) -> None:
    for column in ("t", "d", "n"):
        check(session, f"SELECT strftime({column}, 'a%{specifier}|') AS x FROM t")


def test_a_format_for_each_row(session: datafusion.SessionContext) -> None:
    query = "SELECT strftime(t, CASE WHEN g = 1 THEN '%Y' WHEN g = 2 THEN '%d.%m.' END) AS x FROM t"
    assert [r["x"] for r in answer(session, query)] == ["2024", "1969", None, "03.01.", "30.12.", None]
    check(session, "SELECT strftime(t, 'plain') AS x FROM t")


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("2024-02-29 01:02:03", "%Y-%m-%d %H:%M:%S"),
        ("2024-01-01 10:00:00.5", "%Y-%m-%d %H:%M:%S.%f"),
        ("20240131", "%Y%m%d"),
        ("1/2/24 1:05 PM", "%d/%m/%y %I:%M %p"),
        ("12:05 am", "%I:%M %p"),
        ("March 5, 2021", "%B %d, %Y"),
        ("Fri 5 Sep 69", "%a %d %b %y"),
        ("5 sep 68", "%d %b %y"),
        ("100%", "100%%"),
        ("Monday (x)", "%A (x)"),
    ],
)
def test_text_as_times(session: datafusion.SessionContext, text: str, format: str) -> None:
    check(session, f"SELECT strptime('{text}', '{format}') AS x")
    check(session, f"SELECT strptime(CASE WHEN g = 1 THEN '{text}' END, '{format}') AS x FROM t")


def test_every_specifier_that_is_parsed_was_tried() -> None:
    assert set(PARSED) == set("YymdHIMSfpbBaA")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("strptime('2024-02-30', '%Y-%m-%d')", "no such time"),
        ("strptime('2024-01-01 24:00', '%Y-%m-%d %H:%M')", "no such time"),
        ("strptime('13 PM', '%I %p')", "no such time"),
        ("strptime('Foo 5', '%B %d')", "a month of another name"),
        ("strptime('abc', '%Y')", "does not have the format"),
        ("strptime('2024 x', '%Y')", "does not have the format"),
        ("strptime('x', '%Q')", "%Q in '%Q' is not known"),
        ("strftime(t, '%Q')", "%Q in '%Q' is not known"),
        ("strftime(t, 'x%')", "% in 'x%' is not known"),
        ("time_bucket(INTERVAL '1 month 1 day', t)", "the interval is positive"),
        ("time_bucket(INTERVAL '0 days', t)", "the interval is positive"),
    ],
)
def test_errors_say_what_is_wrong(session: datafusion.SessionContext, call: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as raised:
        answer(session, f"SELECT {call} AS x FROM t")
    for error in (from_datafusion(raised.value), invalid_sql(raised.value, call, ())):
        assert message in str(error) and not any(word in str(error) for word in ("PyErr", "Traceback", "class"))


@pytest.mark.parametrize(
    "interval", ["1 month", "3 months", "1 year", "1 day", "2 weeks", "5 minutes", "36 hours", "7 microseconds"]
)
def test_time_buckets(session: datafusion.SessionContext, interval: str) -> None:
    check(session, f"SELECT time_bucket(INTERVAL '{interval}', t) AS b FROM t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'mode(x)', \"mode\"(x) -- mode(x)",
        "SELECT mode, strftime FROM t /* mode(x) */",
        "SELECT s.mode(x), $$mode(x)$$, $a$mode(x)$a$",
        "SELECT mode(x) OVER (PARTITION BY g) FROM t",
        "SELECT mode(), strftime(t), time_bucket(1, 2, 3), quantile_disc(x)",
        "SELECT mode(x",
    ],
)
def test_what_is_no_such_call_stays(text: str) -> None:
    assert expand(text) == text
