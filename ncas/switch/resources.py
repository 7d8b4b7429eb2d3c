"""Describes a program's use of the hardware in a line for explain."""

from __future__ import annotations

import functools
from importlib.resources import files


@functools.cache
def summary(program: str, profile: str = "tofino1") -> str:
    """`program aggregate: 12 of 12 stages, 38 stateful ALUs, 202 blocks of SRAM, 3.2 MB of registers (Tofino 1)`."""
    from jumpgate.p4.compiler.compile import report

    text = (files("jumpgate.p4.programs") / f"{program}.p4").read_text()
    found = report(text, f"{program}.p4", profile).to_dict()
    totals = found["totals"]
    return (
        f"program {program}: {found['stages_used']} of {found['stages_max']} stages, "
        f"{totals['stateful_alus']} stateful ALUs, {totals['sram_blocks']} blocks of SRAM, "
        f"{found['register_bits'] / 8e6:.1f} MB of registers ({found['profile']})"
        + (", which it does not fit" if found["problems"] else "")
    )
