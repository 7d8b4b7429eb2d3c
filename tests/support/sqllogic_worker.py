"""Runs the queries of one sqllogictest file on Jumpgate's roads and compares them with plain DuckDB.

A DuckDB of its own, the model, executes the file's statements, and holds its tables. Before a query, the tables
that it names are taken from there, written as files of alternating formats, and registered; a second connection has
them as Arrow tables.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import jumpgate
from jumpgate.client.duckdb.planning import is_query
from jumpgate.client.sql.connection import Connection
from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError
from tests.support import sqllogic, suites, tables
from tests.support.duckdb_judge import Answer, Judge, model

#: formats of a file's tables, by chance of the name; a table that a format cannot hold is Parquet
FORMATS = tuple(name for name, format in formats().items() for _ in range(1 if format.converted else 3))
#: where a query runs: the tables' place and `offload`
ROADS = (("files", "never"), ("files", "auto"), ("files", "always"), ("arrow", "always"))
#: of a file's path, in outcomes
FILE_PARTS = 4
_WORD = re.compile(r"[A-Za-z_]\w*")
_CHANGES = re.compile(r"^\s*(?:create|insert|update|delete|drop|truncate|alter|copy)\b", re.IGNORECASE)
#: what asks of DuckDB's own tables, catalog or settings, not of rows: registered tables are views there
_CATALOG = re.compile(
    r"\b(?:rowid|pragma\w*|duckdb_\w+|pg_\w+|sqlite_master|information_schema|current_setting|stats|"
    r"json_execute_serialized_sql)\b",
    re.IGNORECASE,
)
#: types that Arrow does not have: other ones come back
_UNKNOWN = re.compile(r"BIGNUM|GEOMETRY|BIT\b|VARIANT")
#: a COPY to one of these would write into the answers
_DEVICE = "/dev/"
_READS = re.compile(r"^\s*(?:select|with|values|\(|from|table)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one query on one road. verdict: same, differs, error (where DuckDB answers), open (the text does
    not determine its answer), hang, crash; unanswered (no road is tried) if DuckDB has no answer. offloaded: operators.
    files: it reads files."""

    file: str
    line: int
    text: str
    road: str
    verdict: str
    detail: str = ""
    offloaded: int = 0
    files: bool = False


class Tables:
    """The tables of one suite file: in the model, as files, and registered with both connections."""

    def __init__(self, folder: Path, connections: dict[str, Connection], seed: str) -> None:
        self._model = model()
        self._folder, self._connections, self._seed = folder, connections, seed
        self._kept: dict[str, pa.Table] = {}  # as registered
        self._stale: set[str] = set()

    def execute(self, text: str) -> None:
        """A statement; one that the model does not know changes nothing."""
        if not _CHANGES.match(text) or _DEVICE in text:
            return
        with suppress(duckdb.Error):
            self._model.execute(text)
        self._stale |= {word.lower() for word in _WORD.findall(text)}

    def named_in(self, text: str) -> dict[str, pa.Table]:
        """The tables that a query may read, registered as they are now."""
        words = {word.lower() for word in _WORD.findall(text)}
        there = self._kinds()
        for name in [n for n in self._kept if n not in there]:
            self._drop(name)
        found = {}
        for name in sorted(there):
            if name.lower() not in words:
                continue
            if any(_UNKNOWN.search(str(type)) for type in self._model.table(name).types):
                raise duckdb.NotImplementedException(f"{name} has a type that Arrow does not have")
            if name not in self._kept or name.lower() in self._stale or there[name] == "VIEW":
                self._take(name)
            found[name] = self._kept[name]
        self._stale -= {name.lower() for name in found}
        return found

    def _kinds(self) -> dict[str, str]:
        """BASE TABLE or VIEW, by name."""
        query = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'main'"
        return dict(self._model.execute(query).fetchall())

    def _take(self, name: str) -> None:
        table = self._model.table(name).to_arrow_table()
        table = tables.unsigned_nans(tables.nullable(tables.plain(table)))
        if name in self._kept:
            if self._kept[name].equals(table):
                return
            self._drop(name)
        format = FORMATS[zlib.crc32(f"{self._seed} {name}".encode()) % len(FORMATS)]
        if not tables.can_hold(format, table):
            format = next((name for name in formats() if tables.can_hold(name, table)), tables.ARROW)
        try:
            source = tables.write(table, self._folder / f"{len(list(self._folder.iterdir()))}.{format}", format)
        except pa.ArrowNotImplementedError:  # of types that no file has
            source = tables.Source(table)
        self._kept[name] = table
        self._connections["arrow"].register(name, table)
        self._connections["files"].register(name, source.data, **source.options)

    def close(self) -> None:
        for name in list(self._kept):
            self._drop(name)

    def _drop(self, name: str) -> None:
        del self._kept[name]
        for connection in self._connections.values():
            if name in connection.tables:
                connection.deregister(name)


