"""Small programs with the verdict of a Tofino 1's own compiler (tests/cases/vendor.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from jumpgate.p4.compiler import P4Error, compile_source

CASES = Path(__file__).resolve().parents[1] / "cases"
FOLDER = CASES / "p4"  # includes are relative to it


@dataclass(frozen=True)
class Case:
    name: str
    rule: int
    accepted: bool
    source: str
    declares: str
    apply: str

    @property
    def text(self) -> str:
        body = f"{self.declares}    apply {{ {self.apply} }}"
        return f'#include "include/frame.p4h"\nINGRESS {{\n{body}\n}}\n#include "include/rest.p4h"\n'


def cases() -> list[Case]:
    return [Case(**entry) for entry in tomllib.loads((CASES / "vendor.toml").read_text())["program"]]


def refusal(case: Case) -> str:
    """Return the error of the model of a Tofino 1 for the program, or ""."""
    try:
        compile_source(case.text, str(FOLDER / f"{case.name}.p4"))
    except P4Error as error:
        return error.message
    return ""
