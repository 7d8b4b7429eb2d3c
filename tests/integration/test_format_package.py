"""A package outside the tree adds Arrow IPC files: tests/packages/format_example, in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest

PACKAGE = Path(__file__).parents[1] / "packages" / "format_example"
TOTALS = [
    {"part": part, "n": len(ids), "total": f"{sum(ids) / 100:.2f}"}
    for part in range(7)
    for ids in [[i for i in range(9_000, 10_000) if i % 7 == part]]
]


def run(*command: str | Path, timeout: float = 240) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment, in which pip has installed the package; the rest it has from this one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    (packages / "shared.pth").write_text(
        "".join(f"import site; site.addsitedir({p!r})\n" for p in site.getsitepackages())
    )
    sources = tmp_path_factory.mktemp("sources") / "package"  # a copy, since builds write there
    shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    run(sys.executable, "-m", "pip", "install", *offline, "--target", packages, sources)
    return home / "bin" / "python"


def test_it_works_on_every_road(python: Path, tmp_path: Path) -> None:
    answers = json.loads(run(python, PACKAGE / "try_it.py", tmp_path))
    for variant in range(3):
        assert answers[f"t{variant}.arrow"] is True
    assert answers["count"] == [{"n": 30_000}]
    for road in ("dataflow", "never", "auto", "always"):
        assert answers[road] == TOTALS, road
    assert "read arrow_ipc t0.arrow" in answers["plan"] and answers["offloaded"] > 0
    assert answers["statistics"] == [10_000, 7] and answers["substrait"] is True
    for what, (kind, words) in {
        "damaged": ("MalformedData", "is not an Arrow IPC file, or damaged"),
        "damaged, with a schema": ("MalformedData", "bad.feather"),
        "of another type": ("SchemaMismatch", "column 'id' is int64"),
        "without the column": ("SchemaMismatch", "column 'no' is not there"),
        "of no type of ours": ("InvalidDataflow", "list<item: int64>"),
        "with an option": ("InvalidDataflow", "arrow_ipc has no option 'header'"),
    }.items():
        assert answers[what][0] == kind and words in answers[what][1], (what, answers[what])


@pytest.mark.nightly(like="tests/integration/test_format_package.py::test_it_works_on_every_road")
def test_the_command_line_reads_it(python: Path, tmp_path: Path) -> None:
    with pyarrow.ipc.new_file(tmp_path / "t.arrow", pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1, 2, 39]}))
    (tmp_path / "query.py").write_text(
        "from jumpgate.client import read, sum_\n"
        f"dataflow = read({str(tmp_path / 't.arrow')!r}).aggregate(t=sum_('a'))\n"
    )
    (tmp_path / "query.sql").write_text("SELECT sum(a) AS t FROM t")
    jumpgate = (python, "-c", "from jumpgate.cli.main import main; main()")
    assert json.loads(run(*jumpgate, "run", "--json", tmp_path / "query.py"))["result"] == [{"t": 42}]
    found = json.loads(run(*jumpgate, "sql", "--json", "--tables", tmp_path, tmp_path / "query.sql"))
    assert found["rows"] == 1 and found["result"] == [[42]]


def test_without_the_package_it_is_unknown(tmp_path: Path) -> None:
    code = "from jumpgate.dataflow.formats import formats; formats()['arrow_ipc']"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "unknown format 'arrow_ipc'; Jumpgate reads json, orc, parquet, csv" in done.stderr
