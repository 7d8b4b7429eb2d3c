"""Memory that instances borrow from their zygote comes back however they end, and goes to the system in the end."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import cpp

CPP = Path(__file__).parents[1] / "cpp"


def test_memory_is_lent_and_comes_back() -> None:
    sources = [cpp.runtime_source() / "src" / "base" / f"{name}.cpp" for name in ("lent_memory", "memory", "disk")]
    program = cpp.build("lending", [CPP / "lending.cpp", *sources], cpp.RELEASE)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
