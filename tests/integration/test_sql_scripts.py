"""`jumpgate sql` with scripts: files, standard input, -c; results as text and as files; the first error ends it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from jumpgate.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """run(*arguments, stdin=""): exit status, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"id": [1, 2, 3], "name": ["a", None, ""]}), tmp_path / "item.parquet")

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main(["sql", "--offload", "never", *arguments])
        return int(str(ended.value.code)), *capfd.readouterr()

    return run


TABLE = "┌────────┐\n│   a    │\n│ bigint │\n├────────┤\n│      {} │\n└────────┘\n1 row\n"


def test_statements_of_all_sources(run: Run, tmp_path: Path) -> None:
    text = "SELECT 1::BIGINT AS a; -- and\nSELECT 2::BIGINT AS a"
    both = TABLE.format(1) + TABLE.format(2)
    (tmp_path / "two.sql").write_text(text)
    assert run("two.sql") == (0, both, "")
    assert run("-", stdin=text) == run(stdin=text) == run("-c", text) == (0, both, "")
    assert run("-c", "SELECT 1::BIGINT AS a", "-c", "SELECT 2::BIGINT AS a") == (0, both, "")
    assert run("-c", "", "-c", " ; -- nothing") == (0, "", "")
    assert run("two.sql", "-c", "SELECT 1")[0] == 2


def test_commands_in_scripts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("SELECT 5 AS five;")
    text = ".mode csv\nSELECT 1 AS a, NULL AS b, '' AS c;\n.mode jsonlines\n.read more.sql\n.quit\nSELECT nothing;"
    assert run(stdin=text) == (0, '"a","b","c"\n1,,""\n{"five": 5}\n', "")


def test_tables_and_files(run: Run) -> None:
    assert run("-t", "item=item.parquet", "--mode", "line", "-c", ".tables\nSELECT count(*) AS n FROM item")[:2] == (
        0,
        "item\nn = 3\n",
    )
    assert run("--mode", "markdown", "-c", "SELECT id FROM 'item.parquet' WHERE id > $1::INT", "-p", "2")[1] == (
        "| id |\n| --: |\n| 3 |\n"
    )
    text = ".register item item.parquet\n.mode tsv\nSELECT id, name FROM item ORDER BY id"
    assert run("-c", text)[1].endswith('"id"\t"name"\n1\t"a"\n2\t\n3\t""\n')


