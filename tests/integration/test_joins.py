"""Every join type with every kind of key, compared with DuckDB, over tables of every format."""

from __future__ import annotations

import datetime
import random
import re
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, count, f, lit, median, sum_, when
from jumpgate.client.session import Session
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Project, Sort, SortKey, column
from jumpgate.dataflow.types import int64
from jumpgate.errors import InvalidDataflow
from jumpgate.testing.lab import Lab
from tests.support import cpp

CPP = Path(__file__).parents[1] / "cpp"

LEFT = {"a": "int64", "k": "int32", "s": "string", "d": "decimal(12, 2)"}
RIGHT = {"b": "int64", "k2": "int32", "s2": "string", "d2": "decimal(12, 2)"}


def rows(n: int, seed: int, keys: int = 6, nulls: float = 0.2) -> list[tuple[Any, ...]]:
    """Many duplicates on both sides, NULLs in every key, some keys that the other side lacks."""
    r = random.Random(seed)

    def some(value: Any) -> Any:
        return None if r.random() < nulls else value

    return [
        (
            i,
            some(r.randrange(seed, keys + seed)),
            some(r.choice("abc") * r.randrange(3)),
            some(Decimal(r.randrange(seed, 5 + seed))),
        )
        for i in range(n)
    ]


def joined(left: Dataflow, right: Dataflow, how: str, keys: Sequence[str], **more: Any) -> Dataflow:
    """Keys are left columns; the right ones are called the same with a 2."""
    if not keys:
        return left.join(right, how=how, **more)
    return left.join(right, left_on=list(keys), right_on=[k + "2" for k in keys], how=how, **more)


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_join_types(any_lab: Lab, how: str) -> None:
    """One key, several, with a residual condition, and sides that are empty or have no match."""
    left, right = any_lab.table(LEFT, rows(40, 0)), any_lab.table(RIGHT, rows(30, 1))
    empty, strangers = any_lab.table(RIGHT, []), any_lab.table(RIGHT, rows(20, 100))
    none = any_lab.table(LEFT, [])
    for a, b in ((left, right), (left, empty), (none, right), (none, empty), (left, strangers)):
        any_lab.check(joined(a, b, how, ["k"]))
        any_lab.check(joined(a, b, how, ["s", "k", "d"]))
        any_lab.check(joined(a, b, how, ["s"], where=(col("a") + col("b")) % 3 < col("k2")))
    any_lab.check(joined(left, right, how, ["k"], where=col("d") < col("d2")).filter(col("a") > 4).sort("a"))


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_joins_without_a_key(lab: Lab, how: str) -> None:
    """A cross product under a condition; semi, anti and mark joins alike."""
    left, right, empty = lab.table(LEFT, rows(25, 0)), lab.table(RIGHT, rows(17, 1)), lab.table(RIGHT, [])
    for other in (right, empty):
        lab.check(joined(left, other, how, [], where=(col("k") < col("k2")) | (col("s") == col("s2"))))
        lab.check(joined(left, other, how, [], where=col("b") < 0))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_all_null_keys_and_no_nulls(lab: Lab, how: str) -> None:
    required = {"a": int64.with_nullable(False), "k": int64.with_nullable(False)}
    left = lab.table(required, [(i, i % 4) for i in range(20)])
    right = lab.table({"b": required["a"], "k2": required["k"]}, [(i, i % 3 + 2) for i in range(15)])
    lab.check(joined(left, right, how, ["k"]))
    lab.check(joined(left, right, how, ["k"], where=col("a") < col("b")))
    nulls = lab.table({"b": "int64", "k2": "int64"}, [(i, None) for i in range(5)])
    lab.check(joined(left, nulls, how, ["k"]))
    lab.check(joined(nulls.select(a=col("b"), k=col("k2")), nulls, how, ["k"]))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("types", [
    ("bool", [False, True]), ("int8", [-128, 0, 127]), ("int16", [-32768, 5]), ("int64", [-(2**63), 0, 2**63 - 1]),
    ("float32", [0.0, -0.5, 3.5]), ("float64", [0.0, 1e300, -0.25]),
    ("decimal(18, 2)", [Decimal("-0.01"), Decimal("9999999999999999.99")]),
    ("decimal(38, 5)", [Decimal("1e-5"), Decimal("-123456789012345678901234567890.12345")]),
    ("date", [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)]),
    ("timestamp", [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 2, 29)]),
    ("string", ["", "a", "12345678", "123456789", "x" * 300, "é\0"]), ("binary", [b"", b"\0", b"\xff" * 20]),
], ids=lambda t: t[0])  # fmt: skip
def test_key_types(lab: Lab, types: tuple[str, list[Any]]) -> None:
    """Inner and full joins; two keys of the type, and with a number beside."""
    type, values = types
    left = lab.table(
        {"a": "int64", "x": type, "y": type},
        [(i, v, w) for i, (v, w) in enumerate((v, w) for v in (None, *values) for w in (*values, None))],
    )
    right = lab.table(
        {"b": "int64", "x2": type, "y2": type}, [(i, v, values[0]) for i, v in enumerate([*values, None] * 2)]
    )
    for how in ("inner", "full"):
        lab.check(joined(left, right, how, ["x"]))
        lab.check(joined(left, right, how, ["y", "x"]))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_keys_close_together_and_far_apart(lab: Lab, how: str) -> None:
    """Rows are found by the key itself where the values lie close together, by its hash otherwise."""
    low, high = -(2**63), 2**63 - 1
    asked = [None, low, low + 1, low + 9, -6, -5, 0, 7, 29, 30, 899, 900, 4000, high - 1, high]
    left = lab.table({"a": "int64", "k": "int64"}, list(enumerate(asked)))
    for keys in (
        [*range(-5, 30), 7, 7, None],
        [low, low + 9, low + 9],
        [7, 29, 900, None],
        [high - 2, high],
        [low, high],
        [*range(0, 8000, 500)],
        [*range(-4000, 4000, 3), 900, 900, None],
        [0, 2**18 - 1, 4000, None],
        [0, 2**18 + 64],
    ):
        right = lab.table({"b": "int64", "k2": "int64"}, list(enumerate(keys)))
        lab.check(joined(left, right, how, ["k"]))
        lab.check(joined(left.with_columns(k=when(col("k") > 0).then(col("k")).otherwise(col("a"))), right, how, ["k"]))


