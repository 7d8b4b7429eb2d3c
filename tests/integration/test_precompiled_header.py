"""Generated programs begin with a header that was compiled with the runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jumpgate.codegen import toolchain
from jumpgate.nca import quick_builds

PROGRAM = (Path(__file__).parents[1] / "golden/codegen/star.cpp").read_text()


@pytest.mark.skipif("clang" in toolchain.compiler_version(), reason="only g++ finds a compiled header by itself")
@pytest.mark.parametrize("source", [PROGRAM, quick_builds.text(PROGRAM)], ids=["optimised", "quick"])
def test_compiler_takes_the_compiled_header(source: str) -> None:
    runtime, variant = toolchain.runtime(), toolchain.default_variant()
    command = [
        toolchain.compiler(), *toolchain.flags(variant, runtime.include), "-H", "-fsyntax-only", "-x", "c++", "-",
    ]  # fmt: skip
    said = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stderr
    assert f"! {runtime.include / toolchain.HEADER}.gch" in said.splitlines()
