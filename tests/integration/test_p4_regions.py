"""Several jobs on one switch: each in its region behaves as alone on a switch of that size, and leaves no trace."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from jumpgate.p4.programs import aggregate, distinct, groupby, having, join, render, skyline, topn
from jumpgate.p4.programs.filter import Range
from tests.support.switch_programs import (
    BACK,
    CLEAR,
    DATA,
    READ_FIRST,
    READ_SECOND,
    RECEIVER,
    SENDER,
    WORD,
    Bench,
    Row,
    enter_filter,
    frame,
    region,
    words_of,
)  # fmt: skip

ROWS = 4  # of a job's region
THRESHOLD = 60
SIZES = render.PruneSizes(
    ("distinct_lru", "distinct_fifo", "topn_det", "topn_rand", "groupby", "join_bf", "join_rbf", "having", "skyline"),
    distinct_bits=4, topn_bits=4, groupby_bits=4, bloom_bits=5, rbf_bits=4, having_bits=4,
)  # fmt: skip
EXAMPLES = settings(
    max_examples=25, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)

Prunes = Callable[[int, int, int], bool]  # key, a, b
Drawn = TypeVar("Drawn")


@functools.cache
def bench() -> Bench:
    """One program with every algorithm, small and larger than any switch."""
    made = Bench(SIZES)
    for i, mask in enumerate(join.masks(8192)):
        made.enter("rbf_masks_0", "rbf_bits_0", (i,), (mask >> 32, mask & WORD))
    return made


def reference(algorithm: str) -> Prunes:
    """A job alone with `ROWS` rows. A Bloom filter is filled before, by `build`."""
    lru, fifo, best = distinct.Lru(ROWS, 2), distinct.Fifo(ROWS, 2), groupby.GroupByMax(ROWS, 3)
    exact, random, sketch = (
        topn.Deterministic(THRESHOLD, 4),
        topn.Randomised(1, 4, lambda: 0),
        having.CountMin(THRESHOLD, ROWS),
    )
    bloom, words, points = join.Bloom(ROWS), join.RegisterBloom(ROWS), skyline.Skyline(3)
    for key in BUILD:
        bloom.add(key)
        words.add(key)
    found: dict[str, Prunes] = {
        "distinct_lru": lambda key, a, b: lru.process(key),
        "distinct_fifo": lambda key, a, b: fifo.process(key),
        "topn_det": lambda key, a, b: exact.process(a),
        "topn_rand": lambda key, a, b: random.process(a),
        "groupby": lambda key, a, b: best.process(key, a),
        "join_bf": lambda key, a, b: bloom.process(key),
        "join_rbf": lambda key, a, b: words.process(key),
        "having": lambda key, a, b: sketch.process(key, a),
        "skyline": lambda key, a, b: points.process(a, b),
    }
    return found[algorithm]


BUILD = (1, 3, 4)  # two of them share a word of RBF
KEYS = st.integers(0, 12) | st.integers(0, 40) | st.sampled_from([1 << 40, (1 << 63) + 5])
TUPLES = st.lists(st.tuples(KEYS, st.integers(0, 90), st.integers(0, 90)), max_size=90)
JOBS = st.lists(TUPLES, min_size=3, max_size=3)


def interleaved(jobs: list[list[Drawn]], data: st.DataObject) -> Iterator[tuple[int, Drawn]]:
    """(job, tuple)s, each job's in its order."""
    order = data.draw(st.permutations([job for job, tuples in enumerate(jobs) for _ in tuples]))
    waiting = [iter(tuples) for tuples in jobs]
    return ((job, next(waiting[job])) for job in order)


def entry(algorithm: str, job: int, adds: int = 0, absorbs: int = 0, side: int = 0) -> tuple[int, ...]:
    """The last job has the last rows; random rows are pinned down by a region of one."""
    if algorithm in ("topn_det", "skyline"):
        return region(SIZES, algorithm, base=5 * job, threshold=THRESHOLD if algorithm == "topn_det" else 0)
    rows = 1 if algorithm == "topn_rand" else ROWS
    base = (1, 2, 3)[job] * rows
    return region(SIZES, algorithm, base, rows, THRESHOLD, side, adds, absorbs)


def row_of(key: int, a: int, b: int) -> Row:
    return 0, key >> 32, key & WORD, a, b


def run_jobs(algorithm: str, arrivals: list[tuple[int, tuple[int, int, int]]]) -> list[int]:
    """The port by which each packet left; flow is job + 1, and job + 11 builds the filters."""
    made = bench()
    adds = int(algorithm == "having")
    flows = {job + 1: entry(algorithm, job, adds, side=job % 2) for job in range(3)}
    builds = {job + 11: entry(algorithm, job, adds=1, absorbs=1, side=1 - job % 2) for job in range(3)}
    made.start({**flows, **(builds if algorithm.startswith("join") else {})})
    used = {job for job, _ in arrivals}
    if algorithm.startswith("join"):
        for job in used:
            rows = [(row_of(key, 0, 0),) for key in BUILD]
            made.process(*(frame(DATA, job + 11, n, row) for n, row in enumerate(rows, 1)))
    numbers = [0] * 3
    sent = []
    for job, values in arrivals:
        numbers[job] += 1
        sent.append(frame(DATA, job + 1, numbers[job], (row_of(*values),)))
    return [port for port, _ in made.process(*sent)]


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("algorithm", SIZES.algorithms)
@seed(1)
@EXAMPLES
@given(jobs=JOBS, data=st.data())
def test_a_job_behaves_as_alone(algorithm: str, jobs: list[list[tuple[int, int, int]]], data: st.DataObject) -> None:
    arrivals = list(interleaved(jobs, data))
    references = [reference(algorithm) for _ in jobs]
    wanted = [SENDER.port if references[job](*values) else RECEIVER.port for job, values in arrivals]
    assert run_jobs(algorithm, arrivals) == wanted


