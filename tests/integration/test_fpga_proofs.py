"""What yosys proves of the card's RTL within a number of cycles, and that each proof notices a mistake."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from jumpgate.ncas.fpga_join.build import RTL

pytestmark = pytest.mark.skipif(shutil.which("yosys") is None, reason="proofs need yosys")


@dataclass(frozen=True)
class Proof:
    """`mistake`: of the last module, what stands there and what is put in its place."""

    modules: tuple[str, ...]
    cycles: int
    mistake: tuple[str, str]


PROOFS = {
    "fifo": Proof(("fifo",), 12, ("items[first+count[DEPTH_BITS-1:0]] <= in_data", "items[first] <= in_data")),
    "build": Proof(
        ("bucket_pkg", "fifo", "newest_match", "build_unit"), 11,
        ("depends[changed] ? made[sources[changed]] : answer_data", "answer_data"),
    ),
    "probe": Proof(
        ("bucket_pkg", "fifo", "probe_unit"), 9,
        ("out_matches[slot] <= !nulls[answered] && ", "out_matches[slot] <= "),
    ),
    "line_rate": Proof(
        ("bucket_pkg", "newest_match", "build_unit", "probe_unit"), 20,
        ("assign in_ready = !staged || enters;", "assign in_ready = !staged;"),
    ),
    "combiner": Proof(("bucket_pkg", "combiner"), 9, ("turns &= last[t];", "")),
    "interleaver": Proof(
        ("bucket_pkg", "fifo", "interleaver"), 8, ("order_valid[t] && order[t] == BANK_BITS'(b) && ", "")
    ),
    "axi4_memory": Proof(
        ("bucket_pkg", "fifo", "newest_match", "axi4_memory"), 10,
        ("pending[at] && addresses[at] == staged_address", "1'b0"),
    ),
    "frame_parser": Proof(
        ("frame_pkg", "frame_parser"), 8,
        ("(spent || kept_count <= 8'(HELD_BYTES - BUS_BYTES))", "kept_count <= 8'(HELD_BYTES - BUS_BYTES)"),
    ),
    "overflow": Proof(
        ("bucket_pkg", "newest_match", "build_unit"), 8,
        ("(!full || !overflow_valid || overflow_ready)", "1'b1"),
    ),
    "drain": Proof(("fifo", "drain"), 12, ("!rst && !stale && !(&owed)", "!rst && !(&owed)")),
}  # fmt: skip


def holds(name: str, rtl: Path) -> bool:
    """Whether every assertion does, in all of the cycles, whatever the inputs are."""
    proof = PROOFS[name]
    sources = [rtl / f"{module}.sv" for module in proof.modules] + [RTL / "formal" / f"{name}_proof.sv"]
    script = (
        f"read_verilog -formal -sv {' '.join(map(str, sources))}; prep -top {name}_proof -flatten; "
        "memory_map -formal; async2sync; dffunmap; opt -full; "
        f"sat -seq {proof.cycles} -set-init-def -set-def-inputs -set-assumes -prove-asserts -verify"
    )
    done = subprocess.run(["yosys", "-p", script], capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        assert "Called with -verify and proof did fail!" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", PROOFS)
def test_proofs(name: str) -> None:
    assert holds(name, RTL)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", PROOFS)
def test_proofs_notice_mistakes(name: str, tmp_path: Path) -> None:
    proof = PROOFS[name]
    for module in proof.modules:
        shutil.copy(RTL / f"{module}.sv", tmp_path)
    changed = tmp_path / f"{proof.modules[-1]}.sv"
    right = changed.read_text()
    assert right.count(proof.mistake[0]) == 1
    changed.write_text(right.replace(*proof.mistake))
    assert not holds(name, tmp_path)
