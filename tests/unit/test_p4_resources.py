"""What P4 programs take of the hardware: stages, stateful ALUs, memory, and what a stateful ALU refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.errors import ConfigError
from jumpgate.p4.compiler import P4Error, compile_source
from jumpgate.p4.programs.render import PruneSizes, render

PROGRAMS = Path(__file__).resolve().parents[2] / "p4" / "programs"


def report(text: str, profile: str = "tofino1"):  # type: ignore[no-untyped-def]
    return compile_source(text, "x.p4", profile=profile).resources


@pytest.mark.parametrize("name", ["aggregate", "prune", "prune_join", "prune_topn"])
def test_programs_fit_a_tofino_1(name: str) -> None:
    made = report((PROGRAMS / f"{name}.p4").read_text())
    assert not made.problems
    assert len(made.stages) <= 12
    for stage in made.stages:
        assert all(used <= made.profile.stage[what] for what, used in stage.items())


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("bits", [10, 12])
def test_distinct_takes_what_the_paper_says(columns: int, bits: int) -> None:
    """w·d·64 bits; 32-bit registers in pairs make two stateful ALUs of the paper's one."""
    with_it = report(render(PruneSizes(("distinct_lru",), distinct_columns=columns, distinct_bits=bits)))
    window_bits, window_alus = 4096 * 32, 1
    assert with_it.register_bits - window_bits == (2**bits) * columns * 64
    assert with_it.totals["stateful_alus"] - window_alus == 2 * columns
    columns_at = [i for i, s in enumerate(with_it.stages) if s["stateful_alus"] == 2]
    assert len(columns_at) == columns


def test_a_program_that_is_too_long_says_where() -> None:
    made = report(render(PruneSizes(("groupby",), groupby_columns=16)))
    assert "stages, a Tofino 1 has 12" in made.problems[0]
    assert made.problems[0].startswith("x.p4:")
    assert "does not fit: x.p4:" in made.text()


def test_a_register_larger_than_a_stage_is_refused() -> None:
    made = report(render(PruneSizes(("join_bf",), bloom_bits=24)))
    assert "needs 128 stateful blocks in one stage; there are 48" in made.problems[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rv = STALE;", "rv = STALE; if (value == 7) { rv = 0; }", "has 3 comparisons; 2 are possible"),
        ("rv = STALE;", "rv = STALE; value = value + 1; value = value + 2;", "computes 3 values; 2 are possible"),
        ("rv = STALE;", "rv = STALE; if (value[3:0] == 1) { rv = 0; }", "compares a slice of the register's value"),
    ],
)
def test_what_a_stateful_alu_cannot_do(old: str, new: str, message: str) -> None:
    text = (PROGRAMS / "prune_join.p4").read_text().replace(old, new)
    with pytest.raises(P4Error, match=message):
        compile_source(text, "x.p4")


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(ConfigError, match="no hardware profile 'tofino9'; there are tofino1, tofino2"):
        compile_source("", "x.p4", profile="tofino9")
