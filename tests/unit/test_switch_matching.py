"""What the accelerators on a switch take over, what they refuse and why, and the plans that come of it."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jumpgate.client import avg, col, count, count_distinct, lit, max_, min_, sum_
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions, StatisticsFunction
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Filter, Operator
from jumpgate.dataflow.types import parse_type
from jumpgate.nca.interface import ColumnStatistics, Device, JobPlan, Match, Statistics, Unsupported
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.ncas.switch_aggregate import AGGREGATE
from jumpgate.ncas.switch_prune import PRUNE
from jumpgate.ncas.switch_prune.filter import PREFIXES_MAX, entries_of
from jumpgate.ncas.switch_prune.words import key, number, some_key, unsigned, within, word
from jumpgate.p4.compiler import report
from jumpgate.p4.programs.render import CODES, PROGRAMS
from jumpgate.p4.programs.topn import Deterministic
from jumpgate.testing import oracle
from jumpgate.testing.interpret import interpret
from jumpgate.testing.lab import Lab
from tests.support.plans import host

DAY = datetime.date
TYPES = {
    "item": "int32", "store": "int16", "day": "date", "at": "timestamp", "price": "decimal(7, 2)", "n": "int64",
    "name": "string", "rate": "float64", "wide": "decimal(38, 3)",
}  # fmt: skip
ROWS = [
    (
        None if i % 11 == 0 else i % 7, i % 3, DAY(2020, 1 + i % 12, 1 + i % 28),
        datetime.datetime(2020, 1, 1, i % 24), None if i % 5 == 0 else Decimal(i * 37 % 900 - 300) / 100, i * i,
        f"n{i % 4}", i / 4, Decimal(i),
    )
    for i in range(200)
]  # fmt: skip


def switch(program: str, **properties: Any) -> Device:
    return SWITCH.device(f"tor-{program}", program=program, **properties)


@pytest.fixture
def table(tmp_path: Path) -> Dataflow:
    return Lab(None, tmp_path).table(TYPES, ROWS, files=2)  # type: ignore[arg-type]


def compiled(flow: Dataflow, *devices: Device, hosts: int = 1, statistics: StatisticsFunction | None = None) -> JobPlan:
    options = CompileOptions(prefer=("switch_aggregate", "switch_prune"), statistics=statistics)
    return compile_dataflow(flow.root, (*(host(f"h{i}") for i in range(hosts)), *devices), default_registry(), options)


AGGREGATES = {
    "decimals": lambda t: t.aggregate(by=["item"], s=sum_("price"), n=count("price"), lo=min_("price"), m=avg("price")),
    "dates": lambda t: t.aggregate(by=["day"], lo=min_("at"), hi=max_("at")),
    "rows": lambda t: t.aggregate(by=["store"], n=count()),
    "expressions": lambda t: t.aggregate(by=["price"], s=sum_(col("n") + 1), hi=max_(col("n") + 1)),
    "below a filter": lambda t: t.filter(col("item") > 2).aggregate(by=["at"], hi=max_("item")).filter(col("hi") > 3),
}
PRUNINGS = {
    "distinct": ("prune", lambda t: t.select("store", "day").distinct()),
    "distinct long": ("prune", lambda t: t.select("n").distinct()),
    "top": ("prune_topn", lambda t: t.top(9, col("price").desc())),
    "bottom": ("prune_topn", lambda t: t.top(9, "n", "item", offset=3)),
    "top days": ("prune_topn", lambda t: t.top(5, col("at").desc(), "n")),
    "skyline": ("prune_skyline", lambda t: t.skyline(col("price").desc(), "item")),
    "max": ("prune_groupby", lambda t: t.aggregate(by=["item"], hi=max_("price"))),
    "max by two keys": (
        "prune_groupby",
        lambda t: t.select("item", "store", s=col("store").cast("int8")).aggregate(by=["store", "s"], hi=max_("item")),
    ),
    "min": ("prune_groupby", lambda t: t.aggregate(by=["store"], lo=min_("item"))),
    "max of 64 bits": ("prune_groupby", lambda t: t.aggregate(by=["store"], hi=max_("n"))),
    "min of dates": ("prune_groupby", lambda t: t.aggregate(by=["item"], lo=min_("day"))),
    "join": (
        "prune_join",
        lambda t: t.join(
            t.filter(col("n") < 9).select(i=col("item"), x=col("n")), left_on=col("item"), right_on=col("i")
        ),
    ),
    "self join": (
        "prune_join",
        lambda t: t.select("n", "day").join(t.select("n", "day"), left_on=col("n"), right_on=col("n"), suffix="_r"),
    ),
    "semi": (
        "prune",
        lambda t: t.join(
            t.filter(col("n") < 9).select(i=col("item")), left_on=col("item"), right_on=col("i"), how="semi"
        ),
    ),
    "join on text": (
        "prune_join",
        lambda t: t.join(
            t.filter(col("n") < 3).select(i=col("name"), x=col("n")), left_on=col("name"), right_on=col("i")
        ),
    ),
    "join on two": (
        "prune",
        lambda t: t.join(
            t.filter(col("n") < 99).select(i=col("wide"), x=col("n")),
            left_on=[col("wide"), col("n")],
            right_on=[col("i"), col("x")],
            how="semi",
        ),
    ),
    "having by text": ("prune", lambda t: t.aggregate(by=["name"], s=sum_("price")).filter(col("s") > 40)),
    "having": ("prune", lambda t: t.aggregate(by=["item"], s=sum_("price")).filter(col("s") > Decimal("5.25"))),
    "having count": ("prune", lambda t: t.aggregate(by=["name", "item"], n=count()).filter(col("n") >= 8)),
    "filter": ("prune", lambda t: t.filter((col("item") > 3) & (col("name") != "n1"))),
    "filter of two columns": (
        "prune",
        lambda t: t.filter((col("price") <= Decimal("-1.5")) | ~(col("day") < DAY(2020, 10, 5))),
    ),
}


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("case", AGGREGATES)
def test_partial_aggregates_are_completed(table: Dataflow, case: str, hosts: int) -> None:
    flow = AGGREGATES[case](table)
    plan = compiled(flow, switch("aggregate"), hosts=hosts)
    (instance,) = (i for i in plan.instances if i.nca == "switch_aggregate")
    assert len(plan.edge(instance.output).consumers) == 1
    assert [e.transport for e in plan.edges].count(DATAGRAMS) == 2
    assert oracle.difference(interpret(plan), flow.root) == ""


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("case", PRUNINGS)
def test_what_is_pruned_runs_again(table: Dataflow, case: str, hosts: int) -> None:
    program, make = PRUNINGS[case]
    flow = make(table)
    plan = compiled(flow, switch(program), hosts=hosts)
    (instance,) = (i for i in plan.instances if i.nca == "switch_prune")
    assert all(plan.edge(e).transport == DATAGRAMS for e in (*instance.inputs, instance.output))
    assert oracle.difference(interpret(plan), flow.root) == ""


def conditions() -> st.SearchStrategy[Any]:
    """Conditions of every kind that a switch may know, and of some that it does not."""
    columns = {
        "item": st.integers(-3, 9), "n": st.sampled_from((-(2**62), -1, 0, 3, 400, 2**31 - 1, 2**31, 2**40)),
        "price": st.decimals("-4", "7", places=2), "day": st.dates(DAY(2019, 12, 1), DAY(2021, 2, 1)),
        "at": st.datetimes(datetime.datetime(2019, 12, 31), datetime.datetime(2020, 1, 2)),
        "rate": st.floats(0, 50), "store": st.integers(0, 2),
    }  # fmt: skip
    compared = {
        ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
        "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "mirrored": lambda a, b: lit(b) < a,
    }  # fmt: skip

    def leaf(name: str) -> st.SearchStrategy[Any]:
        return st.builds(lambda f, v: compared[f](col(name), v), st.sampled_from(sorted(compared)), columns[name])

    return st.recursive(
        st.sampled_from(sorted(columns)).flatmap(leaf),
        lambda c: st.one_of(
            st.builds(lambda a, b: a & b, c, c), st.builds(lambda a, b: a | b, c, c), c.map(lambda a: ~a)
        ),
        max_leaves=5,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(conditions())
def test_no_row_is_pruned_that_a_filter_keeps(table: Dataflow, condition: Any) -> None:
    """Of the words that the sender makes, and the entries that the switch is given."""
    node = table.filter(condition).root
    match = PRUNE.match_operations(node, switch("prune"))
    if isinstance(match, Unsupported):
        assert match.code in ("condition",)
        return
    assert match is not None and match.wire is not None
    body = match.wire.body.inputs[0]
    assert isinstance(node, Filter) and isinstance(body, Filter)
    entries = entries_of(body)
    for k in range(3):
        assert sum(e.table == f"filter_{k}_0" for e in entries) <= PREFIXES_MAX
    far = (-(2**63), -(2**31) - 1, -(2**31), 2**31 - 1, 2**31, 2**40 + 1, 2**63 - 1)
    extremes = [
        (i, 0, DAY(1, 1, 1), datetime.datetime(9999, 12, 31), Decimal("-99999.99"), n, "", 0.0, None)
        for i, n in enumerate(far)
    ]
    for row in (*ROWS, *extremes):
        words = [evaluate(e, row) for e in match.wire.inputs[0].expressions[-2:]]
        if None in words:
            continue  # passes
        tuple_ = dict(zip(("hdr.tuple_0.a", "hdr.tuple_0.b"), (w & 0xFFFFFFFF for w in words), strict=True))
        hit = [
            any(
                all(tuple_[f] & mask == value for f, (value, mask) in e.match)
                for e in entries
                if e.table == f"filter_{k}_0"
            )
            for k in range(3)
        ]
        pruned = any(
            all(hit[int(f[-1])] == bool(bit) for f, bit in e.match) for e in entries if e.table == "filter_truth_0"
        )
        assert not (pruned and evaluate(node.predicate, row)), (row, entries)


def test_a_filter_is_offered_where_it_saves(table: Dataflow) -> None:
    def expecting(share: float) -> Any:
        class Known:
            def of(self, node: Operator) -> Statistics:
                return Statistics(rows=1000 * share if isinstance(node, Filter) else 1000)

        return PRUNE.match_estimated(table.filter(col("item") > 3).root, switch("prune"), estimates=Known())

    assert isinstance(expecting(0.1), Match)
    refused = expecting(0.75)
    assert isinstance(refused, Unsupported) and "75% of the rows are expected to pass" in refused.reason


@pytest.mark.parametrize(
    ("program", "condition", "said"),
    [
        ("prune_topn", col("item") > 3, "its program has no filter"),
        ("prune", col("name") == "n1", "compares columns of numbers and dates with constants"),
        ("prune", (col("item") > 3) | (col("rate") > 1), "compares columns of numbers and dates with constants"),
        ("prune", col("item") > col("store"), "compares columns of numbers and dates with constants"),
    ],
)
def test_filters_that_a_switch_does_not_know(table: Dataflow, program: str, condition: Any, said: str) -> None:
    refused = PRUNE.match_operations(table.filter(condition).root, switch(program))
    assert isinstance(refused, Unsupported) and said in refused.reason


def test_several_switches_share_the_rows_by_the_key(table: Dataflow) -> None:
    pool = [SWITCH.device(f"tor{i}", program="aggregate", pool="tors") for i in range(3)]
    flow = AGGREGATES["decimals"](table)
    plan = compiled(flow, *pool, hosts=2)
    used = [i for i in plan.instances if i.nca == "switch_aggregate"]
    assert [i.device.name for i in used] == ["tor0", "tor1", "tor2"]
    arriving = plan.edge(used[0].inputs[0])
    assert (arriving.partitioning.kind, arriving.partitioning.count) == ("hash", 3)
    assert oracle.difference(interpret(plan), flow.root) == ""


def test_build_keys_come_in_the_stage_before(table: Dataflow) -> None:
    plan = compiled(PRUNINGS["join"][1](table), switch("prune_join"))
    (instance,) = (i for i in plan.instances if i.nca == "switch_prune")
    assert instance.input_stages == (2, 1)
    task = PRUNE.task(instance)
    probe, build = (dict(i.parameters) for i in task.inputs)
    assert (probe["adds"], probe["side"], task.inputs[0].forwards) == (0, 0, True)
    assert (build["adds"], build["side"], build["absorbs"], task.inputs[1].forwards) == (1, 1, 1, False)
    assert build["algorithm"] == CODES["join_bf"] and task.registers == ("bf_",)


def test_having_counts_first(table: Dataflow) -> None:
    plan = compiled(PRUNINGS["having"][1](table), switch("prune"))
    (instance,) = (i for i in plan.instances if i.nca == "switch_prune")
    again, counted = PRUNE.task(instance).inputs
    assert dict(again.parameters)["threshold"] == 525 and again.forwards
    assert dict(counted.parameters)["adds"] == 1 and not counted.forwards


def test_one_plan_uses_an_algorithm_of_a_switch_once(table: Dataflow) -> None:
    """Its registers hold one aggregate at a time; the other one runs on a host."""
    first = table.aggregate(by=["item"], s=sum_("price"))
    both = first.join(
        table.aggregate(by=["item"], n=count("price")).select(i=col("item"), n=col("n")),
        left_on=col("item"),
        right_on=col("i"),
    )
    plan = compiled(both, switch("aggregate"))
    assert len([i for i in plan.instances if i.nca == "switch_aggregate"]) == 1
    assert any("another part of the request uses its buckets" in r["answer"] for r in plan.explain["refused"])
    assert oracle.difference(interpret(plan), both.root) == ""


def test_explain_shows_what_the_program_takes(table: Dataflow) -> None:
    plan = compiled(AGGREGATES["rows"](table), switch("aggregate"))
    (fragment,) = (x for x in plan.explain["fragments"].values() if x["nca"] == "switch_aggregate")
    source = Path(__file__).parents[2] / "p4" / "programs" / "aggregate.p4"
    found = report(source.read_text(), "aggregate.p4").to_dict()
    wanted = f"program aggregate: {found['stages_used']} of 12 stages, {found['totals']['stateful_alus']} stateful ALUs"
    assert fragment["note"].startswith(wanted)


REFUSED = [
    ("aggregate", lambda t: t.aggregate(by=["item", "store"], s=sum_("price")), "groups by one key; here are 2"),
    ("aggregate", lambda t: t.aggregate(s=sum_("price")), "groups by one key; here is none"),
    ("aggregate", lambda t: t.aggregate(by=["name"], s=sum_("price")), "the key is string"),
    ("aggregate", lambda t: t.aggregate(by=["item"], s=sum_("rate")), "is float64; the switch adds up integers"),
    ("aggregate", lambda t: t.aggregate(by=["item"], s=sum_("wide")), r"is decimal\(38, 3\)"),
    ("aggregate", lambda t: t.aggregate(by=["item"], s=sum_("price"), n=sum_("n")), "aggregates one value of a row"),
    ("aggregate", lambda t: t.aggregate(by=["item"], s=sum_("price"), n=count()), r"count\(\*\) beside"),
    ("aggregate", lambda t: t.aggregate(by=["item"], s=count_distinct("price")), "does not compute count_distinct"),
    ("prune", lambda t: t.select("name").distinct(), "a fingerprint of them might lose a row"),
    ("prune", lambda t: t.select("n", "item").distinct(), "keys of 64 bits apart"),
    ("prune_distinct", lambda t: t.top(3, "item"), "no deterministic top-n"),
    ("prune", lambda t: t.top(3, "item"), "success = 0.9999"),
    ("prune_topn", lambda t: t.top(3, "name"), "orders numbers and dates, not string"),
    ("prune_skyline", lambda t: t.skyline("item", "n"), "a key is int64; the switch compares 32 bits"),
    ("prune_skyline", lambda t: t.skyline("item"), "two keys, not by 1"),
    ("prune", lambda t: t.aggregate(by=["item"], s=max_("at")), "compares the day alone"),
    ("prune", lambda t: t.aggregate(by=["n"], s=max_("item")), r"the key \(int64\) is more"),
    ("prune", lambda t: t.aggregate(by=["item"], s=max_("store"), r=min_("store")), "the max, or by the min, of one"),
    (
        "prune",
        lambda t: t.join(t.select(i=col("item")), left_on=col("item"), right_on=col("i"), how="left"),
        "a left join keeps rows",
    ),
    ("prune", lambda t: t.aggregate(by=["item"], s=sum_("n")).filter(col("s") < 5), "compares a sum or a count"),
    ("prune", lambda t: t.aggregate(by=["item"], s=sum_("n")).filter(col("s") > -5), "the constant is -5"),
    (
        "prune",
        lambda t: t.select("name", "rate").distinct(),
        r"success = 0\.9999",
    ),
]


@pytest.mark.parametrize(("program", "make", "reason"), REFUSED)
def test_refusals_say_why(table: Dataflow, program: str, make: Any, reason: str) -> None:
    nca = AGGREGATE if program == "aggregate" else PRUNE
    answer = nca.match_operations(make(table).root, switch(program))
    assert isinstance(answer, Unsupported)
    assert re.search(reason, f"{answer.reason} {answer.remedy}"), answer


def test_a_sum_must_overflow_as_the_dialect_says(table: Dataflow) -> None:
    root = table.aggregate(by=["item"], s=sum_("n")).root
    answer = AGGREGATE.match_operations(root, switch("aggregate"), Dialect(on_overflow="null"))
    assert isinstance(answer, Unsupported) and answer.code == "overflow"


def test_a_probability_is_only_taken_when_it_is_accepted(table: Dataflow) -> None:
    root = table.top(100, "item").root
    answer = PRUNE.match_operations(root, switch("prune_topn", success=0.999))
    assert isinstance(answer, Match)
    deterministic = PRUNE.match_operations(root, switch("prune_topn"))
    assert isinstance(deterministic, Match) and "topn_det" in deterministic.note


class Bounds:
    """Estimates of a table of so many rows, whose columns all lie between two numbers."""

    def __init__(self, rows: float, low: float | None, high: float | None) -> None:
        self.rows, self.known = rows, ColumnStatistics(low=low, high=high)

    def of(self, node: Operator) -> Statistics:
        return Statistics(self.rows, None)

    def doubt(self, node: Operator) -> float:
        return 1.0

    def column(self, node: Operator, key: Expression) -> ColumnStatistics:
        return self.known


def sent_for(flow: Dataflow, estimates: Bounds, rows: list[tuple[Any, ...]]) -> list[int | None]:
    """What stands for each row's key in a packet, of a deterministic top-n."""
    match = PRUNE.match_estimated(flow.root, switch("prune_topn"), estimates=estimates)
    assert isinstance(match, Match) and match.wire is not None and "topn_det" in match.note
    expression = match.wire.inputs[0].expressions[-2]
    return [evaluate(expression, row) for row in rows]


