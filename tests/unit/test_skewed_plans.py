"""Keys that too many rows have: which are dealt out on their way to a join, and that results do not depend on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.converters import statistics
from jumpgate.converters.samples import statistics_of
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Read
from jumpgate.dataflow.types import DataType, Schema, date, int32, int64, string
from jumpgate.nca.interface import ColumnStatistics, JobPlan, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.testing import oracle
from jumpgate.testing.interpret import interpret
from tests.support.plans import grouped, host, joined, measured, ref, table

A = table("a", ak=int32, av=int32)
B = table("b", bk=int32, bv=int32)
HOSTS = tuple(host(name) for name in "abcd")


def print_of(value: object, type: DataType = int32) -> int:
    return fingerprint((value,), (type,))  # type: ignore[arg-type]


def known(**heavy: float):  # type: ignore[no-untyped-def]
    """Statistics of large files, of which column ak has values (by name `k7`) in such shares of its rows."""
    values = tuple((print_of(int(name[1:])), share) for name, share in heavy.items())

    def column(name: str, type: DataType) -> ColumnStatistics:
        return ColumnStatistics(distinct=1e6, heavy=values if name == "ak" else ())

    return lambda files, format, options: Statistics(1e9, 1e11, column)


def compiled(root: Operator, **heavy: float) -> JobPlan:
    return compile_dataflow(root, HOSTS, default_registry(), CompileOptions(statistics=known(**heavy)))


def shuffles(plan: JobPlan) -> list[tuple[tuple[int, ...], bool]]:
    return [(e.partitioning.heavy, e.partitioning.copied) for e in plan.edges if e.partitioning.kind == "hash"]


def test_heavy_keys_of_the_probe_side_are_dealt_out_and_their_build_rows_copied() -> None:
    plan = compiled(joined(A, B, "ak", "bk"), k7=0.4, k8=0.07, k9=0.01)
    keys = print_of(7), print_of(8)  # of a quarter of the rows each: 0.01 is a twenty-fifth of that
    assert sorted(shuffles(plan)) == sorted([(keys, False), (keys, True)])
    assert "2 heavy keys in turn" in explain_text(plan.explain) and "2 heavy keys to all" in explain_text(plan.explain)


@pytest.mark.parametrize("type", ["right", "full"])
def test_not_where_build_rows_must_know_whether_they_matched(type: str) -> None:
    assert all(heavy == () for heavy, _ in shuffles(compiled(joined(A, B, "ak", "bk", JoinType(type)), k7=0.4)))


def test_not_by_several_keys_nor_without_skew() -> None:
    both = Join(A, B, JoinType.INNER, (ref(A, "ak"), ref(A, "av")), (ref(B, "bk"), ref(B, "bv")))
    assert {heavy for heavy, _ in shuffles(compiled(both, k7=0.4))} == {()}
    assert {heavy for heavy, _ in shuffles(compiled(joined(A, B, "ak", "bk"), k7=0.05))} == {()}


def test_groups_by_a_key_that_was_dealt_out_are_put_together() -> None:
    join = joined(A, B, "ak", "bk")
    root = grouped(join, ("ak",), measured(join, "sum", "bv", "s"))

    def phases(plan: JobPlan) -> set[str]:
        roots = {i.fragment: i.root for i in plan.instances}.values()
        return {node.phase for tree in roots for node in tree.walk() if isinstance(node, Aggregate)}

    assert phases(compiled(root)) == {"full"}  # where the rows lie already
    assert phases(compiled(root, k7=0.4)) == {"partial", "final"}


def test_groups_send_partial_results_of_a_heavy_key_and_no_rows() -> None:
    """So an aggregate needs no splitting: each instance sends one row for the key, however many it has."""
    plan = compiled(grouped(A, ("ak",), measured(A, "sum", "av", "s")), k7=0.9)
    roots = {i.fragment: i.root for i in plan.instances}
    (edge,) = (e for e in plan.edges if e.partitioning.kind == "hash")
    assert edge.partitioning.heavy == ()
    sender = next(root for root in roots.values() if root.edge == edge.id)  # type: ignore[attr-defined]
    assert isinstance(sender.inputs[0], Aggregate) and sender.inputs[0].phase == "partial"


@pytest.mark.parametrize("type", [t.value for t in JoinType])
def test_joins_of_skewed_rows_give_the_oracles_result(type: str, tmp_path: Path) -> None:
    def written(name: str, keys: list[int | None], value: str) -> Read:
        file = tmp_path / f"{name}.json"
        file.write_text("".join(json.dumps({name: k, value: i}) + "\n" for i, k in enumerate(keys)))
        return Read((str(file),), "json", Schema.of(**{name: int64, value: int32}), (0, 1))

    probe: list[int | None] = [(7, None, 7, i % 13, 8)[i % 5] for i in range(200)]
    left, right = written("ak", probe, "av"), written("bk", [*range(10), 7, 7, None, 8, 40], "bv")
    root = joined(left, right, "ak", "bk", JoinType(type))
    options = CompileOptions(statistics=statistics.estimate, parallelism=3, broadcast_bytes_max=0)
    plan = compile_dataflow(root, HOSTS[:2], default_registry(), options)
    is_split = any(heavy for heavy, _ in shuffles(plan))
    assert is_split == (type in ("inner", "left", "semi", "anti")), shuffles(plan)
    oracle.assert_same(interpret(plan), root)
    none = compile_dataflow(root, HOSTS[:1], default_registry(), replace(options, parallelism=1))
    assert shuffles(none) == []


def test_values_that_many_rows_have_are_found() -> None:
    values = [(5, None, i + 1000)[i % 3] for i in range(900)]
    assert statistics_of(values, int32, 1e6).heavy == ((print_of(5), 1 / 3), (print_of(None), 1 / 3))
    assert statistics_of([f"{i % 2 * i}" for i in range(900)], string, 1e6).heavy == ((print_of("0", string), 0.5),)
    assert statistics_of(sorted(i % 10 for i in range(900)), int32, 1e6).heavy == (), "they lie together"
    assert statistics_of([*range(900)], int32, 1e6).heavy == ()
    assert statistics_of(["2024-01-01", "2024-01-02"] * 400, date, 1e6).heavy == (), "of integers and texts alone"
