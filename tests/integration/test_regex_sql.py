"""Regular expressions in SQL: the same answers as automata in generated code and by DataFusion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.regex.automaton import finder, matcher
from tests.support.regexes import Patterns

CALLS = (
    "s ~ {0}",
    "s !~* {0}",
    "regexp_count(s, {0})",
    "regexp_instr(s, {0})",
    "regexp_replace(s, {0}, '<é>')",
    "regexp_replace(s, {0}, '', 'g')",
)
#: more of them than a batch has, so that results of several batches are live
COPIES = 100


def known(random: Patterns) -> str:
    """A pattern whose automata are not too large, not too simple either: DataFusion makes LIKE of some."""
    while True:
        pattern = random.pattern()
        try:
            matcher(pattern), finder(pattern)
        except TypeMismatch:
            continue
        if any(c in pattern for c in "[.*+?(\\"):
            return pattern


@pytest.fixture
def connection(one_host: str, tmp_path: Path) -> Iterator[Connection]:
    random = Patterns(99)
    texts = [None, "", *(random.text() for _ in range(200)), "x" * 5000 + "a1"]
    pyarrow.parquet.write_table(pa.table({"s": pa.array(texts * COPIES)}), tmp_path / "t.parquet")
    with jumpgate.connect(one_host) as connection:
        connection.register("t", tmp_path / "t.parquet")
        yield connection


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_patterns(connection: Connection, seed: int) -> None:
    random = Patterns(seed)
    items = []
    for call in CALLS:
        for _ in range(4):
            items.append(call.format("'{}'".format(known(random).replace("'", "''"))))
    query = f"SELECT s, {', '.join(f'{item} AS c{i}' for i, item in enumerate(items))} FROM t"
    there, here = (connection.sql(query, offload=mode) for mode in ("always", "never"))
    assert "Kept by the client" not in there.explain()
    mine, theirs = there.to_arrow(), here.to_arrow()
    assert mine.num_rows == theirs.num_rows and mine.schema == theirs.schema
    names = mine.column_names
    keys = [(name, "ascending") for name in names]
    for item, a, b in zip(["s", *items], mine.sort_by(keys).columns, theirs.sort_by(keys).columns, strict=True):
        wrong = [(i, x, y) for i, (x, y) in enumerate(zip(a.to_pylist(), b.to_pylist(), strict=True)) if x != y]
        assert not wrong, f"{item}: {wrong[:3]}"


def test_a_filter_is_offloaded_and_what_is_not_known_stays(connection: Connection) -> None:
    for condition, offloaded in (
        (r"s ~ '^\S+\d$'", True),
        ("s ILIKE '%é_%'", True),
        (r"s ~ '\ba'", False),
        ("regexp_match(s, 'a(.)')[1] = 'b'", False),
        ("s ~ concat('a+', left(s, 0))", False),
    ):
        query = connection.sql(f"SELECT count(*) AS n FROM t WHERE {condition}", offload="always")
        whole = "Kept by the client" not in query.explain()
        assert whole == offloaded, condition
        assert query.to_arrow() == connection.sql(query.text, offload="never").to_arrow(), condition