@pytest.mark.parametrize("descending", [True, False])
def test_a_deterministic_top_n_prunes_below_zero(tmp_path: Path, descending: bool) -> None:
    table = Lab(None, tmp_path).table({"v": "int64"}, [(1,)])  # type: ignore[arg-type]
    flow = table.top(30, col("v").desc() if descending else "v")
    rng = random.Random(1)
    for low, high in ((-2_000_000, -1_000_000), (-500, 10**12), (0, 10**6)):
        values = [rng.randint(low, high) for _ in range(6_000)]
        words = sent_for(flow, Bounds(6_000, low, high), [(v,) for v in values])
        best = Deterministic(30, PROGRAMS["prune_topn"].topn_thresholds)  # type: ignore[union-attr]
        left = [v for v, w in zip(values, words, strict=True) if not best.process(w or 0)]
        assert sorted(values, reverse=descending)[:30] == sorted(left, reverse=descending)[:30]
        assert len(left) < 6_000 * 0.15
        assert [w for _, w in sorted(zip(values, words, strict=True))] == sorted(words, reverse=not descending)  # type: ignore[type-var]


def test_no_bounds_make_a_better_key_a_worse_one(table: Dataflow) -> None:
    """However wrong the bounds are."""
    rng = random.Random(2)
    ends = [-1e19, -(2.0**63), -1.0, 0.0, 0.5, 7.0, 2.0**63, 1e19]
    values = sorted([-(2**63), -1, 0, 1, 2**63 - 1, *(rng.randint(-(2**63), 2**63 - 1) for _ in range(20))])
    rows = [tuple(v if f.name == "n" else None for f in table.root.schema) for v in (*values, None)]
    for low, high in itertools.combinations_with_replacement(ends, 2):
        for flow, falls in ((table.top(5, col("n").desc()), False), (table.top(5, "n"), True)):
            *words, null = sent_for(flow, Bounds(1000, low, high), rows)
            unsigned_words = [w % 2**32 for w in words if w is not None]
            assert null is None and unsigned_words == sorted(unsigned_words, reverse=falls)


