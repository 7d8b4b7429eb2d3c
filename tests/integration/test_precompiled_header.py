"""Generated programs begin with a header that was compiled with the runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jumpgate.codegen import toolchain
from jumpgate.nca import quick_builds

PROGRAM = (Path(__file__).parents[1] / "golden/codegen/star.cpp").read_text()


@pytest.mark.skipif("clang" in toolchain.compiler_version(), reason="only g++ finds a compiled header by itself")
@pytest.mark.parametrize("optimised", [True, False], ids=["optimised", "quick"])
def test_compiler_takes_the_compiled_header(optimised: bool) -> None:
    runtime, variant = toolchain.runtime(), toolchain.default_variant()
    flags, source = (
        toolchain.flags(variant, runtime.include, optimised),
        PROGRAM if optimised else quick_builds.text(PROGRAM),
    )
    command = [toolchain.compiler(), *flags, "-H", "-fsyntax-only", "-x", "c++", "-"]
    said = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stderr
    name = "optimised" if optimised else "unoptimised"
    assert f"! {runtime.include / toolchain.HEADER}.gch/{name}" in said.splitlines()
