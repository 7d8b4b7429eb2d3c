"""Filter edges: which joins send their keys to whom, and that no row is lost that way."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import read
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping import filter_edges
from jumpgate.compiler.plan import CompileOptions
from jumpgate.converters.probe import estimate
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Limit, Operator, Receive, column, numbered
from jumpgate.dataflow.types import Schema, int32, string
from jumpgate.nca.interface import JobPlan, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import Generator
from jumpgate.testing.interpret import interpret
from tests.support.plans import equals, grouped, host, joined, measured, ref, statistics, table

HOSTS = (host("a"), host("b"))
FACT = table("fact", fk=int32, fd=int32, value=int32, text=string)
DAYS = table("days", dk=int32, year=int32)
ITEMS = table("items", ik=int32, title=string)
ROWS = {"fact": 1e6, "days": 1e3, "items": 1e6}


def compiled(root: Operator, **options: float) -> JobPlan:
    chosen = CompileOptions(statistics=statistics(ROWS), **options)  # type: ignore[arg-type]
    return compile_dataflow(root, HOSTS, default_registry(), chosen)


def filters(plan: JobPlan) -> list[tuple[str, str]]:
    """(fragment that sends, fragment that receives) of each filter edge."""
    fragment = {i.id: i.fragment for i in plan.instances}
    ids = [f.edge for i in plan.instances if not i.index for f in i.filters]
    return [(fragment[e.producers[0]], fragment[e.consumers[0]]) for e in map(plan.edge, ids)]


def few_days() -> Operator:
    """Those of some days."""
    days = Filter(DAYS, equals(DAYS, "year", 2000))
    return joined(FACT, days, "fd", "dk")


def test_a_partitioned_join_filters_what_it_probes() -> None:
    few = Filter(ITEMS, equals(ITEMS, "ik", 7))
    plan = compiled(joined(FACT, few, "fk", "ik"), broadcast_bytes_max=0)
    ((sends, takes),) = filters(plan)
    reader = next(i for i in plan.instances if i.fragment == takes)
    semi = reader.root.inputs[0]
    assert isinstance(semi, Join)
    assert semi.type is JoinType.SEMI
    assert isinstance(semi.right, Receive)
    assert semi.left == FACT
    sender = next(i for i in plan.instances if i.fragment == sends)
    assert sender.filters[0].stage < sender.stage, "keys leave before the rows that they filter"
    assert dict(zip(reader.inputs, reader.input_stages, strict=True))[semi.right.edge] == sender.filters[0].stage


@pytest.mark.parametrize(("type", "count"), [("inner", 1), ("semi", 1), ("right", 1), ("left", 0), ("anti", 0)])
def test_rows_that_stay_without_a_partner_are_not_filtered(type: str, count: int) -> None:
    few = Filter(ITEMS, equals(ITEMS, "ik", 7))
    plan = compiled(joined(FACT, few, "fk", "ik", JoinType(type)), broadcast_bytes_max=0)
    assert len(filters(plan)) == count


def test_a_large_build_side_is_probed_where_that_lets_its_rows_stay() -> None:
    plan = compiled(joined(few_days(), ITEMS, "fk", "ik", JoinType.LEFT))
    ((_, takes),) = filters(plan)
    reader = next(i for i in plan.instances if i.fragment == takes)
    assert isinstance(reader.root.input, Join)  # type: ignore[attr-defined]
    assert reader.root.input.left == ITEMS  # type: ignore[attr-defined]
    result = next(i for i in plan.instances if i.output == plan.result)
    assert result.root.schema.names == ("fk", "fd", "value", "text", "dk", "year", "ik", "title")


def test_no_filter_where_most_rows_have_partners() -> None:
    assert filters(compiled(joined(FACT, ITEMS, "fk", "ik"), broadcast_bytes_max=0)) == []


def test_no_filter_goes_below_a_limit() -> None:
    few = Filter(ITEMS, equals(ITEMS, "ik", 7))
    plan = compiled(joined(Limit(FACT, 1_000_000), few, "fk", "ik"), broadcast_bytes_max=0)
    for instance in plan.instances:
        for node in instance.root.walk():
            assert not (isinstance(node, Limit) and isinstance(node.input, Join))


def test_one_host_has_no_filter_edges() -> None:
    plan = compile_dataflow(
        joined(few_days(), ITEMS, "fk", "ik"),
        HOSTS[:1],
        default_registry(),
        CompileOptions(statistics=statistics(ROWS)),
    )
    assert filters(plan) == []


def test_keys_of_groups_filter_below_the_aggregate() -> None:
    sums = grouped(FACT, ("fk",), measured(FACT, "sum", "value", "s"))
    few = Filter(ITEMS, equals(ITEMS, "ik", 7))
    plan = compiled(Join(sums, few, JoinType.INNER, (ref(sums, "fk"),), (ref(few, "ik"),)), broadcast_bytes_max=0)
    semis = [n for i in plan.instances for n in i.root.walk() if isinstance(n, Join) and n.type is JoinType.SEMI]
    assert [semi.left.schema.names for semi in semis] == [("fk", "value")] * len(HOSTS)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter wherever one is possible, whether it pays or not."""
    monkeypatch.setattr(filter_edges, "WORTH", 0.0)
    monkeypatch.setattr(filter_edges, "SAVED_MIN", -1.0)
    monkeypatch.setattr(filter_edges, "BUILT", 0.0)