def test_bounds_of_days_and_decimals(table: Dataflow) -> None:
    rows = [
        tuple({"day": DAY(2000 + y, 6, 1), "price": Decimal(y)}.get(f.name) for f in table.root.schema)
        for y in range(30)
    ]
    days = [(DAY(year, 1, 1) - DAY(1970, 1, 1)).days for year in (2000, 2030)]
    by_day = sent_for(table.top(5, col("day").desc()), Bounds(1000, *days), rows)
    by_price = sent_for(table.top(5, "price"), Bounds(1000, 0, 30), rows)
    assert by_day[0] == 1 and by_day[-1] == 8 and by_day == sorted(by_day)  # type: ignore[type-var]
    assert by_price[0] == 16 and by_price[-1] == 1 and by_price == sorted(by_price, reverse=True)  # type: ignore[type-var]


@pytest.mark.parametrize("estimates", [Bounds(1000, None, None), Bounds(1000, 0, None), Bounds(9, 0, 100)])
def test_a_key_of_which_little_is_known_travels_itself(table: Dataflow, estimates: Bounds) -> None:
    rows = [tuple(77 if f.name == "n" else None for f in table.root.schema)]
    assert sent_for(table.top(5, col("n").desc()), estimates, rows) == [77]


def test_groups_by_fingerprints_keep_the_accepted_probability(table: Dataflow) -> None:
    flow = table.aggregate(by=["name", "n"], hi=max_("item")).root
    for program, columns in (("prune", 3), ("prune_groupby", 6)):
        likely = PRUNE.match_operations(flow, switch(program, success=0.9999))
        assert isinstance(likely, Match)
        assert likely.rows_max == pytest.approx(2**32 * 1e-4 / columns, rel=1e-4), "32 bits are compared with w others"
        assert "fingerprints of 32 bits" in likely.note
    refused = PRUNE.match_operations(flow, switch("prune"))
    assert isinstance(refused, Unsupported) and "(string, int64) is more" in refused.reason


