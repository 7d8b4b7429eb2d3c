"""A package outside the tree adds an aggregate: tests/packages/aggregate_example."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tests.support import packages

PACKAGE = Path(__file__).parents[1] / "packages" / "aggregate_example"
#: group → values
VALUES = {"a": [3.0, 4.0, None, 3.0], "b": [None], "c": [-2.5], "d": [1e200, math.inf]}


def rms(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return math.sqrt(sum(v * v for v in known) / len(known)) if known else None


def test_it_works_on_every_road(tmp_path: Path) -> None:
    rows = [(group, value) for group, values in VALUES.items() for value in values]
    decimals = [None if v is None or v > 9 else Decimal(v).quantize(Decimal("0.01")) for _, v in rows]
    table = {"g": [g for g, _ in rows], "v": [v for _, v in rows], "d": pa.array(decimals, pa.decimal128(5, 2))}
    file = tmp_path / "values.parquet"
    pyarrow.parquet.write_table(pa.table(table), file, row_group_size=2)
    installed = tmp_path / "installed"
    packages.install(PACKAGE, installed)
    done = subprocess.run(
        [sys.executable, PACKAGE / "try_it.py", file], capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads(done.stdout)
    whole = [
        {"g": g, "rms": rms(v), "of_decimals": rms(v if g != "d" else ()), "distinct": rms(set(v))}
        for g, v in VALUES.items()
    ]
    assert answers["dataflow"] == answers["substrait"] == whole
    assert answers["merged"] == [{"g": g, "rms": rms(v)} for g, v in VALUES.items()]
    assert answers["phases"] == ["partial", "final"]
