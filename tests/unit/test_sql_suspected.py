"""What is suspected in a text, and that nothing is suspected of what accelerators answer."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jumpgate.client.sql import suspects
from jumpgate.client.sql.catalog import Table
from jumpgate.ntf.codec import arrow_type
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH

MOMENTS = Table(
    "m",
    pa.schema(
        [
            ("d", pa.date32()), ("s", pa.timestamp("s")), ("us", pa.timestamp("us")), ("z", pa.timestamp("us", "UTC")),
            ("i", pa.int32()), ("p", pa.decimal128(7, 2)), ("x", pa.string()), ("st", pa.struct([("a", pa.int32())])),
        ]
    ),
)  # fmt: skip


@pytest.mark.parametrize("suite", [TPCDS, TPCH], ids=lambda suite: suite.name)
def test_benchmarks_are_not_held_back(suite: Suite) -> None:
    tables = [Table(n, pa.schema([(f.name, arrow_type(f.type)) for f in suite.schema(n)])) for n in suite.tables]
    assert {n: found for n, text in suite.queries().items() if (found := suspects.find(text, tables))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT us + INTERVAL 1 HOUR, z - INTERVAL '2' SECOND, d + INTERVAL 3 DAY FROM m",
        "SELECT e + INTERVAL 1 HOUR FROM (SELECT us AS e FROM m) AS q",
        "SELECT avg(i), avg(CASE WHEN d > DATE '2024-01-01' THEN i END), avg(n) FROM (SELECT *, i AS n FROM m) AS q",
        "SELECT * FROM m WHERE CAST(i AS BIGINT) = 1 AND CAST(us AS DATE) = DATE '2024-01-01'",
        "SELECT * FROM m WHERE x LIKE 'a%' AND substr(x, 1, 2) = 'ab' AND us > TIMESTAMP '2024-01-01 00:00:00'",
        "SELECT * FROM m WHERE EXISTS (SELECT 1 FROM m AS n WHERE n.i = m.i) AND i IN (SELECT max(i) FROM m AS o)",
        "SELECT i FROM m AS a WHERE (SELECT count(*) FROM m AS b WHERE b.x = a.x) > 0",
        "SELECT sum(i) OVER w FROM m WINDOW w AS (ORDER BY i)",
        r"SELECT i FROM m WHERE x LIKE '10\%' ESCAPE '\' OR x NOT LIKE '\_' ESCAPE '\'",
        "SELECT st.a FROM m WHERE i IN (SELECT max(st.a) FROM m AS n)",
        "not SQL at all '",
    ],
)
def test_nothing_is_suspected(text: str) -> None:
    assert suspects.find(text, [MOMENTS]) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT s + INTERVAL 500 MILLISECOND FROM m", "parts of a second"),
        ("SELECT coalesce(d, d) - i * INTERVAL 1 MINUTE FROM m", "hours"),
        ("SELECT e + INTERVAL 1 HOUR FROM (SELECT d FROM m) AS q(e)", "hours"),
        ("SELECT avg(CASE WHEN i > 0 THEN us END) FROM m", "avg of a date or timestamp"),
        ("SELECT * FROM m WHERE s = '2024-01-01 00:00:00.5'", "more digits"),
        ("SELECT * FROM m WHERE CAST(p AS SMALLINT) IN (1, 2)", "a cast to SMALLINT"),
        ('SELECT sum(i) OVER ("w" ROWS 1 PRECEDING) FROM m WINDOW "w" AS (ORDER BY i)', "refines a named one"),
        ("WITH q AS (SELECT i FROM m WHERE i > ALL (SELECT 1)) SELECT * FROM q", "ALL with a subquery"),
        ("SELECT 1 FROM m WHERE EXISTS (SELECT x FROM (SELECT 1 AS k) AS q WHERE k = i LIMIT 1)", "LIMIT or OFFSET"),
    ],
)
def test_what_is_suspected(text: str, said: str) -> None:
    assert said in suspects.find(text, [MOMENTS])
