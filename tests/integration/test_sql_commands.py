"""SHOW TABLES and EXPLAIN: what is Jumpgate's is in their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import jumpgate
from jumpgate.cli.main import main
from jumpgate.client.sql import commands
from jumpgate.client.sql.connection import Connection


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    file = tmp_path_factory.mktemp("tables") / "item.parquet"
    parquet.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "it's": ["a", None]}), file)
    with jumpgate.connect(offload="never") as connection:
        connection.register("item", file)
        connection.register("Extra", pa.table({"n": pa.array([1], pa.int32())}))
        yield connection


def rows(connection: Connection, text: str, parameters: Any = ()) -> list[dict[str, Any]]:
    return connection.sql(text, parameters).to_pylist()


@pytest.mark.parametrize("text", ["show tables", "SHOW /* all */ TABLES ;"])
def test_tables(connection: Connection, text: str) -> None:
    extra, item = rows(connection, text)
    assert extra == {"name": "Extra", "source": "Arrow table of 1 row"}
    assert item["name"] == "item" and item["source"].startswith("parquet ") and Path(item["source"][8:]).is_file()


def test_no_tables() -> None:
    with jumpgate.connect(offload="never") as connection:
        assert rows(connection, "SHOW TABLES") == []


@pytest.mark.parametrize("text", ["explain select id from item", "EXPLAIN (SELECT id FROM item);"])
def test_explain(connection: Connection, text: str) -> None:
    lines = [row["plan"] for row in rows(connection, text)]
    assert "DuckDB answers here" in lines and "  query: offload = never" in lines
    assert not any(line.startswith("Run") for line in lines)


def test_explain_analyze(connection: Connection) -> None:
    lines = [row["plan"] for row in rows(connection, "EXPLAIN ANALYZE SELECT id FROM item WHERE id > $1", [1])]
    assert any("rows 1" in line for line in lines)


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "WITH show AS (SELECT 1) SELECT 1", "FROM item", "tables", "DESCRIBE item", "EXPLAIN DROP TABLE item"],
)
def test_queries_are_no_commands(connection: Connection, text: str) -> None:
    assert commands.answer(text, connection._workspace, connection.sql) is None


def test_tables_and_options_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tables"
    (folder / "parts").mkdir(parents=True)
    (folder / "people.csv").write_text("name;age\nann;NA\nbob;7\n")
    (folder / "pets.json").write_text('{"name": "rex"}\n')
    (folder / "parts" / "part.json").write_text('{"n": 1}\n')
    (folder / "README.md").write_text("no table")
    file = tmp_path / "query.sql"

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        file.write_text(text)
        with pytest.raises(SystemExit) as ended:
            main(["sql", str(file), "--offload", "never", *arguments])
        out, err = capsys.readouterr()
        return int(str(ended.value.code)), out, err

    options = ("--tables", str(folder), "--option", "delimiter=;", "--option", "null=NA", "--json")
    code, out, err = run("SELECT name, age FROM people WHERE age IS NULL", *options)
    assert code == 0 and json.loads(out)["result"] == [["ann", None]], err
    code, out, err = run("SELECT name, n FROM parts JOIN pets ON n = 1", *options)
    assert code == 0 and json.loads(out)["result"] == [["rex", 1]], err
    code, out, _ = run("SELECT 1 FROM peple", *options)
    assert code == 1 and "Table with name peple does not exist" in out and "people" in out
    code, _, err = run("SELECT 1", "--tables", str(folder), "--option", "delimeter=;")
    assert code == 1 and "there is no such option; did you mean 'delimiter'?" in err
    (folder / "pets.csv").write_text("a\n1\n")
    code, _, err = run("SELECT 1", "--tables", str(folder))
    assert code == 1 and "pets.csv and pets.json would both be table 'pets'" in err
    pets = f"pets={folder / 'pets.csv'}"
    code, out, _ = run("SELECT a FROM pets", *options, "--table", pets)
    assert code == 0 and json.loads(out)["result"] == [[1]]
    code, _, err = run("SELECT 1", "--table", pets, "--table", pets)
    assert code == 1 and "is" in err and "already" in err
