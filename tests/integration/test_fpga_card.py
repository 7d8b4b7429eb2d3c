"""The RTL of a whole card: frames of random joins beside a reference, and proofs of what it consists of."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from jumpgate.errors import NotInstalled
from jumpgate.ncas.fpga_join import build

PROOFS = {"fifo_proof": ("fifo.sv", 12)}


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
    done = subprocess.run([bench, "check", "1", "40"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    covered = json.loads(done.stdout)
    assert min(covered[name] for name in ("joined", "rested", "overflowed", "forwards", "several")) > 50
    assert min(covered[name] for name in ("dropped", "frames", "aggregated", "least_kind")) > 3


def test_the_bench_notices_a_write_that_is_lost(bench: Path) -> None:
    done = subprocess.run([bench, "check-forgetful", "1", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "the card differs from the reference" in done.stderr


@pytest.mark.skipif(not all(map(shutil.which, ("yosys", "yosys-smtbmc", "z3"))), reason="proofs need yosys and z3")
@pytest.mark.parametrize("proof", PROOFS)
def test_proofs(proof: str, tmp_path: Path) -> None:
    module, steps = PROOFS[proof]
    model = tmp_path / "model.smt2"
    script = (
        f"read_verilog -formal -sv {build.RTL / module} {build.RTL / 'formal' / proof}.sv; prep -top {proof} -flatten; "
        f"memory_map -formal; async2sync; dffunmap; write_smt2 -wires {model}"
    )
    subprocess.run(["yosys", "-q", "-p", script], check=True, capture_output=True, timeout=60)
    command = ["yosys-smtbmc", "-s", "z3", "-t", str(steps), str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Status: PASSED" in done.stdout, done.stdout[-2000:]
