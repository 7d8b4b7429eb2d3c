"""The shell of `jumpgate sql`: texts are split, completed and coloured; tables fit; keys do what they should."""

from __future__ import annotations

import datetime
import io
import json
import signal
import stat
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import jumpgate
from jumpgate.cli.shell import commands, display, loop, values, writing
from jumpgate.cli.shell.completion import SqlCompleter
from jumpgate.cli.shell.highlight import COMMAND, KEYWORD, STYLES, SqlLexer
from jumpgate.cli.shell.runner import Runner, Settings
from jumpgate.cli.shell.statements import Piece, is_complete, pieces
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.query import Query
from jumpgate.errors import ConfigError


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with jumpgate.connect(offload="never") as connection:
        connection.register("item", pa.table({"id": [1, 2], "Big Name": ["a", None]}))
        connection.register("store", pa.table({"store_id": [7]}))
        yield connection


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" ; ;\n-- nothing\n", []),
        ("SELECT 1", [Piece("SELECT 1", 1)]),
        ("SELECT ';' -- ;\n; /* ; */ FROM t;", [Piece("SELECT ';' -- ;", 1), Piece("FROM t", 2)]),
        ("\n.mode csv \nSELECT $$;$$\n;", [Piece(".mode csv", 2, True), Piece("SELECT $$;$$", 3)]),
        (".print it's\nSELECT 1;\n  .timer on", [
            Piece(".print it's", 1, True), Piece("SELECT 1", 2), Piece(".timer on", 3, True),
        ]),
        ("SELECT 1\n.5 + 1;", [Piece("SELECT 1\n.5 + 1", 1)]),
        ("SELECT t\n.a FROM t", [Piece("SELECT t\n.a FROM t", 1)]),
        ("SELECT 'open;", [Piece("SELECT 'open;", 1)]),
    ],
)  # fmt: skip
def test_pieces_of_a_text(text: str, found: list[Piece]) -> None:
    assert list(pieces(text)) == found


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True), ("SELECT 1", False), ("SELECT 1;", True), ("SELECT 1; -- so\n", True), ("SELECT 1; SELECT", False),
        ("SELECT ';", False), ("/* ;", False), (".tables", True), ("SELECT 1\n.tables", False), ("SELECT $$;", False),
    ],
)  # fmt: skip
def test_enter_runs_what_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def shown(columns: dict[str, list[Any]], rows: int | None = None) -> display.Shown:
    table = pa.table(columns)
    types = ["BIGINT" if pa.types.is_integer(type) else "VARCHAR" for type in table.schema.types]
    right = [values.is_number(type) for type in table.schema.types]
    return display.Shown(table.column_names, types, values.texts(table, types), right, rows or table.num_rows)


def test_a_table() -> None:
    assert display.box(shown({"n": [1, 20], "text": ["x", None]}), 80, False) == (
        "┌────────┬─────────┐\n"
        "│   n    │  text   │\n"
        "│ BIGINT │ VARCHAR │\n"
        "├────────┼─────────┤\n"
        "│      1 │ x       │\n"
        "│     20 │ NULL    │\n"
        "└────────┴─────────┘\n"
        "2 rows\n"
    )
    styled = display.box(shown({"n": ["NULL", None]}), 80, True)
    assert styled.count("\x1b[90mNULL") == 1, "NULL is told from the text"


@pytest.mark.parametrize("width", [20, 40, 79, 80, 140])
def test_tables_are_cut_to_the_width(width: int) -> None:
    columns: dict[str, list[Any]] = {f"column {i}": ["日本語" * i, "é" * 3 * i, None] for i in range(12)}
    text = display.box(shown(columns, 1000), width, False)
    lines = text.splitlines()
    assert {display.cells(line) for line in lines[:-1]} == {display.cells(lines[0])}
    assert display.cells(lines[0]) <= width and "…" in text
    assert lines[-1].startswith("1000 rows (3 shown), 12 columns (")
    assert sum("·" in line for line in lines) == 1, "the gap between first and last rows"


def test_no_columns_and_no_rows() -> None:
    assert display.box(shown({"a": []}), 80, False).endswith("└─────────┘\n0 rows\n")


def test_values_move_no_cursor() -> None:
    text = display.box(shown({"a": ["x\ny\t\x1b[31m\x9b\u2028z"]}), 80, False)
    assert "x\\ny\\t\\x1b[31m\\x9b\\u2028z" in text and "\x1b" not in text


