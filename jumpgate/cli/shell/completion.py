"""Completes names of tables and columns, keywords, functions, dot commands and files."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import duckdb
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from jumpgate.cli.shell import commands
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.tokens import Token, parts_of, quoted, tokens, unquoted

#: after these, tables are named
_BEFORE_TABLES = frozenset({"FROM", "JOIN", "DESCRIBE", "DESC", "TABLE", "INTO", "UPDATE", "SUMMARIZE"})
#: what a dot command takes
_ARGUMENTS = {".mode": commands.MODES, ".offload": commands.OFFLOAD, ".timer": commands.ON_OFF}
_TABLES, _FILES = (".schema", ".tables"), (".read", ".open", ".output", ".once", ".register")


class SqlCompleter(Completer):
    """Completes the word before the cursor."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        if before.lstrip().startswith("."):
            yield from self._of_command(before.lstrip(), event)
            return
        parts = tokens(before)
        if parts and parts[-1].kind == "open" and parts[-1].text.startswith("'"):
            yield from self._files(parts[-1].text[1:], event)
            return
        word = parts[-1] if parts and parts[-1].kind in ("word", "open") else None
        typed = "" if word is None else word.text
        yield from _matching(typed, self._candidates(document.text, before[: len(before) - len(typed)]))

    def _of_command(self, line: str, event: CompleteEvent) -> Iterator[Completion]:
        name, space, rest = line.partition(" ")
        if not space:
            yield from _matching(name, ((c, commands.COMMANDS[c].help) for c in commands.COMMANDS))
        elif name in _FILES and (name != ".register" or " " in rest):
            yield from self._files(rest.rpartition(" ")[2], event)
        elif name in _TABLES:
            yield from _matching(rest, ((table, "table") for table in self._connection.tables.names))
        else:
            yield from _matching(rest, ((word, "") for word in _ARGUMENTS.get(name, ())))

    def _files(self, typed: str, event: CompleteEvent) -> Iterable[Completion]:
        return self._paths.get_completions(Document(typed), event)

    def _candidates(self, text: str, before: str) -> Iterator[tuple[str, str]]:
        """Names that may stand there, each with what it is, the likely ones first."""
        parts, words = parts_of(before)
        tables = ((_name(table.name), "table") for table in self._connection.tables)
        if len(parts) > 1 and words[-1] == "." and before.endswith("."):
            yield from self._columns(_table_of(text, unquoted(parts[-2])))
            return
        if words and (words[-1] in _BEFORE_TABLES or (words[-1] == "," and _in_from(words))):
            yield from tables
            return
        named = {unquoted(token).lower() for token in tokens(text) if token.kind in ("word", "name")}
        for name in self._connection.tables.names:
            if name.lower() in named:
                yield from self._columns(name)
        yield from ((word.lower(), "keyword") for word in keywords())
        yield from ((name, "function") for name in functions())
        yield from tables

    def _columns(self, table: str) -> Iterator[tuple[str, str]]:
        if table in self._connection.tables:
            for field in self._connection.tables[table].schema:
                yield _name(field.name), str(field.type)


@functools.cache
def keywords() -> tuple[str, ...]:
    """DuckDB's keywords, in capitals."""
    found = duckdb.connect().execute("SELECT upper(keyword_name) FROM duckdb_keywords() ORDER BY ALL").fetchall()
    return tuple(word for (word,) in found)


@functools.cache
def functions() -> tuple[str, ...]:
    """Names of DuckDB's functions."""
    call = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE regexp_matches(function_name, '^[a-z]') ORDER BY 1"
    )
    return tuple(name for (name,) in duckdb.connect().execute(call).fetchall())


def _matching(typed: str, candidates: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    """Complete what was typed to those that begin with it; keywords in capitals, unless small letters were typed."""
    bare = typed.lstrip('"').lower()
    seen = set()
    for name, what in candidates:
        if name.lstrip('"').lower().startswith(bare) and name not in seen:
            seen.add(name)
            shown = name.upper() if what == "keyword" and not typed.islower() else name
            yield Completion(shown, -len(typed), display_meta=what)


def _name(name: str) -> str:
    """A name as it is written: with quotes where it needs them."""
    if name.isidentifier() and name.isascii() and name.upper() not in keywords():
        return name
    return quoted(name)


def _table_of(text: str, alias: str) -> str:
    """The table that an alias names in `text`; the name itself if it is no alias."""
    parts, words = parts_of(text)
    for i in range(1, len(parts)):
        if _is_name(parts[i]) and unquoted(parts[i]).lower() == alias.lower():
            before = i - 2 if words[i - 1] == "AS" else i - 1
            if before > 0 and _is_name(parts[before]) and words[before - 1] in (*_BEFORE_TABLES, ","):
                return unquoted(parts[before])
    return alias


def _is_name(token: Token) -> bool:
    return token.kind in ("word", "name")


def _in_from(words: Sequence[str]) -> bool:
    """Return whether the comma at the end stands between tables."""
    for word in reversed(words):
        if word in ("SELECT", "WHERE", "BY", "(", "ON", "HAVING"):
            return False
        if word == "FROM":
            return True
    return False
