"""Joins whose keys go to the store as lists or Bloom filters: answers are DuckDB's, and rows without partners stay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, count
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping import filter_edges
from jumpgate.ncas.s3_select import keys, worker
from tests.support.select_double import SelectDouble
from tests.support.select_lab import SelectLab, lab

ROWS = 8_000
#: keys that are hard to compute with, besides NULL
ODD = [None, 0, -1, 2**53, -(2**53), 2**53 + 1, 2**63 - 1, -(2**63), keys.PRIME, -keys.PRIME, 3 * keys.PRIME + 5]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), lake="aws", brook="filters") as found:
        yield found


@pytest.fixture(autouse=True)
def double(objects: SelectLab, monkeypatch: pytest.MonkeyPatch) -> Iterator[SelectDouble]:
    """The double in hadro's place, and a filter wherever one is possible, whether it pays or not."""
    monkeypatch.setattr(filter_edges, "WORTH", -1e9)
    monkeypatch.setattr(filter_edges, "SAVED_MIN", -1e9)
    objects.store.select = found = SelectDouble()
    yield found
    objects.store.select = None
    objects.store.requests.clear()


@pytest.fixture(scope="module")
def facts(objects: SelectLab) -> dict[str, Dataflow]:
    chance = random.Random(1)
    found = {
        "k": pa.array([ODD[i % 97] if i % 97 < len(ODD) else i % 4000 - 2000 for i in range(ROWS)], pa.int64()),
        "small": pa.array([i % 120 - 60 for i in range(ROWS)], pa.int8()),
        "s": pa.array([None if i % 50 == 0 else f"o'{i % 300}" for i in range(ROWS)]),
        "v": pa.array([chance.randrange(1000) for _ in range(ROWS)], pa.int32()),
    }
    return {bucket: objects.table(bucket, "facts", pa.table(found)) for bucket in ("lake", "brook")}


def keys_of(objects: SelectLab, bucket: str, name: str, values: list[Any], type: pa.DataType) -> Dataflow:
    rows = {"d": pa.array(values, type), "w": pa.array(range(len(values)), pa.int64())}
    return objects.table(bucket, name, pa.table(rows), files=1)


BUILDS = {
    "a few keys": [*range(-5, 5), 5, 5],
    "odd keys": [*ODD, None, 7, 7],
    "one": [2**63 - 1],
    "no key": [],
    "NULL alone": [None, None],
    "many keys": [*range(-1500, 500), *ODD],
    "keys that none has": [10**6 + i for i in range(500)],
}


@pytest.mark.parametrize("bucket", ["lake", "brook"])
@pytest.mark.parametrize("build", BUILDS)
def test_answers_are_duckdbs(objects: SelectLab, facts: dict[str, Dataflow], bucket: str, build: str) -> None:
    few = keys_of(objects, bucket, build.replace(" ", "_"), BUILDS[build], pa.int64())
    flow = facts[bucket].filter(col("v") < 900).join(few, left_on="k", right_on="d")
    plan = objects.plan(flow)
    assert any(edge.filter for edge in plan.edges), explain_text(plan.explain)
    objects.check(flow, plan)


def joined(objects: SelectLab, facts: Dataflow, name: str, values: list[Any], on: str = "k") -> Dataflow:
    """Facts beside those of the keys that are there."""
    type = pa.string() if on == "s" else pa.int64()
    return facts.join(keys_of(objects, "lake", name, values, type), left_on=on, right_on="d")


def test_rows_without_partners_stay_in_the_store(
    objects: SelectLab, facts: dict[str, Dataflow], double: SelectDouble
) -> None:
    flow = joined(objects, facts["lake"], "stay", [*range(0, 4000, 5)])
    plan = objects.plan(flow)
    found = objects.check(flow, plan)
    assert len(found) < double.rows < 1.1 * len(found)  # with 1 of 128 others
    assert sum("SUBSTRING('" in statement for statement in double.statements) == 2
    assert "keys of a join as Bloom filters that 1 in 128 other keys pass, 1 × an object" in explain_text(plan.explain)


