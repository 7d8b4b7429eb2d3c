"""The theorems' numbers, as the paper's examples and our own simulations have them."""

import pytest

from jumpgate.p4.programs import sizing


def test_distinct_example_of_the_paper() -> None:
    assert sizing.distinct_pruned_min(15_000, 1000, 24) == pytest.approx(0.58, abs=0.005)
    with pytest.raises(ValueError, match="more than 12206 distinct values"):
        sizing.distinct_pruned_min(12_000, 1000, 24)
    assert sizing.distinct_pruned_estimate(15_000, 1000, 24) == 1.0


def test_fingerprints() -> None:
    assert sizing.distinct_keys_max(64, 1000) == pytest.approx(499.65e6, rel=1e-3)
    assert sizing.fingerprint_bits(499_000_000, 1000) == 64
    assert sizing.fingerprint_bits(501_000_000, 1000) == 65
    assert sizing.fingerprint_bits_by_length(2**20, 2, 2**-10) == 31
    assert sizing.length_max(31, 2, 2**-10) == 2**20


@pytest.mark.parametrize(
    ("n", "rows", "columns"), [(1000, 600, 16), (1000, 8000, 5), (1000, 200, 288), (1000, 481, 19), (250, 4096, 4)]
)
def test_topn_columns_of_the_paper(n: int, rows: int, columns: int) -> None:
    assert sizing.topn_columns_chernoff(n, rows) == columns


@pytest.mark.parametrize(("rows", "columns"), [(200, 19), (300, 16), (481, 13), (600, 12), (1000, 10), (2000, 8)])
def test_exact_union_bound_needs_fewer(rows: int, columns: int) -> None:
    assert sizing.topn_columns(1000, rows) == columns
    assert sizing.topn_failure(1000, rows, columns) <= 1e-4 < sizing.topn_failure(1000, rows, columns - 1)


def test_topn_best_rows() -> None:
    assert sizing.topn_best_rows(1000) == 481
    assert sizing.topn_best_rows(250) == 132
    assert sizing.topn_columns_chernoff(250, 134) == 17


def test_topn_unpruned() -> None:
    assert 1 - sizing.topn_unpruned_max(8_000_000, 600, 16) / 8e6 == pytest.approx(0.9907, abs=1e-4)
    assert 1 - sizing.topn_unpruned_max(100_000_000, 600, 16) / 1e8 == pytest.approx(0.9990, abs=1e-4)


def test_topn_sizes() -> None:
    small = sizing.topn(250, columns_max=4, rows_max=4096)
    assert small is not None
    assert small.failure <= 1e-4
    assert sizing.topn(10_000, columns_max=2, rows_max=64) is None


@pytest.mark.parametrize(
    ("mega_bytes", "keys", "rate"), [(4, 1e6, 0.0006), (4, 5e6, 0.047), (16, 20e6, 0.047), (1, 1e6, 0.027)]
)
def test_bloom_filter(mega_bytes: int, keys: float, rate: float) -> None:
    assert sizing.bloom_false_positives(int(keys), mega_bytes << 23) == pytest.approx(rate, rel=0.1)