def test_fingerprints_serve_as_many_rows_as_keep_the_accepted_probability(table: Dataflow) -> None:
    flow = table.select("name", "rate").distinct()
    likely = PRUNE.match_operations(flow.root, switch("prune", success=0.9999))
    assert isinstance(likely, Match)
    # 2^52 fingerprints in each of 2^12 rows, two columns
    assert likely.rows_max == pytest.approx(2**52 * 1e-4 / 2)
    assert "fingerprints of 64 bits: wrong with a probability of at most 0.0001 for 2.3e+11 rows" in likely.note
    surer = PRUNE.match_operations(flow.root, switch("prune", success=0.999999999999999))
    assert isinstance(surer, Match) and surer.rows_max < 100, "no more than these, and not all rows of the table"
    exact = PRUNE.match_operations(table.select("n").distinct().root, switch("prune", success=0.9999))
    assert isinstance(exact, Match) and exact.rows_max == math.inf and "fingerprint" not in exact.note

    plan = compiled(flow, switch("prune", success=0.9999))
    assert "switch_prune" in {i.nca for i in plan.instances}
    assert oracle.difference(interpret(plan), flow.root) == ""
    expected = Statistics(rows=len(ROWS), bytes=1e6)
    plan = compiled(flow, switch("prune", success=0.999999999999999), statistics=lambda *_: expected)
    assert "switch_prune" not in {i.nca for i in plan.instances}
    assert any("200 are expected" in r["answer"] for r in plan.explain["refused"])


