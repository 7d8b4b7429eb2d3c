"""What a card takes over, what it refuses and why, and what travels."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpgate.client import col, count, min_, sum_
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Join
from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Completeness, Match, Unsupported
from jumpgate.nca.matching import each, malformed
from jumpgate.ncas.fpga_join import FPGA_JOIN
from jumpgate.ncas.fpga_join.kind import BUCKET_BYTES, FPGA, KEY_BYTES, SIGNATURES, bucket_bits, signature, slots
from jumpgate.ncas.fpga_join.memory import table_bits
from jumpgate.testing.lab import Lab

CARD = FPGA.device("card")
FACTS = {"a": "int32", "b": "int64", "day": "date", "price": "decimal(7, 2)", "name": "string"}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(None, tmp_path)  # type: ignore[arg-type]  # it runs nothing


@pytest.fixture
def facts(lab: Lab) -> Dataflow:
    return lab.table(FACTS, [(1, 2, None, Decimal("1.50"), "x")])


def dimension(lab: Lab, i: int, key: str = "int32", **columns: str) -> Dataflow:
    types = {f"k{i}": key, **{f"{name}{i}": type for name, type in columns.items()}}
    return lab.table(types, [tuple(None for _ in types)])


def answers(flow: Dataflow) -> list[Match | Unsupported]:
    return list(each(FPGA_JOIN.match_operations(flow.root, CARD)))


def matches(flow: Dataflow) -> list[Match]:
    found = answers(flow)
    assert all(isinstance(m, Match) and malformed(m, flow.root) is None for m in found), found
    return found  # type: ignore[return-value]


def refusal(flow: Dataflow) -> str:
    found = answers(flow)[-1]
    assert isinstance(found, Unsupported)
    return found.reason


def test_counts_and_sums_without_keys(lab: Lab, facts: Dataflow) -> None:
    """One row of a count, or of two counts and a sum in 128 bits."""
    rows = facts.select("a", "b", "price")
    flow = rows.join(dimension(lab, 1, x="decimal(18, 3)"), left_on=col("a"), right_on=col("k1"))
    for measures, types in (
        ({"n": count()}, ["int64"]),
        ({"n": count("b"), "s": sum_("b")}, ["int64", "int64", "decimal(38,0)?"]),
        ({"s": sum_("x1"), "n": count()}, ["int64", "int64", "decimal(38,3)?"]),
    ):
        (match,) = matches(flow.aggregate(**measures))
        assert match.completeness is Completeness.PARTIAL and match.wire is not None
        assert [t.name.replace(", ", ",") + "?" * t.nullable for t in match.wire.body.schema.types] == types


def test_aggregates_that_are_refused(lab: Lab, facts: Dataflow) -> None:
    flow = facts.select("a", "b", "day", "price").join(dimension(lab, 1), left_on=col("a"), right_on=col("k1"))
    assert "no groups" in refusal(flow.aggregate(by=["b"], n=count()))
    assert "does not compute min" in refusal(flow.aggregate(m=min_("b")))
    assert "adds up one column" in refusal(flow.aggregate(s=sum_("b"), t=sum_("price")))
    assert "is no column of 64 bits" in refusal(flow.aggregate(s=sum_("a")))
    assert "is no column of 64 bits" in refusal(flow.aggregate(s=sum_(col("b") + 1)))
    (no,) = each(FPGA_JOIN.match_operations(flow.aggregate(s=sum_("b")).root, CARD, Dialect(on_overflow="null")))
    assert isinstance(no, Unsupported) and "on_overflow = null" in no.reason


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("key", ["a", "b", "day", "price"])
def test_keys_of_64_bits(lab: Lab, facts: Dataflow, how: str, key: str) -> None:
    (match,) = matches(
        facts.select("a", "b", "day", "price").join(
            dimension(lab, 0, FACTS[key], x="int64"), left_on=col(key), right_on=col("k0"), how=how
        )
    )
    assert match.wire is not None
    for sent in match.wire.inputs:
        assert sent.schema.types[0].width == KEY_BYTES, "keys are 8 bytes"
    assert len(match.wire.inputs[0].schema) == 4, "the key's own column does not travel beside it"


def test_a_chain_is_offered_in_each_length(lab: Lab, facts: Dataflow) -> None:
    flow = facts.select("a", "b")
    for i, key in enumerate(("a", "b", "a")):
        flow = flow.join(dimension(lab, i, FACTS[key], x="int16"), left_on=col(key), right_on=col(f"k{i}"), how="left")
    found = matches(flow)
    assert [len(m.operators) for m in found] == [1, 2, 3]
    assert found[-1].wire is not None and len(found[-1].wire.inputs) == 4


def test_what_nobody_needs_does_not_leave_the_card(lab: Lab, facts: Dataflow) -> None:
    """Projections that drop columns belong to the chain, and its joined rows have what is above them."""
    flow = facts.select("a", "b").join(dimension(lab, 0, x="int64", y="int64"), left_on=col("a"), right_on=col("k0"))
    flow = flow.select("b", "x0").join(dimension(lab, 1, "int64", z="int16"), left_on=col("b"), right_on=col("k1"))
    flow = flow.select("z1", "x0")
    found = matches(flow)
    assert [len(m.operators) for m in found] == [2, 4]
    assert found[-1].wire is not None
    assert len(found[-1].wire.body.schema) == 2
    whole = facts.select("a", "b").join(dimension(lab, 2, x="int64"), left_on=col("a"), right_on=col("k2"))
    (match,) = matches(whole)
    assert match.wire is not None
    assert len(match.wire.body.schema) == 3 == len(whole.root.schema) - 1, "one key for both sides"


def test_cards_of_a_pool_join_one_at_a_time(lab: Lab, facts: Dataflow) -> None:
    """They share rows by a key, and each has a part of one table."""
    flow = facts.select("a", "b").join(dimension(lab, 0), left_on=col("a"), right_on=col("k0"))
    flow = flow.join(dimension(lab, 1, "int64"), left_on=col("b"), right_on=col("k1"))
    assert len(matches(flow)) == 2
    assert len([*each(FPGA_JOIN.match_operations(flow.root, FPGA.device("card", pool="cards")))]) == 1


def test_the_smaller_side_of_an_inner_join_is_built(lab: Lab, facts: Dataflow) -> None:
    flow = facts.select("a", "b").join(dimension(lab, 0, x="int64"), left_on=col("a"), right_on=col("k0"))
    assert isinstance(flow.root, Join)
    swapped = Join(flow.root.left, flow.root.right, flow.root.type, flow.root.left_keys, flow.root.right_keys,
                   builds_left=True)  # fmt: skip
    (match,) = each(FPGA_JOIN.match_operations(swapped, CARD))
    assert isinstance(match, Match) and malformed(match, swapped) is None
    assert match.wire is not None and [w.leaf for w in match.wire.inputs] == [1, 0]


def test_refusals_say_why(lab: Lab, facts: Dataflow) -> None:
    numbers = facts.select("a", "b")
    k = dimension(lab, 0, x="int64")
    assert "no full join" in refusal(numbers.join(k, left_on=col("a"), right_on=col("k0"), how="full"))
    assert "name is string" in refusal(facts.join(k, left_on=col("a"), right_on=col("k0")))
    texts = dimension(lab, 4, "string")
    assert "a key is string" in refusal(facts.select("name").join(texts, left_on=col("name"), right_on=col("k4")))
    wide = dimension(lab, 1, **{f"x{i}": "decimal(38, 0)" for i in range(4)})
    assert "65 bytes; a bucket has room for 55" in refusal(numbers.join(wide, left_on=col("a"), right_on=col("k1")))
    floats = dimension(lab, 2, "float64")
    assert "the key (float64)" in refusal(
        numbers.select("a", f=col("b").cast("float64")).join(floats, left_on=col("f"), right_on=col("k2"))
    )
    other = dimension(lab, 3, "int64", y="int64")
    snow = numbers.join(k, left_on=col("a"), right_on=col("k0")).join(other, left_on=col("x0"), right_on=col("k3"))
    found = answers(snow)
    assert isinstance(found[0], Match), "the join above the other one is taken alone"
    assert "another build side" in refusal(snow)
    wraps = FPGA_JOIN.match_operations(snow.root, CARD, Dialect(on_overflow="wrap"))
    assert isinstance(wraps, Unsupported) and "does not wrap" in wraps.reason


def test_signatures_fill_buckets() -> None:
    assert [slots(s) for s in SIGNATURES] == [7, 3, 2, 1]
    assert all(1 + slots(s) * (KEY_BYTES + s) <= BUCKET_BYTES for s in SIGNATURES)
    assert [signature(n) for n in (0, 1, 2, 8, 9, 55, 56)] == [1, 1, 8, 8, 23, 55, None]


def test_memory_is_shared_by_tables() -> None:
    assert bucket_bits(FPGA.device("card", memory_bytes=4 << 30)) == 24
    assert bucket_bits(FPGA.device("card", memory_bytes=4 << 30, tables=1)) == 26
    with pytest.raises(ConfigError, match="memory_bytes of at least 256"):
        FPGA.device("card", memory_bytes=255)


def test_tables_have_what_they_need() -> None:
    """Of 1024 buckets, half full: equal shares, unless one needs more."""
    card = FPGA.device("card", memory_bytes=1024 * BUCKET_BYTES)
    assert table_bits([None, 10.0], [3, 3], card) == (8, 8)
    assert table_bits([500.0, 100.0, 10.0], [2, 2, 3], card) == (9, 8, 8), "the last two grow to equal shares"
    assert table_bits([800.0, 100.0], [2, 2], card) is None, "1024 buckets are one table's"
    assert table_bits([500.0, 500.0], [2, 2], card) == (9, 9)
    assert table_bits([500.0, 500.0, 1.0], [2, 2, 1], card) is None


@given(st.lists(st.tuples(st.none() | st.floats(0, 1e6), st.sampled_from([1, 2, 3, 7])), min_size=1, max_size=4))
def test_tables_fit_whenever_they_can(tables: list[tuple[float | None, int]]) -> None:
    """The least sizes are powers of two: there is no way if these do not fit."""
    card = FPGA.device("card", memory_bytes=4096 * BUCKET_BYTES)
    entries, of = [n for n, _ in tables], [s for _, s in tables]
    least = [1024 if n is None else 1 << max(0, math.ceil(math.log2(max(1, 2 * n / s)))) for n, s in tables]
    found = table_bits(entries, of, card)
    assert (found is None) == (sum(least) > 4096)
    if found is not None:
        assert sum(1 << b for b in found) <= 4096
        assert all(1 << b >= n for b, n in zip(found, least, strict=True))