def test_a_key_of_a_joins_right_side_filters_that() -> None:
    both = joined(FACT, DAYS, "fd", "dk")
    few = Filter(ITEMS, equals(ITEMS, "ik", 7))
    pair = Schema((*both.schema, *few.schema))
    other = bind("ne", (column(pair, 3), column(pair, 7)))  # of both sides: it stays above the inner join
    root = Join(both, few, JoinType.SEMI, (ref(both, "year"),), (ref(few, "ik"),), other)
    plan = compiled(root, broadcast_bytes_max=0)
    semis = [n for i in plan.instances for n in i.root.walk() if isinstance(n, Join) and n.type is JoinType.SEMI]
    assert DAYS in {semi.left for semi in semis}


@pytest.mark.usefixtures("eager")
def test_a_build_side_whose_keys_are_sent_stays_as_it_is(tmp_path: Path) -> None:
    """It would be filtered by the join above, after whose filter the one that it gave would be of other rows."""
    flows = []
    for name, rows in (("orders", 50), ("returns", 300), ("sales", 5_000)):
        parquet.write_table(pa.table({"k": [i % 97 for i in range(rows)]}), tmp_path / f"{name}.parquet")
        flows.append(read(tmp_path / f"{name}.parquet"))
    orders, returns, sales = flows
    root = orders.join(returns.join(sales, on="k", how="semi"), on="k", how="semi").root
    options = CompileOptions(statistics=estimate, parallelism=3)
    plan = compile_dataflow(root, HOSTS, default_registry(), options)
    assert filters(plan)
    oracle.assert_same(interpret(plan), root)


def kinds(plan: JobPlan) -> list[str]:
    return [edge.filter for edge in plan.edges if edge.filter]


def some_items(share: int) -> Operator:
    """Of a million items one in so many."""
    return Filter(ITEMS, equals(ITEMS, "title", "x")) if share == 20 else Filter(ITEMS, equals(ITEMS, "ik", 7))


def test_many_keys_travel_as_a_bloom_filter() -> None:
    plan = compiled(joined(FACT, some_items(20), "fk", "ik"), broadcast_bytes_max=0)
    assert kinds(plan) == ["bloom"]
    (edge,) = (e for e in plan.edges if e.filter)
    assert edge.ntf.schema.names == ("block", "word0", "word1", "word2", "word3")
    sender = next(i for i in plan.instances if i.filters)
    assert 500 < sender.filters[0].blocks < 1_500, "of 20 keys each"
    shown = explain_text(plan.explain)
    assert "Bloom filter edge k0: " in shown
    semi = next(n for i in plan.instances for n in i.root.walk() if isinstance(n, Join) and n.type is JoinType.SEMI)
    fragment = next(i.fragment for i in plan.instances if semi in i.root.walk())
    number = numbered(next(i.root for i in plan.instances if i.fragment == fragment)).index(semi)
    rows = plan.figures.operators[fragment, number].rows
    assert rows is not None
    assert 30_000 < rows < 100_000, "what is expected to pass is what the keys would let pass"


def test_few_keys_travel_as_they_are() -> None:
    assert kinds(compiled(joined(FACT, some_items(1_000_000), "fk", "ik"), broadcast_bytes_max=0)) == ["keys"]


def test_who_takes_no_bloom_filter_gets_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = default_registry().get("cpp").operators
    monkeypatch.setattr(type(operators), "travelling_filters", ("keys",))
    assert kinds(compiled(joined(FACT, some_items(20), "fk", "ik"), broadcast_bytes_max=0)) == ["keys"]


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("lists", [16e3, -1.0], ids=["keys", "bloom"])
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(12))
def test_every_filter_leaves_the_result_as_it_is(
    seed: int, lists: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_edges, "LIST_MAX", lists)
    root = Generator(seed + 500, tmp_path, ("parquet",)).dataflow(random.Random(seed).randint(3, 8))

    def sized(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        return Statistics(1000.0, 1e5)

    for broadcast in (0.0, 1e9):
        options = CompileOptions(statistics=sized, parallelism=3, broadcast_bytes_max=broadcast)
        oracle.assert_same(interpret(compile_dataflow(root, HOSTS, default_registry(), options)), root)
