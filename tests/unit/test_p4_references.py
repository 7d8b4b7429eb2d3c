"""The references against brute force."""

import random
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpgate.p4.programs import aggregate, crc, distinct, groupby, having, join, render, skyline, topn
from jumpgate.p4.programs.filter import Filter, Range

SMALL = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=300)


def test_crc_is_the_one_of_zlib() -> None:
    assert crc.hash_key(0, 0x0123456789ABCDEF) == zlib.crc32(bytes.fromhex("0123456789abcdef"))
    assert crc.crc32(1, b"123456789") == 0xE3069283
    keys = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    for which in range(4):
        assert crc.hash_keys(which, keys).tolist() == [crc.hash_key(which, int(k)) for k in keys]


@pytest.mark.parametrize("first", [0, 5 << 16, 1 << 63])
def test_dense_keys_never_share_a_bucket(first: int) -> None:
    keys = np.arange(first, first + (1 << 16), dtype=np.uint64)
    slot = (crc.hash_keys(crc.SLOT_POLYNOMIAL, keys) >> np.uint32(18)) % np.uint32(4)
    assert slot[:100].tolist() == [crc.slot_of(first + k, 4) for k in range(100)]
    assert len(np.unique(slot << np.uint32(14) | crc.hash_keys(0, keys) & np.uint32((1 << 14) - 1))) == 1 << 16


@given(SMALL, st.booleans())
def test_distinct_keeps_every_value(rows: list[tuple[int, int]], lru: bool) -> None:
    cache = distinct.Lru(4, 2) if lru else distinct.Fifo(4, 2)
    assert {k for k, _ in rows if not cache.process(k)} == {k for k, _ in rows}


@pytest.mark.parametrize("kind", [distinct.Lru, distinct.Fifo])
def test_the_empty_key_is_never_pruned(kind: type[distinct.Lru | distinct.Fifo]) -> None:
    cache = kind(4, 2)
    assert not any(cache.process(distinct.EMPTY) for _ in range(3))
    assert not any(groupby.GroupByMax(4, 2).process(groupby.EMPTY, 1) for _ in range(3))


def test_lru_moves_to_the_front() -> None:
    cache = distinct.Lru(1, 2)
    assert [cache.process(k) for k in (1, 2, 1, 3, 1, 2)] == [False, False, True, False, True, False]


@given(SMALL)
def test_groupby_keeps_every_maximum(rows: list[tuple[int, int]]) -> None:
    program = groupby.GroupByMax(4, 2)
    kept = [(k, v) for k, v in rows if not program.process(k, v)]
    assert {k: max(v for j, v in kept if j == k) for k, _ in kept} == {
        k: max(v for j, v in rows if j == k) for k, _ in rows
    }


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 50), max_size=300))
def test_deterministic_topn(values: list[int]) -> None:
    program = topn.Deterministic(10, 4)
    kept = [v for v in values if not program.process(v)]
    assert sorted(kept)[-10:] == sorted(values)[-10:]


@given(st.lists(st.integers(0, 50), max_size=200), st.integers(0, 1000))
def test_randomised_topn_prunes_only_below_w_others_of_its_row(values: list[int], seed: int) -> None:
    rows = random.Random(seed)
    seen: dict[int, list[int]] = {}
    drawn: list[int] = []

    def row() -> int:
        drawn.append(rows.randrange(4))
        return drawn[-1]

    program = topn.Randomised(4, 3, row)
    for value in values:
        pruned = program.process(value)
        best = sorted(seen.setdefault(drawn[-1], []))[-3:]
        assert pruned == (len(best) == 3 and value < best[0])
        seen[drawn[-1]].append(value)


@given(st.sets(st.integers(0, 2**64 - 1)), st.booleans())
def test_bloom_filters_have_no_false_negatives(keys: set[int], register: bool) -> None:
    program = join.RegisterBloom(64) if register else join.Bloom(256)
    for key in keys:
        program.add(key)
    assert not any(program.process(key) for key in keys)


def test_masks_have_three_bits() -> None:
    assert {mask.bit_count() for mask in join.masks(8192)} == {3}
    assert len(set(join.masks(8192))) > 7000


