"""Runs the statements and dot commands of a text, and shows or saves each result."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jumpgate.cli import output
from jumpgate.cli.shell import commands, display, values, writing
from jumpgate.cli.shell.statements import Piece, pieces
from jumpgate.cli.shell.waiting import waiting
from jumpgate.client.sql.skipped import SkippedRows
from jumpgate.client.sql.tokens import tokens
from jumpgate.errors import ConfigError, InvalidDataflow, JumpgateError
from jumpgate.extras import without_pandas
from jumpgate.words import counted, duration

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection
    from jumpgate.client.sql.query import Query

#: scripts that scripts read
DEPTH_MAX = 16
#: columns of what DuckDB says of a statement that is no query
_DONE: tuple[list[str], ...] = (["Count"], ["Success"], [])
_LINE = re.compile(r"^LINE (\d+):(.*)\n( *)\^", re.MULTILINE)


@dataclass
class Settings:
    """Settings that dot commands change. target: the file of the next results, None for stdout; once: of the next
    one alone."""

    mode: str = "table"
    timer: bool = False
    rows_shown: int = display.ROWS_SHOWN
    target: Path | None = None
    once: bool = False
    progress: bool = True
    as_json: bool = False
    explained: bool = False
    analyze: bool = False


@dataclass
class Runner:
    """Runs texts over a connection. Raises what ends a statement: JumpgateError, KeyboardInterrupt, commands.Quit."""

    connection: Connection
    settings: Settings
    parameters: Sequence[Any] | Mapping[str, Any] = ()
    interactive: bool = False
    last: str = ""  #: the last statement
    written: set[Path] = field(default_factory=set)
    _depth: int = 0

    def run(self, text: str) -> None:
        """Run a text to its first error, which says its line."""
        for piece in pieces(text):
            try:
                if piece.is_command:
                    commands.run(self, piece.text)
                else:
                    self.statement(piece.text)
            except JumpgateError as error:
                _place(error, piece)
                raise

    def read(self, file: Path) -> None:
        """Run a script. Raises ConfigError for one that reads itself, FileUnreadable."""
        if self._depth >= DEPTH_MAX:
            raise ConfigError(f".read {file}: scripts read scripts {DEPTH_MAX} deep already", file=file)
        self._depth += 1
        try:
            self.run(commands.read_text(str(file)))
        finally:
            self._depth -= 1

    def statement(self, text: str) -> None:
        """Run one statement, and show or save its result."""
        begun = time.perf_counter()
        self._check_target()
        self.last = text
        parameters = self.parameters if any(token.kind == "marker" for token in tokens(text)) else ()
        with told(), without_pandas():  # DuckDB looks whether values of parameters are of pandas
            query = self.connection.sql(text, parameters)
        try:
            if self.settings.explained or self.settings.analyze:
                self._explain(query)
                return
            with told(), waiting(query, self.settings.progress and sys.stderr.isatty()):
                table = query.to_arrow()
            seconds = time.perf_counter() - begun
            if not self.interactive and sys.stderr.isatty():
                print(_offloaded(query), file=sys.stderr)
            if table.column_names not in _DONE or commands.asks(text):
                self._give(table, query.types)
        finally:
            query.close()
        if self.settings.timer:
            print(f"run time {duration(seconds)}, {_offloaded(query)}", flush=True)

    def explain(self, text: str, analyze: bool = False) -> None:
        """Show what would run where, and why; analyze: run it first, with times."""
        query = self.connection.sql(text)
        try:
            with told(), waiting(query, analyze and self.settings.progress and sys.stderr.isatty()):
                print(query.explain(analyze=analyze), end="", flush=True)
        finally:
            query.close()

    def aim(self, target: str, once: bool = False) -> None:
        """Send the next results to a file, or back to stdout. Raises ConfigError."""
        file = Path(target) if target else None
        if file is not None:
            writing.check(file)
            self.written.discard(file)
        self.settings.target, self.settings.once = file, once

    def _explain(self, query: Query) -> None:
        with told():
            said = query.explain(analyze=self.settings.analyze)
        if self.settings.as_json:
            output.print_json(query.explain_data())
        else:
            print(said, end="", flush=True)

    def _check_target(self) -> None:
        target = self.settings.target
        if target is not None and target in self.written:
            raise ConfigError(f"{target} has the result of a statement already, and holds one", file=target)

    def _give(self, table: pa.Table, types: Sequence[str]) -> None:
        settings = self.settings
        target = settings.target
        if target is not None:
            writing.save(table, types, target)
            self.written.add(target)
            if settings.once:
                settings.target, settings.once = None, False
        if settings.as_json:
            rows = {"file": str(target)} if target else {"result": [list(row) for row in _rows(table)]}
            arrow = list(map(str, table.schema.types))
            output.print_json({"columns": table.column_names, "types": arrow, "rows": table.num_rows, **rows})
        elif target is not None:
            print(f"wrote {counted(table.num_rows, 'row')} to {target}", flush=True)
        else:
            show(table, types, settings)


def show(table: pa.Table, types: Sequence[str], settings: Settings) -> None:
    """Write a result to stdout as the mode has it."""
    stream = getattr(sys.stdout, "buffer", None)
    match settings.mode:
        case "csv" | "tsv" | "json" | "jsonlines":
            sys.stdout.flush()
            assert stream is not None
            if settings.mode in ("csv", "tsv"):
                writing.write_csv(table, types, stream, "," if settings.mode == "csv" else "\t")
            elif settings.mode == "json":
                writing.write_json(table, types, stream)
            else:
                writing.write_json_lines(table, types, stream)
            stream.flush()
        case "table":
            half = (settings.rows_shown + 1) // 2
            ends = table
            if table.num_rows > settings.rows_shown:
                last = table.slice(table.num_rows - (settings.rows_shown - half))
                ends = pa.concat_tables([table.slice(0, half), last])
            print(display.box(_shown(ends, types, table.num_rows), width(), styled()), end="", flush=True)
        case "line":
            print(display.lines(_shown(table, types, table.num_rows)), end="", flush=True)
        case _:
            print(display.markdown(_shown(table, types, table.num_rows)), end="", flush=True)


@contextmanager
def told() -> Iterator[None]:
    """Say on stderr which rows of files were left out in the block, as on_error=skip has it, each a line."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, SkippedRows):
            print(message, file=sys.stderr)
        else:
            others(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def width() -> int:
    """Cells of a line of stdout."""
    return shutil.get_terminal_size((output.PIPE_CELLS, 0)).columns if sys.stdout.isatty() else _of_pipe()


def styled() -> bool:
    """Return whether stdout shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _of_pipe() -> int:
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdigit() and int(given) else output.PIPE_CELLS


def _shown(table: pa.Table, types: Sequence[str], rows: int) -> display.Shown:
    right = [values.is_number(type) for type in table.schema.types]
    return display.Shown(table.column_names, [t.lower() for t in types], values.texts(table, types), right, rows)


def _offloaded(query: Query) -> str:
    return f"{query.split.offloaded} of {counted(query.split.operators, 'operator')} offloaded"


def _rows(table: pa.Table) -> zip[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _place(error: JumpgateError, piece: Piece) -> None:
    """Make the lines that an error names those of the whole text, and its sentence compact."""

    def moved(match: re.Match[str]) -> str:
        said = f"LINE {int(match[1]) + piece.line - 1}:"
        return f"{said}{match[2]}\n{' ' * (len(match[3]) + len(said) - len(f'LINE {match[1]}:'))}^"

    error.message = _LINE.sub(moved, error.message).replace("\n\n", "\n")
    error.args = (error.message, *error.args[1:])
    if isinstance(error, InvalidDataflow):
        error.problems = tuple(_LINE.sub(moved, problem).replace("\n\n", "\n") for problem in error.problems)
