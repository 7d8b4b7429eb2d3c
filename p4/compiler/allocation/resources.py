"""The report of what a program takes of the hardware: of each stage (placement), of the packet header vector (phv), and
of the parsers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.allocation.phv import Containers, containers
from jumpgate.p4.compiler.allocation.placement import place
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile

COLUMNS = {
    "stateful_alus": "ALUs", "stateful_blocks": "register", "sram_blocks": "SRAM", "tcam_blocks": "TCAM",
    "logical_tables": "tables", "ternary_tables": "ternary", "exact_crossbar_bytes": "exact B",
    "ternary_crossbar_bytes": "ternary B", "hash_slices": "hash", "gateways": "gateways",
}  # fmt: skip


@dataclass(frozen=True)
class Resources:
    """`stages`: what is taken of each. `holds`: tables and register actions in it. `register_bits`: of all registers.

    `parser_rows`: by half of the pipe. `problems`: what does not fit, and where in the source; none if the hardware can
    run the program. Of a program with several `pipelines` all but the problems is of the one that takes most stages.
    """

    profile: Profile
    stages: tuple[dict[str, int], ...]
    register_bits: int
    phv: Containers
    parser_rows: dict[str, int]
    holds: tuple[tuple[str, ...], ...]
    problems: tuple[tuple[Position, str], ...]
    pipelines: int = 1

    @property
    def totals(self) -> dict[str, int]:
        return {k: sum(s[k] for s in self.stages) for k in COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        return {
            "profile": self.profile.title,
            "stages_used": len(self.stages),
            "stages_max": self.profile.stages,
            "stages": [{**s, "holds": list(names)} for s, names in zip(self.stages, self.holds, strict=True)],
            "stage_max": {k: self.profile.stage[k] for k in COLUMNS},
            "totals": self.totals,
            "phv_containers": {str(size): count for size, count in self.phv.used.items()},
            "phv_containers_max": {str(size): self.profile.phv[f"containers_{size}"] for size in self.phv.used},
            "phv_tagalong_bits": self.phv.tagalong_bits,
            "phv_tagalong_bits_max": self.profile.phv["tagalong_bits"],
            "problems": [f"{position}: {message}" for position, message in self.problems],
            "register_bits": self.register_bits,
            "parser_rows": self.parser_rows,
            "parser_rows_max": self.profile.parser["tcam_rows"],
        }

    def text(self) -> str:
        rows = [["stage", *COLUMNS.values()]]
        rows += [[str(i), *(str(s[k]) for k in COLUMNS)] for i, s in enumerate(self.stages)]
        rows.append(["total", *map(str, self.totals.values())])
        rows.append(["a stage has", *(str(self.profile.stage[k]) for k in COLUMNS)])
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        parsers = ", ".join(f"{k} {v}" for k, v in self.parser_rows.items())
        sizes = ", ".join(f"{n} of {self.profile.phv[f'containers_{s}']} of {s} bits" for s, n in self.phv.used.items())
        tagalong = f"{self.phv.tagalong_bits} of {self.profile.phv['tagalong_bits']} tagalong bits"
        return "\n".join([
            f"{self.profile.title}: {len(self.stages)} of {self.profile.stages} stages"
            + (f"; the one of {self.pipelines} pipelines that takes most" if self.pipelines > 1 else ""),
            *lines,
            f"header vector: containers {sizes}; {tagalong}",
            f"registers: {self.register_bits} bits; parser rows of {self.profile.parser['tcam_rows']}: {parsers}",
            *(f"does not fit: {position}: {message}" for position, message in self.problems),
        ])  # fmt: skip


def resources(program: ir.Program, profile: Profile) -> Resources:
    """Places the program: each pipeline by itself, for it has the hardware's stages to itself."""
    found = [_pipeline(program.alone(pipe), profile) for pipe in program.pipes]
    fullest = max(found, key=lambda r: len(r.stages))
    problems = dict.fromkeys(problem for r in found for problem in r.problems)
    return replace(fullest, problems=tuple(problems), pipelines=len(found))


def _pipeline(program: ir.Program, profile: Profile) -> Resources:
    diagnostics = Diagnostics()
    stages = place(program, profile, diagnostics)
    phv = containers(program, [s.units for s in stages], profile, diagnostics)
    rows = {}
    for gress in program.gresses:
        rows[gress.name] = sum(_rows(c, s, program) for s in gress.states for c in s.cases)
        if rows[gress.name] > profile.parser["tcam_rows"]:
            diagnostics.error(
                gress.states[0].position,
                f"the {gress.name} parser takes {rows[gress.name]} rows, a {profile.title} has "
                f"{profile.parser['tcam_rows']}: fewer states or cases of select",
            )
        for s in gress.states:
            bits = sum(e.type.width for e in s.subjects if e not in _members(s, program))
            if bits > profile.parser["match_bits"]:
                diagnostics.error(
                    s.position, f"state '{s.name}' selects on {bits} bits; the parser compares "
                    f"{profile.parser['match_bits']} at once: split the state",
                )  # fmt: skip
    return Resources(
        profile,
        tuple(s.used(program, profile) for s in stages),
        sum(r.size * sum(t.width for _, t in r.fields) for r in program.registers),
        phv,
        rows,
        tuple(tuple(dict.fromkeys(u.name for u in s.units if u.kind in ("table", "register"))) for s in stages),
        tuple(sorted(diagnostics.found)),
    )


def _members(state: ir.State, program: ir.Program) -> dict[ir.Expr, int]:
    """The subjects that say whether a value set has a member, and how many it may have."""
    return {ir.Get(s.hit): program.tables[s.table].size for s in state.body if isinstance(s, ir.Apply)}


def _rows(case: ir.Case, state: ir.State, program: ir.Program) -> int:
    """Count a case's rows in the parser's TCAM: one, or as many as its value sets may have members."""
    sizes = _members(state, program)
    asked = [sizes.get(e, 1) for e, (_, _, mask) in zip(state.subjects, case.matches, strict=False) if mask]
    return math.prod(asked)
