"""Output that all commands share: one console, one JSON writer, one table layout."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from jumpgate.tpcds.data import Progress

#: width of the output if it is not a terminal
PIPE_CELLS = 140


@functools.cache
def console(stderr: bool = False) -> Console:
    """The terminal; progress and remarks go to stderr so that stdout can be piped."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    fixed = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_CELLS
    return Console(stderr=stderr, highlight=False, width=fixed)


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(data, indent=2, default=str))


def write(target: Path, text: str) -> None:
    """Write a page or a picture. Raises FileUnreadable."""
    from jumpgate.errors import FileUnreadable

    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileUnreadable(f"cannot write {target}: {error.strerror}", file=target) from error


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[str] = ()) -> None:
    """A table on stdout; `right` names the columns that hold numbers."""
    console().print(table(title, columns, rows, right))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[str] = ()) -> Table:
    """Return such a table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(title=title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row))
    return made


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on stderr for steps that report (what, done, total); plain silence where it is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
