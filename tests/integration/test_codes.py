"""Codes of dictionaries: as the processor's widest vectors unpack and judge them, and as others do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import jumpgate.converters
from tests.support import cpp

CPP = Path(__file__).parents[1] / "cpp"
CONVERTERS = Path(jumpgate.converters.__file__).parent


@pytest.mark.parametrize("flags", [["-march=native"], []], ids=["native", "plain"])
def test_codes_are_those_of_a_loop(flags: list[str]) -> None:
    judge = cpp.runtime_source() / "src" / "functions" / "judge.cpp"
    sources = [CPP / "codes.cpp", CONVERTERS / "parquet" / "hybrid.cpp", judge]
    program = cpp.build("codes", sources, [*cpp.SANITIZED, *flags, "-I", str(CONVERTERS), "-I", str(CPP)])
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
