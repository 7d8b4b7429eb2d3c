"""Filter, project, sort, limit, distinct and union over tables of every format, compared with DuckDB.

Joins and aggregates have files of their own. Checks that share a shape share a compiled program: only data differ.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from jumpgate.client import Dataflow, col, count, f, lit, read, sum_, when
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.types import int64
from jumpgate.errors import InvalidDataflow
from jumpgate.testing.lab import Lab

#: three-valued logic over every combination
LOGIC = {"i": "int32", "a": "bool", "b": "bool", "c": "bool"}
LOGIC_ROWS = [
    (i, a, b, c)
    for i, (a, b, c) in enumerate(
        (a, b, c) for a in (None, False, True) for b in (None, False, True) for c in (None, False, True)
    )
]
WORDS = ["", "a", "b", "ab", "a\nb", "Zebra", "é", "日本", "it's", "😀", None]


def mixed(rows: int, seed: int = 0) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """A table of several types with many ties and NULLs, and a column `id` without."""
    types = {"id": "int64", "k": "int32", "x": "float64", "d": "decimal(9, 2)", "w": "decimal(30, 4)", "s": "string"}
    r = random.Random(seed)

    def some(value: Any) -> Any:
        return None if r.random() < 0.15 else value

    return types, [
        (
            i,
            some(r.randrange(7)),
            some(r.randrange(20) / 2),
            some(Decimal(r.randrange(-50, 50)) / 4),
            some(Decimal(r.randrange(-9, 9)) * 10**20),
            some(r.choice(WORDS)),
        )
        for i in range(rows)
    ]


def test_filter_keeps_what_is_true(any_lab: Lab) -> None:
    """AND, OR, NOT, comparisons with NULL, IS NULL; the terms of one filter, and filters upon filters."""
    table = any_lab.table(LOGIC, LOGIC_ROWS)
    a, b, c = col("a"), col("b"), col("c")
    any_lab.check(table.filter(a & b | c))
    any_lab.check(table.filter(~(a & ~b), c | a))
    any_lab.check(table.filter(~(a == b)).filter((b != c).is_null() | c))
    any_lab.check(table.with_columns(p=a & b, q=a | b, r=~a, s=(a & b) | (b & c), t=a.is_null() == b.is_not_null()))
    everything = any_lab.check(table.filter(lit(True) | a))
    assert everything.num_rows == len(LOGIC_ROWS)
    assert any_lab.check(table.filter(lit(None).cast("bool") & a)).num_rows == 0


def test_expressions_over_expressions(any_lab: Lab) -> None:
    """Projections upon projections and filters fold into one pass; CASE, COALESCE, IN, LIKE, BETWEEN, text."""
    table = any_lab.table(*mixed(300))
    flow = (
        table.with_columns(y=col("x") * 2 - 1, t=f.coalesce(col("s"), "none"))
        .select("id", "y", "t", z=when(col("y") > 9).then("high").when(col("y") > 3).then(col("t")).otherwise(None))
        .filter(col("z").is_not_null() | col("t").like("%a%"))
        .with_columns(n=f.char_length(col("t")), u=f.concat(col("t"), "/", f.coalesce(col("z"), "?")))
        .select("u", "n", "id", odd=col("id") % 2 == 1)
    )
    any_lab.check(flow)
    any_lab.check(table.filter(col("s").isin(["a", "é", "it's", "nowhere"]) | col("k").isin([1, None])))
    any_lab.check(table.filter(~col("k").isin([1, 2, 3]), col("d").between(Decimal("-5"), Decimal("5.25"))))
    any_lab.check(table.filter(~col("k").isin([None]) | col("s").like("_")))
    any_lab.check(table.select(d=col("d") * col("d"), w=col("w") + col("d"), q=f.round(col("w"), 1), m=-col("d")))


def test_literal_columns_only(any_lab: Lab) -> None:
    """A projection that reads no column still has a row for each of its input's."""
    table = any_lab.table(*mixed(70))
    answer = any_lab.run(table.filter(col("k") > 2).select(one=lit(1), text=lit("x"), nothing=lit(None).cast("date")))
    expected = any_lab.run(table.filter(col("k") > 2).aggregate(n=count())).to_pylist()[0]["n"]
    assert answer.num_rows == expected > 0
    assert set(map(str, answer.to_pylist())) == {"{'one': 1, 'text': 'x', 'nothing': None}"}


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_sort(any_lab: Lab, rows: int) -> None:
    """Every type of key, ascending and descending, NULLs first and last, ties."""
    table = any_lab.table(*mixed(rows))
    any_lab.check(table.sort(col("k").desc(nulls_first=True), col("s").asc(), col("id").desc()))
    any_lab.check(table.sort(col("d").asc(nulls_first=True), col("w").desc(), "x"))
    any_lab.check(table.sort(col("x").desc()))
    any_lab.check(table.sort(f.char_length(col("s")), col("k") % 3))


