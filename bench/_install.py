"""Measures what a bare machine spends from `pip install` of the platform's wheel to the first result."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from jumpgate.codegen import toolchain
from release import wheel

ROOT = Path(__file__).resolve().parents[1]
EXTRA = "sql"
QUERY = """
import jumpgate
connection = jumpgate.connect()
connection.register("t", "t.csv")
assert connection.sql("SELECT b, sum(a) AS s FROM t GROUP BY b ORDER BY b").to_arrow().num_rows == 2
"""


def cpu_s() -> tuple[float, float]:
    """Return the seconds of CPU of `pip install`, after the download, and of the first query over two rows of CSV."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wanted = f"{_wheel(work)}[{EXTRA}]"
        there = work / "wheels"
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--dest", there, wanted)
        venv.create(work / "venv", with_pip=True)
        python = work / "venv" / "bin" / "python"
        install = _run(python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", there, wanted)
        (work / "t.csv").write_text("a,b\n1,x\n2,y\n")
        return install, _run(python, "-c", QUERY, cwd=work, JUMPGATE_CACHE_DIR=str(work / "cache"))


def _wheel(work: Path) -> Path:
    """Return a wheel with the runtime of this machine."""
    wheel.add(work / "runtimes" / "this", toolchain.runtime("release").library.parent)
    wheel.describe(work / "runtimes", {"this": ()})
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", work / "pure", ROOT)
    pure = next((work / "pure").glob("*.whl"))
    wheel.thin(pure)
    return wheel.pack(pure, work / "runtimes", work / "packed")


def _run(*command: str | Path, cwd: Path | None = None, **variables: str) -> float:
    """Run a command; return the seconds of CPU of all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **variables}
    environment.pop("PYTHONPATH", None)
    subprocess.run([str(word) for word in command], cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
