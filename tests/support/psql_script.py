"""Reads psql's scripts, such as PostgreSQL's regression suite, as records of sqllogictest without expected rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tests.support.sqllogic import Query, Record, Statement

#: a suite's script that makes the tables of all others
SETUP = "test_setup.sql"
#: types of PostgreSQL's that DuckDB lacks and text stands for
_TYPES = ("name",)
_READS = re.compile(r"(?:select|with|values|table)\b|\(", re.IGNORECASE)
_COPIES = re.compile(r"^\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE)


def parse(path: Path) -> Iterator[Record]:
    """The records of a script, after those of the SETUP beside it. psql's commands but \\set are left out, and so are
    rows that COPY reads from the script."""
    for name in _TYPES:
        yield Statement(0, f"CREATE TYPE {name} AS VARCHAR", True)
    setup = path.with_name(SETUP)
    if setup.exists() and setup != path:
        yield from _records(setup)
    yield from _records(path)


def _records(path: Path) -> Iterator[Record]:
    variables = {"abs_srcdir": str(path.parent.parent)}
    for line, text in _statements(_sql(path, variables)):
        yield Query(line, text) if _READS.match(text) else Statement(line, text, True)


def _sql(path: Path, variables: dict[str, str]) -> str:
    """The script's SQL with its variables' values; other lines are empty."""
    lines, copies = [], False
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if copies or line.startswith("\\"):
            copies = copies and line != "\\."
            match line.split(maxsplit=2):
                case ["\\set", name, value]:
                    variables[name] = _value(value, variables)
            lines.append("")
            continue
        copies = bool(_COPIES.match(line))
        lines.append(re.sub(r":'(\w+)'", lambda found: f"'{variables.get(found[1], '')}'", line))
    return "\n".join(lines)


def _value(text: str, variables: dict[str, str]) -> str:
    """Words of a \\set: variables and strings in quotes, one after the other."""
    words = re.findall(r":(\w+)|'([^']*)'|(\S+)", text)
    return "".join(variables.get(name, "") or quoted or plain for name, quoted, plain in words)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Statements with the lines where they begin, without comments before them."""
    source, start = text.encode(), None
    for at, kind in duckdb.tokenize(text):
        if kind == duckdb.token_type.operator and source[at : at + 1] == b";":
            if start is not None:
                yield source.count(b"\n", 0, start) + 1, source[start:at].decode(errors="replace").strip()
            start = None
        elif start is None and kind != duckdb.token_type.comment:
            start = at
