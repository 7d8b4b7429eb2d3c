"""The connector in a real Presto server: scans of Parquet files are DuckDB's."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.support import presto
from tests.support.presto import Query

TYPES = {
    "flag": (pa.bool_(), [True, None, False]),
    "tiny": (pa.int8(), [-128, None, 127]),
    "small": (pa.int16(), [-(2**15), None, 2**15 - 1]),
    "medium": (pa.int32(), [-(2**31), None, 2**31 - 1]),
    "large": (pa.int64(), [-(2**63), None, 2**63 - 1]),
    "single": (pa.float32(), [0.5, None, -math.inf]),
    "real": (pa.float64(), [math.inf, None, -0.1]),
    "price": (pa.decimal128(7, 2), [Decimal("1.25"), None, Decimal("-99999.99")]),
    "long": (pa.decimal128(18, 4), [Decimal("99999999999999.9999"), None, Decimal("-0.0001")]),
    "day": (pa.date32(), [datetime.date(1969, 12, 31), None, datetime.date(2500, 1, 1)]),
    "word": (pa.string(), ["", None, "zé"]),
    "wide": (pa.decimal128(38, 3), [Decimal("9" * 35 + ".999"), None, Decimal("-" + "9" * 35 + ".999")]),
    "raw": (pa.binary(), [b"", None, b"\x00\xff"]),
    "Mixed": (pa.int32(), [1, None, 3]),
}
#: a column of a type that Presto knows less exactly: it does not see it
HIDDEN = ("moment", pa.timestamp("us"))

QUERIES = [
    "SELECT * FROM t",
    *(f"SELECT {name} FROM t" for name in TYPES),
    "SELECT word, tiny FROM t",
    "SELECT MIXED FROM T",
    "SELECT count(*) FROM t",
    "SELECT count(*) FROM (SELECT n FROM many LIMIT 5)",
    "SELECT * FROM nothing",
    "SELECT count(*), sum(n), min(n), max(n) FROM many",
    "SELECT count(*) FROM many WHERE n % 7 = 3",
    "SELECT a.n FROM many a JOIN many b ON a.n = b.n + 199990",
]
FAILURES = {
    "SELECT * FROM missing": "JUMPGATE_SERVICE: .*missing.parquet",
    "SELECT moment FROM t": "SYNTAX_ERROR: .*Column 'moment' cannot be resolved",
    "SELECT * FROM broken": "JUMPGATE_DATA: .*broken.parquet",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Presto's to each query, and the tables."""
    folder = tmp_path_factory.mktemp("presto")
    whole = pa.table({name: pa.array(values, type) for name, (type, values) in TYPES.items()})
    tables = {"t": whole, "nothing": whole.slice(0, 0), "many": pa.table({"n": pa.array(range(200_000), pa.int64())})}
    written = tables | {"t": whole.append_column(HIDDEN[0], pa.array([0, None, 1], HIDDEN[1]))}
    catalog = {name: presto.write_table(folder, name, table) for name, table in written.items()}
    for name in ("missing", "broken"):
        catalog[name] = {"format": "parquet", "files": [str(folder / f"{name}.parquet")], "columns": {"n": "int64"}}
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more PAR1")
    found = presto.answers(folder, catalog, [Query(text) for text in [*QUERIES, *FAILURES]])
    return {query.text: answer for query, answer in found.items()}, tables


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_duckdbs(query: str, answers: tuple[dict[str, Any], dict[str, pa.Table]]) -> None:
    found, tables = answers
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        expected = [[presto.as_json(value) for value in row] for row in connection.execute(query).fetchall()]
    assert sorted(found[query], key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("query", FAILURES)
def test_a_failure_says_what_and_where(query: str, answers: tuple[dict[str, Any], dict[str, pa.Table]]) -> None:
    assert re.match(FAILURES[query], answers[0][query])