#: a worker's messages: the place that it begins with (see `run`), or an outcome
At = tuple[int, int]
REFERENCE = -1  # the road of the reference itself


def run(path: Path, chosen: set[int], since: At, connections: dict[str, Connection]) -> Iterator[At | Outcome]:
    """Run the chosen records of a file from the place `since` on: (record, road) from which to go on.

    Yields each place before its work begins, so that the watcher knows where a worker hangs or dies.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sqllogic-")))
        _enter(path, stack)
        there = Tables(folder, connections, path.stem)
        stack.callback(there.close)
        for number, record in enumerate(suites.records(path)):
            if not chosen or number > max(chosen):
                return
            if isinstance(record, sqllogic.Statement) or not _READS.match(record.text):
                there.execute(record.text)
            elif number in chosen and number >= since[0]:
                first = since[1] if number == since[0] else REFERENCE
                yield from _query(path, number, record, first, there, connections)


def _query(
    path: Path, number: int, record: sqllogic.Query, first: int, there: Tables, connections: dict[str, Connection]
) -> Iterator[At | Outcome]:
    yield number, REFERENCE
    place = ("/".join(path.parts[-FILE_PARTS:]), record.line, record.text)
    if _CATALOG.search(record.text) or not is_query(duckdb.default_connection(), record.text):
        yield Outcome(*place, "duckdb", "unanswered", "it asks of the catalog, or changes tables")
        return
    try:
        named = there.named_in(record.text)
        reference = Judge(named)
        answer = reference.answer(record.text)
    except JumpgateError as error:
        yield Outcome(*place, "register", "error", _said(error))
        return
    except duckdb.Error as error:
        yield Outcome(*place, "duckdb", "unanswered", _said(error))
        return
    for road, (where, offload) in enumerate(ROADS):
        if road >= first:
            yield number, road
            verdict, detail, offloaded = _verdict(connections[where], offload, reference, answer)
            files = where == "files" and bool(named)
            yield Outcome(*place, f"{where}, {offload}", verdict, detail, offloaded, files)


def _verdict(connection: Connection, offload: str, reference: Judge, answer: Answer) -> tuple[str, str, int]:
    offloaded = 0
    try:
        with connection.sql(answer.text, offload=offload) as query:
            offloaded = query.split.offloaded
            found = query.to_arrow()
    except JumpgateError as error:
        return "error", _said(error), offloaded
    except Exception as error:
        return "error", "untyped: " + _said(error), offloaded
    wrong = reference.difference(found, answer)
    return "open" if wrong is None else "differs" if wrong else "same", wrong or "", offloaded


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:600]


def _enter(path: Path, stack: ExitStack) -> None:
    """Goes where a file's relative paths begin: DataFusion's are beside test_files, whose scratch folder is emptied."""
    base = next((parent for parent in path.parents if parent.name == "test_files"), None)
    stack.callback(os.chdir, os.getcwd())
    os.chdir(base.parent if base else path.parent)
    if base:
        shutil.rmtree(base / "scratch" / path.stem, ignore_errors=True)


def serve(pipe: Any) -> None:
    """A worker process: answers (path, chosen, since) with the events of `run`, then None; until it is killed."""
    os.setsid()  # so that the watcher can end it with all its children
    with ExitStack() as stack:
        files = stack.enter_context(jumpgate.connect())
        arrow = stack.enter_context(jumpgate.connect(files.session.address))
        connections = {"files": files, "arrow": arrow}
        while True:
            path, chosen, since = pipe.recv()
            for event in run(path, chosen, since, connections):
                pipe.send(event)
            pipe.send(None)
