"""Which joins of a plan may go to disk."""

from __future__ import annotations

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, numbered
from jumpgate.dataflow.types import int64
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle
from tests.support.plans import ref, statistics, table

A, B, C = (table(name, **{f"{name}k": int64, f"{name}v": int64}) for name in "abc")
#: b's rows are a hundred times as many as those of c
ROWS = statistics({"a": 1e8, "b": 1e6, "c": 1e4})


def join(left: Operator, right: Operator, type: JoinType = JoinType.INNER) -> Join:
    names = left.schema.names[0], right.schema.names[0]
    return Join(left, right, type, (ref(left, names[0]),), (ref(right, names[1]),))


def plan(root: Operator, limit_bytes: int, memory_bytes: int = 8 << 30, can: bool = True) -> JobPlan:
    host = Device("a", "host", 2, memory_bytes)
    options = CompileOptions(statistics=ROWS, memory_limit_bytes=limit_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoftwareLifecycle, "joins_on_disk", can)
        return compile_dataflow(root, (host,), default_registry(), options)


def builds(plan: JobPlan) -> list[str]:
    """The files that builds read which may go to disk."""
    found = []
    for i in plan.instances:
        nodes = numbered(i.root)
        for number in i.joins_on_disk:
            join = nodes[number]
            assert isinstance(join, Join)
            found.append(join.build.files[0] if hasattr(join.build, "files") else join.build.kind)
    return found


def test_the_largest_builds_go_to_disk_until_the_others_have_room() -> None:
    both = join(join(A, B), C)
    assert builds(plan(both, 1 << 40)) == []
    assert builds(plan(both, 32 << 20)) == ["/data/b.json"]
    assert sorted(builds(plan(both, 1 << 10))) == ["/data/b.json", "/data/c.json"]


def test_without_a_limit_the_host_s_memory_counts() -> None:
    assert builds(plan(join(A, B), 0)) == []
    assert builds(plan(join(A, B), 0, memory_bytes=32 << 20)) == ["/data/b.json"]
    assert builds(plan(join(A, B), 0, memory_bytes=0)) == [], "it is unknown"


def test_explain_names_them() -> None:
    lines = explain_text(plan(join(join(A, B), C), 32 << 20).explain).splitlines()
    (line,) = (line for line in lines if "may go to disk" in line)
    assert "join inner on #0:ak = #0:bk" in line
    assert "may go to disk" not in explain_text(plan(join(A, B), 1 << 40).explain)


def test_accelerators_without_joins_on_disk_are_not_asked_for_them() -> None:
    assert builds(plan(join(A, B), 1 << 10, can=False)) == []


@pytest.mark.parametrize("type", JoinType)
def test_joins_whose_right_rows_or_unknown_keys_matter_at_the_end_stay_in_memory(type: JoinType) -> None:
    stays = type.unmatched_right or type.marks
    assert bool(builds(plan(join(A, B, type), 1 << 10))) != stays