@pytest.mark.nightly(every=2)
def test_top(any_lab: Lab) -> None:
    """More rows than the heap by far, offsets beyond the end, no rows asked for, ties at the cut."""
    table = any_lab.table(*mixed(5000))
    for limit, offset in ((10, 0), (1, 0), (100, 50), (0, 0), (0, 5), (5, 4998), (5, 5000), (5, 90_000), (9000, 3)):
        any_lab.check(table.top(limit, col("k").desc(), "s", "id", offset=offset))
    any_lab.check(table.top(7, col("s").desc(nulls_first=True)))
    any_lab.check(table.top((1 << 63) - 1, "id", offset=(1 << 63) - 1))
    any_lab.check(table.top((1 << 63) - 1, "id", offset=10))


@pytest.mark.parametrize("order", ["ascending", "descending", "same", "organ pipe"])
def test_top_of_ordered_input(lab: Lab, order: str) -> None:
    """Input that makes a heap or a threshold work hardest: every row is better than all before, or equal."""
    n = 40_000
    keys = {
        "ascending": range(n),
        "descending": range(n, 0, -1),
        "same": [7] * n,
        "organ pipe": [min(i, n - i) for i in range(n)],
    }[order]
    table = lab.table({"k": "int64", "s": "string"}, [(k, f"text {k % 1000}") for k in keys])
    lab.check(table.top(20, "k", offset=3))
    lab.check(table.top(20, col("k").desc(), "s"))
    lab.check(table.top(1500, "s", "k"))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("rows", [0, 1, 20_000])
def test_limit(any_lab: Lab, rows: int) -> None:
    table = any_lab.table({"a": "int64", "s": "string"}, [(i, f"s{i}") for i in range(rows)], files=2)
    for limit, offset in ((0, 0), (1, 0), (5000, 0), (10, 10), (100, 19_990), (5, 1 << 40), ((1 << 63) - 1, 5)):
        any_lab.check(table.filter(col("a") >= 0).limit(limit, offset))
    assert any_lab.check(table.limit(10).aggregate(n=count())).to_pylist() == [{"n": min(rows, 10)}]
    total = any_lab.run(table.sort(col("a").desc()).limit(3, 1).aggregate(t=sum_("a"))).to_pylist()
    assert total == [{"t": {0: None, 1: None, 20_000: 19_998 + 19_997 + 19_996}[rows]}]


def test_distinct(any_lab: Lab) -> None:
    table = any_lab.table(*mixed(2000))
    any_lab.check(table.select("k", "s").distinct())
    any_lab.check(table.select("w", "d", "x").distinct())
    any_lab.check(table.distinct())
    any_lab.check(table.select("s").distinct().aggregate(n=count()))
    any_lab.check(table.filter(col("id") < 0).distinct())