@given(SMALL)
def test_having_keeps_every_qualifying_key(rows: list[tuple[int, int]]) -> None:
    program, sums = having.CountMin(100, 8), Counter[int]()
    passed = set()
    for key, value in rows:
        sums[key] += value
        if not program.process(key, value):
            passed.add(key)
    assert {k for k, total in sums.items() if total > 100} <= passed


@given(SMALL, st.sampled_from([skyline.sum_score, skyline.product_score]))
def test_skyline_keeps_every_point_that_none_dominates(rows: list[tuple[int, int]], score) -> None:  # type: ignore[no-untyped-def]
    program = skyline.Skyline(3, score)
    kept = Counter(p for p in rows if not program.process(*p))

    def front(points: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
        return Counter({
            p: n for p, n in points.items()
            if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points)
        })  # fmt: skip

    assert front(kept) == front(Counter(rows))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=50))
def test_logarithm_never_falls(values: list[int]) -> None:
    logs = [skyline.logarithm(v) for v in sorted(values)]
    assert logs == sorted(logs)
    assert 2 * logs[-1] < 2**32


def test_filter_takes_unknown_predicates_for_true() -> None:
    program = Filter([Range(0, 0, 9), Range(1, 5, 5)], ("and", 0, ("or", 1, None)))
    assert [program.process(t) for t in ((3, 5), (3, 6), (10, 5))] == [False, False, True]
    program = Filter([Range(0, 0, 9)], ("and", 0, ("not", ("and", 0, None))))
    assert [program.process(t) for t in ((3,), (10,))] == [False, True]


VALUE = st.integers(-(2**63), 2**63 - 1) | st.none()


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(-3, 9), VALUE), min_size=4, max_size=4), max_size=60), st.randoms())
def test_aggregate_is_exact_whatever_repeats(packets: list[list[tuple[int, int | None]]], order: random.Random) -> None:
    program = aggregate.Aggregate(4, bucket_bits=2, window_bits=6)
    sent = [(n + 1, tuple(aggregate.Tuple(k, v) for k, v in p)) for n, p in enumerate(packets)]
    arrivals = sent + (order.choices(sent, k=len(sent)) if sent else [])
    order.shuffle(arrivals)
    left = {n: program.process(1, n, tuples).left for n, tuples in arrivals}
    for n, tuples in sent:
        assert program.process(1, n, tuples).left == left[n]
    sums, counts, least, most = Counter[int](), Counter[int](), dict[int, int](), dict[int, int]()

    def combine(key: int, total: int, count: int, low: int, high: int) -> None:
        sums[key] += total
        counts[key] += count
        least[key], most[key] = min(low, least.get(key, low)), max(high, most.get(key, high))

    for group in program.groups():
        if group.sum is not None and group.min is not None and group.max is not None:
            combine(group.key, group.sum, group.count, group.min, group.max)
    for tuples in left.values():
        for t in tuples:
            if t is not None and t.key is not None and t.value is not None:
                combine(t.key, t.value, 1, t.value, t.value)
    values = [(k, v) for p in packets for k, v in p if v is not None]
    for key in {k for k, _ in values}:
        mine = [v for k, v in values if k == key]
        assert (sums[key], counts[key], least[key], most[key]) == (sum(mine), len(mine), min(mine), max(mine))


@pytest.mark.parametrize("name", render.PROGRAMS)
def test_programs_in_the_repository_are_rendered_from_the_templates(name: str) -> None:
    assert (Path(render.__file__).parent / f"{name}.p4").read_text() == render.render(render.PROGRAMS[name])


def test_sizes_that_make_no_program() -> None:
    with pytest.raises(ValueError, match="no such pruning algorithm: distnct"):
        render.PruneSizes(("distnct",))
    with pytest.raises(ValueError, match="topn_columns must be at least 1, not 0"):
        render.PruneSizes(("topn_rand",), topn_columns=0)
    with pytest.raises(ValueError, match="at most 8 slots, not 9"):
        render.PruneSizes(("filter",), slots=9)
