"""The command line: what users see when all is well, and one sentence when it is not. Nothing here starts a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jumpgate.cli import doctor
from jumpgate.cli.load import load
from jumpgate.cli.main import COMMANDS, main
from jumpgate.dataflow import proto
from jumpgate.errors import ConfigError, FileUnreadable, InvalidDataflow

QUERY = """
from jumpgate.dataflow.builder import read
from jumpgate.dataflow.unresolved import col
{name} = read({data!r}, schema={{"a": "int64"}}).filter(col("a") > 1)
"""


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("JUMPGATE_DEBUG", raising=False)
    monkeypatch.delenv("JUMPGATE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "t.csv"
    file.write_text("a\n1\n2\n")
    return str(file)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    listed = capsys.readouterr().out
    for name in COMMANDS:
        assert name in listed
        assert run(name, "--help") == 0
        assert capsys.readouterr().out.startswith(f"Usage: jumpgate {name} ")


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rn") == 2
    assert "No such command 'rn'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["dataflow = {}", "def dataflow():\n    return {}"])
def test_load_python(tmp_path: Path, data: str, text: str) -> None:
    file = tmp_path / "query.py"
    file.write_text(QUERY.format(name="made", data=data) + text.format("made"))
    dataflow, _ = load(file)
    assert dataflow.schema.names == ("a",)


def test_load_json(tmp_path: Path, data: str) -> None:
    file = tmp_path / "query.py"
    file.write_text(QUERY.format(name="dataflow", data=data))
    dataflow, dialect = load(file)
    request = tmp_path / "query.json"
    request.write_text(proto.to_json(dataflow.root, dialect))
    loaded, its_dialect = load(request)
    assert (loaded.root, its_dialect) == (dataflow.root, dialect)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x = 1", ConfigError, "query.py defines no 'dataflow': assign it what read"),
        ("dataflow = 1", ConfigError, "query.py defines a int, not a dataflow, as 'dataflow'"),
        ("\n1 / 0", ConfigError, r"query.py:2: ZeroDivisionError: division by zero"),
        ("def (", ConfigError, r"query.py:1: SyntaxError"),
        (
            QUERY.format(name="dataflow", data="DATA").replace('col("a")', 'col("b")'),
            InvalidDataflow,
            "unknown column 'b'",
        ),
    ],
)
def test_load_explains_what_is_wrong(
    tmp_path: Path, data: str, text: str, error: type[Exception], message: str
) -> None:
    file = tmp_path / "query.py"
    file.write_text(text.replace("'DATA'", repr(data)))
    with pytest.raises(error, match=message):
        load(file)


def test_load_of_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="there is no file"):
        load(tmp_path / "query.py")
    other = tmp_path / "query.sql"
    other.write_text("SELECT 1")
    with pytest.raises(ConfigError, match=r"query.sql is neither a .py file nor a .json file"):
        load(other)


def test_error_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "missing.py") == 1
    assert capsys.readouterr().err == "error: there is no file missing.py\n"


def test_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "missing.py", "--json") == 1
    assert json.loads(capsys.readouterr().out)["error"] == {
        "code": "io", "message": "there is no file missing.py", "fields": {"file": "missing.py"}
    }  # fmt: skip


def test_output_is_checked_before_anything_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("run", "missing.py", "-o", "out.xls") == 1
    assert "the suffix says the format; it can be .parquet, .csv, .arrow" in capsys.readouterr().err
    assert run("run", "missing.py", "-o", str(tmp_path / "no" / "out.csv")) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_report_of_an_unknown_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", "nope") == 1
    assert "no record of job 'nope'" in capsys.readouterr().err


def test_nca_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nca", "list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    names = [about["name"] for about in listed["ncas"]]
    assert {"cpp", "engine", "switch_aggregate"} <= set(names)
    assert not listed["problems"]
    assert run("nca", "show", "cpp") == 0
    assert capsys.readouterr().out.startswith("cpp (jumpgate.ncas.cpp.")
    assert run("nca", "show", "enginee") == 1
    assert "did you mean 'engine'?" in capsys.readouterr().err


def test_nca_new(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("nca", "new", "mine", "-o", str(tmp_path), "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert str(tmp_path / "mine" / "pyproject.toml") in files
    assert run("nca", "new", "mine", "-o", str(tmp_path)) == 1
    assert "exists already" in capsys.readouterr().err


def test_data_refuses_an_unknown_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("data", "tpcds", "-o", str(tmp_path), "--tables", "items") == 1
    assert "TPC-DS has no table 'items'; it has call_center" in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--json") == 0
    findings = {f["check"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert {"Python", "C++ compiler", "cores", "memory", "cache", "runtime library", "ports", "pyarrow"} <= set(
        findings
    )
    assert all(f["state"] in ("ok", "warn") for f in findings.values())


def test_doctor_without_a_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CXX", "no-such-compiler")
    doctor.toolchain.compiler.cache_clear()
    doctor.toolchain.compiler_version.cache_clear()
    try:
        assert run("doctor") == 1
    finally:
        doctor.toolchain.compiler.cache_clear()
        doctor.toolchain.compiler_version.cache_clear()
    printed = capsys.readouterr().out
    assert "fail" in printed
    assert "apt-get install g++" in printed