def test_the_first_error_ends_a_script(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.sql").write_text("SELECT 1 AS a;\n\nSELECT 2,\n  nothing\nFROM item;\nSELECT 3 AS a")
    code, out, err = run("wrong.sql", "-t", "item=item.parquet", "--mode", "line")
    assert (code, out) == (1, "a = 1\n")
    assert err.startswith("error: DuckDB: Binder Error: ") and err.endswith("LINE 4:   nothing\n          ^\n")
    assert "Traceback" not in err and "\n\n" not in err
    code, _, err = run("-c", "SELECT 1 FORM t")
    assert code == 1 and err.endswith("LINE 1: SELECT 1 FORM t\n                      ^\n")
    code, out, _ = run("-c", "SELECT 1 FORM t", "--json")
    assert code == 1 and json.loads(out)["error"]["code"] == "invalid_sql"
    assert run("nothing.sql")[::2] == (1, "error: cannot read nothing.sql: No such file or directory\n")
    assert run("-c", "SELECT 1", "--format", "xls")[0] == 2


def test_wide_results_are_cut(run: Run) -> None:
    _, out, _ = run("-c", "SELECT repeat('x', 500) AS wide, 7 AS n, repeat('日', 99) AS east")
    assert all(len(line) <= 60 for line in out.splitlines()) and "│ xxxx" in out and "…" in out and "│       7 │" in out
    _, out, _ = run("-c", "SELECT i AS a, 2 * i AS b FROM range(1000) t(i)")
    assert out.endswith("│    999 │   1998 │\n└────────┴────────┘\n1000 rows (40 shown)\n")
    _, out, _ = run("-c", f"SELECT {', '.join(f'{i} AS column_{i}' for i in range(30))}")
    assert "column_0 " in out and "column_29" in out and out.endswith("1 row, 30 columns (4 shown)\n")


def test_results_are_saved(run: Run, tmp_path: Path) -> None:
    def saved(suffix: str) -> Path:
        file = tmp_path / f"out{suffix}"
        code, out, err = run("-o", str(file), "-c", "SELECT id, name FROM 'item.parquet' ORDER BY id")
        assert (code, out, err) == (0, f"wrote 3 rows to {file}\n", "")
        return file

    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": ""}]
    assert parquet.read_table(saved(".parquet")).to_pylist() == rows
    assert feather.read_table(saved(".arrow"), memory_map=False).to_pylist() == rows
    assert [json.loads(line) for line in saved(".json").read_text().splitlines()] == rows
    options = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    assert csv.read_csv(saved(".csv"), convert_options=options).to_pylist() == rows
    assert run("-o", "-", "-c", "SELECT 1 AS a")[1] == '"a"\n1\n'
    assert run("-o", "-", "--mode", "json", "-c", "SELECT 1 AS a UNION ALL SELECT 2 ORDER BY 1")[1] == (
        '[{"a": 1},\n{"a": 2}]\n'
    )


def test_a_file_holds_one_result(run: Run, tmp_path: Path) -> None:
    code, _, err = run("-o", "one.csv", "-c", "SELECT 1 AS a; SELECT 2 AS a")
    assert code == 1 and "one.csv has the result of a statement already, and holds one" in err
    assert (tmp_path / "one.csv").read_text() == '"a"\n1\n'
    text = ".once a.csv\nSELECT 1 AS a;\nSELECT 2::BIGINT AS a;\n.output b.csv\nSELECT 3 AS a;\n.output\n.mode line\n"
    code, out, _ = run("-c", text + "SELECT 4 AS a")
    assert code == 0 and out == "wrote 1 row to a.csv\n" + TABLE.format(2) + "wrote 1 row to b.csv\na = 4\n"
    assert [(tmp_path / name).read_text() for name in ("a.csv", "b.csv")] == ['"a"\n1\n', '"a"\n3\n']
    with pytest.raises(SystemExit):
        main(["sql", "-o", "x.txt", "-c", "SELECT 1"])


def test_skipped_rows_are_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y,z\n3\n4,w\n")
    options = ("-t", "t=t.csv", "--option", "on_error=skip")
    code, out, err = run(*options, "--mode", "csv", "-c", "SELECT sum(a) AS s FROM t")
    said = "skipped 2 rows of t.csv that could not be read\n"
    assert (code, out) == (0, '"s"\n5\n') and said in err
    for asked in (("-o", "s.parquet", "-c", "SELECT a FROM t"), ("--json", "-c", "SELECT a FROM t"),
                  ("-c", "CREATE TABLE x AS SELECT a FROM t"), ("--analyze", "-c", "SELECT a FROM t")):  # fmt: skip
        err = run(*options, *asked)[2]
        assert said in err and err.count("skipped") == 1


def test_what_runs_where(run: Run) -> None:
    assert "DuckDB answers here" in run("--explain", "-c", "SELECT 1")[1]
    code, out, _ = run("-c", "SELECT 1 AS a;\n.explain\n.explain SELECT 2\n.analyze")
    assert code == 0 and out.count("DuckDB answers here") == 3 and out.count("rows 1, received") == 1


def test_starting_is_light() -> None:
    """Neither the service nor another process is started where nobody asks for one, nor is the editor loaded."""
    code = """
import os, sys
from jumpgate.cli.main import main
try:
    main(["sql", "-c", "SELECT 1"])
except SystemExit:
    print(*sys.modules)
print(sum(os.times()[2:4]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, loaded, children = done.stdout.splitlines()
    assert not [name for name in loaded.split() if name.startswith(("jumpgate.service.server", "prompt_toolkit"))]
    assert float(children) == 0.0


def test_the_databases_own_tables(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "own.db")
    text = "CREATE TABLE t AS SELECT 1 AS a, 'x' AS name; INSERT INTO t VALUES (2, NULL);\n.tables\n.schema t"
    assert run("--database", file, "-c", text) == (0, "t\nt\n  a     INTEGER\n  name  VARCHAR\n", "")
    options = ("--database", file, "-t", "item=item.parquet", "--mode", "line")
    assert run(*options, "-c", "SELECT count(*) AS n FROM t;\n.tables\n.tables T*") == (0, "n = 2\nitem\nt\nt\n", "")
