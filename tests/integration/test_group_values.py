"""Aggregates of pairs, of all values of a group and of its first row: over all types, beside DuckDB."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import (
    arg_max,
    arg_min,
    col,
    corr,
    count,
    covar_pop,
    covar_samp,
    first_value,
    last_value,
    median,
    mode,
    percentile,
    quantile_cont,
    quantile_disc,
    regr,
    string_agg,
    sum_,
)
from jumpgate.client.session import Session
from jumpgate.dataflow.unresolved import Aggregation
from jumpgate.errors import InvalidDataflow, JumpgateError
from jumpgate.testing.lab import Lab

DAY, TIME = datetime.date, datetime.datetime
NAN, INF = float("nan"), float("inf")
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [-128, 127, 0, 3],
    "int32": [-(2**31), 2**31 - 1, 7, 0],
    "int64": [-(2**40), 2**40, 1, 0],
    "float32": [-0.5, 2.0, 1024.25, 0.0],
    "float64": [-1e6, 2.5, 0.0, 1e6, 0.1],
    "decimal(7, 2)": [Decimal("-99999.99"), Decimal("99999.99"), Decimal("0.01"), Decimal("0.00"), Decimal("-0.02")],
    "decimal(30, 3)": [Decimal("-1234567890123456789012345.678"), Decimal("1234567890123456789012345.679"), Decimal(1)],
    "date": [DAY(1, 1, 1), DAY(9999, 12, 31), DAY(1969, 12, 31)],
    "timestamp": [TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(2200, 1, 1), TIME(1970, 1, 1)],
    "string": ["", "a", "ab", "é", "日本", "x" * 100, "B"],
}
NUMBERS = [t for t in VALUES if t.startswith(("int", "float", "decimal"))]
REGRESSIONS = ("slope", "intercept", "r2", "count", "avgx", "avgy", "sxx", "syy", "sxy")


def table_of(rows: int, nulls: float, groups: int = 9) -> tuple[dict[str, str], list[list[Any]]]:
    r = random.Random(rows)
    types = {"id": "int64", "g": "int32"} | {f"c{i}": t for i, t in enumerate(VALUES)}
    ids = r.sample(range(rows), rows)
    return types, [
        [i, r.randrange(groups), *(None if r.random() < nulls else r.choice(v) for v in VALUES.values())] for i in ids
    ]


def of_all_types() -> dict[str, Aggregation]:
    measures: dict[str, Aggregation] = {"n": count()}
    for i, type in enumerate(VALUES):
        c = f"c{i}"
        measures |= {f"disc{i}": quantile_disc(c, 0.3), f"mode{i}": mode(c)}
        measures |= {f"first{i}": first_value(c, "id"), f"last{i}": last_value(c, [col("c1"), col("id").desc()])}
        measures |= {f"least{i}": arg_min(c, "id"), f"most{i}": arg_max("c10", c)}
        if type in NUMBERS:
            measures |= {f"mid{i}": median(c), f"cont{i}": quantile_cont(c, 0.85), f"part{i}": percentile(c, 0.3)}
    return measures


def pairs() -> dict[str, Aggregation]:
    measures: dict[str, Aggregation] = {}
    for i, (y, x) in enumerate((("c1", "c4"), (col("c6") + 300_000, "c4"), ("id", "c1"))):
        measures |= {f"{f.__name__}_{i}": f(y, x) for f in (covar_pop, covar_samp, corr)}
        measures |= {f"{what}_{i}": regr(what, y, x) for what in REGRESSIONS}
    return measures


def texts() -> dict[str, Aggregation]:
    return {
        "plain": string_agg("c10", ", "),
        "ordered": string_agg("c10", "", order_by="id"),
        "down": string_agg("c10", "|", order_by=[col("c6").desc(), col("id")]),
        "nulls": string_agg("c10", "é", order_by=[col("c1").asc(nulls_first=True), "c8", "id"]),
        "unlike": string_agg("c10", "-", distinct=True),
        "numbers": string_agg(col("c1").cast("string"), ",", order_by="id"),
    }


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize(("rows", "nulls"), [(0, 0.0), (1, 0.0), (1, 1.0), (2, 0.3), (200, 1.0), (1500, 0.2)])
def test_all_types(lab: Lab, rows: int, nulls: float) -> None:
    """Global and grouped: no row, one, only NULLs, many."""
    table = lab.table(*table_of(rows, nulls), files=3 if rows > 200 else 1)
    lab.check(table.aggregate(**of_all_types(), **pairs(), **texts()))
    lab.check(table.aggregate(by=["g"], **of_all_types(), **pairs(), **texts()))


def test_parts_of_several_hosts(cluster: Session, tmp_path: Path) -> None:
    """Covariances and first values are combined; rows of the others travel to the instance of their group."""
    lab = Lab(cluster, tmp_path)
    table = lab.table(*table_of(4000, 0.2), files=8)
    firsts = {n: m for n, m in of_all_types().items() if n.startswith(("first", "last", "least", "most"))}
    for by in ([], ["g", "c8"]):
        lab.check(table.aggregate(by=by, **pairs(), **firsts))
    lab.check(table.aggregate(**texts()))
    lab.check(table.aggregate(by=["g"], **of_all_types(), **pairs(), **texts()))


def test_special_floats(lab: Lab) -> None:
    """NaN is the largest value, -0 equals 0, infinities are interpolated as IEEE 754 has it."""
    groups = [[NAN, 1.0], [INF, -INF], [INF, 1.0, 2.0], [-0.0, 0.0, 0.0], [NAN], [None, NAN, None], [1e308, 1.5e308]]
    table = lab.table({"g": "int32", "x": "float64"}, [(g, v) for g, vs in enumerate(groups) for v in vs])
    flow = table.aggregate(
        by=["g"], mid=median("x"), low=quantile_disc("x", 0.0), high=quantile_disc("x", 1), q=quantile_cont("x", 0.25),
        often=mode("x"), first=arg_min("x", "x"), r=corr("x", "x"), c=covar_pop("x", "x"),
    ).sort("g")  # fmt: skip
    found = [{k: repr(v).replace("-0.0", "0.0") for k, v in r.items()} for r in lab.run(flow).to_pylist()]
    assert [r["mid"] for r in found] == ["nan", "nan", "2.0", "0.0", "nan", "nan", "inf"]
    assert [r["low"] for r in found] == ["1.0", "-inf", "1.0", "0.0", "nan", "nan", "1e+308"]
    assert [r["high"] for r in found] == ["nan", "inf", "inf", "0.0", "nan", "nan", "1.5e+308"]
    assert [r["often"] for r in found] == ["1.0", "-inf", "1.0", "0.0", "nan", "nan", "1e+308"]
    assert [r["first"] for r in found] == ["1.0", "-inf", "1.0", "0.0", "nan", "nan", "1e+308"]
    assert [r["q"] for r in found] == ["nan", "nan", "1.5", "0.0", "nan", "nan", "inf"]
    assert [r["r"] for r in found] == ["None"] * 6 + ["nan"] and found[3]["c"] == "0.0"


def test_covariance_far_from_zero(lab: Lab) -> None:
    """The squares of values far from zero would be rounded to more than their differences."""
    rows = [(1e9 + i % 7, 1e9 + 2 * (i % 7)) for i in range(7000)]
    table = lab.table({"y": "float64", "x": "float64"}, rows, files=4)
    measures = {"c": covar_pop("y", "x"), "r": corr("y", "x"), "s": regr("slope", "y", "x")}
    (found,) = lab.run(table.aggregate(**measures)).to_pylist()
    assert found == pytest.approx({"c": 8.0, "r": 1.0, "s": 0.5}, rel=1e-8)


def test_median_of_the_widest_decimals(lab: Lab) -> None:
    """Halves are cut towards zero, whatever the sign; the sum of the two middle values need not fit."""
    rows = [
        (0, Decimal(10**38 - 1)),
        (0, Decimal(10**38 - 3)),
        (1, Decimal(1 - 10**38)),
        (1, Decimal(2 - 10**38)),
        (2, Decimal(-3)),
        (2, Decimal(4)),
        (3, None),
    ]
    table = lab.table({"g": "int32", "d": "decimal(38, 0)"}, rows)
    found = lab.run(table.aggregate(by=["g"], m=median("d")).sort("g")).to_pylist()
    assert [r["m"] for r in found] == [Decimal(10**38 - 2), Decimal(2 - 10**38), Decimal(0), None]


def test_measures_share_values(lab: Lab) -> None:
    """Many quantiles of one column, in any order of the shares, and filters on what comes out."""
    table = lab.table({"g": "int32", "x": "int64"}, [(i % 5, i * 7919 % 1000) for i in range(5000)], files=2)
    shares = (0.9, 0.1, 0.5, 0.0, 1.0, 0.25)
    quantiles = {f"q{i}": quantile_disc("x", q) for i, q in enumerate(shares)}
    quantiles |= {f"r{i}": quantile_cont("x", q) for i, q in enumerate(shares)}
    flow = table.aggregate(by=["g"], **quantiles, mid=median("x"), n=count(), total=sum_("x"))
    lab.check(flow)
    lab.check(flow.filter(col("mid") > 100).aggregate(top=median("q0"), names=string_agg(col("g").cast("string"), ",")))


@pytest.mark.parametrize("groups", [1, 100_000])
def test_many_groups_and_one(lab: Lab, groups: int) -> None:
    n = 200_000 if groups > 1 else 50_000  # DuckDB takes long for one large group
    keys = [i * 7919 % groups for i in range(n)]
    whole = pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "x": pa.array([i * 31 % 1000 for i in range(n)], pa.int32()),
            "s": pa.array([f"t{i % 3000}" for i in range(n)]),
            "id": pa.array(range(n), pa.int64()),
        }
    )
    table = lab.table({"k": "int64", "x": "int32", "s": "string", "id": "int64"}, whole, files=4)
    inner = table.aggregate(
        by=["k"], m=median("x"), o=mode("s"), s=string_agg("s", ",", order_by="id"), f=first_value("s", "id"),
        c=covar_samp("x", "id"),
    )  # fmt: skip
    lab.check(inner.top(20, "k"))
    lab.check(inner.aggregate(n=count(), m=sum_("m"), s=arg_max("s", "k"), o=string_agg("o", "", distinct=True)))


def test_skew(any_lab: Lab) -> None:
    r = random.Random(3)
    rows = [(1 if r.random() < 0.9 else r.randrange(100), i, f"{i % 10}") for i in range(20_000)]
    table = any_lab.table({"k": "int64", "x": "int64", "s": "string"}, rows, files=3)
    any_lab.check(
        table.aggregate(by=["k"], m=median("x"), o=mode("s"), t=string_agg("s", "", order_by=col("x").desc()))
    )


def test_values_beyond_the_memory_limit_go_on_on_disk(one_host: str, tmp_path: Path) -> None:
    with Session(one_host, memory_limit_bytes=32 << 20) as session:
        lab = Lab(session, tmp_path)
        whole = pa.table({"x": pa.array(range(6_000_000), pa.int64())})
        table = lab.table({"x": "int64"}, whole)
        assert lab.run(table.aggregate(n=count("x"))).to_pylist() == [{"n": 6_000_000}]
        assert lab.run(table.aggregate(m=median("x"))).to_pylist() == [{"m": 2_999_999.5}]
        record = session.describe().record
        assert record is not None
        assert sum(c["spilled_bytes"] for c in record["counters"].values()) > 16 << 20


def test_a_text_that_is_too_long_is_an_error(lab: Lab) -> None:
    table = lab.table({"s": "string"}, [("x" * (1 << 20),) for _ in range(300)])
    with pytest.raises(JumpgateError, match="an aggregate would make a text or a list of more than 256 MiB"):
        lab.run(table.aggregate(s=string_agg("s", ",")))


def test_what_makes_no_sense_is_refused(lab: Lab) -> None:
    table = lab.table({"x": "int64", "s": "string"}, [(1, "a")])
    wrong = {
        "median(s) in aggregate needs a number, not string": median("s"),
        "corr(s, x) in aggregate needs a number, not string": corr("s", "x"),
        "a quantile is a number from 0 to 1, not 1.5": quantile_cont("x", 1.5),
        "string_agg of int64; cast it to string": string_agg("x", ","),
        "'half' is not of type float64": quantile_disc("x", "half"),  # type: ignore[arg-type]
        "unknown measure 'regr_sloop'; did you mean 'regr_slope'?": regr("sloop", "x", "x"),
    }
    for message, measure in wrong.items():
        with pytest.raises(InvalidDataflow) as caught:
            table.aggregate(m=measure)
        assert message in str(caught.value)
