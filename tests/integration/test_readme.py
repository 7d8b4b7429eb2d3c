"""README.md's commands do what it says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jumpgate.testing.leaks import nothing_left
from jumpgate.tpcds.compare import duckdb_over
from jumpgate.tpcds.data import generate
from jumpgate.tpch import TPCH
from tests.support import jvm
from tests.support.presto_shell import SCALE as TPCH_SCALE

ROOT = Path(__file__).resolve().parents[2]
#: whatever a script started ends with it, also when it fails
END = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def sections() -> dict[str, str]:
    """The README's text by heading."""
    parts = re.split(r"^## (.*)\n", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands(section: str) -> str:
    """The indented blocks of a section as one shell script."""
    return "".join(f"{line[4:]}\n" for line in sections()[section].splitlines() if line.startswith("    "))


def test_two_commands_are_tasks() -> None:
    listed = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True).stdout
    for line in commands("Two commands").splitlines():
        program, task = line.split()[:2]
        assert program == "./dev"
        assert re.search(rf"^  {task} ", listed, re.MULTILINE)


def test_continuous_integration_runs_the_test_command() -> None:
    assert re.search(r"^exec \./dev test\b", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


def test_demo_computes_what_duckdb_does(tmp_path: Path) -> None:
    done = subprocess.run(
        ["jumpgate", "demo", "--scale", "0.01", "--data", str(tmp_path), "--json"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)["formats"]
    assert [outcome["format"] for outcome in outcomes] == ["json", "orc", "parquet", "csv"]
    assert [outcome["difference"] for outcome in outcomes] == [None] * 4
    assert all(outcome["best_s"] > 0 and outcome["duckdb_s"] > 0 for outcome in outcomes)


def test_spark_runs_a_query_on_accelerators(tmp_path: Path) -> None:
    activation, installation, script = commands("Spark").split("\n", 2)
    assert (activation, installation) == ("source .venv/bin/activate", "pip install '.[spark]'")
    jvm.build()
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-m"], input=f"{END}{script}wait || true\n", cwd=tmp_path,
        env={**ENVIRONMENT, "SPARK_LOCAL_IP": "127.0.0.1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Jumpgate [" in done.stdout and "operators (100 %) offloaded" in done.stdout
    assert len(re.findall(r"^[\w ]+ #\d+\t\d+\.\d\d$", done.stdout, re.MULTILINE)) == 5, done.stdout
    assert "Spark computes what Jumpgate should have" not in done.stderr


@pytest.mark.timeout(600)  # a server starts, and on a new machine it is fetched first
def test_presto_runs_a_query_on_accelerators(tmp_path: Path) -> None:
    generate(tmp_path, TPCH_SCALE, ("parquet",), ("lineitem",), suite=TPCH)
    script = commands("Presto")
    query = re.findall(r"^ +(SELECT [^;\"]+)", script, re.MULTILINE)[0]
    with duckdb_over(tmp_path, "parquet", ("lineitem",), suite=TPCH) as connection:
        expected = [",".join(f'"{value}"' for value in row) for row in connection.execute(query).fetchall()]
    with nothing_left():  # `timeout` ends the whole group of processes
        done = subprocess.run(
            ["timeout", "--kill-after=30", "500", "bash", "-euc", script], cwd=ROOT, capture_output=True, text=True,
            env={**ENVIRONMENT, "JUMPGATE_VENV": sys.prefix}, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "operators (100 %) offloaded" in done.stdout
    assert sorted(re.findall(r'^".+",".+",".+"$', done.stdout, re.MULTILINE)) == sorted(expected)


@pytest.mark.nightly(like="tests/integration/test_readme.py::test_presto_runs_a_query_on_accelerators")
@pytest.mark.timeout(600)
def test_presto_ends_with_all_it_started(tmp_path: Path) -> None:
    endless = (
        "SELECT 'begun'; SELECT count(*) FROM lineitem a, lineitem b, lineitem c WHERE a.l_tax < b.l_tax + c.l_tax"
    )
    with nothing_left([tmp_path]):
        with subprocess.Popen(
            ["timeout", "--kill-after=30", "500", ROOT / "dev", "presto", "--execute", endless], cwd=ROOT, text=True,
            env={**ENVIRONMENT, "JUMPGATE_VENV": sys.prefix, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout and process.stdout.readline() == '"begun"\n'
            process.terminate()
        assert process.returncode == 128 + signal.SIGTERM


def test_tour_works_when_pasted(tmp_path: Path) -> None:
    activation, _, script = commands("A tour").partition("\n")
    assert activation == "source .venv/bin/activate"
    script, shortened = re.subn(r"(jumpgate nca check engine)\b", r"\1 --cases 5", script)  # conformance/ has more
    assert shortened == 1
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-m"], input=f"{END}{script}wait || true\n", cwd=tmp_path, env=ENVIRONMENT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "paid.parquet").stat().st_size > 0
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert "i_category" in done.stdout
