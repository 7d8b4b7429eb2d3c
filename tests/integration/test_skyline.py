"""Skylines, compared with DuckDB's NOT EXISTS."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from jumpgate.client import col, count
from jumpgate.client.session import Session
from jumpgate.errors import InvalidDataflow
from jumpgate.testing.lab import Lab

TYPES = {"a": "int32", "b": "int64", "c": "decimal(9, 2)", "d": "float64", "s": "string"}


def rows(n: int, seed: int, spread: int, nulls: float = 0.0) -> list[tuple[object, ...]]:
    r = random.Random(seed)

    def some(value: object) -> object:
        return None if r.random() < nulls else value

    return [
        (
            some(r.randrange(spread)),
            some(r.randrange(-spread, spread)),
            some(Decimal(r.randrange(spread)).scaleb(-2)),
            some(r.choice((0.0, -0.0, 1.5, float("inf"), float("nan")))),
            some(r.choice("abc") * r.randrange(3)),
        )
        for _ in range(n)
    ]


@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_keys_of_all_kinds(lab: Lab, nulls: float) -> None:
    table = lab.table(TYPES, rows(400, 1, 40, nulls))
    lab.check(table.skyline("a"))
    lab.check(table.skyline(col("a").desc(), "b"))
    lab.check(table.skyline("a", col("b").desc(), "c"))
    lab.check(table.skyline(col("d").desc(), "s", col("c").desc()))
    lab.check(table.skyline(col("a") * 2 - col("b"), "c").select("s", "a"))


def test_ties_duplicates_and_few_rows(lab: Lab) -> None:
    same = lab.table(TYPES, [(1, 2, None, 0.5, "x")] * 5)
    assert lab.check(same.skyline("a", "b")).num_rows == 5
    assert lab.check(same.skyline("c", "a")).num_rows == 5  # NULL: nobody is better
    assert lab.check(lab.table(TYPES, []).skyline("a", "b")).num_rows == 0
    line = lab.table({"x": "int64", "y": "int64"}, [(i, 1000 - i) for i in range(1000)])
    assert lab.check(line.skyline("x", "y")).num_rows == 1000
    assert lab.check(line.skyline("x", col("y").desc())).num_rows == 1


def test_between_other_operators(lab: Lab) -> None:
    table = lab.table(TYPES, rows(300, 2, 30))
    best = table.filter(col("a") > 3).skyline("a", col("b").desc())
    lab.check(best.filter(col("b") > 0).aggregate(by=["a"], n=count()))
    lab.check(table.aggregate(by=["s"], n=count()).skyline(col("n").desc(), "s"))
    lab.check(best.join(table.select(k=col("a")).distinct(), left_on="a", right_on="k").sort("a", "b", "c", "d", "s"))
    lab.check(best.union_all(best))


@pytest.mark.nightly(every=2)
def test_on_several_instances(cluster: Session, tmp_path: object) -> None:
    lab = Lab(cluster, tmp_path, "parquet")  # type: ignore[arg-type]
    table = lab.table(TYPES, rows(20_000, 3, 5000, 0.01), files=3)
    lab.check(table.skyline("a", col("b").desc(), "c"))


def test_a_skyline_needs_keys(lab: Lab) -> None:
    table = lab.table(TYPES, [])
    with pytest.raises(InvalidDataflow, match="skyline needs at least one key"):
        table.skyline()
    with pytest.raises(InvalidDataflow, match="unknown column 'aa' in skyline; did you mean 'a'"):
        table.skyline("aa")
