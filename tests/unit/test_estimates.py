"""Rows, values, doubts and times of operators over small tables whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import col, count, read
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.compiler.columns import met, overlap, remaining, united
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.explain import count as shown
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.logical.normalise import normalise
from jumpgate.compiler.logical.push_filters import push_filters
from jumpgate.compiler.physical.figures import measured
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.work import by_size, work
from jumpgate.converters.probe import estimate
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import (
    Filter,
    Operator,
    Send,
    SortKey,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.types import int32, int64
from jumpgate.nca.interface import ColumnStatistics, Statistics
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.nca.speeds import Speeds, assumed, seconds_of, unit_seconds
from tests.support.plans import equals, host, joined, ref, statistics, table

DAYS, SALES = 1000, 4000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataflow, Dataflow]:
    """Days by number, 100 to a year; sales on the days of the years 3 and 4, four items in turn, one in ten unsold."""
    folder = tmp_path_factory.mktemp("estimates")
    days = {"day": range(DAYS), "year": [d // 100 for d in range(DAYS)], "week": [d // 7 for d in range(DAYS)]}
    sales = {
        "sold": [300 + i % 200 if i % 10 else None for i in range(SALES)],
        "item": [f"item {i % 4}" for i in range(SALES)],
        "group": [f"group {i % 4 // 2}" for i in range(SALES)],
    }
    for name, columns in (("days", days), ("sales", sales)):
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return read(folder / "days.parquet"), read(folder / "sales.parquet")


def estimated(flow: Dataflow) -> tuple[float, float]:
    """Rows, and by which factor they may be off."""
    plan = Plan(Send(flow.root, ()), CompileOptions(statistics=estimate), (), Registry(), Estimator(estimate))
    plan = push_filters(normalise(plan))
    node = plan.root.input
    return plan.estimator.rows(node), plan.estimator.doubt(node)


def test_small_tables_are_exact(tables: tuple[Dataflow, Dataflow]) -> None:
    days, sales = tables
    assert estimated(days) == (1000, 1)
    assert estimated(days.filter((col("year") == 3) & (col("day") < 350))) == (50, 1)
    assert estimated(days.filter(col("year").isin((2, 3)) | (col("week") * 2 == 0))) == (207, 1)
    assert estimated(sales.filter(col("item").like("item%") & col("sold").is_null())) == (400, 1)
    assert estimated(days.filter(col("year") == 77)) == (0, 1)


def test_a_filter_on_the_other_side_counts_only_where_the_keys_meet(tables: tuple[Dataflow, Dataflow]) -> None:
    days, sales = tables
    year = days.filter(col("year") == 3)
    rows, doubt = estimated(sales.join(year, left_on="sold", right_on="day"))
    assert rows == pytest.approx(1800, rel=0.1) and 1 < doubt < 2
    every_other = days.filter(col("day").isin(range(0, DAYS, 2)))  # half of them, of the whole calendar
    rows, _ = estimated(sales.join(every_other, left_on="sold", right_on="day"))
    assert rows == pytest.approx(1800, rel=0.2)
    rows, _ = estimated(sales.join(days.filter(col("year") == 8), left_on="sold", right_on="day"))
    assert rows < 50


def test_conditions_on_rows_that_were_not_tried_choose_what_is_in_use() -> None:
    """Days that 2 % of the calendar has sales on: of a table that is too large to be tried whole, a year is one with
    sales; days that are chosen by their number are as many as meet."""
    rows = {"days": 70_000.0, "sales": 1e6}
    keys = {"days": ColumnStatistics(70_000.0, 0.0, 69_999.0), "sales": ColumnStatistics(1400.0, 30_000.0, 31_399.0)}

    def known(files: tuple[str, ...], format: str, options: object) -> Statistics:
        name = files[0].split("/")[-1].split(".")[0]
        other = ColumnStatistics(distinct=200.0)
        return Statistics(rows[name], 8 * rows[name], column=lambda c, t: keys[name] if c == "day" else other)

    days, sales = table("days", day=int32, year=int32), table("sales", day=int32, year=int32)
    estimator = Estimator(known)

    def joined_with(days: Operator) -> float:
        return estimator.rows(joined(sales, days, "day", "day"))

    year = Filter(days, equals(days, "year", 7))
    assert joined_with(year) == pytest.approx(1e6 * estimator.rows(year) / 1400, rel=0.01)
    assert joined_with(days) == pytest.approx(1e6, rel=0.01)
    first = Filter(days, bind("lt", (ref(days, "day"), Literal(int32.with_nullable(False), 30_140))))
    assert joined_with(first) == pytest.approx(1e5, rel=0.01)
    half = Filter(sales, equals(sales, "year", 7))  # of which no day is the key
    assert estimator.rows(joined(half, days, "day", "day")) == pytest.approx(estimator.rows(half), rel=0.01)


def test_columns_that_go_together_make_no_more_groups(tables: tuple[Dataflow, Dataflow]) -> None:
    days, sales = tables
    assert estimated(sales.aggregate(by=["item", "group"], n=count()))[0] == 4
    assert estimated(sales.aggregate(by=["sold"], n=count()))[0] == pytest.approx(200, rel=0.15)
    assert estimated(sales.aggregate(n=count())) == (1, 1)
    joined = sales.join(days, left_on="sold", right_on="day")
    assert estimated(joined.aggregate(by=["year"], n=count()))[0] == pytest.approx(2, abs=0.2)  # those with sales
    assert estimated(joined.aggregate(by=["week"], n=count()))[0] == pytest.approx(29, rel=0.1)


def test_having_and_limits(tables: tuple[Dataflow, Dataflow]) -> None:
    _, sales = tables
    groups = sales.aggregate(by=["sold"], n=count())
    assert estimated(groups.filter(col("n") > 1000))[0] < 1
    assert estimated(groups.filter(col("n") > 1))[0] > 150
    assert estimated(sales.top(7, col("item"))) == (7, 1)


def test_ranks_of_no_rows(tables: tuple[Dataflow, Dataflow]) -> None:
    """As of a subquery that finds nothing: no rows, no groups, and nothing is divided by them."""
    days, _ = tables
    nothing = days.filter(col("year") == 77).root
    key = column(nothing.schema, 0)
    for partition in ((), (key,)):
        rank = WindowFunction("rank", (), window_type("rank", ()), "rank")
        ranked = Dataflow(Window(nothing, partition, (SortKey(key),), (rank,)))
        assert estimated(ranked.filter(col("rank") < 11))[0] == 0


def test_files_that_are_not_there_are_unknown(tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.touch()
    flow = read(file, schema={"k": "int64"})
    file.unlink()
    plan = Estimator(estimate)
    assert plan.of(flow.root).rows is None and work(flow.root, plan) is None


def test_values_that_are_left() -> None:
    assert remaining(100, 1000, 1000) == 100
    assert remaining(1000, 1000, 10) == pytest.approx(10)
    assert 60 < remaining(100, 1000, 100) < 70
    a, b = ColumnStatistics(100.0, 0, 99), ColumnStatistics(50.0, 50, 199)
    assert overlap(a, b) == 0.5 and overlap(a, ColumnStatistics(1.0)) == 1
    assert met(a, b).low == 50 and met(a, b).high == 99
    assert united([ColumnStatistics(1.0), ColumnStatistics(1.0)]).distinct == 2
    assert united([a, b]) == ColumnStatistics(100.0, 0, 199)
    one = ColumnStatistics(1.0, 7, 7)
    assert united([one, one]) == one
    assert overlap(one, a) == 1 and overlap(one, b) == 0 and overlap(a, one) == 0.01


def test_times_are_work_times_speeds() -> None:
    assert seconds_of({"job": 1, "probe": 4}, {"job": 1.0, "probe": 0.5}, cores=2) == 2.0
    assert unit_seconds("scan parchment text", {"scan text": 7.0}) == 7.0
    assert unit_seconds("open parchment", {"open": 3.0}) == 3.0
    with pytest.raises(KeyError):
        unit_seconds("juggle", {})
    slow = Speeds({"sort": 1.0}, factor=2.0).of({"probe": 4.0})
    assert slow.seconds["sort"] == 1.0 and slow.seconds["probe"] == 8.0
    assert slow.seconds["build"] == 2 * assumed()["build"]
    assert by_size("probe", 10, 1) == {"probe": 10, "probe large": 0}
    assert by_size("probe", 10, 1e9) == {"probe": 0, "probe large": 10}
    assert math.isclose(sum(by_size("probe", 10, 1e5).values()), 10)


def test_explain_shows_what_was_expected_and_what_was(tables: tuple[Dataflow, Dataflow]) -> None:
    days, _ = tables
    flow = days.filter(col("year") == 3)
    plan = compile_dataflow(flow.root, (host("a"),), default_registry(), CompileOptions(statistics=estimate))
    assert plan.figures.seconds is not None and plan.figures.operators["f0", 1].rows == 100
    text = explain_text(plan.explain)
    assert "[100 rows, " in text and "the whole job " in text
    counters = {"f0.0": {"operators": {"1": {"rows": 90}, "0": {"busy_ns": 2_000_000}}}}
    assert measured(counters, "f0") == {1: {"rows": 90}, 0: {"seconds": 0.002}}
    text = explain_text(plan.explain, counters=counters)
    assert "; was 90 rows]" in text and "; was 2 ms of a core for the passes that end here]" in text


def test_explain_shows_what_crossed_an_edge_and_its_skew(tables: tuple[Dataflow, Dataflow]) -> None:
    flow = tables[1].aggregate(by=["item"], n=count())
    hosts = (host("a"), host("b"))
    plan = compile_dataflow(flow.root, hosts, default_registry(), CompileOptions(statistics=estimate))
    assert [e.partitioning.kind for e in plan.edges] == ["hash", "single"]
    sent = {"edge": "e0", "rows": 50, "bytes": 4_000}
    counters = {
        **{f"f0.{i}": {"operators": {}, "sinks": [sent]} for i in (0, 1)},
        **{f"f1.{i}": {"operators": {}, "sources": [{"name": "e0", "rows": n}]} for i, n in ((0, 15), (1, 85))},
    }
    line = next(n for n in explain_text(plan.explain, counters=counters).splitlines() if n.startswith("edge e0:"))
    assert line.endswith("; was 100 rows, 8 kB, 1.7 times the mean to f1.1")
    counters["f1.0"]["sources"] = [{"name": "e0", "rows": 85}]
    assert "; was 100 rows, 8 kB\n" in explain_text(plan.explain, counters=counters)


@pytest.mark.parametrize(("rows", "text"), [(3, "3"), (1234, "1.23 k"), (5.6e7, "56 M"), (2e9, "2 G")])
def test_counts_have_three_digits(rows: float, text: str) -> None:
    assert shown(rows) == text


def test_an_operator_that_holds_rows_takes_time_whatever_there_is(tables: tuple[Dataflow, Dataflow]) -> None:
    _, sales = tables
    none = sales.filter(col("item") == "no such item")
    grouped = none.aggregate(by=["item"], n=count())
    estimator = Estimator(estimate)
    assert "operator" not in (work(none.root, estimator) or {})
    found = work(grouped.root, estimator)
    assert found is not None and found["operator"] == 1.0
    assert seconds_of(found, {**assumed(), "operator": 1.0}, cores=8) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_read_of_text_takes_all_of_its_bytes(format: str) -> None:
    """Of a file by columns it takes those of its columns."""
    whole = table("facts", format=format, k=int64, x=int64)
    estimator = Estimator(statistics({"facts": 1e6}))
    bytes = estimator.files(whole).bytes
    assert bytes is not None and estimator.stored(whole) == bytes
    some = estimator.stored(replace(whole, columns=(0,)))
    assert some is not None and (some < 0.6 * bytes if format == "parquet" else some == bytes)