def test_union_all(any_lab: Lab) -> None:
    """Of different tables, of a table with itself, with casts to common types, below and above other operators."""
    types, rows = mixed(400)
    a, b, empty = any_lab.table(types, rows), any_lab.table(types, rows[:100]), any_lab.table(types, [])
    any_lab.check(a.union_all(b, empty))
    any_lab.check(a.union_all(a.filter(col("k") > 3)).aggregate(by=["s"], n=count(), t=sum_("d")))
    any_lab.check(a.select("k", "s").union_all(b.select("id", "s"), empty.select("d", "s")).distinct())
    any_lab.check(empty.union_all(empty).sort("id"))
    any_lab.check(a.select("id").union_all(b.select("id")).top(5, col("id").desc()))
    any_lab.check(a.select("id").union_all(b.select("id")).limit(450))


def test_a_part_that_is_used_twice(any_lab: Lab) -> None:
    """Joins and unions whose inputs share a part, with a state of its own and without."""
    table = any_lab.table(*mixed(600))
    totals = table.aggregate(by=["k"], t=sum_("d"), n=count())
    any_lab.check(totals.join(totals.select(k2=col("n"), u=col("t")), left_on="n", right_on="k2", how="left"))
    any_lab.check(
        table.join(totals, on="k", how="inner")
        .filter(col("t") > col("d"))
        .union_all(table.join(totals, on="k", how="inner"))
    )
    some = table.limit(50).select("id")
    both = some.union_all(some).aggregate(by=["id"], n=count())
    assert [r["n"] for r in any_lab.run(both).to_pylist()] == [2] * 50, "a limit chooses its rows once"


def test_columns_that_are_not_nullable(any_lab: Lab) -> None:
    required = int64.with_nullable(False)
    table = any_lab.table({"a": required, "b": required, "s": "string"}, [(i % 5, i, f"{i % 3}") for i in range(99)])
    any_lab.check(table.filter(col("a") > 1).select("s", c=col("a") + col("b")).sort("c"))
    any_lab.check(table.aggregate(by=["a"], n=count("b"), t=sum_("b")).top(2, col("t").desc()))
    any_lab.check(table.join(table.select(a2=col("a"), t=col("s")), left_on="b", right_on="a2", how="full"))


def test_many_columns_and_long_chains(lab: Lab) -> None:
    names = [f"c{i}" for i in range(150)]
    table = lab.table(dict.fromkeys(names, "int32"), [[i * j for j in range(150)] for i in range(20)])
    flow: Dataflow = table
    for i in range(30):
        flow = flow.filter(col(f"c{i}") >= 0).with_columns(**{f"c{i}": col(f"c{i}") + col("c149") - col("c148")})
    lab.check(flow)
    lab.check(table.filter(sum((col(n) for n in names[1:90]), start=col("c0")) > 30_000))


def test_globs_directories_and_lists(any_lab: Lab) -> None:
    """Several files are one table, however they are named; a file that is empty adds nothing."""
    table = any_lab.table({"a": "int64", "s": "string"}, [(i, f"s{i % 7}") for i in range(1000)], files=5)
    any_lab.check(table.aggregate(by=["s"], n=count(), t=sum_("a")))
    schema = {"a": "int64", "s": "string"}
    options = formats()[any_lab.format].written_options
    for paths in (
        any_lab.folder / f"t0-*.{any_lab.format}",
        [any_lab.folder / f"t0-{i}.{any_lab.format}" for i in range(5)],
    ):
        flow = read(paths, schema=schema, **options)
        assert any_lab.run(flow.aggregate(t=sum_("a"))).to_pylist() == [{"t": 499_500}]
    if any_lab.format != "parquet":  # where DuckDB's copies lie
        flow = read(any_lab.folder, format=any_lab.format, schema=schema, **options)
        assert any_lab.run(flow.aggregate(t=sum_("a"))).to_pylist() == [{"t": 499_500}]
    with pytest.raises(InvalidDataflow, match="no option 'header2'; did you mean 'header'|no option 'header2'"):
        read(any_lab.folder / f"t0-*.{any_lab.format}", schema=schema, header2="x")
