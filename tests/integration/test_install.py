"""The wheel in a fresh environment, with each extra alone and with none: what works, and what names its extra."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpgate import spark
from jumpgate.codegen import toolchain
from release import wheel as platform_wheel
from tests.support import jvm

ROOT = Path(__file__).resolve().parents[2]
SPARK_JARS = Path("clients/spark/python/jars")
#: engines whose connector is a plugin that a command writes
PLUGINS = ("presto", "trino")
#: a command (of the shell, in an environment's PATH) for each extra
NEEDS = {
    "sql": ("echo SELECT 1 | jumpgate sql -", "jumpgate calibrate", "python -c 'import jumpgate; jumpgate.connect()'"),
    "data": ("jumpgate data tpcds --output x", "jumpgate demo --data x"),
    "switch": ("jumpgate nca show switch_aggregate", "jumpgate nca show switch_prune"),
}


def run(command: str, path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "JUMPGATE_CONFIG": ""}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        ["sh", "-c", command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(wheel, sdist) of what git would commit, and the plugins for Spark, Presto and Trino."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    (source / SPARK_JARS).mkdir(parents=True)
    jvm.build()
    shutil.copy(spark.jar(), source / SPARK_JARS)
    for engine in PLUGINS:
        jars = Path("clients") / engine / "python" / "jars"
        shutil.copytree(ROOT / jars, source / jars)
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--wheel", "--outdir", built, source], check=True, timeout=240
    )
    return next(built.glob("*.whl")), next(built.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def installed(
    archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], tuple[Path, Path]]]:
    """installed(extra): (folder of programs, an empty folder) of a new environment with this platform's wheel, and that
    extra."""
    built, work = toolchain.runtime(), tmp_path_factory.mktemp("wheel")
    platform_wheel.add(work / "runtimes" / "this", built.library.parent)
    platform_wheel.describe(work / "runtimes", {"this": ()})
    thin = Path(shutil.copy(archives[0], work))
    platform_wheel.thin(thin)
    packed = platform_wheel.pack(thin, work / "runtimes", work / "packed")
    places: dict[str, Path] = {}

    def install(extra: str) -> tuple[Path, Path]:
        if extra not in places:
            places[extra] = tmp_path_factory.mktemp(f"with_{extra or 'nothing'}")
            venv.create(places[extra] / "venv", with_pip=True)
            wheel = f"{packed}[{extra}]" if extra else str(packed)
            done = run(f"pip install --quiet '{wheel}'", places[extra] / "venv" / "bin", places[extra])
            assert done.returncode == 0, done.stderr
        return places[extra] / "venv" / "bin", places[extra]

    yield install


def test_archives_have_what_they_need(archives: tuple[Path, Path]) -> None:
    wheel, sdist = archives
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {"jumpgate/py.typed", "jumpgate/docs/sql.md", "jumpgate/ncas/runtime/CMakeLists.txt"} <= inside
    assert "jumpgate/spark/jars/jumpgate-spark4.2_2.13.jar" in inside
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"docs/sql.md", "ARCHITECTURE.md", "CHANGELOG.md", "tests/conftest.py", "bench/README.md"} <= packed
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in listed if name.startswith(("jumpgate/", "ncas/", "converters/", "p4/"))} <= packed


def test_without_extras_a_dataflow_runs(installed: Callable[[str], tuple[Path, Path]]) -> None:
    path, folder = installed("")
    (folder / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n")
    (folder / "query.py").write_text(
        "from jumpgate.client import col, read, sum_\n"
        'rows = read("t.csv", schema={"a": "int64", "b": "string"})\n'
        'dataflow = rows.aggregate(by=["b"], s=sum_("a")).sort("b")\n'
    )
    command = "JUMPGATE_CACHE_DIR=cache jumpgate run query.py --output out.csv >run.log && cat out.csv"
    done = run(command, path, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace('"', "").split() == ["b,s", "x,4", "y,2"]
    assert (folder / "cache" / "runtime").exists() and not (folder / "cache" / "build").exists()


def test_a_first_query_compiles_no_runtime(installed: Callable[[str], tuple[Path, Path]]) -> None:
    path, folder = installed("")
    (folder / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n")
    lent = f"PYTHONPATH={sysconfig.get_path('purelib')} JUMPGATE_CACHE_DIR=queried"  # DuckDB
    for mode in ("auto", "always"):
        text = f"c = jumpgate.connect(offload='{mode}'); c.register('t', 't.csv'); print(jumpgate.__file__)"
        query = "print(c.sql('SELECT b, sum(a)::INT AS s FROM t GROUP BY b ORDER BY b').to_pylist())"
        done = run(f'{lent} python -c "import jumpgate; {text}; {query}"', path, folder)
        assert done.returncode == 0, done.stderr
        place, rows = done.stdout.splitlines()
        assert place.startswith(str(folder)) and rows == "[{'b': 'x', 's': 4}, {'b': 'y', 's': 2}]"
    assert (folder / "queried" / "runtime").exists() and not (folder / "queried" / "build").exists()


@pytest.mark.parametrize(("extra", "command"), [(extra, c) for extra, commands in NEEDS.items() for c in commands])
def test_a_missing_extra_is_named_in_one_sentence(
    installed: Callable[[str], tuple[Path, Path]], extra: str, command: str
) -> None:
    path, folder = installed("")
    done = run(command, path, folder)
    assert done.returncode == 1
    assert f"is not installed; run `pip install 'jumpgate-nca[{extra}]'`" in done.stderr
    if command.startswith("jumpgate"):
        assert "Traceback" not in done.stderr


def test_the_plugin_for_spark_is_found(installed: Callable[[str], tuple[Path, Path]]) -> None:
    path, folder = installed("")
    done = run("jumpgate spark-jar", path, folder)
    assert done.returncode == 0, done.stderr
    assert zipfile.is_zipfile(done.stdout.strip())


@pytest.mark.parametrize("engine", PLUGINS)
def test_a_servers_plugin_is_written(engine: str, installed: Callable[[str], tuple[Path, Path]]) -> None:
    path, folder = installed("")
    done = run(f"jumpgate {engine}-plugin --output plugin/jumpgate", path, folder)
    assert done.returncode == 0, done.stderr
    assert zipfile.is_zipfile(folder / done.stdout.strip())


def test_doctor_and_list_work_without_extras(installed: Callable[[str], tuple[Path, Path]]) -> None:
    path, folder = installed("")
    done = run("COLUMNS=400 jumpgate doctor && jumpgate nca list", path, folder)  # wide: no line is folded
    assert done.returncode == 0, done.stderr
    for extra in NEEDS:
        assert f"pip install 'jumpgate-nca[{extra}]'" in done.stdout


@pytest.mark.nightly(like="tests/integration/test_install.py::test_without_extras_a_dataflow_runs")
@pytest.mark.parametrize(
    ("extra", "command", "printed"),
    [
        ("sql", "printf 'a\n42\n' >t.csv; echo 'SELECT a FROM t' | jumpgate sql - --table t=t.csv", "42"),
        ("data", "jumpgate data tpcds --scale 0.01 --output d --tables item --format csv && ls d/csv", "item.csv"),
        ("switch", "jumpgate nca show switch_prune && jumpgate nca show switch_aggregate", "switch_aggregate"),
    ],
)
def test_each_extra_alone(
    installed: Callable[[str], tuple[Path, Path]], extra: str, command: str, printed: str
) -> None:
    path, folder = installed(extra)
    done = run(command, path, folder)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