@pytest.mark.parametrize("algorithm", SIZES.algorithms)
@seed(2)
@settings(EXAMPLES, max_examples=8)
@given(jobs=JOBS, gone=st.integers(0, 2), data=st.data())
def test_clearing_a_region_leaves_the_others(
    algorithm: str, jobs: list[list[tuple[int, int, int]]], gone: int, data: st.DataObject
) -> None:
    """After it all registers are as if the job had never run."""
    arrivals = list(interleaved(jobs, data))
    made = bench()
    run_jobs(algorithm, [(job, values) for job, values in arrivals if job != gone])
    without = list(made.state())
    run_jobs(algorithm, arrivals)
    rows = 1 if algorithm in ("topn_rand", "topn_det", "skyline") else ROWS
    first = data.draw(st.sampled_from([0, 64, entry(algorithm, gone)[5]]))  # whatever is above the region's bits
    requests = [frame(CLEAR, gone + 1, first + row) for row in range(rows)]
    answers = made.process(*requests)
    assert answers == [(SENDER.port, frame(CLEAR, gone + 1, first + row, hop=BACK)) for row in range(rows)]
    assert list(made.state()) == without


def test_filters_are_by_flow() -> None:
    made = Bench(render.PROGRAMS["prune"])
    assert isinstance(made.sizes, render.PruneSizes)
    made.start({flow: region(made.sizes, "filter") for flow in (1, 2)})
    for flow, predicate in ((1, Range(0, 5, 9)), (2, Range(1, 5, 9))):
        enter_filter(made, "filter_0_0", "filter_hit_0_0", flow, predicate)
        made.enter("filter_truth_0", "filter_prune_0", (flow, 0, 0, 0), ())
    sent = [frame(DATA, flow, 1, ((0, 0, 1, *values),)) for flow, values in ((1, (5, 0)), (2, (5, 0)), (2, (0, 9)))]
    assert [port for port, _ in made.process(*sent[:2])] == [RECEIVER.port, SENDER.port]
    assert made.process(frame(DATA, 2, 2, ((0, 0, 1, 0, 9),)))[0][0] == RECEIVER.port


# ---- aggregate ----

SLOTS, BUCKETS = 2, 4
PAIRS = st.lists(
    st.lists(st.tuples(st.integers(-3, 9), st.integers(-50, 50)), min_size=SLOTS, max_size=SLOTS), max_size=30
)


@functools.cache
def small_aggregate() -> Bench:
    return Bench(render.AggregateSizes(slots=SLOTS, bucket_bits=4))


def start_aggregate() -> Bench:
    made = small_aggregate()
    made.start({job + 1: (base, BUCKETS - 1) for job, base in enumerate((0, 8, 12))})
    return made


@seed(3)
@EXAMPLES
@given(jobs=st.lists(PAIRS, min_size=3, max_size=3), data=st.data())
def test_aggregation_of_several_jobs(jobs: list[list[list[tuple[int, int]]]], data: st.DataObject) -> None:
    """Same keys in all jobs, few buckets: what is left of a packet, and what each job drains."""
    made = start_aggregate()
    references = [aggregate.Aggregate(SLOTS, bucket_bits=2) for _ in jobs]
    numbers = [0] * 3
    for job, pairs in interleaved(jobs, data):
        numbers[job] += 1
        verdict = references[job].process(job, numbers[job], tuple(aggregate.Tuple(k, v) for k, v in pairs))
        rows = tuple((0, *struct.unpack(">4I", struct.pack(">qq", k, v))) for k, v in pairs)
        [(port, left)] = made.process(frame(DATA, job + 1, numbers[job], rows))  # type: ignore[arg-type]
        assert left[43] == sum(1 << i for i, t in enumerate(verdict.left) if t is not None)
        assert port == (SENDER.port if verdict.acknowledged else RECEIVER.port)
    for job, wanted in enumerate(references):
        assert drained(made, job + 1) == {
            (slot, bucket): (group.key, group.count)
            for slot, groups in enumerate(wanted.slots)
            for bucket, group in groups.items()
        }
    made.process(*(frame(CLEAR, 2, 100 + bucket) for bucket in range(BUCKETS)))
    assert drained(made, 2) == {}
    assert all((drained(made, job) == {}) == (not jobs[job - 1]) for job in (1, 3))


def drained(made: Bench, flow: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(slot, bucket within the region) → key and count."""
    out = {}
    for bucket in range(BUCKETS):
        [(_, answer)] = made.process(frame(READ_FIRST, flow, bucket))
        request = bytearray(frame(READ_SECOND, flow, bucket))
        request[43] = answer[43]
        [(_, more)] = made.process(bytes(request))
        seconds = words_of(more[42:])
        for slot, (high, count, *_) in words_of(answer[42:]).items():
            [key] = struct.unpack(">q", struct.pack(">II", high, seconds[slot][0]))
            out[slot, bucket] = key, count
    return out