@pytest.mark.parametrize("parts", [3, 30_000])
def test_groups_of_joined_rows(lab: Lab, parts: int) -> None:
    """Groups that follow from the joined row, few and many; rows without a partner, too."""
    r = random.Random(parts)
    sales = lab.table(
        {"a": "int64", "k": "int32"}, [(i, r.choice([None, 1, r.randrange(parts + 5)])) for i in range(40_000)]
    )
    items = lab.table(
        {"k2": "int32", "s2": "string", "t2": "string"},
        [(i, f"name of {i % 2500}" if i % 7 else None, "x" * (i % 19)) for i in range(parts)],
    )
    for how in ("inner", "left"):
        pairs = joined(sales, items, how, ["k"])
        for by in (["s2"], ["t2", "s2"], ["k2"], ["k"]):
            lab.check(pairs.aggregate(by=by, n=count(), t=sum_("a")))
        lab.check(pairs.aggregate(by=["s2"], m=median("a")))


def test_keys_that_are_expressions_and_other_types(any_lab: Lab) -> None:
    left, right = any_lab.table(LEFT, rows(50, 0)), any_lab.table(RIGHT, rows(40, 0))
    any_lab.check(left.join(right, left_on=["a"], right_on=["k2"], how="left"))
    any_lab.check(left.join(right, left_on=[f.char_length(col("s"))], right_on=[col("k2") % 3], how="full"))
    any_lab.check(left.join(right, left_on=["d"], right_on=["b"], how="inner"))
    any_lab.check(left.join(right.select("b", k=col("k2")), on="k", how="right"))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_many_matches_per_row(lab: Lab, how: str) -> None:
    """Each row of the left has more matches than a chunk holds; few columns survive, which come late."""
    n = 5000
    left = lab.table(
        {"a": "int64", "k": "int32", "s": "string", "late": "string"},
        [(i, i % 3, f"s{i}", f"late {i}") for i in range(12)],
    )
    right = lab.table({"b": "int64", "k2": "int32", "s2": "string"}, [(i, i % 2, f"t{i % 50}") for i in range(n)])
    flow = joined(left.filter(col("a") != 4), right, how, ["k"])
    lab.check(flow.aggregate(by=["late", "s"], n=count(), t=sum_("a")))
    both = joined(left, right, how, ["k"], where=col("b") % 7 != col("a") % 7)
    lab.check(both.aggregate(by=["late"], n=count(), t=sum_("a")))
    if how in ("inner", "left", "right", "full"):
        lab.check(flow.filter(col("b") % 1000 < 3).sort("a", "b"))
        twice = joined(flow.select("a", "late", "s", k=col("b") % 2000), right, how, ["k"])
        lab.check(twice.aggregate(by=["late"], n=count(), t=sum_("b")))


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("how", ["semi", "anti"])
def test_semi_joins_that_build_their_left_side(any_lab: Lab, how: str) -> None:
    """The left side waits, the large right one marks its rows: duplicates and NULLs on both sides, conditions that some
    pairs of a key meet and others do not, and what follows or precedes the join."""
    small, large = any_lab.table(LEFT, rows(40, 0)), any_lab.table(RIGHT, rows(3000, 1))
    few, none = any_lab.table(RIGHT, rows(900, 100)), any_lab.table(LEFT, [])
    for left, right in ((small, large), (small, few), (none, large), (small, large.filter(col("b") < 0))):
        any_lab.check(joined(left, right, how, ["k"]))
        any_lab.check(joined(left, right, how, ["s", "k", "d"]))
        any_lab.check(joined(left, right, how, ["k"], where=(col("a") * 70 > col("b")) & (col("d2") < col("d"))))
    assert "(builds left)" in any_lab.session.explain(joined(small, large, how, ["k"]))
    twice = joined(joined(small, large, how, ["k"]), few, how, ["s"]).select("s", n=col("a") + 1)
    any_lab.check(twice)
    any_lab.check(twice.union_all(small.select("s", n=col("a"))).aggregate(by=["s"], n=count(), t=sum_("n")))
    third = any_lab.table({"c": "int64", "k3": "int32", "s3": "string", "d3": "decimal(12, 2)"}, rows(50, 2))
    any_lab.check(joined(small, large, how, ["k"]).join(third, left_on="d", right_on="d3", how="full"))
    any_lab.check(third.join(joined(small, large, how, ["k"]), left_on="d3", right_on="d").top(7, "c", "a"))
    both = large.select(a=col("b"), k=col("k2"), s=col("s2"), d=col("d2")).filter(col("a") < 20)
    any_lab.check(joined(both, large, how, ["k"], where=col("a") < col("b")))


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_instances_that_build_the_left_side(cluster: Session, tmp_path: Path, how: str) -> None:
    """Each has a part of the left rows, or of both sides."""
    lab = Lab(cluster, tmp_path)
    small, large = lab.table(LEFT, rows(300, 0, 50), files=5), lab.table(RIGHT, rows(20_000, 1, 500), files=5)
    flow = joined(small, large, how, ["k"])
    assert "(builds left)" in cluster.explain(flow)
    lab.check(flow)
    lab.check(joined(small, large, how, ["k", "s"], where=col("a") * 50 < col("b")))


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("how", tuple(JoinType))
def test_chains_of_joins(lab: Lab, how: str) -> None:
    """Three probes in one pass, each of which may drop, keep or multiply rows; then an aggregate."""
    left = lab.table(LEFT, rows(3000, 0, keys=40))
    dimensions = [
        lab.table(
            {f"b{i}": "int64", f"r{i}": "int32", f"t{i}": "string", f"e{i}": "decimal(12, 2)"},
            rows(25 + i, i, keys=20, nulls=0.1),
        )
        for i in range(3)
    ]
    flow = left
    for i, dimension in enumerate(dimensions):
        flow = flow.join(dimension, left_on="k", right_on=f"r{i}", how=how)
        if how == "mark":
            flow = flow.select("a", "k", "s", "d", *[f"m{j}" for j in range(i)], **{f"m{i}": col("mark")})
    lab.check(flow.aggregate(by=["k"], n=count(), t=sum_("a")))
    lab.check(flow.filter(col("a") % 500 == 7))