def test_lines_and_markdown() -> None:
    both = shown({"n": [1, 2], "a|b": ["x|y", None]})
    assert display.lines(both) == "  n = 1\na|b = x|y\n\n  n = 2\na|b = NULL\n"
    assert display.markdown(both) == "| n | a\\|b |\n| --: | --- |\n| 1 | x\\|y |\n| 2 | NULL |\n"


TYPED = {
    "b": (pa.array([True, None]), "BOOLEAN"),
    "d": (pa.array([Decimal("1.50"), None]), "DECIMAL(3,2)"),
    "f": (pa.array([float("nan"), 1e16]), "DOUBLE"),
    "t": (pa.array([datetime.datetime(2024, 1, 1), None], pa.timestamp("us")), "TIMESTAMP"),
    "l": (pa.array([[1.5, float("inf")], []]), "DOUBLE[]"),
    "s": (pa.array(['a"b', ""]), "VARCHAR"),
}


def typed() -> tuple[pa.Table, list[str]]:
    return pa.table({name: data for name, (data, _) in TYPED.items()}), [type for _, type in TYPED.values()]


def test_values_are_written_as_duckdb_does() -> None:
    assert values.texts(*typed()) == [
        ["true", None], ["1.50", None], ["nan", "1e+16"], ["2024-01-01 00:00:00", None], ["[1.5, inf]", "[]"],
        ['a"b', ""],
    ]  # fmt: skip


def test_csv_tells_null_from_the_empty_string() -> None:
    stream = io.BytesIO()
    writing.write_csv(*typed(), stream)
    assert stream.getvalue().decode().splitlines() == [
        '"b","d","f","t","l","s"',
        'true,1.50,nan,"2024-01-01 00:00:00","[1.5, inf]","a""b"',
        ',,1e+16,,"[]",""',
    ]


@pytest.mark.parametrize("write", [writing.write_json, writing.write_json_lines])
def test_json(write: Callable[..., None]) -> None:
    stream = io.BytesIO()
    write(*typed(), stream)
    text = stream.getvalue().decode()
    rows = json.loads(text) if write is writing.write_json else [json.loads(line) for line in text.splitlines()]
    assert '"d": 1.50' in text
    assert rows == [
        {"b": True, "d": 1.5, "f": "NaN", "t": "2024-01-01 00:00:00", "l": [1.5, "Infinity"], "s": 'a"b'},
        {"b": None, "d": None, "f": 1e16, "t": None, "l": [], "s": ""},
    ]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ConfigError, match="two columns are named 'a'"):
        write(twice, ["BIGINT", "BIGINT"], stream)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (".tabels", "there is no command .tabels; did you mean .tables?"),
        (".frobnicate", r"there is no command .frobnicate; \.help"),
        (".mode tabel", "did you mean table?"),
        (".timer", "write .timer on|off"),
        (".timer maybe", "it can be on, off"),
        (".output x.txt", "the suffix says the format"),
        (".maxrows 0", "write a number of rows"),
        (".read 'x", "No closing quotation"),
        (".read nothing.sql", "cannot read nothing.sql"),
        (".schema itm", "there is no table itm; did you mean item?"),
        (".explain", "nothing ran yet"),
    ],
)
def test_mistakes_in_commands(connection: Connection, line: str, said: str) -> None:
    with pytest.raises(jumpgate.errors.JumpgateError, match=said.replace("|", r"\|")):
        commands.run(Runner(connection, Settings()), line)


def test_edits() -> None:
    found = [commands.edits(*pair) for pair in (("", "ab"), ("abc", "acb"), ("kitten", "sitting"), ("x", "x"))]
    assert found == [2, 1, 3, 0]


