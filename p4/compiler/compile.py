"""The passes in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.checks.alus import check_alus
from jumpgate.p4.compiler.checks.intrinsic import check_intrinsic
from jumpgate.p4.compiler.checks.outputs import check_outputs
from jumpgate.p4.compiler.checks.rules import check_rules
from jumpgate.p4.compiler.checks.stateful import check_stateful
from jumpgate.p4.compiler.checks.vendor import check_vendor
from jumpgate.p4.compiler.elaboration.elaborate import elaborate
from jumpgate.p4.compiler.frontend.grammar import parse
from jumpgate.p4.compiler.frontend.preprocess import Preprocessor
from jumpgate.p4.compiler.frontend.source import Diagnostics, Mistake, Position
from jumpgate.p4.compiler.profile import load_profile
from jumpgate.p4.compiler.walk import calls_inlined

if TYPE_CHECKING:
    from jumpgate.p4.compiler.allocation.resources import Resources


@dataclass(frozen=True)
class Compiled:
    """A program that obeys the rules; its forms are made when they are asked for."""

    program: ir.Program
    profile: str

    @cached_property
    def cpp(self) -> str:
        """C++ source of the library that the software switch loads."""
        from jumpgate.p4.compiler.output.backend import render

        return render(self.program)

    @cached_property
    def p4info(self) -> Any:
        """A p4.config.v1.P4Info message."""
        from jumpgate.p4.compiler.output.p4info import p4info

        return p4info(self.program)

    @cached_property
    def resources(self) -> Resources:
        """The program's share of the hardware; `problems` names what does not fit."""
        from jumpgate.p4.compiler.allocation.resources import resources

        return resources(self.program, load_profile(self.profile))


def front_end(
    text: str,
    file: str,
    defines: Mapping[str, str] | None = None,
    diagnostics: Diagnostics | None = None,
    includes: Sequence[Path] = (),
) -> ir.Program:
    """Source → typed program. Raises P4Error with all mistakes that were found. `diagnostics`: of later passes too."""
    diagnostics = diagnostics or Diagnostics()
    try:
        tokens = Preprocessor(diagnostics, tuple(includes), dict(defines or {})).run(text, file)
        tree = parse(tokens, diagnostics)
        diagnostics.check()
        program = elaborate(tree, file, diagnostics)
    except Mistake as mistake:
        diagnostics.add(mistake)
    except RecursionError:
        diagnostics.error(Position(file, 1, 1), "the program is nested too deep")
    diagnostics.check()
    check_rules(program, diagnostics)
    diagnostics.check()
    return program


def compile_source(
    text: str,
    file: str,
    *,
    profile: str = "tofino1",
    defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (),
) -> Compiled:
    """Compiles a program for the hardware of that profile ("none": for the software switch alone). `includes`: folders
    that #include looks into, behind the program's own.

    Raises P4Error for what is wrong with it, and for what does not fit.
    """
    diagnostics = Diagnostics()
    compiled = _checked(text, file, profile, defines, diagnostics, includes)
    for position, problem in compiled.resources.problems:
        diagnostics.error(position, problem)
    diagnostics.check()
    return compiled


def report(text: str, file: str, profile: str = "tofino1", includes: Sequence[Path] = ()) -> Resources:
    """Report the resources of a program, whether it fits or not. Raises P4Error for what else is wrong with it."""
    return _checked(text, file, profile, None, Diagnostics(), includes).resources


def _checked(
    text: str,
    file: str,
    profile: str,
    defines: Mapping[str, str] | None,
    diagnostics: Diagnostics,
    includes: Sequence[Path] = (),
) -> Compiled:
    limits = load_profile(profile)
    program = front_end(text, file, defines, diagnostics, includes)
    check_intrinsic(program, diagnostics)
    check_alus(program, limits, diagnostics)
    check_stateful(program, limits, diagnostics)
    check_outputs(program, limits, diagnostics)
    check_vendor(program, limits, diagnostics)
    diagnostics.check()
    for gress in program.gresses:
        gress.control, gress.deparser = calls_inlined(gress.control), calls_inlined(gress.deparser)
    return Compiled(program, profile)