def test_left_deep_bushy_and_semi_below_outer(any_lab: Lab) -> None:
    a, b = any_lab.table(LEFT, rows(60, 0)), any_lab.table(RIGHT, rows(40, 1))
    c = any_lab.table({"c": "int64", "k3": "int32", "s3": "string", "d3": "decimal(12, 2)"}, rows(30, 2))
    inner = b.join(c, left_on="k2", right_on="k3", how="left")
    any_lab.check(a.join(inner, left_on="k", right_on="k2", how="right"))
    any_lab.check(a.join(b, left_on="k", right_on="k2", how="semi").join(c, left_on="s", right_on="s3", how="full"))
    any_lab.check(
        a.join(c, left_on="k", right_on="k3", how="anti").union_all(a).join(inner, left_on="d", right_on="d3")
    )
    top = b.top(5, "b")
    any_lab.check(a.join(top, left_on="k", right_on="k2", how="full").aggregate(by=["s2"], n=count(), t=sum_("a")))


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_expressions_over_columns_without_a_match(lab: Lab, how: str) -> None:
    """Everything can be computed from a column that a join filled with NULL."""
    left, right = lab.table(LEFT, rows(40, 0)), lab.table(RIGHT, rows(30, 3))
    flow = joined(left, right, how, ["k"]).select(
        "a", "b", add=col("b") + col("k2"), times=col("d2") * col("d"), less=col("b") - col("a"), minus=-col("b"),
        quotient=f.int_divide(col("b"), col("a") + 1), text=f.concat(col("s2"), col("s")),
        part=f.substring(col("s2"), 2), some=f.coalesce(col("s2"), col("s"), "-"), cast=col("k2").cast("int8"),
        listed=col("b").isin([1, 2, None]), case=when(col("b") > 9).then(col("k2")).otherwise(col("k")),
        same=f.is_not_distinct(col("d2"), col("d")), rounded=f.round(col("d2"), 1), known=col("b").is_not_null(),
        either=(col("b") > 3) | (col("a") > 3))  # fmt: skip
    lab.check(flow)
    lab.check(flow.aggregate(by=["text", "known"], n=count("add"), t=sum_("times")))


