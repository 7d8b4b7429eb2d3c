"""What wrong queries are told: short English sentences with the place, and none of DataFusion's inner words."""

from __future__ import annotations

import re

import datafusion
import pyarrow as pa
import pytest

from jumpgate.client.sql.errors import InvalidSql, from_datafusion, invalid_sql
from jumpgate.client.sql.messages import plain
from jumpgate.errors import DivisionByZero, InvalidCast, JumpgateError, Overflow

INNER = re.compile(
    r"DataFusion error|SQL error|Error\(|Execution error|Arrow error|Internal error|caused by|Utf8|Int64|Span\(|\{"
    r"|\.rs\b|\bbug\b|Candidate functions|Optimizer|datafusion\."
)
READ_ONLY = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
WRONG = (
    "SELECT a, a FROM t",
    "SELECT count(*), count(*) FROM t",
    "SELECT a AS x, b AS x FROM t",
    "SELECT a, b AS a FROM t",
    "SELECT zz FROM t",
    "SELECT t.zz FROM t",
    "SELECT zz.a FROM t",
    "SELECT A1 FROM t",
    "SELECT * FROM tt",
    "SELECT * FROM x.t",
    "SELECT * FROM a.b.c.d",
    "SELECT nosuch(a) FROM t",
    "SELECT nosuch.f(1)",
    "SELECT * FROM nosuch()",
    "SELECT abs(1, 2)",
    "SELECT abs(s) FROM t",
    "SELECT s + 1 FROM t",
    "SELECT coalesce()",
    "SELECT a FROM t WHERE s",
    "SELECT a FROM t WHERE a = 'x'",
    "SELECT CAST('x' AS INT)",
    "SELECT '2020-13-01'::date",
    "SELECT INTERVAL 'x' DAY",
    "SELECT a::nosuchtype FROM t",
    "SELECT CAST(1 AS DECIMAL(5,10))",
    "SELECT a FROM t GROUP BY b",
    "SELECT sum(a) FROM t WHERE sum(a) > 1",
    "SELECT sum(sum(a)) FROM t",
    "SELECT rank() FROM t",
    "SELECT a FROM t WHERE rank() OVER () > 1",
    "SELECT a AS x FROM t WHERE x > 1",
    "SELECT a FROM t, u",
    "SELECT a FROM t JOIN u ON a = a",
    "SELECT a FROM t JOIN u USING (zz)",
    "SELECT a FROM t ORDER BY 5",
    "SELECT a FROM t GROUP BY 5",
    "SELECT a FROM t UNION SELECT a, b FROM t",
    "SELECT a FROM t HAVING a > 1",
    "SELECT a FROM t t JOIN u t ON t.a = t.a",
    "WITH c AS (SELECT 1), c AS (SELECT 2) SELECT * FROM c",
    "SELECT a IN (SELECT a, b FROM t) FROM t",
    "SELECT a FROM t WHERE a IN (SELECT a, b FROM t)",
    "SELECT $1 + 1",
    "SELECT * FROM t PIVOT (sum(a) FOR b IN (1,2))",
    "SELECT a FROM t ASOF JOIN u MATCH_CONDITION (t.a > u.a)",
    "SELECT s COLLATE nocase FROM t",
    "SELECT * FROM t, LATERAL (SELECT t.a + 1) AS q(z)",
    "SELECT (SELECT u.a FROM u WHERE u.b > t.b LIMIT 1) FROM t",
    "SELECT * EXCLUDE (zz) FROM t",
    "SELECT DISTINCT ON (a) b FROM t ORDER BY b",
    "SELECT TOP 1 a FROM t",
    "SELECT string_agg(a) FROM t",
    "SELECT count(DISTINCT a, b) FROM t",
    "SELECT 1 +",
    "SELECT a b c FROM t",
    "SELEC 1",
    "SELECT 'abc",
    'SELECT "abc',
    "SELECT /* abc",
    "SELECT * FROM (SELECT 1",
    "SELECT a,, b FROM t",
    ")",
    "SELECT 1 AS",
    "CREATE TABLE x AS SELECT 1",
    "INSERT INTO t VALUES (1)",
    "COPY t TO 'x.csv'",
    "SET a.b = 1",
    "DROP TABLE t",
    "BEGIN",
    "PRAGMA x",
    "UPDATE t SET a = 1",
    "DELETE FROM t",
    "EXECUTE x",
    "USE x",
    "SELECT 1; SELECT 2",
    "",
    "SELECT ntile(2.0) OVER () FROM t",
    "SELECT sum(a) OVER (ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT a FROM t LIMIT -1",
    "SELECT a FROM t LIMIT 1.5",
    "SELECT a FROM t FETCH FIRST 1 ROW ONLY",
    "SELECT unnest(a) FROM t",
    "SELECT [1, 'x', DATE '2020-01-01']",
    "SELECT struct(1).z",
    "SELECT s.x FROM t",
    "SELECT a.x FROM t",
    "SELECT EXTRACT(nosuch FROM DATE '2020-01-01')",
    "SELECT date_trunc('foo', TIMESTAMP '2020-01-01')",
    "SELECT regexp_replace('a', '(', 'b')",
    "SELECT to_char(DATE '2020-01-01', '%Q')",
    "SELECT approx_percentile_cont(a, 2.0) FROM t",
    "SELECT -(-9223372036854775808)",
    "SELECT 1 % 0",
    "SELECT (SELECT a FROM t)",
    "SELECT array_slice([1],1,2,0)",
    "SELECT power(1,2,3)",
    "SELECT substr('a')",
    "SELECT NOT 5",
    "SELECT true + 1",
    "SELECT DATE '2020-01-01' / 2",
    "SELECT 5 // 2",
    "SELECT 1e999999999999",
    "SELECT " + "(" * 100 + "1" + ")" * 100,
)


