"""The reader of sqllogictest files, and the comparison of answers."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support import suites
from tests.support.alike import unlike
from tests.support.duckdb_judge import Judge
from tests.support.sqllogic import Malformed, Query, Statement, parse, pick, render, sample

TEXT = """
# a comment
hash-threshold 8

statement ok
CREATE TABLE t(a INTEGER,
  b INTEGER)

statement error
CREATE nonsense

skipif duckdb
statement ok
CREATE INDEX i ON t(a)

onlyif mysql # of another engine
query I rowsort
SELECT 1 DIV 1
----
1

query IT rowsort label-7
SELECT a, 'x y'
FROM t
----
1 x y
NULL x y

query I
SELECT a FROM t
----
30 values hashing to 3c13dee48d9356ae19af2515e05e6b54

query error Binder Error: .*
SELECT nothing

include other.slt

halt

query I
SELECT 9
"""


def test_records(tmp_path: Path) -> None:
    (tmp_path / "a.slt").write_text(TEXT)
    (tmp_path / "other.slt").write_text("query I valuesort\nSELECT 2\n----\n2\n")
    found = list(parse(tmp_path / "a.slt"))
    assert found == [
        Statement(5, "CREATE TABLE t(a INTEGER,\n  b INTEGER)", True),
        Statement(9, "CREATE nonsense", False),
        Query(22, "SELECT a, 'x y'\nFROM t", True, "IT", "rowsort", "label-7", ("1 x y", "NULL x y")),
        Query(29, "SELECT a FROM t", types="I", hashed=(30, "3c13dee48d9356ae19af2515e05e6b54")),
        Query(34, "SELECT nothing", ok=False),
        Query(1, "SELECT 2", True, "I", "valuesort", "", ("2",)),
    ]
    assert pick(found, 2, seed=1) <= {2, 3, 5} and len(pick(found, 2, seed=1)) == 2
    assert pick(found, 9) == {2, 3, 5}


def test_what_is_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "a.slt").write_text("control sortmode sideways\n")
    with pytest.raises(Malformed, match="no sort mode 'sideways'"):
        list(parse(tmp_path / "a.slt"))
    (tmp_path / "b.slt").write_text("include b.slt\n")
    with pytest.raises(Malformed, match="nest deeper"):
        list(parse(tmp_path / "b.slt"))


def test_every_suite_has_its_share(tmp_path: Path) -> None:
    large = [tmp_path / f"large-{i}.slt" for i in range(100)]
    chosen = sample([large, [tmp_path / "small.slt"]], 120, seed=3)
    assert chosen[tmp_path / "small.slt"] == 60
    assert sum(chosen.values()) == 120 and chosen == sample([large, [tmp_path / "small.slt"]], 120, seed=3)


def test_render() -> None:
    table = pa.table({"a": [2, None], "b": ["", "x"], "c": [0.1 + 0.2, -0.0], "d": [True, False]})
    assert render(table, "nosort") == ["2 (empty) 0.3 true", "NULL x 0 false"]
    assert render(table, "rowsort") == ["2 (empty) 0.3 true", "NULL x 0 false"]


def test_answers_are_alike_or_not() -> None:
    base = pa.table({"a": [1, 2, 2], "f": [math.nan, 0.1 + 0.2, 0.0]})
    assert not unlike(pa.table({"a": [2, 2, 1], "f": [-0.0, 0.3, math.nan]}), base)
    assert "row 0" in unlike(pa.table({"a": [2, 2, 1], "f": [-0.0, 0.3, math.nan]}), base, ordered=True)
    assert "1 of 3 rows differ" in unlike(pa.table({"a": [2, 2, 1], "f": [0.3, 0.3, math.nan]}), base)
    assert "2 rows" in unlike(base.slice(1), base)
    assert "columns are" in unlike(base.rename_columns(["a", "g"]), base)
    assert not unlike(base.rename_columns(["a", "g"]), base, types=False)
    assert "expected" in unlike(pa.table({"a": ["1"]}), pa.table({"a": [1]}), types=False)


def test_names_of_items_are_no_part_of_a_list() -> None:
    types = (pa.list_(pa.field("element", pa.int64())), pa.large_list(pa.int64()))
    named, large = (pa.table({"l": pa.array([[1], None], type)}) for type in types)
    assert not unlike(named, large)
    unnamed = pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([[math.nan], None])], names=["", ""])
    assert not unlike(pa.table({"s": unnamed.take(pa.array([1, 0]))}), pa.table({"s": unnamed}))
    assert "1 of 2 rows" in unlike(pa.table({"s": unnamed.take(pa.array([1, None]))}), pa.table({"s": unnamed}))
    assert "columns are" in unlike(named, pa.table({"l": pa.array([[1], None], pa.list_(pa.int32()))}))


def test_what_a_text_leaves_open_is_no_difference() -> None:
    judge = Judge({"t": pa.table({"a": [1, 2, 3], "b": ["x", "x", "y"]})})

    def wrong(text: str, found: dict[str, list[object]]) -> str | None:
        answer = judge.answer(text)
        return judge.difference(pa.table(found, schema=answer.table.schema), answer)

    assert wrong("SELECT a FROM t LIMIT 1", {"a": [1]}) == ""
    assert wrong("SELECT a FROM t LIMIT 1", {"a": [9]}) is None, "another order gives another row"
    assert wrong("SELECT a FROM t ORDER BY b LIMIT 1", {"a": [3]}) is None
    assert wrong("SELECT a, b FROM t ORDER BY b", {"a": [2, 1, 3], "b": ["x", "x", "y"]}) == ""
    assert wrong("SELECT a, b FROM t ORDER BY b, a", {"a": [2, 1, 3], "b": ["x", "x", "y"]})
    assert wrong("SELECT sum(a)::BIGINT AS s FROM t", {"s": [7]})
    assert wrong("SELECT a FROM t", {"a": [3, 2, 1]}) == ""


def test_scripts_of_psql(tmp_path: Path) -> None:
    (tmp_path / "test_setup.sql").write_text(
        "\\getenv abs_srcdir PG_ABS_SRCDIR\n-- data\n\\set filename :abs_srcdir '/data/t.data'\n"
        "CREATE TABLE t(a name);\nCOPY t FROM :'filename';\n"
    )
    script = tmp_path / "a.sql"
    script.write_text(
        "COPY t FROM stdin;\nselect; 'x\n\\.\n\\d t\n"
        "/* ; */ select ';', a\n  from t; -- all\n\nINSERT INTO t VALUES ('b');"
    )
    assert list(suites.records(script)) == [
        Statement(0, "CREATE TYPE name AS VARCHAR", True),
        Statement(4, "CREATE TABLE t(a name)", True),
        Statement(5, f"COPY t FROM '{tmp_path.parent}/data/t.data'", True),
        Statement(1, "COPY t FROM stdin", True),
        Query(5, "select ';', a\n  from t"),
        Statement(8, "INSERT INTO t VALUES ('b')", True),
    ]
    assert suites.files([tmp_path]) == [[script, tmp_path / "test_setup.sql"]]
