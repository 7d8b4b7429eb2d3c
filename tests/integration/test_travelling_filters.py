"""Joins over several hosts send the keys of their build side to who reads the other one: the answers stay the same, and
rows without partners do not travel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import Dataflow, col, count, sum_
from jumpgate.client.session import Session
from jumpgate.compiler.mapping import filter_edges
from jumpgate.testing.lab import Lab

ROWS = 20_000


@pytest.fixture
def spread(four_hosts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Two instances of each operator, and a filter wherever one is possible, whether it pays or not."""
    monkeypatch.setattr(filter_edges, "WORTH", 0.0)
    monkeypatch.setattr(filter_edges, "SAVED_MIN", -1.0)
    monkeypatch.setattr(filter_edges, "BUILT", 0.0)
    with Session(four_hosts, parallelism=2) as session:
        yield Lab(session, tmp_path)


def many(lab: Lab, type: str = "int64", key: Any = lambda i: i) -> Dataflow:
    """Rows of which some have no key."""
    return lab.table({"k": type, "a": "int64"}, [(None if i % 97 == 0 else key(i), i) for i in range(ROWS)], files=2)


def few(lab: Lab, type: str = "int64", key: Any = lambda i: i) -> Dataflow:
    """Keys in and out of range, one of them twice, and none."""
    keys = [*map(key, (3, 5, 5, 9_000, ROWS + 7)), None]
    return lab.table({"k2": type, "b": "int64"}, [(k, i) for i, k in enumerate(keys)])


def travelled(lab: Lab, flow: Dataflow) -> tuple[int, int]:
    """Rows that instances sent each other, and keys on filter edges; the answer is DuckDB's."""
    lab.check(flow)
    record = lab.session.describe(lab.session.jobs()[0].id).record
    assert record is not None
    rows: Counter[str] = Counter()
    for counters in record["counters"].values():
        rows.update({sink["edge"]: sink["rows"] for sink in counters["sinks"]})
    between = {edge["id"] for edge in record["edges"] if edge["consumers"]}
    keys = {edge for edge in between if edge.startswith("k")}
    assert keys, "no filter edge"
    return sum(rows[e] for e in between - keys), sum(rows[e] for e in keys)


@pytest.mark.parametrize("how", ["right", "inner", "left"])
def test_large_probes_small(spread: Lab, how: str) -> None:
    flow = many(spread).join(few(spread), left_on="k", right_on="k2", how=how)
    rows, _ = travelled(spread, flow)
    if how == "right":  # both sides are partitioned by the key
        assert rows < 50


@pytest.mark.parametrize("how", ["semi", "anti", "left"])
def test_small_before_large(spread: Lab, how: str) -> None:
    """The small side is held, and the large one filtered where it is read."""
    rows, keys = travelled(spread, few(spread).join(many(spread), left_on="k2", right_on="k", how=how))
    assert rows < 50
    assert 4 <= keys < 50


@pytest.mark.parametrize(
    ("type", "key"),
    [
        ("string", lambda i: f"key {i}"),
        ("decimal(30, 2)", lambda i: Decimal(i).scaleb(-2)),
        ("float64", lambda i: i / 3 if i else -0.0),
    ],
    ids=["string", "decimal", "float64"],
)
def test_types_of_keys(spread: Lab, type: str, key: Any) -> None:
    flow = few(spread, type, key).join(many(spread, type, key), left_on="k2", right_on="k", how="semi")
    rows, _ = travelled(spread, flow)
    assert rows < 50


def test_two_keys(spread: Lab) -> None:
    pairs = spread.table({"k2": "int64", "a2": "int64"}, [(3, 3), (5, 6), (None, 0), (7, 7)])
    flow = pairs.join(many(spread), left_on=["k2", "a2"], right_on=["k", "a"], how="semi")
    rows, keys = travelled(spread, flow)
    assert rows < 50
    assert keys > 0


def test_a_build_side_without_rows_lets_none_travel(spread: Lab) -> None:
    none = few(spread).filter(col("b") > 100)
    flow = none.join(many(spread), left_on="k2", right_on="k", how="left").aggregate(n=count())
    rows, keys = travelled(spread, flow)
    assert keys == 0
    assert rows < 10, "the partial counts alone"


def test_through_groups_and_joins_of_the_other_side(spread: Lab) -> None:
    """The filter goes below what is computed on the way to the join."""
    sums = many(spread).aggregate(s=sum_("a"), by="k")
    flow = few(spread).join(sums, left_on="k2", right_on="k", how="left").select("k2", "b", "s")
    rows, _ = travelled(spread, flow)
    assert rows < 100


@pytest.fixture
def sketched(spread: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Where keys travel as Bloom filters."""
    monkeypatch.setattr(filter_edges, "LIST_MAX", 0.0)
    return spread


def of_kind(lab: Lab) -> set[str]:
    record = lab.session.describe(lab.session.jobs()[0].id).record
    assert record is not None
    return {edge["filter"] for edge in record["edges"] if edge["filter"]}


@pytest.mark.parametrize(
    ("type", "key"),
    [
        ("int64", lambda i: i * 7 - 9),
        ("string", lambda i: f"key {i}"),
        ("decimal(30, 2)", lambda i: Decimal(i).scaleb(-2)),
        ("float64", lambda i: i / 3 if i else -0.0),
    ],
    ids=["int64", "string", "decimal", "float64"],
)
def test_bloom_filters(sketched: Lab, type: str, key: Any) -> None:
    """2,000 keys of which 1,000 have partners among 20,000 rows, which would travel to two hosts."""
    keys = [(None if i % 101 == 0 else key(19_000 + i),) for i in range(2_000)]
    some = sketched.table({"k2": type}, keys, files=2)
    flow = some.join(many(sketched, type, key), left_on="k2", right_on="k", how="semi").aggregate(n=count())
    rows, blocks = travelled(sketched, flow)
    assert of_kind(sketched) == {"bloom"}
    assert 2 * 980 <= rows < 2 * (1_000 + 0.08 * ROWS), "the partners and what passes wrongly"
    assert 0 < blocks < 500, "of 256 bits, to each of two readers"


def test_bloom_filters_of_two_keys_and_of_none(sketched: Lab) -> None:
    keys = [(i, i if i % 2 else -i) for i in range(3, 3_000)]
    pairs = sketched.table({"k2": "int64", "a2": "int64"}, keys, files=2)
    both = {"left_on": ["k2", "a2"], "right_on": ["k", "a"], "how": "left"}
    flow = pairs.join(many(sketched), **both).aggregate(n=count(), found=count("a"))
    rows, _ = travelled(sketched, flow)
    assert of_kind(sketched) == {"bloom"}
    assert rows < 2 * (1_500 + 0.15 * ROWS)
    flow = pairs.filter(col("a2") > 100_000).join(many(sketched), **both).aggregate(n=count())
    rows, blocks = travelled(sketched, flow)
    assert blocks == 0
    assert rows < 10
