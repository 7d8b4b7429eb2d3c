"""The shape of whole plans: golden explain texts, sharing, stages, errors, options."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from jumpgate.compiler.compile import PASSES, compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Emit,
    Filter,
    Join,
    Limit,
    Operator,
    Read,
    Receive,
    Send,
)
from jumpgate.dataflow.types import int32, int64, string
from jumpgate.errors import CannotPlace, ConfigError, InternalError, InvalidDataflow
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import Registry, default_registry
from tests.support.fakes import SWITCH, Lacking, PruningNCA, RefusingNCA
from tests.support.plans import ROWS, equals, grouped, host, joined, query3, query65, ref, statistics, table

KNOWN = CompileOptions(statistics=statistics(ROWS), endpoints=("127.0.0.1:7000",))
ONE = (host("a"),)
TWO = (host("a"), host("b"))


def compiled(root: Operator, hosts: tuple = ONE, options: CompileOptions = KNOWN) -> JobPlan:
    return compile_dataflow(root, hosts, default_registry(), options)


@pytest.mark.parametrize("query", [query3, query65])
def test_one_host_runs_one_fragment(query: Callable[[], Operator], golden: Callable[[str, str], None]) -> None:
    plan = compiled(query())
    assert [i.id for i in plan.instances] == ["f0.0"]
    assert [e.id for e in plan.edges] == [plan.result]
    assert isinstance(plan.instances[0].root, Emit)
    golden(f"explain/{query.__name__}_one_host.txt", explain_text(plan.explain))


@pytest.mark.parametrize("query", [query3, query65])
def test_two_hosts(query: Callable[[], Operator], golden: Callable[[str, str], None]) -> None:
    plan = compiled(query(), TWO)
    assert {i.device for i in plan.instances} == set(TWO)
    golden(f"explain/{query.__name__}_two_hosts.txt", explain_text(plan.explain))


def test_every_pass_is_shown(golden: Callable[[str, str], None]) -> None:
    plan = compiled(query3(), ONE, replace(KNOWN, trace=True))
    assert [p["pass"] for p in plan.explain["passes"]] == [p.__name__ for p in PASSES]
    golden("explain/query3_passes.txt", explain_text(plan.explain, verbose=True))


def test_explain_is_json() -> None:
    data = json.loads(json.dumps(compiled(query65(), TWO).explain))
    assert data["stages"] == 3
    assert data["cost"]["seconds"] > 0


def test_equal_requests_give_equal_plans() -> None:
    assert compiled(query65(), TWO) == compiled(query65(), TWO)


def test_what_is_used_twice_stays_one_node() -> None:
    root = compiled(query65()).instances[0].root
    by_item = ("ss_store_sk", "ss_item_sk")
    assert len({id(n) for n in root.walk() if isinstance(n, Aggregate) and n.key_names == by_item}) == 1
    assert len({id(n) for n in root.walk() if isinstance(n, Read) and "store_sales" in n.files[0]}) == 1


def test_filters_reach_the_inputs_of_joins_that_were_outer_ones() -> None:
    left, right = table("l", lk=int32), table("r", rk=int32, rv=int32)
    node = joined(left, right, "lk", "rk", JoinType.LEFT)
    (reads,) = [
        [n.predicate for n in i.root.walk() if isinstance(n, Read)]
        for i in compiled(Filter(node, equals(node, "rv", 1))).instances
    ]
    assert reads == [None, equals(right, "rv", 1)], "what is pushed below the join is the reader's hint"


def test_columns_that_nobody_needs_are_not_read() -> None:
    root = compiled(query3()).instances[0].root
    (sales,) = (n for n in root.walk() if isinstance(n, Read) and "sales" in n.files[0])
    assert sales.schema.names == ("ss_sold_date_sk", "ss_item_sk", "ss_ext_sales_price")


def test_stages_count_nested_builds() -> None:
    a, b, c = (table(n, **{f"{n}k": int32}) for n in "abc")
    inner = joined(b, c, "bk", "ck")
    chain = joined(joined(a, b, "ak", "bk", "semi"), c, "ak", "ck", "semi")
    assert compiled(joined(a, inner, "ak", "bk", "semi")).stages == 3
    assert compiled(chain).stages == 2
    assert compiled(a).stages == 1


def test_producers_run_in_the_stage_that_reads_them() -> None:
    plan = compiled(query65(), TWO)
    for edge in plan.edges:
        if edge.id == plan.result:
            continue
        producers = [i for i in plan.instances if i.id in edge.producers]
        consumers = [i for i in plan.instances if i.id in edge.consumers]
        read_in = {i.input_stages[i.inputs.index(edge.id)] for i in consumers}
        assert read_in == {p.stage for p in producers}
        assert {e.root.partitioning.count for e in producers} == {len(consumers)}
    final = next(i for i in plan.instances if i.output == plan.result)
    assert final.stage == plan.stages


def test_every_receive_has_its_edge() -> None:
    plan = compiled(query65(), TWO)
    for instance in plan.instances:
        received = {n.edge for n in instance.root.walk() if isinstance(n, Receive)}
        assert received == set(instance.inputs)
        for edge in received:
            assert plan.edge(edge).ntf.layout == "columnar"


def test_threads_share_the_cores() -> None:
    plan = compiled(query3(), (host("a", 8),), replace(KNOWN, parallelism=4))
    assert {i.threads for i in plan.instances} == {2}
    assert {i.threads for i in compiled(query3(), (host("a", 8),)).instances} == {8}
    assert {i.threads for i in compiled(query3(), options=replace(KNOWN, threads=3)).instances} == {3}


def test_send_decides_endpoints_and_layout() -> None:
    send = Send(table("a", k=int32), ("10.0.0.1:1", "10.0.0.2:1"), layout="row")
    plan = compiled(send)
    edge = plan.edge(plan.result)
    assert edge.endpoints == send.endpoints
    assert edge.ntf.layout == "row"
    assert edge.partitioning.count == 2


def test_the_dialect_reaches_the_instances() -> None:
    plan = compiled(query3(), options=replace(KNOWN, dialect=Dialect(division_by_zero="null")))
    assert plan.instances[0].dialect.division_by_zero == "null"


def test_no_device() -> None:
    with pytest.raises(ConfigError, match="there is no device to run on: add a host"):
        compiled(query3(), ())


def test_no_device_is_left() -> None:
    with pytest.raises(CannotPlace, match="no device is left to run on .a: it was full, or failed, before; planned wi"):
        compiled(query3(), (host("a"),), options=replace(KNOWN, without=("a",)))


def test_all_that_cannot_be_placed_is_named_at_once() -> None:
    a, b = table("a", ak=int32, s=string), table("b", "orc", bk=int32)
    root = Limit(joined(a, b, "ak", "bk"), 5)
    registry = Registry([Lacking(Join, Limit)])
    with pytest.raises(CannotPlace) as caught:
        compile_dataflow(root, ONE, registry, CompileOptions())
    assert str(caught.value).splitlines() == [
        "cannot place join(a.json, b.orc): no accelerator (cpp) offers join. "
        "Add an accelerator that does, or leave this operator to the client.",
        "cannot place limit(a.json): no accelerator (cpp) offers limit. "
        "Add an accelerator that does, or leave this operator to the client.",
    ]


def test_what_each_nca_answered_is_named() -> None:
    root = joined(table("a", ak=int64), table("b", bk=int64), "ak", "bk")
    registry = Registry([Lacking(Join), RefusingNCA()])
    said = "'fake_refusal' on tor1: join key is 64 bits wide; this switch's registers hold 32. Add a software host."
    with pytest.raises(CannotPlace, match=rf"cannot place join\(a.json, b.json\): {said}"):
        compile_dataflow(root, (host("a"), SWITCH), registry, CompileOptions())


def test_refusals_reach_explain() -> None:
    registry = Registry([*default_registry(), RefusingNCA()])
    plan = compile_dataflow(query3(), (host("a"), SWITCH), registry, KNOWN)
    assert any("registers hold 32" in r["answer"] for r in plan.explain["refused"])
    assert "registers hold 32" in explain_text(plan.explain)


def test_limits_of_a_device_are_hard() -> None:
    node = table("a", k=int32)
    registry = Registry([*default_registry(), PruningNCA(limits=(("stages", 14.0),))])
    options = CompileOptions(prefer=("fake_prune",))
    plan = compile_dataflow(Filter(node, equals(node, "k", 1)), (host("a"), SWITCH), registry, options)
    assert [i.device.kind for i in plan.instances] == ["host"]
    assert "'fake_prune' on tor1: needs stages 14, 'tor1' has 12" in explain_text(plan.explain)


def test_a_wrong_match_is_refused_and_said_so() -> None:
    class Liar(PruningNCA):
        def answer(self, node: Operator):  # type: ignore[no-untyped-def]
            found = super().answer(node)
            return found and replace(found, schema=table("x", wrong=string).schema)

    node = table("a", k=int32)
    plan = compile_dataflow(
        Filter(node, equals(node, "k", 1)),
        (host("a"), SWITCH),
        Registry([*default_registry(), Liar()]),
        CompileOptions(prefer=("fake_prune",)),
    )
    assert "its match would emit (wrong: string?), (k: int32?) is needed" in explain_text(plan.explain)


def test_a_wrong_request_is_our_mistake_past_the_builder() -> None:
    a, b = table("a", ak=int32), table("b", bk=int64)
    wrong = Join(a, b, "inner", (ref(a, "ak"),), (ref(b, "bk"),))
    with pytest.raises(InternalError, match="the request left a wrong plan: join: key .* is int32"):
        compiled(wrong)


def test_losing_candidates_say_why() -> None:
    node = table("store_sales", k=int32)
    root = grouped(Filter(node, equals(node, "k", 1)), ("k",))
    plan = compile_dataflow(root, (host("a"), SWITCH), Registry([*default_registry(), PruningNCA()]), KNOWN)
    assert plan.explain["lost"]
    assert all("is estimated at" in lost["why"] for lost in plan.explain["lost"])
    registry = Registry([*default_registry(), PruningNCA()])
    unknown = compile_dataflow(root, (host("a"), SWITCH), registry, CompileOptions())
    assert all("fragments, the chosen one 1" in lost["why"] for lost in unknown.explain["lost"])


def test_an_edge_of_too_many_columns_for_its_handshake_is_refused() -> None:
    wide = table("wide", **{f"{'c' * 500}{i}": int64 for i in range(2100)})
    with pytest.raises(InvalidDataflow, match=r"an edge of 2100 columns .* select fewer columns"):
        compiled(wide)
