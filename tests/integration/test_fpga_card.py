"""The RTL of a whole card: frames of random joins beside a reference."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from jumpgate.errors import NotInstalled
from jumpgate.ncas.fpga_join import build

pytestmark = [
    pytest.mark.timeout(900),  # the RTL's models are compiled
    pytest.mark.nightly(like="tests/integration/test_fpga_rtl.py::test_a_query_through_the_model"),
]


def missing() -> str:
    try:
        build.verilator()
    except NotInstalled as error:
        return str(error)
    return "" if shutil.which("perl") else "verilator needs perl"


@pytest.fixture(scope="module")
def bench() -> Path:
    if why := missing():
        pytest.skip(why)
    return build.build("card_bench")


def test_frames_of_joined_rows_are_the_references(bench: Path) -> None:
    """Tables, banks and widths vary; so do kinds of joins, columns that leave, gaps, back-pressure and latencies."""
    done = subprocess.run([bench, "check", "1", "80"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    covered = json.loads(done.stdout)
    assert min(covered[name] for name in ("joined", "rested", "overflowed", "forwards", "several")) > 50
    assert min(covered[name] for name in ("dropped", "frames", "aggregated", "least_kind", "never_null")) > 3


def test_the_bench_notices_a_write_that_is_lost(bench: Path) -> None:
    done = subprocess.run([bench, "check-forgetful", "1", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "the card differs from the reference" in done.stderr
