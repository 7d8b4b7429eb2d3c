"""The dot commands: a name, arguments as a shell has them, and what each does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jumpgate.client.sql.tokens import parts_of, quoted
from jumpgate.errors import ConfigError, FileUnreadable, NotFound

if TYPE_CHECKING:
    from jumpgate.cli.shell.runner import Runner
    from jumpgate.client.sql.catalog import Table

MODES = ("table", "line", "csv", "tsv", "json", "jsonlines", "markdown")
OFFLOAD = ("auto", "always", "never")
ON_OFF = ("on", "off")
#: edits that a mistaken name may be away from one that is suggested
EDITS_MAX = 2
#: arguments of `.register`
FILES_MAX = 1000


class Quit(Exception):
    """`.quit`: nothing more is run."""


class Command(NamedTuple):
    """run: called with the runner and the arguments, or, if `whole`, the rest of the line."""

    run: Callable[[Runner, Any], None]
    usage: str
    help: str
    least: int = 0
    most: int = 1
    whole: bool = False


def run(runner: Runner, line: str) -> None:
    """Run a dot command. Raises ConfigError for one that there is not, and for wrong arguments."""
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise ConfigError(f"there is no command {name}{suggestion(name, COMMANDS)}; .help lists them")
    if command.whole:
        command.run(runner, rest.strip().rstrip(";"))
        return
    try:
        words = shlex.split(rest.strip().rstrip(";"))
    except ValueError as error:
        raise ConfigError(f"{line}: {error}") from error
    if not command.least <= len(words) <= command.most:
        raise ConfigError(f"{line}: write {command.usage}")
    command.run(runner, words)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean x?` of the known name that is the fewest edits away, or nothing.

    >>> suggestion(".tabels", [".tables", ".timer"]), suggestion(".x", [".tables"])
    ('; did you mean .tables?', '')
    """
    lower = name.lower()
    away = [(edits(lower, other.lower()), other) for other in known]
    nearest, found = min(away, default=(EDITS_MAX + 1, ""))
    return f"; did you mean {found}?" if nearest <= min(EDITS_MAX, len(name) // 2) else ""


def edits(one: str, other: str) -> int:
    """Letters to insert, drop, replace, or swap with their neighbour, until the two are the same."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if above and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def read_text(file: str) -> str:
    """The text of a script; `-` is standard input. Raises FileUnreadable."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise FileUnreadable(f"cannot read {file}: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise FileUnreadable(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}", file=file) from error


def choice(command: str, word: str, choices: Sequence[str]) -> str:
    """The word, which is one of these. Raises ConfigError."""
    if word not in choices:
        raise ConfigError(f"{command} {word}: it can be {', '.join(choices)}{suggestion(word, choices)}")
    return word


def _databases(runner: Runner, words: list[str]) -> None:
    call = "SELECT database_name AS n, path AS p FROM duckdb_databases() WHERE NOT internal ORDER BY database_oid"
    for row in runner.connection.sql(call, offload="never").to_arrow().to_pylist():
        print(f"{row['n']}: {row['p'] or 'in memory'}")


def _open(runner: Runner, words: list[str]) -> None:
    name = quoted(Path(words[0]).stem)
    file = words[0].replace("'", "''")
    runner.connection.sql(f"ATTACH IF NOT EXISTS '{file}' AS {name}; USE {name}")
    print(f"{words[0]} is open as {name}")


def _help(runner: Runner, words: list[str]) -> None:
    names = [name if name.startswith(".") else f".{name}" for name in words] or list(COMMANDS)
    for name in names:
        if name not in COMMANDS:
            raise ConfigError(f"there is no command {name}{suggestion(name, COMMANDS)}")
    size = max(len(COMMANDS[name].usage) for name in names)
    for name in names:
        print(f"{COMMANDS[name].usage.ljust(size)}  {COMMANDS[name].help}")


def asks(text: str) -> bool:
    """Return whether a statement is a query, whatever its columns are named."""
    return parts_of(text)[1][0] in ("SELECT", "WITH", "FROM", "VALUES", "(", "TABLE")


def _tables(runner: Runner, words: list[str]) -> None:
    for name in sorted({*runner.connection.tables.names, *_own(runner)}):
        if not words or fnmatchcase(name.lower(), words[0].lower()):
            print(name)


def _own(runner: Runner) -> dict[str, list[tuple[str, str]]]:
    """Columns of the database's own tables and views, with their types."""
    call = """SELECT table_name AS t, column_name AS c, data_type AS d FROM duckdb_columns()
        WHERE NOT internal AND NOT starts_with(table_name, 'jumpgate ') ORDER BY database_oid, column_index"""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in runner.connection.sql(call, offload="never").to_arrow().to_pylist():
        found.setdefault(row["t"], []).append((row["c"], row["d"]))
    return found


def _schema(runner: Runner, words: list[str]) -> None:
    found, own = list(_named(runner, words)), _own(runner)
    chosen = [name for name in sorted(own) if name not in runner.connection.tables.names]
    chosen = [name for name in chosen if not words or fnmatchcase(name.lower(), words[0].lower())]
    if words and not found and not chosen:
        names = (*runner.connection.tables.names, *own)
        raise NotFound(f"there is no table {words[0]}{suggestion(words[0], names)}", table=words[0])
    for table in found:
        print(table)
        size = max((len(field.name) for field in table.schema), default=0)
        for field in table.schema:
            print(f"  {field.name.ljust(size)}  {field.type}")
    for name in chosen:
        print(name)
        size = max(len(column) for column, _ in own[name])
        for column, type in own[name]:
            print(f"  {column.ljust(size)}  {type}")


def _named(runner: Runner, words: list[str]) -> Iterator[Table]:
    """Tables whose name is like the pattern, by name."""
    for table in sorted(runner.connection.tables, key=lambda table: table.name):
        if not words or fnmatchcase(table.name.lower(), words[0].lower()):
            yield table


def _register(runner: Runner, words: list[str]) -> None:
    print(runner.connection.register(words[0], words[1:] if len(words) > 2 else words[1]))


def _timer(runner: Runner, words: list[str]) -> None:
    runner.settings.timer = choice(".timer", words[0], ON_OFF) == "on"


def _mode(runner: Runner, words: list[str]) -> None:
    if words:
        runner.settings.mode = choice(".mode", words[0], MODES)
    else:
        print(f"mode {runner.settings.mode}; it can be {', '.join(MODES)}")


def _max_rows(runner: Runner, words: list[str]) -> None:
    if not words[0].isdigit() or not 0 < int(words[0]) < 1 << 31:
        raise ConfigError(f".maxrows {words[0]}: write a number of rows")
    runner.settings.rows_shown = int(words[0])


def _offload(runner: Runner, words: list[str]) -> None:
    if words:
        runner.connection.offload = choice(".offload", words[0], OFFLOAD)
    else:
        print(f"offload {runner.connection.offload}; it can be {', '.join(OFFLOAD)}")


def _read(runner: Runner, words: list[str]) -> None:
    runner.read(Path(words[0]))


def _output(runner: Runner, words: list[str]) -> None:
    runner.aim(words[0] if words else "")


def _once(runner: Runner, words: list[str]) -> None:
    runner.aim(words[0], once=True)


def _explain(runner: Runner, text: str) -> None:
    runner.explain(_or_last(runner, text))


def _analyze(runner: Runner, text: str) -> None:
    runner.explain(_or_last(runner, text), analyze=True)


def _or_last(runner: Runner, text: str) -> str:
    if not text and not runner.last:
        raise ConfigError("nothing ran yet: write the statement behind the command")
    return text or runner.last


def _quit(runner: Runner, words: list[str]) -> None:
    raise Quit


_ALL = (
    Command(_analyze, ".analyze [STATEMENT]", "Run it, or the last one, and show what ran where.", whole=True),
    Command(_databases, ".databases", "List the databases and their files.", most=0),
    Command(_quit, ".exit", "End, as Ctrl-D does.", most=0),
    Command(_explain, ".explain [STATEMENT]", "Show what of it, or of the last one, would run where.", whole=True),
    Command(_help, ".help [COMMAND]", "List the commands."),
    Command(_max_rows, ".maxrows N", "Show at most N rows of a table.", least=1),
    Command(_mode, ".mode [MODE]", f"Show results as {', '.join(MODES)}."),
    Command(_offload, ".offload [MODE]", f"What runs on accelerators: {', '.join(OFFLOAD)}."),
    Command(_once, ".once FILE", "Save the next result as .parquet, .csv, .json or .arrow.", least=1),
    Command(_open, ".open FILE", "Use the database in FILE, which is made if there is none.", least=1),
    Command(_output, ".output [FILE]", "Save the next result in FILE; without FILE, show results again."),
    Command(_quit, ".quit", "End, as Ctrl-D does.", most=0),
    Command(_read, ".read FILE", "Run a script.", least=1),
    Command(_register, ".register NAME PATH …", "Make files, a glob or a folder a table.", least=2, most=FILES_MAX),
    Command(_schema, ".schema [TABLE]", "Show columns and their types; TABLE may be a pattern."),
    Command(_tables, ".tables [PATTERN]", "List the tables."),
    Command(_timer, ".timer on|off", "Show how long each statement takes.", least=1),
)
COMMANDS = {command.usage.partition(" ")[0]: command for command in _ALL}