def test_commands_show_and_set(connection: Connection, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runner = Runner(connection, Settings())
    runner.run(".tables\n.tables st*\n.schema item\n.help .timer\n.mode line\n.timer on\n.maxrows 7\n.mode")
    out = capsys.readouterr().out
    assert out.startswith("item\nstore\nstore\nitem: Arrow table of 2 rows\n  id        int64\n  Big Name  string\n")
    assert out.endswith(".timer on|off  Show how long each statement takes.\nmode line; it can be " + ", ".join(
        commands.MODES) + "\n")  # fmt: skip
    assert (runner.settings.mode, runner.settings.timer, runner.settings.rows_shown) == ("line", True, 7)
    (tmp_path / "a.sql").write_text(f".read '{tmp_path / 'a.sql'}'")
    with pytest.raises(ConfigError, match="scripts read scripts 16 deep"):
        runner.run(f".read {tmp_path / 'a.sql'}")


def test_a_database_is_opened(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with jumpgate.connect(offload="never") as own:
        file, text = f"{tmp_path}/it's b.duckdb", "CREATE TABLE z AS SELECT 41 AS n; INSERT INTO z VALUES (1);"
        Runner(own, Settings()).run(
            f'.open "{file}"\n{text}\n.databases\n.tables\n.mode csv\nSELECT sum(n) AS s FROM z;'
        )
        assert capsys.readouterr().out.splitlines() == [
            f'{file} is open as "it\'s b"', "memory: in memory", f"it's b: {file}", "z", '"s"', "42",
        ]  # fmt: skip
    with duckdb.connect(file) as stored:
        assert stored.execute("FROM z").fetchall() == [(41,), (1,)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("SELECT * FROM ", ["item", "store"]),
        ("SELECT * FROM item, s", ["store"]),
        ("SELECT i.| FROM item AS i", ["id", '"Big Name"']),
        ("SELECT store.st| FROM store", ["store_id"]),
        ("SELECT i| FROM item", ["id"]),
        ("SELECT row_num", ["row_number"]),
        (".ta", [".tables"]),
        (".mode mark", ["markdown"]),
        (".schema it", ["item"]),
    ],
)
def test_completion(connection: Connection, text: str, wanted: list[str]) -> None:
    before, _, after = text.partition("|")
    found = SqlCompleter(connection).get_completions(Document(before + after, len(before)), CompleteEvent())
    offered = [completion.text for completion in found]
    assert offered[: len(wanted)] == wanted


def test_files_are_completed(connection: Connection, tmp_path: Path) -> None:
    (tmp_path / "sales.parquet").touch()
    text = f"FROM '{tmp_path}/sa"
    found = SqlCompleter(connection).get_completions(Document(text, len(text)), CompleteEvent())
    assert [completion.text for completion in found] == ["les.parquet"]


def test_colours() -> None:
    lexer = SqlLexer({"SELECT"})
    lines = lexer.lex_document(Document("select 1, 'a\nb' -- c"))
    assert [style for style, _ in (part[:2] for part in lines(0)) if style] == [
        KEYWORD, STYLES["number"], STYLES["string"],
    ]  # fmt: skip
    assert lines(1) == [(STYLES["string"], "b'"), ("", " "), (STYLES["comment"], "-- c")] and lines(2) == []
    assert lexer.lex_document(Document(".tables"))(0) == [(COMMAND, ".tables")]


def typing(runner: Runner, keys: str) -> None:
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        loop.run(runner, input=keyboard, output=DummyOutput())


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_typed_statements(connection: Connection, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typing(Runner(connection, Settings(mode="line")), "SELECT id AS one\rFROM item WHERE id = 1;\r.tables\r\x04")
    out = capsys.readouterr().out
    assert "one = 1\n" in out and "item\nstore\n" in out
    history = state / "sql_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "+SELECT id AS one\n+FROM item WHERE id = 1;\n" in history.read_text()


def test_errors_keep_the_shell(connection: Connection, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typing(Runner(connection, Settings(mode="line")), "SELECT nothing FROM item;\r.tabels\rSELECT 2 AS two;\r.quit\r")
    out, err = capsys.readouterr()
    assert "two = 2\n" in out
    assert "LINE 1: SELECT nothing FROM item\n" in err and " ^\n" in err and "did you mean .tables?" in err
    assert "Traceback" not in err


def test_keys_that_interrupt(
    connection: Connection, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the prompt Ctrl-C drops what was typed; while a query runs it ends that."""
    closed = []
    whole, close = Query.to_arrow, Query.close

    def to_arrow(query: Query) -> pa.Table:
        if "interrupted" in query.text:
            signal.raise_signal(signal.SIGINT)
        return whole(query)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process ignores it
    monkeypatch.setattr(Query, "to_arrow", to_arrow)
    monkeypatch.setattr(Query, "close", lambda query: (closed.append(query.text), close(query))[1])
    keys = "SELECT typed\x03SELECT 'interrupted';\rSELECT 3 AS three;\r\x04"
    try:
        typing(Runner(connection, Settings(mode="line")), keys)
    finally:
        signal.signal(signal.SIGINT, before)
    out, err = capsys.readouterr()
    assert "three = 3\n" in out and err == "interrupted\n"
    assert "SELECT 'interrupted'" in closed