def big(n: int, keys: list[int | None]) -> pa.Table:
    return pa.table({"a": pa.array(range(n), pa.int64()), "k": pa.array(keys, pa.int64())})


@pytest.mark.parametrize("how", ["inner", "full", "semi", "anti", "mark"])
def test_skew_and_large_builds(lab: Lab, how: str) -> None:
    """A build side larger than the processor's caches' share, and one key that has 90 % of the probing rows."""
    n, r = 60_000, random.Random(5)
    skewed: list[int | None] = [
        7 if r.random() < 0.9 else r.randrange(2 * n) if r.random() < 0.9 else None for _ in range(n)
    ]
    left = lab.table({"a": "int64", "k": "int64"}, big(n, skewed))
    right = lab.table({"a": "int64", "k": "int64"}, big(n, [*range(n)])).select(b=col("a"), k2=col("k"))
    flow = joined(left, right, how, ["k"])
    measures = {"n": count(), "t": sum_("a")} | ({"u": sum_("b")} if how in ("inner", "full") else {})
    lab.check(flow.aggregate(**measures))
    lab.check(
        joined(right.select(a=col("b"), k=col("k2")), left.select(b=col("a"), k2=col("k")), how, ["k"]).aggregate(
            **measures
        )
    )


def test_values_of_a_product_go_on_on_disk(one_host: str, tmp_path: Path) -> None:
    """Also within one batch, of which each row has as many partners as there are."""
    with Session(one_host, memory_limit_bytes=32 << 20) as session:
        lab = Lab(session, tmp_path)
        left = lab.table({"a": "int64"}, [(i,) for i in range(5000)])
        right = lab.table({"b": "int64"}, [(i,) for i in range(5000)])
        pairs = left.join(right, where=lit(True))
        result = session.run(pairs.aggregate(m=median("b")))
        assert result.to_pylist() == [{"m": 2499.5}]
        record = session.describe(result.job).record
    assert record is not None
    assert max(c["held_bytes"] for c in record["counters"].values()) < 64 << 20
    assert sum(c["spilled_bytes"] for c in record["counters"].values()) > 128 << 20


