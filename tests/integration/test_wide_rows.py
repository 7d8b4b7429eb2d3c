"""Rows, keys and measures of many columns, whose statements are loops over tables of numbers: beside DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import avg, col, count, max_, min_, sum_
from jumpgate.client.session import Session
from jumpgate.codegen.runs import RUN_MIN
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.types import int64
from jumpgate.errors import ComputeError
from jumpgate.testing.lab import Lab

TYPES = ("int64", "int32", "float64", "decimal(7, 2)", "string", "bool")
#: as many of each type as make a loop, and some more
WIDE = len(TYPES) * (RUN_MIN + 3)


def value(r: random.Random, type: str) -> Any:
    if r.random() < 0.1:
        return None
    few = r.randrange(3)
    return {
        "int64": few - 2**62,
        "int32": few,
        "float64": few / 4,
        "decimal(7, 2)": Decimal(few - 1) / 100,
        "string": ("", "a", "日本" * 20)[few],
        "bool": few > 1,
    }[type]


@pytest.fixture(scope="module")
def lab(local: Session, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(local, tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def wide(lab: Lab) -> Dataflow:
    return table(lab)


def table(lab: Lab) -> Dataflow:
    r = random.Random(5)
    types: dict[str, Any] = {"id": "int64", "k": int64}  # k is never NULL
    types |= {f"c{i}": TYPES[i % len(TYPES)] for i in range(WIDE)}
    kinds = [TYPES[i % len(TYPES)] for i in range(WIDE)]
    pool = [[value(r, t) for t in kinds] for _ in range(40)]  # so that groups have several rows
    return lab.table(types, [[i, i % 7, *pool[r.randrange(40)]] for i in range(3000)], files=2)


def columns(type: str) -> list[str]:
    return [f"c{i}" for i in range(WIDE) if TYPES[i % len(TYPES)] == type]


ALL = [f"c{i}" for i in range(WIDE)]
FLOWS: dict[str, Callable[[Dataflow], Dataflow]] = {
    "columns": lambda t: t.filter((col("c0") > -(2**62)) & (col("c1") < 2)),
    "expressions": lambda t: t.select(**{f"x{n}": col(n) * 2 + col("id") for n in columns("int32")}),
    "keys": lambda t: t.aggregate(by=ALL, n=count()),
    "keys of one type": lambda t: t.aggregate(by=["k", *columns("string")], n=count(), s=sum_("id")),
    "distinct": lambda t: t.select(*ALL).distinct(),
    "sums": lambda t: t.aggregate(by=["k"], **{f"s{n}": sum_(n) for n in columns("int32")}),
    "sums of all": lambda t: t.aggregate(**{f"s{n}": sum_(n) for n in columns("decimal(7, 2)")}),
    "measures": lambda t: t.aggregate(
        by=["k", "c5"],
        **{f"n{n}": count(n) for n in ALL},
        **{f"low{n}": min_(n) for n in ALL},
        **{f"high{n}": max_(n) for n in columns("string")},
        **{f"mean{n}": avg(n) for n in columns("float64")},
    ),
    "sorted": lambda t: t.sort("c1", "id").limit(500),
    "joined": lambda t: t.filter(col("id") < 60).join(
        t.select(j=col("id"), k2=col("k")), left_on=col("id"), right_on=col("j")
    ),
    "built": lambda t: t.select(j=col("id"), k2=col("k")).join(
        t.filter(col("id") % 3 == 1), left_on=col("j"), right_on=col("id")
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_answers_are_duckdb_s(lab: Lab, wide: Dataflow, name: str) -> None:
    assert lab.check(FLOWS[name](wide)).num_rows


def test_nothing_comes_of_no_rows(lab: Lab, wide: Dataflow) -> None:
    none = wide.filter(col("id") < 0)
    for name in ("columns", "keys", "sums of all", "measures"):
        lab.check(FLOWS[name](none))


def test_instances_exchange_wide_groups(cluster: Session, tmp_path: Path) -> None:
    shared = Lab(cluster, tmp_path)
    wide = table(shared)
    for name in ("keys", "measures", "joined"):
        shared.check(FLOWS[name](wide))


def test_an_error_names_the_expression_that_failed(lab: Lab) -> None:
    places = range(RUN_MIN + 5)
    flow = lab.table({f"c{i}": "int64" for i in places}, [[2**62 if i == 7 else 1 for i in places]])
    with pytest.raises(ComputeError, match=r"c7\b"):
        lab.run(flow.select(**{f"x{i}": col(f"c{i}") * 2 for i in places}))
