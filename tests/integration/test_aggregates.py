"""Every aggregate function over every type, grouped and not, compared with DuckDB, over tables of every format."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import (
    Dataflow,
    avg,
    avg_distinct,
    col,
    count,
    count_distinct,
    f,
    max_,
    min_,
    stddev,
    stddev_pop,
    sum_,
    sum_distinct,
    variance,
    variance_pop,
)
from jumpgate.client.session import Session
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.operators import Aggregate, Measure, Project, UnionAll, column
from jumpgate.dataflow.types import int64
from jumpgate.dataflow.unresolved import Aggregation
from jumpgate.errors import Overflow
from jumpgate.testing.lab import Lab

DAY, TIME = datetime.date, datetime.datetime
#: values of each type, two of them extreme; every subset of them can be summed but for the extremes
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [-128, 127, 0, 3],
    "int16": [-32768, 32767, 5],
    "int32": [-(2**31), 2**31 - 1, 7, 0],
    "int64": [-(2**40), 2**40, 1, 0],
    "float32": [-0.5, 2.0, 1024.25, 0.0],
    "float64": [-1e6, 2.5, 0.0, 1e6],
    "decimal(7, 2)": [Decimal("-99999.99"), Decimal("99999.99"), Decimal("0.01"), Decimal("0.00")],
    "decimal(38, 3)": [Decimal("-1234567890123456789012345.678"), Decimal("1234567890123456789012345.679")],
    "date": [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1969, 12, 31)],
    "timestamp": [TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(2200, 1, 1), TIME(1970, 1, 1)],
    "string": ["", "a", "ab", "é", "日本", "x" * 100, "B"],
}
NUMBERS = [t for t in VALUES if t.startswith(("int", "float", "decimal"))]


def table_of(rows: int, nulls: float, seed: int = 1) -> tuple[dict[str, str], list[list[Any]]]:
    """A group `g`, an `id`, and a column of every type."""
    r = random.Random(seed)
    types = {"id": "int64", "g": "int32"} | {f"c{i}": t for i, t in enumerate(VALUES)}
    data = [
        [
            i,
            None if r.random() < 0.1 else r.randrange(9),
            *(None if r.random() < nulls else r.choice(v) for v in VALUES.values()),
        ]
        for i in range(rows)
    ]
    return types, data


def all_measures() -> dict[str, Aggregation]:
    measures = {"n": count()}
    for i, type in enumerate(VALUES):
        measures |= {f"count{i}": count(f"c{i}"), f"min{i}": min_(f"c{i}"), f"max{i}": max_(f"c{i}")}
        if type in NUMBERS:
            measures |= {f"sum{i}": sum_(f"c{i}"), f"avg{i}": avg(f"c{i}"), f"dev{i}": stddev(f"c{i}")}
            measures |= {f"pop{i}": stddev_pop(f"c{i}"), f"v{i}": variance(f"c{i}"), f"vp{i}": variance_pop(f"c{i}")}
    return measures


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize(("rows", "nulls"), [(0, 0.0), (1, 0.0), (1, 1.0), (2, 0.3), (200, 1.0), (4000, 0.2)])
def test_all_functions_over_all_types(any_lab: Lab, rows: int, nulls: float) -> None:
    """Global and grouped: no row, one (its deviation is NULL), only NULLs, many."""
    table = any_lab.table(*table_of(rows, nulls))
    any_lab.check(table.aggregate(**all_measures()))
    any_lab.check(table.aggregate(by=["g"], **all_measures()))
    distinct = {f"d{i}": count_distinct(f"c{i}") for i in range(len(VALUES))}
    for i, type in enumerate(VALUES):
        if type in NUMBERS:
            distinct |= {f"ds{i}": sum_distinct(f"c{i}"), f"da{i}": avg_distinct(f"c{i}")}
    any_lab.check(table.aggregate(**distinct, n=count()))
    any_lab.check(table.aggregate(by=["g"], **distinct, s=sum_("id"), m=max_("c11"), dev=stddev("id")))


def test_keys_of_all_types(any_lab: Lab) -> None:
    """NULL is a group of its own; several keys; keys that are expressions; keys without measures."""
    types, rows = table_of(3000, 0.2)
    table = any_lab.table(types, rows)
    for i, type in enumerate(VALUES):
        if not type.startswith("float"):
            any_lab.check(table.aggregate(by=[f"c{i}"], n=count(), t=sum_("id")))
    any_lab.check(table.aggregate(by=["c0", "c11", "g"], n=count(), t=sum_("c7"), m=min_("c10")))
    any_lab.check(table.aggregate(by=["c9", "c8"]))
    any_lab.check(
        table.aggregate(by=[f.char_length(col("c11")).alias("n"), (col("g") % 2).alias("odd")], m=max_("c11"))
    )


def test_float_keys(lab: Lab) -> None:
    """-0 and 0 are one group, and all NaN are one."""
    values = [0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf"), 1.5, None]
    table = lab.table({"x": "float64", "y": "float32", "i": "int64"}, [(v, v, i) for i, v in enumerate(values * 20)])
    answers = [lab.run(table.aggregate(by=[k], n=count())).to_pylist() for k in ("x", "y")]
    assert [sorted(r["n"] for r in a) for a in answers] == [[20, 20, 20, 20, 40, 40]] * 2
    assert lab.run(table.select("x").distinct()).num_rows == 6
    assert lab.run(table.aggregate(x=count_distinct("x"), y=count_distinct("y"))).to_pylist() == [{"x": 5, "y": 5}]


def test_extremes_of_floats(lab: Lab) -> None:
    """NaN is the largest; infinities sum as IEEE 754 has it."""
    nan, inf = float("nan"), float("inf")
    groups = [[nan, 1.0], [inf, -inf], [inf, 1.0], [-inf], [nan], [None, nan], [None, -1.0]]
    table = lab.table({"g": "int32", "x": "float64"}, [(g, v) for g, vs in enumerate(groups) for v in vs])
    flow = table.aggregate(by=["g"], low=min_("x"), high=max_("x"), total=sum_("x")).sort("g")
    found = [(r["low"], r["high"], r["total"]) for r in lab.run(flow).to_pylist()]
    expected = [(1.0, nan, nan), (-inf, inf, nan), (1.0, inf, inf), (-inf,) * 3, (nan,) * 3, (nan,) * 3, (-1.0,) * 3]
    assert list(map(str, found)) == list(map(str, expected))


def test_deviation_of_few_and_of_large_values(lab: Lab) -> None:
    """NULL for none and one, 0 for equal ones; values far from zero lose no digits."""
    rows = [
        (0, None),
        (1, 4.0),
        (2, 4.0),
        (2, 6.0),
        (3, 1e9),
        (3, 1e9 + 1),
        (3, 1e9 + 2),
        (4, 5.0),
        (4, 5.0),
        (4, None),
    ]
    table = lab.table({"g": "int32", "x": "float64"}, rows)
    found = lab.check(table.aggregate(by=["g"], s=stddev("x")).sort("g")).to_pylist()
    assert [r["s"] for r in found] == pytest.approx([None, None, 2**0.5, 1.0, 0.0])


def test_measures_of_expressions(any_lab: Lab) -> None:
    table = any_lab.table(*table_of(500, 0.2))
    any_lab.check(
        table.aggregate(
            by=["g"],
            a=sum_(col("c7") * col("c1")),
            b=avg(col("c4") - col("id")),
            c=max_(f.concat(col("c11"), "!")),
            d=count_distinct(col("id") % 5),
            e=min_(f.year(col("c9"))),
            f=stddev(col("c3").cast("float64") / 2),
        )
    )
    any_lab.check(table.aggregate(by=["g"], n=count()).aggregate(t=sum_("n"), groups=count(), most=max_("n")))
    any_lab.check(table.filter(col("id") < 0).aggregate(by=["g"], n=count()).aggregate(t=sum_("n"), groups=count()))


def test_not_nullable_input(lab: Lab) -> None:
    required = int64.with_nullable(False)
    table = lab.table({"g": required, "x": required}, [(i % 3, i) for i in range(100)])
    for rows in (table, table.filter(col("x") < 0)):
        for by in ([], ["g"]):
            lab.check(
                rows.aggregate(
                    by=by,
                    s=sum_("x"),
                    a=avg("x"),
                    lo=min_("x"),
                    hi=max_("x"),
                    n=count("x"),
                    d=stddev("x"),
                    u=count_distinct("x"),
                )
            )


def test_sums_at_the_edge_of_their_types(any_lab: Lab) -> None:
    """Sums pass beyond the type on the way and come back; what ends outside is an error, never a wrong number."""
    top, sixes, nines = 2**63 - 1, Decimal("6" * 38), Decimal("9" * 38)
    table = any_lab.table(
        {"g": "int32", "i": "int64", "d": "decimal(38, 0)"},
        [
            (0, top, sixes),
            (0, top, sixes),
            (0, -top, Decimal("-" + "6" * 38)),
            (0, -top, Decimal("-" + "6" * 38)),
            (1, top, nines),
            (2, -top, None),
            (2, -1, None),
            (3, top, Decimal(0)),
            (3, 1, nines),
            (4, None, nines),
            (4, 1, Decimal(1)),
        ],
    )
    fits = any_lab.run(table.filter(col("g") < 3).aggregate(by=["g"], i=sum_("i"), d=sum_("d"))).to_pylist()
    assert sorted((r["g"], r["i"], r["d"]) for r in fits) == [(0, 0, Decimal(0)), (1, top, nines), (2, -top - 1, None)]
    for group, measure in ((3, sum_("i")), (4, sum_("d"))):
        with pytest.raises(Overflow, match="overflows its type"):
            any_lab.run(table.filter(col("g") == group).aggregate(s=measure))
        with pytest.raises(Overflow, match="overflows its type"):
            any_lab.run(table.aggregate(by=["g"], s=measure))


@pytest.mark.parametrize("groups", [1, 300_000])
def test_many_groups_and_one(lab: Lab, groups: int) -> None:
    """More groups than any cache holds, spread over threads, with text in them; and a single one."""
    n = 400_000
    keys = [(i * 7919) % groups for i in range(n)]
    whole = pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "x": pa.array([i % 1000 for i in range(n)], pa.int32()),
            "s": pa.array([f"text {k % 3000}" for k in keys]),
        }
    )
    table = lab.table({"k": "int64", "x": "int32", "s": "string"}, whole, files=4)
    inner = table.aggregate(by=["k"], n=count(), t=sum_("x"), m=max_("s"))
    lab.check(
        inner.aggregate(n=count(), a=sum_("n"), b=sum_("t"), c=max_("m"), d=min_("n"), e=sum_(col("k") * col("t")))
    )
    lab.check(inner.top(50, col("t").desc(), "k"))
    lab.check(table.select("k", "s").distinct().aggregate(n=count(), t=sum_("k")))
    lab.check(table.aggregate(k=count_distinct("k"), s=count_distinct("s"), x=count_distinct("x")))
    lab.check(table.aggregate(by=["s"], k=count_distinct("k"), x=count_distinct("x"), n=count()).top(20, "s"))


def test_one_group_has_nearly_all_rows(any_lab: Lab) -> None:
    r = random.Random(3)
    rows = [(1 if r.random() < 0.9 else r.randrange(100), i, f"{i % 10}") for i in range(20_000)]
    table = any_lab.table({"k": "int64", "x": "int64", "s": "string"}, rows, files=3)
    any_lab.check(table.aggregate(by=["k"], n=count(), t=sum_("x"), u=count_distinct("s"), m=min_("x"), d=stddev("x")))
    any_lab.check(table.aggregate(by=["k", "s"], n=count(), t=avg("x")))


@pytest.mark.parametrize("parallelism", [1, 4])
def test_neither_keys_nor_measures(four_hosts: str, tmp_path: Path, parallelism: int) -> None:
    """The empty grouping set of a query without measures: one row, whatever the input."""
    with Session(four_hosts, parallelism=parallelism) as session:
        check_one_row(Lab(session, tmp_path))


def check_one_row(lab: Lab) -> None:
    table = lab.table({"k": "int64"}, [(i % 3,) for i in range(100)], files=3).root
    empty = lab.table({"k": "int64"}, []).root
    key, number = column(table.schema, 0), Literal(int64.with_nullable(False), 7)
    rows = Measure.of("count_star", name="rows")
    for input in (table, empty):
        one = Aggregate(input, (), (), ())
        lab.check(Dataflow(Project(one, (number,), ("seven",))))
        assert lab.run(Dataflow(Aggregate(one, (), (), (rows,)))).to_pylist() == [{"rows": 1}]
        found = lab.run(Dataflow(one))
        assert (found.num_columns, found.num_rows) == (0, 1)
        total = Project(one, (Literal(key.type, None),), ("k",))
        lab.check(Dataflow(UnionAll((Aggregate(input, (key,), ("k",), ()), total))))


def test_parts_of_several_hosts_make_one_aggregate(cluster: Session, tmp_path: Path) -> None:
    """Partial states are combined, and rows of a distinct aggregate travel to the instance of their group."""
    lab = Lab(cluster, tmp_path)
    table = lab.table(*table_of(8000, 0.2), files=8)
    moments = {"s": stddev, "sp": stddev_pop, "v": variance, "vp": variance_pop}
    combined = {f"{n}{c}": f(c) for n, f in moments.items() for c in ("id", "c3", "c6", "c7")}
    distinct = {f"{f.__name__}{c}": f(c) for f in (sum_distinct, avg_distinct) for c in ("id", "c1", "c7", "c8")}
    for by in ([], ["g"], ["g", "c9"]):
        lab.check(table.aggregate(by=by, **combined, n=count()))
        lab.check(table.aggregate(by=by, **combined, **distinct))