def test_a_limit_ends_a_product(one_host: str, tmp_path: Path) -> None:
    """Of 10^12 rows, which nobody waits for."""
    with Session(one_host, timeout_ms=60_000) as session:
        lab = Lab(session, tmp_path)
        tables = [lab.table({name: "int64"}, [(i,) for i in range(10_000)]) for name in "abc"]
        product = tables[0].join(tables[1], where=lit(True)).join(tables[2], where=lit(True))
        assert session.run(product.limit(5)).to_arrow().num_rows == 5


def test_products_of_products(lab: Lab) -> None:
    """Five tables, some of them filtered: only those are held, and never a product."""
    tables = [lab.table({f"a{i}": "int64", f"s{i}": "string"}, [(j, f"x{j % 3}") for j in range(12)]) for i in range(5)]
    few = [t.filter(col(f"a{i}") < 4 + i) for i, t in enumerate(tables)]
    nested = few[3].join(few[4], where=lit(True))
    for t in (few[2], few[1].select("s1", "a1"), tables[0].filter(col("a0") == 5)):
        nested = t.join(nested, where=lit(True))
    lab.check(nested.filter((col("a0") + col("a1") < col("a4")) & (col("s2") == col("s3"))))
    none = tables[0].filter(col("a0") > 100).join(few[1].join(few[2], where=col("a1") < col("a2")), where=lit(True))
    assert lab.check(none).num_rows == 0


def test_an_instance_leaves_memory_to_others() -> None:
    """Without a limit of its own it takes what there is, but for a reserve: 200 MiB of plenty, one step more then. Rows
    that go to disk meanwhile, or on in a file, never exceed a limit."""
    program = cpp.build(
        "memory-budget",
        [
            CPP / "memory_budget.cpp",
            *(cpp.runtime_source() / "src/base" / f for f in ("memory.cpp", "lent_memory.cpp", "disk.cpp")),
        ],
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    assert re.fullmatch(r"0 0 20\d 2[0-6]\d 1\n", done.stdout)


@pytest.mark.parametrize("parallelism", [1, 4])
def test_whether_there_are_rows(four_hosts: str, tmp_path: Path, parallelism: int) -> None:
    """EXISTS without a condition, and with one that no key says; NOT IN where either side has NULLs."""
    with Session(four_hosts, parallelism=parallelism) as session:
        lab = Lab(session, tmp_path)
        left, some = (lab.table(LEFT, rows(90, 0), files=3), lab.table(RIGHT, rows(40, 1), files=2))
        for right in (some, lab.table(RIGHT, []), some.filter(col("b") > 1000), some.filter(col("k2").is_null())):
            for how in ("semi", "anti", "mark"):
                lab.check(left.join(right, how=how, where=lit(True)))
                lab.check(left.join(right, how=how, where=col("a") + 1 < col("b")))
            known = left.join(right, left_on="k", right_on="k2", how="mark")
            lab.check(known.filter(~col("mark")).select("a", "k"))


def test_columns_that_share_a_name(lab: Lab) -> None:
    table = lab.table({"a": "int64", "b": "string"}, [(1, "x"), (2, "y")]).root
    a, b = column(table.schema, 0), column(table.schema, 1)
    result = lab.session.run(Dataflow(Sort(Project(table, (a, b, a, b), ("a", "a", "a", "b")), (SortKey(a),))))
    found = result.to_arrow()
    assert found.column_names == ["a", "a", "a", "b"]
    assert [c.to_pylist() for c in found.columns] == [[1, 2], ["x", "y"], [1, 2], ["x", "y"]]
    assert list(result.to_pandas().columns) == ["a", "a", "a", "b"]
    with pytest.raises(InvalidDataflow, match="two columns are called 'a'"):
        result.to_pylist()
