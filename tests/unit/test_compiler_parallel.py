"""Several instances: what is exchanged where, and that results do not depend on it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.compiler.tree import pair_references
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Join,
    Limit,
    Operator,
    Partitioning,
    Project,
    Shuffle,
    Sort,
    SortKey,
    UnionAll,
)
from jumpgate.dataflow.types import int32, string
from jumpgate.errors import CannotPlace
from jumpgate.nca.interface import Answer, ColumnStatistics, Device, JobPlan, Match, Statistics
from jumpgate.nca.matching import each
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.ncas.cpp import CppPrograms
from jumpgate.ncas.fpga_join import FPGA_JOIN
from jumpgate.ncas.fpga_join.kind import FPGA
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import Generator
from jumpgate.testing.interpret import interpret
from tests.support.fakes import SWITCH, PartialNCA, PruningNCA
from tests.support.plans import grouped, host, joined, measured, ref, table

A = table("a", ak=int32, av=int32, at=string)
B = table("b", bk=int32, bv=int32)
HOSTS = (host("a"), host("b"))


def sized(rows: float):  # type: ignore[no-untyped-def]
    return lambda files, format, options: Statistics(rows, rows * 100)


def repeating(rows: float, distinct: float):  # type: ignore[no-untyped-def]
    """Tables of so many rows, columns of so many values."""
    known = ColumnStatistics(distinct)
    return lambda files, format, options: Statistics(rows, rows * 100, lambda name, type: known)


SMALL = CompileOptions(statistics=sized(100))
LARGE = CompileOptions(statistics=sized(1e9))


def compiled(root: Operator, options: CompileOptions = SMALL) -> JobPlan:
    return compile_dataflow(root, HOSTS, default_registry(), options)


def kinds(plan: JobPlan) -> list[str]:
    """The partitioning of each edge between instances."""
    return [e.partitioning.kind for e in plan.edges if e.id != plan.result]


def of_type(plan: JobPlan, type: type) -> list[Operator]:
    """All operators of a type, once for each fragment."""
    roots = {i.fragment: i.root for i in plan.instances}.values()
    return [n for root in roots for n in root.walk() if isinstance(n, type)]


def test_instances_lie_on_hosts_in_turn() -> None:
    plan = compiled(A, replace(SMALL, parallelism=3))
    assert [(i.device.name, i.index, i.count) for i in plan.instances] == [("a", 0, 3), ("b", 1, 3), ("a", 2, 3)]


def test_aggregates_have_two_phases() -> None:
    plan = compiled(grouped(A, ("ak",), measured(A, "avg", "av", "m")))
    assert sorted(a.phase for a in of_type(plan, Aggregate)) == ["final", "partial"]
    assert kinds(plan) == ["hash"]
    assert plan.edges[0].partitioning.keys == (0,)


def test_an_aggregate_without_keys_ends_at_one_instance() -> None:
    plan = compiled(grouped(A, (), measured(A, "avg", "av", "m")))
    assert kinds(plan) == ["single"]
    assert [i.count for i in plan.instances if i.output == plan.result] == [1]


def test_distinct_counts_shuffle_rows_by_the_keys() -> None:
    plan = compiled(grouped(A, ("ak",), measured(A, "count_distinct", "av", "m")))
    assert [a.phase for a in of_type(plan, Aggregate)] == ["full"]
    assert kinds(plan) == ["hash"]
    plan = compiled(grouped(A, (), measured(A, "count_distinct", "av", "m")))
    assert kinds(plan) == ["single"]


@pytest.mark.parametrize("keys", [(), ("ak",)])
def test_values_that_repeat_are_sent_once_to_be_counted(keys: tuple[str, ...]) -> None:
    few, many = (CompileOptions(statistics=repeating(1e6, distinct)) for distinct in (100, 9e5))
    counted = grouped(A, keys, measured(A, "count_distinct", "av", "m"), measured(A, "sum_distinct", "av", "s"))

    def steps(root: Operator, options: CompileOptions) -> int:
        plan = compiled(root, options)
        assert kinds(plan) == ["hash" if keys else "single"]
        return len(of_type(plan, Aggregate))

    assert steps(counted, few) == 2 and steps(counted, many) == 1
    mixed = replace(counted, measures=(*counted.measures, measured(A, "sum", "av", "x")))
    assert steps(mixed, few) == 1
    approximate = grouped(A, keys, measured(A, "approx_distinct", "at", "m"))
    assert steps(approximate, few) == 2 and steps(approximate, many) == 1
    enough = CompileOptions(statistics=repeating(1e9, 9e8))  # a group has few coupons
    assert steps(approximate, enough) == (1 if keys else 2)


def test_small_builds_are_broadcast_large_ones_partitioned() -> None:
    root = joined(A, B, "ak", "bk")
    assert kinds(compiled(root)) == ["broadcast"]
    assert kinds(compiled(root, LARGE)) == ["hash", "hash"]
    assert kinds(compiled(root, CompileOptions())) == ["hash", "hash"]


@pytest.mark.parametrize("type", ["right", "full"])
def test_builds_whose_rows_come_out_are_never_broadcast(type: str) -> None:
    assert kinds(compiled(joined(A, B, "ak", "bk", type))) == ["hash", "hash"]
    residual = bind("lt", (ref(A, "ak"), ref(A, "av")))
    assert kinds(compiled(Join(A, B, type, (), (), residual))) == ["single", "single"]


def test_null_rules_need_the_whole_build_side() -> None:
    assert kinds(compiled(joined(A, B, "ak", "bk", "mark"), LARGE)) == ["broadcast"]
    assert kinds(compiled(joined(A, B, "ak", "bk", "anti"), LARGE)) == ["hash", "hash"]  # as NOT EXISTS: without any


@pytest.mark.parametrize("type", ["semi", "anti", "mark"])
@pytest.mark.parametrize("bytes_max", [0, 1 << 40])
def test_what_rows_are_only_looked_up_in_is_sent_once(type: str, bytes_max: int) -> None:
    root = joined(Project(A, (ref(A, "av"),), ("x",)), Project(B, (ref(B, "bk"),), ("y",)), "x", "y", type)

    def once(distinct: float, root: Operator = root) -> bool:
        plan = compiled(root, CompileOptions(statistics=repeating(1000, distinct), broadcast_bytes_max=bytes_max))
        found = of_type(plan, Aggregate)
        assert [a.schema.names for a in found] in ([], [("y",)])
        return bool(found)

    assert once(100) and not once(900)
    residual = bind("lt", pair_references(root.left.schema, root.right.schema))
    assert not once(100, replace(root, residual=residual))
    assert not once(100, replace(root, type="inner"))
    assert not of_type(compiled(root, replace(LARGE, broadcast_bytes_max=bytes_max)), Aggregate), "nobody knows"


def test_rows_that_lie_right_do_not_move_again() -> None:
    join = joined(A, B, "ak", "bk")
    plan = compiled(grouped(join, ("ak",), measured(join, "sum", "bv", "s")), LARGE)
    assert kinds(plan) == ["hash", "hash"]
    assert [a.phase for a in of_type(plan, Aggregate)] == ["full"]


def test_groups_by_another_column_move_again() -> None:
    first = grouped(A, ("ak",), measured(A, "count_star", None, "n"))
    plan = compiled(grouped(first, ("n",), measured(first, "count_star", None, "m")))
    assert kinds(plan) == ["hash", "hash"]
    assert len(of_type(plan, Aggregate)) == 4


def test_computed_keys_travel_as_columns() -> None:
    key = bind("add", (ref(A, "ak"), ref(A, "av")))
    plan = compiled(
        Join(
            A,
            Project(B, (bind("add", (ref(B, "bk"), ref(B, "bv"))),), ("k",)),
            "left",
            (key,),
            (ref(table("x", k=int32), "k"),),
        ),
        LARGE,
    )
    (join,) = of_type(plan, Join)
    assert isinstance(join, Join)
    assert [str(k) for k in join.left_keys] == ["#3:key0"]
    result = next(i for i in plan.instances if i.output == plan.result)
    assert result.root.schema.names == ("ak", "av", "at", "k")


def test_top_n_is_cut_before_and_after_the_merge() -> None:
    plan = compiled(Sort(A, (SortKey(ref(A, "ak")),), 10, 5))
    assert sorted((s.limit, s.offset) for s in of_type(plan, Sort)) == [(10, 5), (15, 0)]
    assert kinds(plan) == ["single"]


def test_a_limit_is_cut_before_and_after_the_merge() -> None:
    assert sorted((n.count, n.offset) for n in of_type(compiled(Limit(A, 10, 5)), Limit)) == [(10, 5), (15, 0)]


def test_a_whole_sort_happens_at_one_instance() -> None:
    assert len(of_type(compiled(Sort(A, (SortKey(ref(A, "ak")),))), Sort)) == 1


def test_members_of_a_union_are_spread_alike() -> None:
    top = Sort(A, (SortKey(ref(A, "ak")),), 3)
    assert "round_robin" in kinds(compiled(UnionAll((A, top))))


def test_only_needed_columns_travel() -> None:
    plan = compiled(grouped(joined(A, B, "ak", "bk"), ("av",), measured(B, "count_star", None, "n")), LARGE)
    sent = {f.name for e in plan.edges for f in e.ntf.schema if e.id != plan.result}
    assert "at" not in sent
    assert "bv" not in sent


def test_a_shuffle_moves_rows_only_where_there_are_several_instances() -> None:
    root = Shuffle(A, Partitioning("hash", (0,), 2))
    assert kinds(compiled(root)) == ["hash"]
    one = compile_dataflow(root, HOSTS[:1], default_registry(), SMALL)
    assert len(one.instances) == 1
    assert not of_type(one, Shuffle)


# ---- results --------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "one": (HOSTS[:1], CompileOptions(statistics=sized(1000))),
    "broadcast": (HOSTS, CompileOptions(statistics=sized(1000))),
    "partitioned": (HOSTS, CompileOptions(statistics=sized(1000), parallelism=3, broadcast_bytes_max=0)),
    "unknown": (HOSTS, CompileOptions()),
    "repeating": (HOSTS, CompileOptions(statistics=repeating(1000, 3), parallelism=3, broadcast_bytes_max=0)),
}
FAKES = (PruningNCA(), PartialNCA())


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("seed", range(40))
def test_every_layout_gives_the_oracles_result(seed: int, tmp_path: Path) -> None:
    root = Generator(seed, tmp_path, ("parquet", "csv")).dataflow(random.Random(seed).randint(1, 6))
    for hosts, options in LAYOUTS.values():
        oracle.assert_same(interpret(compile_dataflow(root, hosts, default_registry(), options)), root)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("seed", range(20))
def test_partial_and_pruning_accelerators_are_completed(seed: int, tmp_path: Path) -> None:
    root = Generator(seed + 1000, tmp_path, ("parquet",)).dataflow(random.Random(seed).randint(1, 6))
    registry = Registry([*default_registry(), *FAKES])
    prefer = tuple(nca.name for nca in FAKES)
    for hosts, options in LAYOUTS.values():
        plan = compile_dataflow(root, (*hosts, SWITCH), registry, replace(options, prefer=prefer))
        oracle.assert_same(interpret(plan), root)


def test_a_partial_match_gets_its_final_phase() -> None:
    root = grouped(A, ("ak",), measured(A, "avg", "av", "m"))
    registry = Registry([*default_registry(), *FAKES])
    plan = compile_dataflow(root, (HOSTS[0], SWITCH), registry, replace(SMALL, prefer=("fake_partial",)))
    assert [i.nca for i in plan.instances] == ["cpp", "fake_partial", "cpp"]
    assert [a.phase for a in of_type(plan, Aggregate)] == ["partial", "final"]
    assert [i.device.name for i in plan.instances] == ["a", "tor1", "a"]


def test_a_pruning_match_is_followed_by_what_it_pruned_for() -> None:
    root = Sort(A, (SortKey(ref(A, "ak")),), 3)
    registry = Registry([*default_registry(), *FAKES])
    plan = compile_dataflow(root, (HOSTS[0], SWITCH), registry, replace(SMALL, prefer=("fake_prune",)))
    assert [i.nca for i in plan.instances] == ["cpp", "fake_prune", "cpp"]
    assert [i.root.inputs[0].kind for i in plan.instances] == ["read", "prune", "sort"]
    assert plan.edges[1].ntf.schema == A.schema


class Fused(CppPrograms):
    """Generated programs of a domain of their own that take no operator for which `refuses` is true."""

    name = "fused"

    def __init__(self, refuses: Callable[[Operator], bool]) -> None:
        self._refuses = refuses
        self.asked: list[Operator] = []

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        self.asked.append(node)
        found = each(super().match_operations(node, device, dialect))
        return tuple(
            replace(a, nca=self.name, fusion=self.name)
            for a in found
            if isinstance(a, Match) and not any(map(self._refuses, a.operators))
        )


def fused(root: Operator, refuses: Callable[[Operator], bool], hosts: str = "a") -> JobPlan:
    options = CompileOptions(statistics=repeating(1e6, 10), parallelism=2)
    return compile_dataflow(root, tuple(map(host, hosts)), Registry([Fused(refuses)]), options)


def is_phase(node: Operator) -> bool:
    return isinstance(node, Aggregate) and node.phase != "full"


@pytest.mark.parametrize("hosts", ["a", "ab"])
@pytest.mark.parametrize("keys", [(), ("ak",)])
def test_who_refuses_phases_is_given_none(keys: tuple[str, ...], hosts: str) -> None:
    """Each group is then made of all its rows, on one instance."""
    root = grouped(A, keys, measured(A, "count", "av", "n"))
    split = fused(root, lambda node: False, hosts)
    assert sorted(a.phase for a in of_type(split, Aggregate)) == ["final", "partial"]
    whole = fused(root, is_phase, hosts)
    assert [a.phase for a in of_type(whole, Aggregate)] == ["full"]
    assert kinds(whole) == (["hash"] if keys else ["single"])
    for plan in (split, whole):
        assert {instance.device.name for instance in plan.instances} == set(hosts)


def test_who_cannot_share_rows_is_one_instance() -> None:
    root = grouped(A, ("ak",), measured(A, "count", "av", "n"))
    plan = fused(root, lambda node: isinstance(node, Shuffle))
    assert len(plan.instances) == 1 and not kinds(plan)


def test_who_refuses_a_local_top_n_is_given_all_rows() -> None:
    root = Sort(A, (SortKey(ref(A, "av")),), limit=5, offset=2)
    cut = fused(root, lambda node: False)
    assert sorted(s.limit or 0 for s in of_type(cut, Sort)) == [5, 7]
    whole = fused(root, lambda node: isinstance(node, Sort) and not node.offset)
    assert [s.limit for s in of_type(whole, Sort)] == [5]


def test_who_computes_no_keys_joins_on_one_instance() -> None:
    key = bind("add", (ref(A, "ak"), ref(A, "av")))
    root = Join(A, B, JoinType.INNER, (key,), (bind("add", (ref(B, "bk"), ref(B, "bv"))),))
    options = replace(LARGE, parallelism=2)

    def plan(refuses: Callable[[Operator], bool]) -> JobPlan:
        return compile_dataflow(root, (host("a"),), Registry([Fused(refuses)]), options)

    assert kinds(plan(lambda node: False)) == ["hash", "hash"]
    assert kinds(plan(lambda node: isinstance(node, Project))) == ["single", "single"]


@pytest.mark.parametrize(("channels", "used"), [(("tcp", "udp"), True), (("tcp",), False), ((), False)])
def test_who_computes_no_wires_is_no_neighbour_of_a_card(channels: tuple[str, ...], used: bool) -> None:
    """A host's accelerator is asked: that its matches become one instance says nothing of a card's packets."""
    nca = Fused(lambda node: False)
    nca.wire_channels = channels
    left, right = table("a", ak=int32, av=int32), table("b", bk=int32, bv=int32)
    root = Join(left, right, JoinType.INNER, (ref(left, "ak"),), (ref(right, "bk"),))
    options = replace(SMALL, prefer=("fpga_join",))
    plan = compile_dataflow(root, (host("a"), FPGA.device("card")), Registry([nca, FPGA_JOIN]), options)
    assert ("fpga_join" in {i.nca for i in plan.instances}) is used
    refused = [r["answer"] for r in plan.explain["refused"]]
    assert any("fused does not send over" in answer for answer in refused) is not used


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kinds", [(Aggregate, Sort, Limit), (Shuffle,), (Project,)])
def test_answers_do_not_depend_on_what_is_refused(kinds: tuple[type, ...], seed: int, tmp_path: Path) -> None:
    """Of aggregates phases are refused, and of what gives the first rows that without an offset; but no operator of
    the request."""
    root = Generator(seed + 2000, tmp_path, ("parquet",)).dataflow(random.Random(seed).randint(2, 6))
    asked = Fused(lambda node: False)
    options = CompileOptions(statistics=repeating(1000, 3), parallelism=1)
    compile_dataflow(root, (host("a"),), Registry([asked]), options)
    known = {id(n) for n in asked.asked}
    plans = []

    def refuses(node: Operator) -> bool:
        return isinstance(node, kinds) and id(node) not in known

    taking = Fused(lambda node: False)
    for nca in (taking, Fused(refuses)):
        try:
            plans.append(compile_dataflow(root, HOSTS, Registry([nca]), replace(options, parallelism=3)))
        except CannotPlace:  # what the compiler made before it asked, such as an order of joins
            continue
    for plan in plans:
        oracle.assert_same(interpret(plan), root)
