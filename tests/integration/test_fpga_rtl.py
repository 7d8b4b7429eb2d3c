"""The RTL of a card's table under Verilator: beside a reference under random stimulus, at a tuple a cycle, in place."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col
from jumpgate.client.session import Session
from jumpgate.errors import NotInstalled
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.ncas.fpga_join import build
from jumpgate.ncas.fpga_join.kind import FPGA
from jumpgate.service import embedded
from jumpgate.testing.lab import Lab


def missing() -> str:
    """Why the model cannot be built here; empty if it can."""
    try:
        build.verilator()
    except NotInstalled as error:
        return str(error)
    return "" if shutil.which("perl") else "verilator needs perl"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "never")
SEEDS = 1, 2, 3
EPISODES = 32


@pytest.fixture(scope="module")
def bench() -> Path:
    return build.build("rtl_bench")


def run(bench: Path, *arguments: object) -> dict[str, Any]:
    done = subprocess.run([bench, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_references(bench: Path, seed: int) -> None:
    """Random keys, idle cycles, back-pressure and latencies; hazards are covered at each distance of the window."""
    covered = run(bench, "check", seed, EPISODES)
    assert covered["least_covered_distance"] > 10
    assert min(covered[name] for name in ("overflowed", "forwards", "matched", "nulls")) > 1000


@pytest.mark.parametrize("keys", ["uniform", "sequential", "all_equal", "adversarial"])
def test_a_tuple_a_cycle(bench: Path, keys: str) -> None:
    found = run(bench, "rates", 20_000)[keys]
    assert (found["build"], found["probe"], found["stalled"]) == (1, 1, False)


def test_the_bench_notices_a_write_that_is_lost(bench: Path) -> None:
    done = subprocess.run([bench, "check-forgetful", "1", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "the model differs from the reference" in done.stderr


def test_a_query_through_the_model(tmp_path: Path) -> None:
    """The live card with the RTL behind it: DuckDB's answers, with duplicates and NULLs, and it counted cycles."""
    service = embedded.start(Config(local_hosts(1).hosts, (FPGA.device("card", backend="verilated"),)))
    try:
        with Session(service.address, prefer=("fpga_join",)) as session:
            lab = Lab(session, tmp_path)
            facts = lab.table({"a": "int32", "n": "int64"}, [(None if i % 9 == 0 else i % 70, i) for i in range(1500)])
            build_side = lab.table(
                {"k": "int32", "x": "int64"}, [(None if i % 8 == 0 else i % 50, i) for i in range(300)]
            )
            for how in ("anti", "semi", "left", "inner"):
                lab.check(facts.join(build_side, left_on=col("a"), right_on=col("k"), how=how))
            record = session.describe(session.jobs()[0].id).record
    finally:
        service.close()
    assert record is not None
    seen = next(c["card"] for c in record["counters"].values() if "card" in c)
    assert seen["rest"] > 0 and seen["probed"] == 1500 <= seen["cycles"]
