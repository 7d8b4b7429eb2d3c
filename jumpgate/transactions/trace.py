"""Reads which rows the transactions of a trace touch: SQL statements, or PostgreSQL's log of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: a table and the value of its key, as the statement writes them
Row = tuple[str, str]

_NAME = r'(?P<table>[\w."]+)'
_KEY = r"WHERE\s+[\w.\"]+\s*=\s*(?P<key>-?\w+|'[^']*')\s*(?:FOR\s+UPDATE\s*)?$"
_UPDATE = re.compile(rf"UPDATE\s+{_NAME}\s+SET\s+(?P<set>.*?)\s+{_KEY}", re.I | re.S)
_SELECT = re.compile(rf"SELECT\s+.*?\sFROM\s+{_NAME}\s+{_KEY}", re.I | re.S)
_LOGGED = re.compile(r"\[(?P<session>\d+)\][^:]*LOG:\s+(?:statement|execute [^:]*): (?P<statement>.*)", re.S)
_ENTRY = re.compile(r"(?m)^(?=\d{4}-\d\d-\d\d )")
_BEGIN, _COMMIT = re.compile(r"(BEGIN|START TRANSACTION)\b", re.I), re.compile(r"(COMMIT|END)\b", re.I)
_ROLLBACK = re.compile(r"(ROLLBACK|ABORT)\b", re.I)


@dataclass(frozen=True)
class Access:
    """One statement: `row` is None if it is not of one row that its key names."""

    row: Row | None
    writes: bool
    statement: str


Transaction = tuple[Access, ...]


def read_trace(text: str) -> list[Transaction]:
    """The committed transactions of a trace. A statement outside of BEGIN and COMMIT is a transaction of its own."""
    found: list[Transaction] = []
    open_: dict[str, list[Access] | None] = {}
    for session, statement in _statements(text):
        pending = open_.get(session)
        if _BEGIN.match(statement):
            open_[session] = []
        elif _COMMIT.match(statement) or _ROLLBACK.match(statement):
            if pending and _COMMIT.match(statement):
                found.append(tuple(pending))
            open_[session] = None
        elif pending is not None:
            pending.append(_access(statement))
        else:
            found.append((_access(statement),))
    return found


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """(session, statement)s."""
    if _ENTRY.match(text):
        logged: Iterable[tuple[str, str]] = (
            (entry["session"], entry["statement"]) for part in _ENTRY.split(text) if (entry := _LOGGED.search(part))
        )
    else:
        logged = [("", re.sub(r"(?m)--.*$", "", text))]
    for session, statements in logged:
        for statement in re.findall(r"(?:[^;']|'[^']*')+", statements):
            if statement.strip():
                yield session, statement.strip()


def _access(statement: str) -> Access:
    for pattern, writes in ((_UPDATE, True), (_SELECT, False)):
        if found := pattern.fullmatch(statement):
            return Access((found["table"].lower(), found["key"]), writes, statement)
    return Access(None, True, statement)