@pytest.fixture(scope="module")
def context() -> datafusion.SessionContext:
    config = datafusion.SessionConfig().set("datafusion.sql_parser.map_string_types_to_utf8view", "false")
    context = datafusion.SessionContext(config.set("datafusion.sql_parser.parse_float_as_decimal", "true"))
    for name in ("t", "u"):
        context.register_record_batches(name, [[pa.record_batch({"a": [1, 2], "b": [1, 2], "s": ["x", "y"]})]])
    context.register_record_batches("orders", [[pa.record_batch({"OrderID": [1, 2], "Amount": [1, 2]})]])
    return context


def told(context: datafusion.SessionContext, text: str) -> JumpgateError:
    """The typed error of a wrong query."""
    try:
        frame = context.sql(text, options=READ_ONLY)
        frame.optimized_logical_plan()
    except BaseException as error:
        return invalid_sql(error, text, ["t", "u", "Orders"])
    try:
        frame.collect()
    except BaseException as error:
        return from_datafusion(error)
    raise AssertionError(f"{text} is not wrong")


@pytest.mark.parametrize("text", WRONG)
def test_messages_are_short_and_plain(context: datafusion.SessionContext, text: str) -> None:
    error = told(context, text)
    sentence = str(error).split("\n  ")[0]
    assert 5 < len(sentence) < 240 and not INNER.search(sentence), sentence
    if "line" in error.fields:
        assert str(error).splitlines()[-1].strip() == "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT a, a FROM t", 'two columns of one SELECT are called "t.a": give one of them another name with AS'),
        ("SELECT count(*), count(*) FROM t", 'two columns of one SELECT are called "count(*)"'),
        ("SELECT a, b AS a FROM t", 'two columns of one SELECT are called "a"'),
        ("SELECT OrderID FROM orders", 'are quoted: write "OrderID"\n  SELECT OrderID FROM orders\n         ^'),
        ("SELECT a,\n  zz FROM t", "there is no column 'zz'; it has 'a', 'b', 's'\n    zz FROM t\n    ^"),
        ("SELECT 'zz', u.zz FROM t, u", "\n  SELECT 'zz', u.zz FROM t, u\n                 ^"),
        ("SELECT * FROM x.t", "there is no table 'x.t'"),
        ("SELECT abs(1, 2)", "abs takes 1 arguments, not 2"),
        ("SELECT s + 1 FROM t", "VARCHAR + BIGINT is not defined; CAST may help"),
        ("SELECT a FROM t WHERE s", "a condition must be BOOLEAN, but t.s is VARCHAR"),
        ("SELECT CAST('x' AS INT)", "'x' is not of type INTEGER"),
        ("SELECT a FROM t GROUP BY b", "t.a in SELECT is neither in GROUP BY nor inside an aggregate"),
        ("SELECT rank() FROM t", "it needs OVER (ORDER BY …)"),
        ("SELECT a FROM t, u", "several tables have a column 'a': write the table's name before it"),
        ("SELECT a FROM t HAVING a > 1", "t.a > 1 in HAVING is neither in GROUP BY"),
        ("SELECT $1 + 1", "the parameter $1 has no value"),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1,2))", "Pivot is not supported"),
        ("SELECT TOP 1 a FROM t", "TOP is not supported; write LIMIT"),
        ("SELECT a FROM t LIMIT (SELECT count(*) FROM t)", "LIMIT takes a number; for one that is computed, number the "
         "rows with row_number() and compare"),
        ("SELECT lag(a, 1, a) OVER (ORDER BY a) FROM t", "the count of ntile, and the offset and default of lag and "
         "lead, are constants"),
        ("SELECT 5 // 2", "// is not supported"),
        ("SELECT 5 DIV 2", "unexpected DIV"),
        ("DROP TABLE t", "a query only reads"),
        ("BEGIN", "settings and transactions are not for queries"),
        ("SELECT " + "(" * 100 + "1" + ")" * 100, "nests more than 50 levels deep"),
    ],
)  # fmt: skip
def test_messages(context: datafusion.SessionContext, text: str, message: str) -> None:
    assert message in str(told(context, text))


def test_kinds_of_errors(context: datafusion.SessionContext) -> None:
    kinds = {"SELECT 1 % 0": DivisionByZero, "SELECT -(-9223372036854775808)": Overflow}
    kinds |= {"SELECT CAST(s AS INT) FROM t": InvalidCast, "SELECT count(DISTINCT a, b) FROM t": InvalidSql}
    for text, kind in kinds.items():
        assert type(told(context, text)) is kind, text


def test_places_in_a_rewritten_text(context: datafusion.SessionContext) -> None:
    from jumpgate.client.sql.preparation import prepare

    text = "SELECT a / 2,\n a / 3 4 FROM t"
    prepared = prepare(text)
    with pytest.raises(ValueError) as raised:  # noqa: PT011  DataFusion's own
        context.sql(prepared.text)
    error = invalid_sql(raised.value, text, ["t"], prepared.place)
    assert (error.fields["line"], error.fields["column"]) == (2, 8)


def test_inner_errors_ask_for_no_bug_reports() -> None:
    said = (
        "Internal error: Assertion failed: a == b: left.\nThis issue was likely caused by a bug in DataFusion's code. "
        "Please help us to resolve this by filing a bug report in our issue tracker: https://x"
    )
    assert plain(said) == "DataFusion cannot do this (Assertion failed: a == b: left); another way to write it may work"
    assert plain("Foo { bar: Baz(1) }") == ""
    assert str(invalid_sql(RuntimeError(""), "SELECT", [])) == "the text is not an SQL query"