# ---- words ---------------------------------------------------------------------------------------------------------

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-128, 127),
    "int32": st.integers(-(2**31), 2**31 - 1), "int64": st.integers(-(2**63), 2**63 - 1),
    "decimal(7, 2)": st.decimals(-99999, 99999, places=2), "decimal(18, 18)": st.decimals(0, Decimal("0.9"), places=18),
    "date": st.dates(), "timestamp": st.datetimes(), "bool": st.booleans(),
}  # fmt: skip


def ref(type: str, index: int = 0) -> ColumnRef:
    return ColumnRef(parse_type(type).with_nullable(True), index)


def as_unsigned(value: int) -> int:
    assert -(2**31) <= value < 2**31
    return value & 0xFFFFFFFF


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("type", VALUES)
def test_words_never_fall(type: str, complement: bool) -> None:
    made = number(ref(type))
    assert made is not None
    expression, exact = word(made, complement)

    @given(VALUES[type], VALUES[type])
    def holds(a: Any, b: Any) -> None:
        x, y = (as_unsigned(evaluate(expression, (v,))) for v in (a, b))
        if a < b:
            assert x >= y if complement else x <= y
            assert not exact or x != y
        if a == b:
            assert x == y

    holds()
    assert evaluate(expression, (None,)) is None


@pytest.mark.parametrize(
    "types", [("int32", "int32"), ("int8", "date"), ("decimal(7, 2)", "int32", "bool"), ("int64",)]
)
def test_keys_tell_all_values_apart(types: tuple[str, ...]) -> None:
    columns = tuple(ref(t, i) for i, t in enumerate(types))
    packed = key(columns)
    assert packed is not None

    @given(*(st.tuples(*(VALUES[t] for t in types)) for _ in range(2)))
    def holds(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
        x, y = evaluate(packed, a), evaluate(packed, b)
        assert (x == y) == (a == b)
        assert -(2**63) <= x < 2**63

    holds()
    assert evaluate(packed, (None,) * len(types)) is None


def test_keys_that_do_not_fit() -> None:
    assert key((ref("int64"), ref("int8", 1))) is None
    assert key((ref("string"),)) is None
    assert key((ref("timestamp"), ref("int8", 1))) is None  # a timestamp's number is its day
    assert some_key((ref("int64"),)) == (ref("int64"), "")
    made, note = some_key((ref("string"), ref("int64", 1)))
    assert note and not made.type.nullable, "NULLs have a fingerprint as well"
    assert evaluate(made, ("a", 1)) == evaluate(made, ("a", 1)) != evaluate(made, ("a", None))


@given(st.integers(-(2**63), 2**63 - 1))
def test_what_is_added_up_is_never_too_small(value: int) -> None:
    n = number(ref("int64"))
    assert n is not None
    found = as_unsigned(evaluate(unsigned(n), (value,)))
    assert found == min(max(value, 0), 2**32 - 1)


@pytest.mark.parametrize("low", [-(2**63) + 1, -(2**31), 5, 2**63 - 2**32])
@pytest.mark.parametrize("complement", [False, True])
def test_words_of_a_window(low: int, complement: bool) -> None:
    n = number(ref("int64"))
    assert n is not None
    made = within(n, low, complement)

    @given(st.integers(-(2**63), 2**63 - 1) | st.integers(max(low - 3, -(2**63)), min(low + 2**32 + 3, 2**63 - 1)))
    @example(low)
    @example(low + 2**32 - 1)
    def holds(value: int) -> None:
        found = evaluate(made, (value,))
        offset = value - low
        if not 0 <= offset < 2**32:
            assert found is None, "the row passes"
        else:
            assert as_unsigned(found) == (2**32 - 1 - offset if complement else offset)

    holds()
    assert evaluate(made, (None,)) is None


@pytest.mark.parametrize(
    ("bounds", "greatest", "least"),
    [
        ((None, None), -(2**31), -(2**31)),
        ((10**12, 10**13), 10**13 - 2**32 + 1, 10**12),
        ((-(2.0**63), 2.0**63), 2**63 - 2**32, -(2**63) + 1),
    ],
)
def test_the_window_is_where_the_answers_are(
    table: Dataflow, bounds: tuple[float | None, float | None], greatest: int, least: int
) -> None:
    for measure, low in ((max_("n"), greatest), (min_("n"), least)):
        flow = table.aggregate(by=["item"], found=measure)
        match = PRUNE.match_estimated(flow.root, switch("prune_groupby"), estimates=Bounds(1000, *bounds))
        assert isinstance(match, Match) and f"values from {low} to {low + 2**32 - 1}" in match.note


def test_types_without_words() -> None:
    for type in ("string", "float64", "decimal(38, 3)", "binary"):
        assert number(ref(type)) is None
