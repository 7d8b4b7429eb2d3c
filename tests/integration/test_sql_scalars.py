"""Functions in SQL, over values at the edges of their types: jobs compute what DuckDB does, bit by bit."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import jumpgate
from jumpgate.client.duckdb import calls
from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql.connection import Connection
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.operators import Project
from jumpgate.errors import ComputeError

DAY, TIME = datetime.date, datetime.datetime
#: columns by the letter that stands for them in CALLS
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "b": (pa.bool_(), [None, False, True]),
    "i": (pa.int32(), [None, 0, 1, -1, 7, -33, 2**31 - 1, -(2**31)]),
    "l": (pa.int64(), [None, 0, 1, -1, 3, 65, -(2**40), 2**63 - 1]),
    "f": (
        pa.float64(),
        [None, 0.0, -0.0, 0.3, -0.5, 1.55, 2.0, 2.5, -8.0, 64.0, 1e18, 1e300, math.inf, -math.inf, math.nan],
    ),
    "d": (pa.decimal128(5, 2), [None, *map(Decimal, ("0.00", "1.29", "-1.55", "99.99", "-0.50"))]),
    "w": (pa.decimal128(38, 10), [None, Decimal("12345678901234567890.1234567891"), Decimal("-0.5000000000")]),
    "s": (
        pa.string(),
        [None, "", "a", "aBc", "ab", "é", "aé😀b", " a ", "a,b,,c", "%_\\", "foo bAR", "K", "ſ", "A%c", "A\\c", "ΑΣ",
         "ßŉİ ΣΑ\u0301Σ.Σ"],
    ),
    "y": (
        pa.date32(),
        [None, DAY(1970, 1, 1), DAY(2024, 2, 29), DAY(2021, 1, 1), DAY(1969, 12, 31), DAY(2024, 12, 31), DAY(1, 1, 1)],
    ),
    "t": (
        pa.timestamp("us"),
        [None, TIME(1970, 1, 1), TIME(1969, 12, 31, 23, 59, 59, 500001), TIME(2024, 1, 31, 10, 11, 12, 345678),
         TIME(2016, 2, 29), TIME(1700, 12, 31, 23)],
    ),
}  # fmt: skip
_ANY, _NUMBERS, _DATES = tuple(VALUES), ("i", "l", "f", "d", "w"), ("y", "t")
_PATTERNS = ("'a%'", "'%c'", "'_'", "'a\\c'", "'%K%'", "'s%'", "''", "'%B_'", "'%é%'")


def _of(text: str, letters: tuple[str, ...]) -> list[str]:
    return [text.format(f"{letter}0", f"{letter}1") for letter in letters]


#: by DuckDB's name of a function
CALLS: dict[str, list[str]] = {
    **{
        name: [f"{name}(s0, ',')", f"{name}(s0, 'b')"]
        for name in ("string_split", "str_split", "split", "string_to_array")
    },
    **{
        name: [f"{name}(string_split(s0, ','), {place})" for place in (1, -1, 3)]
        for name in ("list_extract", "list_element")
    },
    **{
        name: [f"{name}(string_split(s0, ','), s1)", f"{name}(string_split(s0, 'b'), '')"]
        for name in ("list_contains", "list_has", "array_contains", "array_has")
    },
    **{
        name: [f"{name}(string_split(s0, ','), 'b')", f"{name}(string_split(s0, 'b'), '')"]
        for name in ("list_position", "list_indexof", "array_position", "array_indexof")
    },
    **{
        name: [f"{name}(string_split(s0, ','), '{of}')" for of in ("min", "max")]
        for name in ("list_aggr", "list_aggregate", "array_aggr", "array_aggregate")
    },
    "array_length": ["array_length(string_split(s0, ','))"],
    **{name: _of(f"{{0}} {name} {{1}}", _NUMBERS[1:4]) for name in ("+", "-", "*")},
    "/": ["f0 / f1", "l0 / l1"], "//": ["i0 // i1", "l0 // 7"], "%": ["i0 % i1", "l0 % l1"],
    **{name: _of(f"{{0}} {name} {{1}}", ("i", "l")) for name in ("&", "|")}, "xor": ["xor(i0, i1)", "xor(l0, l1)"],
    **{name: [f"{name}({x})" for x in ("f0", "d0")] for name in ("abs", "floor", "ceil", "ceiling", "sign", "trunc")},
    "round": ["round(f0)", "round(f0, 2)", "round(d0)", "round(d0, 1)", "round(f0, 0)"],
    **{
        name: [f"{name}(f0)"]
        for name in ("sqrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
                     "tanh", "isnan", "isfinite")
    },
    **{name: [f"{name}(f0, f1)"] for name in ("atan2", "pow", "power")}, "**": ["f0 ** f1"],
    "~~": [f"s0 LIKE {p}" for p in _PATTERNS], "!~~": [f"s0 NOT LIKE {p}" for p in _PATTERNS],
    "~~*": [f"s0 ILIKE {p}" for p in _PATTERNS[:-1]], "!~~*": [f"s0 NOT ILIKE {p}" for p in _PATTERNS[:-1]],
    "like_escape": ["s0 LIKE 'A!%%' ESCAPE '!'", "s0 LIKE '%\\%' ESCAPE '\\'"],
    "not_like_escape": ["s0 NOT LIKE '%!_%' ESCAPE '!'"],
    **{name: [f"{name}(s0, s1)", f"{name}(s0, 'a')"] for name in ("contains", "prefix", "suffix", "starts_with",
                                                                "ends_with")},
    **{name: [f"{name}(s0)"] for name in ("upper", "lower", "trim", "ltrim", "rtrim", "length", "len", "strlen",
                                          "reverse", "ascii")},
    **{name: [f"{name}(s0, 2)", f"{name}(s0, 2, 3)", f"{name}(s0, 1, 0)"] for name in ("substring", "substr")},
    "||": ["s0 || s1"], "concat": ["concat(s0, s1)", "concat(s0, 'é', s1)"],
    "replace": ["replace(s0, 'a', 'é')", "replace(s0, ',', '')"],
    **{name: [f"{name}(s0, 2)", f"{name}(s0, 0)"] for name in ("left", "right", "repeat")},
    **{name: [f"{name}(s0, 3, 'x')", f"{name}(s0, 5, 'é😀')"] for name in ("lpad", "rpad")},
    "instr": ["instr(s0, 'b')", "instr(s0, 'é')"], "strpos": ["strpos(s0, '😀')"], "position": ["position('a' IN s0)"],
    "translate": ["translate(s0, 'abc', 'xy')"], **{name: [f"{name}(s0)"] for name in ("md5", "sha1", "sha256")},
    "regexp_matches": ["s0 SIMILAR TO '.*b.*'", "regexp_matches(s0, '^[A-K]+.$')", "regexp_matches(s0, 'a.*b')"],
    "regexp_extract": ["regexp_extract(s0, '[a-z ]+')", "regexp_extract(s0, 'b|bc')"],
    "regexp_full_match": ["regexp_full_match(s0, '[a-z ]+')"],
    "regexp_replace": ["regexp_replace(s0, '[ab]', '<>')", "regexp_replace(s0, 'o+', 'é', 'g')"],
    **{
        name: [*_of(f"{name}({{0}}, {{1}})", ("i", "f", "s", "y", "d")), f"{name}(f0, f1, 0.3)"]
        for name in ("least", "greatest")
    },
    **{
        name: _of(f"{name}({{0}})", _DATES)
        for name in ("year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "week", "weekofyear",
                     "isoyear", "dayofmonth", "weekday")
    },
    **{name: [f"{name}(t0)"] for name in ("hour", "minute", "second", "millisecond", "microsecond")},
    "date_trunc": [f"date_trunc('{unit}', {x})" for unit in ("year", "quarter", "month", "week", "day", "hour",
                                                            "minute", "second") for x in ("y0", "t0")],
    "date_diff": [f"date_diff('{unit}', y0, y1)" for unit in ("day", "month", "quarter", "year")],
    "datediff": ["datediff('month', t0, t1)"],
}  # fmt: skip
#: that are no functions for DuckDB
SYNTAX = [
    "b0 AND b1", "b0 OR b1", "NOT b0", "b0 IS TRUE", "b0 IS NOT FALSE", "-i0", "-f0", "-d0", "i0 IN (1, 7, NULL)",
    *(f"{x}0 IS NULL" for x in _ANY), *(f"coalesce({x}0, {x}1)" for x in _ANY), "nullif(i0, i1)", "nullif(s0, s1)",
    *(f"{x}0 {op} {x}1" for x in ("b", "i", "f", "d", "s", "t") for op in ("=", "<", ">=", "IS DISTINCT FROM")),
    "CASE WHEN b0 THEN s0 WHEN i0 > 3 THEN s1 END", "CAST(i0 AS BIGINT)", "CAST(d0 AS DECIMAL(9, 1))",
    "CAST(y0 AS VARCHAR)", "CAST(t0 AS DATE)", "CAST(b0 AS INTEGER)", "y0 + INTERVAL 1 MONTH", "t0 - INTERVAL 3 HOUR",
]  # fmt: skip
#: expressions of a query: one program each
BATCH = 80


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)
    return type(a) is type(b) and bool(a == b)


def test_every_function_is_called() -> None:
    of_nested = {
        "struct_extract", "array_extract", "map_extract_value", "list_slice", "array_slice", "list_sort", "array_sort",
        "flatten", "map_keys", "map_values", "list_value",
        "list_pack", "struct_pack", "row",
    }  # fmt: skip # test_duckdb_types.py, test_lists.py
    assert {*calls._RULES} - {*CALLS} == {"error", "constant_or_null"} | of_nested  # the first two no text calls


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rows = list(itertools.product(range(max(len(values) for _, values in VALUES.values())), repeat=2))
    columns = {"row": pa.array(range(len(rows)), pa.int64())}
    for letter, (type, values) in VALUES.items():
        for place in (0, 1):
            columns[f"{letter}{place}"] = pa.array([values[row[place] % len(values)] for row in rows], type)
    return pa.table(columns)


@pytest.fixture(scope="module")
def connection(one_host: str, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    file: Path = tmp_path_factory.mktemp("scalars") / "t.parquet"
    pyarrow.parquet.write_table(table, file)
    with jumpgate.connect(one_host) as found:
        found.register("t", file)
        yield found


def good(connection: Connection, table: pa.Table, call: str) -> list[int]:
    """The rows on which the dataflow does not fail: of others DuckDB has the answer."""
    with connection.sql(f"SELECT {call} AS r FROM t", offload="always") as query:
        assert not query.split.kept, (call, query.split.kept)
        (cut,) = query.split.cuts
    root = cut.operator
    assert isinstance(root, Project) and isinstance(root.input, Project), call
    columns = [table[e.name].to_pylist() for e in root.input.expressions if isinstance(e, ColumnRef)]
    found = []
    for row in range(table.num_rows):
        try:
            evaluate(root.expressions[0], [column[row] for column in columns], DUCKDB)
            found.append(row)
        except ComputeError:
            continue
    return found


def test_jobs_compute_what_duckdb_does(connection: Connection, table: pa.Table) -> None:
    items = []
    for call in (*itertools.chain.from_iterable(CALLS.values()), *SYNTAX):
        chosen = good(connection, table, call)
        assert chosen, call
        every = len(chosen) == table.num_rows
        items.append(call if every else f"CASE WHEN row IN ({', '.join(map(str, chosen))}) THEN {call} END")
    for batch in (items[i : i + BATCH] for i in range(0, len(items), BATCH)):
        text = f"SELECT row, {', '.join(f'{e} AS e{i}' for i, e in enumerate(batch))} FROM t"
        here = connection.sql(text, offload="never").to_arrow().sort_by("row")
        with connection.sql(text, offload="always") as query:
            there = query.to_arrow().sort_by("row")
            assert not query.split.kept
        assert there.schema == here.schema
        for e, mine, theirs in zip(batch, there.columns[1:], here.columns[1:], strict=True):
            pairs = zip(mine.to_pylist(), theirs.to_pylist(), strict=True)
            wrong = [(i, a, b) for i, (a, b) in enumerate(pairs) if not same(a, b)]
            assert not wrong, f"{e}: {wrong[:3]}"