def test_a_text_of_many_keys_takes_several_requests_then_fewer_hashes(
    objects: SelectLab, facts: dict[str, Dataflow], double: SelectDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = joined(objects, facts["lake"], "several", [*range(-2000, 1000, 2), *ODD])
    plan = objects.plan(flow)
    for room, hashes in ((12 << 10, 7), (3 << 10, 4), (1 << 10, 1)):
        double.statements.clear()
        monkeypatch.setattr(worker, "EXPRESSION_MAX", room)
        objects.check(flow, plan)
        asked = [s for s in double.statements if "SUBSTRING" in s]
        assert 2 < len(asked) <= 2 * keys.REQUESTS_MAX and max(map(len, asked)) <= room
        assert {s.count("SUBSTRING") for s in asked} == {hashes}
    monkeypatch.setattr(worker, "EXPRESSION_MAX", 600)
    double.statements.clear()
    objects.check(flow, plan)
    assert not any("SUBSTRING" in s for s in double.statements)  # given up


@pytest.mark.parametrize("most", [keys.KEYS_MAX, 100])
def test_several_instances_send_keys(
    objects: SelectLab, facts: dict[str, Dataflow], monkeypatch: pytest.MonkeyPatch, double: SelectDouble, most: int
) -> None:
    monkeypatch.setattr(worker, "KEYS_MAX", most)
    flow = joined(objects, facts["lake"], f"spread{most}", [*range(-700, 700, 3), *ODD])
    plan = objects.plan(flow, parallelism=3, broadcast_bytes_max=0)
    (edge,) = (edge for edge in plan.edges if edge.filter)
    assert len(edge.producers) == 3
    objects.check(flow, plan)
    assert any("SUBSTRING" in s for s in double.statements) == (most > 1000)


def test_more_keys_than_expressions_hold_are_given_up() -> None:
    room = 256 << 10
    assert keys.shape_of(5e5, False, True, room) == keys.Shape(3, 1) and keys.shape_of(1e6, False, True, room) is None
    assert keys.shape_of(2e4, False, False, room) == keys.Shape(1, 0) and keys.shape_of(2e5, False, False, room) is None
    assert keys.shape_of(2e4, True, True, room) is None


def test_text_and_two_keys(objects: SelectLab, facts: dict[str, Dataflow], double: SelectDouble) -> None:
    flow = joined(objects, facts["lake"], "texts", ["o'3", None, "o'7", "", "none"], on="s")
    objects.check(flow, objects.plan(flow, link=None))  # footers do not tell how many texts there are
    assert sum("IN ('', 'none', 'o''3', 'o''7')" in s for s in double.statements) == 2
    rows = pa.table({"a": pa.array([1, 2, None, 3], pa.int8()), "b": ["o'1", "o'2", "o'3", None]})
    both = objects.table("lake", "both", rows, files=1)
    objects.check(facts["lake"].join(both, left_on=["small", "s"], right_on=["a", "b"]))
    assert any("IN (1, 2, 3)" in s and "IN ('o''1'" in s for s in double.statements)


def test_two_joins_prune_one_scan(objects: SelectLab, double: SelectDouble) -> None:
    numbers = {"k": pa.array(range(ROWS), pa.int64()), "small": pa.array([i % 120 for i in range(ROWS)], pa.int64())}
    plain = objects.table("lake", "plain", pa.table(numbers))
    first = joined(objects, plain, "first", [*range(0, 5000, 7)])
    second = keys_of(objects, "lake", "second", [1, 2, 3, None], pa.int64()).select(e=col("d"))
    flow = first.join(second, left_on="small", right_on="e")
    plan = objects.plan(flow, link=None)
    assert sum(bool(edge.filter) for edge in plan.edges) == 2, explain_text(plan.explain)
    objects.check(flow, plan)
    assert sum("SUBSTRING" in s and "IN (1, 2, 3)" in s for s in double.statements) == 2


def test_aggregates_of_the_store_take_no_keys(objects: SelectLab, facts: dict[str, Dataflow]) -> None:
    sums = facts["lake"].aggregate(by=["small"], n=count())
    flow = sums.join(keys_of(objects, "lake", "groups", [1, 2, None], pa.int64()), left_on="small", right_on="d")
    plan = objects.plan(flow)
    assert any("aggregate" in i.operators and i.nca == "s3_select" for i in plan.instances)
    assert not any(edge.filter for edge in plan.edges)
    objects.check(flow, plan)


@pytest.mark.parametrize("how", ["semi", "right", "left", "anti"])
def test_join_types(objects: SelectLab, facts: dict[str, Dataflow], how: str) -> None:
    build = keys_of(objects, "lake", how, [1, 2, 2, None, 10**9], pa.int64())
    flow = facts["lake"].join(build, left_on="k", right_on="d", how=how)
    plan = objects.plan(flow)
    assert any(edge.filter for edge in plan.edges) == (how in ("semi", "right"))
    objects.check(flow, plan)


@pytest.mark.parametrize("kind", ["busy", "refused"])
def test_a_store_that_does_not_compute_is_read_by_ranges(
    objects: SelectLab, facts: dict[str, Dataflow], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "EXPRESSION_MAX", 12 << 10)  # rows of several requests are those of none twice
    flow = joined(objects, facts["lake"], kind, [*range(-2000, 1000, 2)])
    objects.store.before = lambda number: kind if objects.store.requests[-1][0] == "POST" else ""
    objects.check(flow)
    objects.store.before = lambda number: ""
