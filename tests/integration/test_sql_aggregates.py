"""Aggregates of SQL: offloaded, with plain DataFusion's answers."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import jumpgate
from jumpgate.client.sql.connection import Connection

NUMBERS = ("i", "b", "f", "h", "d", "w")
PAIRS = (("f", "i"), ("d", "f"), ("i", "w"), ("h", "i"))
OF_PAIRS = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_count", "regr_r2", "regr_avgx",
            "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")  # fmt: skip
OF_NUMBERS = ("median({})", "percentile_cont({}, 0.3)", "quantile_cont({}, 0.75)", "median(DISTINCT {})",
              "percentile_cont(0.1) WITHIN GROUP (ORDER BY {} DESC)", "median({}) FILTER (WHERE id > 50)",
              "mean({})")  # fmt: skip
OF_ANYTHING = ("first_value({} ORDER BY id)", "last_value({} ORDER BY s DESC, id)",
               "first_value({} ORDER BY id) FILTER (WHERE id > 100)", "first_value({} IGNORE NULLS ORDER BY id DESC)",
               "last_value({} ORDER BY i NULLS FIRST, id) IGNORE NULLS", "arg_min({}, id)", "arg_max(id, {} )",
               "arg_max({}, id) FILTER (WHERE id < 99)")  # fmt: skip
OF_TEXTS = ("string_agg(s, ',' ORDER BY id)", "string_agg(s, ', ' ORDER BY i DESC NULLS LAST, id)",
            "string_agg(DISTINCT s, '-' ORDER BY s DESC)", "string_agg(s, 'é' ORDER BY id) FILTER (WHERE id % 7 = 0)",
            "string_agg(s || 'x', '' ORDER BY id)", "string_agg(i, '|' ORDER BY id)", "any_value(g)")  # fmt: skip
APPROXIMATE = ("approx_distinct({})", "approx_count_distinct({}) FILTER (WHERE id % 2 = 0)")
OF_INTEGERS = ("bit_and({})", "bit_or({})", "bit_xor({})", "bit_or({}) FILTER (WHERE id < 0)")
#: → why it stays with DataFusion
STAYS = {
    "string_agg(s, ',')": "string_agg without an order depends on how rows are read",
    "first_value(s)": "first_value without an order depends on how rows are read",
    "last_value(s)": "last_value without an order depends on how rows are read",
    "array_agg(s ORDER BY id)": "aggregate function array_agg is not known",
    "approx_median(i)": "aggregate function approx_median is not known",
    "mode(i)": "aggregate function array_agg is not known",
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
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
            "f": some(pa.float64(), 0.1, 0.7, 1.5, 0.0),
            "h": some(pa.float64(), 0.3, nan, inf, 2.0),
            "d": some(pa.decimal128(9, 2), *cents),
            "w": some(pa.decimal128(30, 2), *cents),
            "s": some(pa.string(), "a", "bb", "c", "é", ""),
            "day": some(pa.date32(), *((day + datetime.timedelta(i)).date() for i in range(99))),
            "at": some(pa.timestamp("us"), *(day + datetime.timedelta(seconds=i) for i in range(99))),
            "id": pa.array(r.sample(range(n), n), pa.int64()),
        }
    )
    path: Path = tmp_path_factory.mktemp("aggregates") / "t.parquet"
    pyarrow.parquet.write_table(table, path)
    with jumpgate.connect() as found:
        found.register("t", str(path))
        yield found


def expressions() -> dict[str, list[str]]:
    found = {f"texts {i}": [call] for i, call in enumerate(OF_TEXTS)}  # DataFusion takes one order at a time
    found["pairs"] = [f"{function}({y}, {x})" for y, x in PAIRS for function in OF_PAIRS]
    found["bits"] = [call.format(c) for c in ("i", "b") for call in OF_INTEGERS]
    found["numbers"] = [call.format(c) for c in NUMBERS for call in OF_NUMBERS]
    for c in ("i", "h", "w", "s", "day", "at"):
        found[c] = [call.format(c) for call in OF_ANYTHING]
    found["approximate"] = [call.format(c) for c in (*NUMBERS, "s", "day", "at", "s || 'x'") for call in APPROXIMATE]
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)
    return bool(a == b)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("kind", expressions())
def test_offloaded_as_datafusion_answers(connection: Connection, kind: str) -> None:
    """Grouped, over all rows, over none."""
    calls = expressions()[kind]
    listed = ", ".join(f"{call} AS v{i}" for i, call in enumerate(calls))
    grouped = f"SELECT g, {listed} FROM t GROUP BY g ORDER BY g"
    for text in (grouped, *(f"SELECT {listed} FROM t{end}" for end in ("", " WHERE id < 0"))):
        if "any_value" in text and text is not grouped:
            text = text.replace("any_value(g)", "any_value(7)")
        expected = connection.sql(text, offload="never").to_pylist()
        query = connection.sql(text, offload="always")
        found = query.to_pylist()
        assert query.split.offloaded, query.explain()
        assert len(found) == len(expected)
        for have, want in zip(found, expected, strict=True):
            wrong = {calls[int(k[1:])]: (have[k], want[k]) for k in want if k != "g" and not same(have[k], want[k])}
            assert not wrong, text


@pytest.mark.parametrize("call", STAYS)
def test_what_stays_says_why(connection: Connection, call: str) -> None:
    query = connection.sql(f"SELECT g, {call} AS v FROM t GROUP BY g", offload="always")
    assert STAYS[call] in query.explain()
    assert query.to_arrow().num_rows == 6


def test_correlations_of_a_constant_are_null_however_it_is_read(connection: Connection, tmp_path: Path) -> None:
    """DataFusion merges the means of several threads, after which a constant may seem to vary by its last digit."""
    for count in (6, 12, 22, 25):
        for half in range(2):
            rows = pa.table({"y": [0.1] * count, "x": [i / 10 for i in range(count)], "g": [half] * count})
            pyarrow.parquet.write_table(rows.slice(half * 4), tmp_path / f"{half}.parquet")
        connection.register("halves", tmp_path)
        text = (
            "SELECT corr(y, x) AS a, corr(x, y) AS b, regr_r2(y, x) AS c, regr_slope(x, y) AS d, max(y) AS m, "
            "regr_intercept(x, y) FILTER (WHERE x > 0.1) AS e FROM halves"
        )
        for mode in ("never", "always"):
            expected = [{**dict.fromkeys("abcd"), "m": 0.1, "e": None}]
            assert connection.sql(text, offload=mode).to_pylist() == expected
            assert connection.sql(f"{text} GROUP BY ROLLUP (x > 9)", offload=mode).to_pylist()[:1] == expected
    connection.deregister("halves")
