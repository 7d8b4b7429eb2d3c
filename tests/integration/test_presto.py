"""The connector in a real Presto server: scans of Parquet files, and of folders that hold columns, are DuckDB's."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from tests.support import folders, presto
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
#: a column of a type that Presto lacks: it does not see it
HIDDEN = ("clock", pa.time64("us"))

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
#: statistics of a table of two files, and of one with a boolean column: the column, its least and its greatest value
KNOWN = {"SHOW STATS FOR halves": ("n", "0", "99"), "SHOW STATS FOR t": ("flag", None, None)}
CREATED = "SHOW CREATE TABLE t"
FAILURES = {
    "SELECT * FROM cloud": "JUMPGATE_SERVICE: .*cannot read 's3://no-such-bucket/t'",
    "SELECT * FROM hadoop": "JUMPGATE_SERVICE: .*'hdfs://namenode/t' is read from http://namenode, .*insecure = true",
    "SELECT * FROM mounted": "JUMPGATE_SERVICE: .*viewfs:// is not read, only s3://",
    "SELECT * FROM missing": "JUMPGATE_SERVICE: .*missing.parquet",
    "SELECT clock FROM t": "SYNTAX_ERROR: .*Column 'clock' cannot be resolved",
    "SELECT * FROM broken": "JUMPGATE_DATA: .*broken.parquet",
    "SELECT * FROM nowhere": "JUMPGATE_SERVICE: .*directory '.*/nowhere' holds no files with suffix",
    "CREATE TABLE made (n bigint)": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
    "CREATE TABLE made AS SELECT * FROM t": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
    "INSERT INTO nothing SELECT * FROM t": "NOT_SUPPORTED: .*Jumpgate reads files that others write",
}


class Answers(NamedTuple):
    """Presto's to each query, and how many rows of files were read for it."""

    found: dict[str, Any]
    rows_read: dict[str, int]
    tables: dict[str, pa.Table]
    folder: Path


def tables() -> dict[str, pa.Table]:
    whole = pa.table({name: pa.array(values, type) for name, (type, values) in TYPES.items()})
    return {"t": whole, "nothing": whole.slice(0, 0), "many": pa.table({"n": pa.array(range(200_000), pa.int64())})}


def asks_presto(folder: Path) -> tuple[dict[str, Any], list[Query]]:
    whole = tables()["t"]
    written = tables() | {"t": whole.append_column(HIDDEN[0], pa.array([0, None, 1], HIDDEN[1]))}
    catalog = {name: presto.write_table(folder, name, table) for name, table in written.items()}
    for name in ("missing", "broken"):
        catalog[name] = {"format": "parquet", "files": [str(folder / f"{name}.parquet")], "columns": {"n": "int64"}}
    pa.parquet.write_table(tables()["many"].slice(0, 50), folder / "first.parquet")
    pa.parquet.write_table(tables()["many"].slice(50, 50), folder / "second.parquet")
    halves = [str(folder / f"{name}.parquet") for name in ("first", "second")]
    catalog["halves"] = {"format": "parquet", "files": halves, "columns": {"n": "int64?"}}
    catalog["cloud"], catalog["hadoop"] = {"path": "s3://no-such-bucket/t"}, {"path": "hdfs://namenode/t"}
    catalog["mounted"] = {"path": "viewfs://cluster/t"}
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more PAR1")
    texts = [*QUERIES, *FAILURES, *folders.QUERIES, *folders.DECLARED, folders.COLUMNS, *KNOWN, CREATED]
    return catalog | folders.write(folder), [Query(text) for text in texts]


@pytest.fixture(scope="module")
def answers(presto_answers: presto.Answers) -> Answers:
    found, read, folder = presto_answers
    own = {q: v for q, v in found.items() if not q.session}
    return Answers({q.text: v for q, v in own.items()}, {q.text: read[q] for q in own}, tables(), folder)


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_duckdbs(query: str, answers: Answers) -> None:
    with duckdb.connect() as connection:
        for name, table in answers.tables.items():
            connection.register(name, table)
        expected = [[presto.as_json(value) for value in row] for row in connection.execute(query).fetchall()]
    assert sorted(answers.found[query], key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("query", folders.QUERIES)
def test_folders_are_columns_and_those_that_cannot_match_are_not_read(query: str, answers: Answers) -> None:
    expected = [[presto.as_json(value) for value in row] for row in folders.duckdb_rows(answers.folder, query)]
    assert sorted(answers.found[query], key=repr) == sorted(expected, key=repr)
    assert answers.rows_read[query] == folders.QUERIES[query] * folders.ROWS


@pytest.mark.parametrize("query", folders.DECLARED)
def test_a_catalog_may_say_what_a_path_has(query: str, answers: Answers) -> None:
    assert sorted(answers.found[query], key=repr) == sorted(folders.DECLARED[query], key=repr)


def test_a_path_that_names_nothing_keeps_no_other_table_from_being_listed(answers: Answers) -> None:
    listed = [tuple(row) for row in answers.found[folders.COLUMNS]]
    assert set(folders.COLUMNS_FOUND) <= set(listed)


@pytest.mark.parametrize("query", KNOWN)
def test_statistics_are_of_all_files_and_types(query: str, answers: Answers) -> None:
    column, low, high = KNOWN[query]
    rows = {row[0]: row for row in answers.found[query]}
    assert (rows[column][5], rows[column][6]) == (low, high)


def test_a_table_says_which_column_is_hidden_and_why(answers: Answers) -> None:
    hidden = "COMMENT 'not readable by Presto: clock time (the engine has no such type)'"
    assert hidden in answers.found[CREATED][0][0]


@pytest.mark.parametrize("query", FAILURES)
def test_a_failure_says_what_and_where(query: str, answers: Answers) -> None:
    assert re.match(FAILURES[query], answers.found[query])
