"""What `./dev bench pruning` measures is the programs: tuples of whole columns, beside the references."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from jumpgate.p4.programs import distinct, join, skyline


@pytest.fixture
def prune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from bench import _pruning

    return _pruning


def test_columns_are_pruned_as_by_the_references(prune: ModuleType) -> None:
    rng = np.random.default_rng(1)
    key = rng.integers(0, 300, 5_000, dtype=np.uint64)
    x = rng.integers(0, 1 << 20, 5_000, dtype=np.uint32)
    y = rng.integers(0, 10_000, 5_000, dtype=np.uint32)
    for _ in range(2):  # each column finds empty registers
        lru = distinct.Lru(32, 3)
        assert prune.distinct(key, 32, 3).tolist() == [lru.process(k) for k in key.tolist()]
        for kind, score in (("aph", skyline.product_score), ("sum", skyline.sum_score)):
            stored = skyline.Skyline(3, score)
            wanted = [stored.process(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
            assert prune.skyline_points(x, y, 3, kind).tolist() == wanted and any(wanted)
        bloom = join.Bloom(1024)
        for k in key[:100].tolist():
            bloom.add(k)
        assert prune.join(key[:100], key, 1024).tolist() == [bloom.process(k) for k in key.tolist()]


def test_rows_that_no_program_has(prune: ModuleType) -> None:
    with pytest.raises(ValueError, match="a program has 2\\^n rows, not 1000"):
        prune.distinct(np.zeros(1, dtype=np.uint64), 1000, 2)
