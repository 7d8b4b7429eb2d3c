"""Compiles P4-16 programs for the Tofino Native Architecture: source → tokens → syntax tree → typed IR → checks →
C++ for the software switch, P4Info, and a resource report.

    compiled = compile_source(text, "aggregate.p4")
    compiled.cpp, compiled.p4info, compiled.resources.text()
"""

from __future__ import annotations

from jumpgate.p4.compiler.compile import Compiled, compile_source, front_end, report
from jumpgate.p4.compiler.frontend.source import P4Error, Problem

__all__ = ["Compiled", "P4Error", "Problem", "compile_source", "front_end", "report"]
