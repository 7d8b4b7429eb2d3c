"""Which reads become one."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.share_scans import share_scans
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Filter, Operator, Project, Read, Send, UnionAll, numbered
from jumpgate.dataflow.types import Schema, float64, int64, string
from jumpgate.nca.registry import default_registry
from tests.support.plans import equals, host, ref

SCHEMA = Schema.of(a=int64, b=int64, c=string)


def read(*columns: str, format: str = "json", **changes: object) -> Read:
    positions = tuple(SCHEMA.names.index(c) for c in columns)
    return replace(Read(("/data/t",), format, SCHEMA, positions), **changes)  # type: ignore[arg-type]


def shared(*members: Operator) -> list[Operator]:
    """The members of a union after the pass; each gives its first column."""
    union = UnionAll(tuple(Project(m, (ref(m, m.schema.names[0]),), ("x",)) for m in members))
    plan = Plan(Send(union, ()), CompileOptions(), (host("a"),), default_registry(), Estimator(None))
    (found,) = (node for node in numbered(share_scans(plan).root) if isinstance(node, UnionAll))
    return [*found.members]


def reads(members: list[Operator]) -> list[Read]:
    return [*{id(n): n for m in members for n in numbered(m) if isinstance(n, Read)}.values()]


def test_reads_of_one_text_become_one_with_all_columns() -> None:
    one, two = members = shared(read("a"), read("c", "b"))
    (wide,) = reads(members)
    assert wide.schema.names == ("a", "b", "c")
    assert [n.schema[0].type for n in (one, two)] == [int64, string]


def test_conditions_stay_next_to_the_read_and_equal_ones_are_one() -> None:
    one, two, three = read("a", "b"), read("b", "c"), read("b")
    members = shared(*(Filter(r, equals(r, "b", v)) for r, v in ((one, 1), (two, 1), (three, 2))))
    filters = {id(n): n for m in members for n in numbered(m) if isinstance(n, Filter)}
    assert len(filters) == 2 and all(isinstance(f.input, Read) for f in filters.values())
    assert [f.predicate for f in filters.values()] == [equals(reads(members)[0], "b", v) for v in (1, 2)]


def test_zeros_of_either_sign_are_different_conditions() -> None:
    schema = Schema.of(f=float64)
    one, two = (Read(("/data/t",), "json", schema, (0,)) for _ in range(2))
    zeros = (Literal(float64.with_nullable(False), z) for z in (0.0, -0.0))
    members = shared(*(Filter(r, bind("gt", (ref(r, "f"), zero))) for r, zero in zip((one, two), zeros, strict=True)))
    assert len({id(n) for m in members for n in numbered(m) if isinstance(n, Filter)}) == 2


def test_the_hint_for_one_reader_does_not_reach_the_others() -> None:
    one = read("a")
    members = shared(Filter(replace(one, predicate=equals(one, "a", 1)), equals(one, "a", 1)), read("a"))
    assert [r.predicate for r in reads(members)] == [None]


def test_columnar_files_other_files_and_other_options_are_read_by_themselves() -> None:
    assert len(reads(shared(read("a", format="parquet"), read("b", format="parquet")))) == 2
    assert len(reads(shared(read("a"), read("b", files=("/data/u",))))) == 2
    assert len(reads(shared(read("a", format="csv"), read("b", format="csv", options=(("delimiter", "|"),))))) == 2


def test_rows_that_are_skipped_are_those_of_each_reader() -> None:
    skips = (("on_error", "skip"),)
    assert len(reads(shared(read("a", options=skips), read("b", options=skips)))) == 2


def test_partitions_are_left_to_each_reader() -> None:
    parts = (("partitions", "b"),)
    assert len(reads(shared(read("a", options=parts), read("c", options=parts)))) == 2
