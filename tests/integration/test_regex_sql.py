"""Regular expressions in SQL: automata in generated code have the same answers as DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.errors import JumpgateError
from tests.support import modes
from tests.support.modes import differences, stays
from tests.support.regexes import Patterns

CALLS = (
    "regexp_matches(s, {0})",
    "NOT regexp_full_match(s, {0})",
    "s SIMILAR TO {0}",
    "regexp_replace(s, {0}, '<é>')",
    "regexp_replace(s, {0}, '', 'g')",
)
#: more of them than a batch has, so that results of several batches are live
COPIES = 100
#: patterns of one call
EACH = 3


@pytest.fixture(scope="module")
def connection(
    one_host: str, judge: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connection]:
    random = Patterns(99)
    texts = [None, "", *(random.text() for _ in range(200)), "x" * 5000 + "a1"]
    with jumpgate.connect(one_host) as found:
        tables = {"t": pa.table({"s": pa.array(texts * COPIES)})}
        modes.register(found, judge, tables, tmp_path_factory.mktemp("regex"))
        yield found


def offloaded(connection: Connection, random: Patterns, call: str) -> str:
    """The call with a random pattern that DuckDB's library and automata agree about."""
    while True:
        text = call.format("'{}'".format(random.pattern().replace("'", "''")))
        try:
            if any(c in text for c in "[.*+?") and not stays(connection, f"SELECT {text} AS c FROM t"):
                return text
        except JumpgateError:  # no pattern for DuckDB
            continue


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_patterns(connection: Connection, judge: duckdb.DuckDBPyConnection, seed: int) -> None:
    random = Patterns(seed)
    items = [offloaded(connection, random, call) for call in CALLS for _ in range(EACH)]
    text = f"SELECT DISTINCT s, {', '.join(f'{item} AS c{i}' for i, item in enumerate(items))} FROM t"
    assert not stays(connection, text)
    assert not differences(connection, judge, text, jobs=True)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (r"regexp_matches(s, '^[^ ]+[0-9]$')", ""),
        ("s ILIKE '%b_%'", ""),
        ("s SIMILAR TO '(a|b).*'", ""),
        (r"regexp_matches(s, '\ba')", "regexp_matches(VARCHAR, VARCHAR)"),
        ("regexp_extract(s, 'a(.)', 1) = 'b'", "regexp_extract(VARCHAR, VARCHAR, INTEGER)"),
        ("regexp_matches(s, concat('a+', left(s, 0)))", "regexp_matches(VARCHAR, VARCHAR)"),
        ("s ILIKE '%é_%'", "the pattern may only have ASCII"),
    ],
)
def test_filters(connection: Connection, judge: duckdb.DuckDBPyConnection, condition: str, reason: str) -> None:
    text = f"SELECT count(*) AS n FROM t WHERE {condition}"
    assert reason in stays(connection, text) and (reason or not stays(connection, text))
    assert not differences(connection, judge, text, jobs=True)
