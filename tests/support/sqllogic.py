"""Reads files of the sqllogictest format (SQLite's .test, DataFusion's .slt) and samples their queries.

    for record in parse(path):
        if isinstance(record, Query): …

The format: https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki, and the extensions of sqllogictest-rs (`include`,
`control`, `query error`). What belongs to other engines (skipif, onlyif), and what is not SQL, is left out.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.alike import rows

#: names of the compared engine in skipif and onlyif
ENGINES = ("duckdb",)
SORT_MODES = ("nosort", "rowsort", "valuesort")
INCLUDES_MAX = 16
_HASHED = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")


@dataclass(frozen=True)
class Statement:
    """SQL that changes tables. ok: whether it must succeed."""

    line: int
    text: str
    ok: bool


@dataclass(frozen=True)
class Query:
    """SQL with rows. types: I, R, T … a column each. sort: one of SORT_MODES. rows: the lines that are expected, or
    hashed: their number and MD5; neither for a query that must fail (`ok` is False)."""

    line: int
    text: str
    ok: bool = True
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    rows: tuple[str, ...] = ()
    hashed: tuple[int, str] | None = None


Record = Statement | Query


class Malformed(ValueError):
    """A file is not of this format; says where."""


def parse(path: Path, depth: int = 0) -> Iterator[Record]:
    """The records of a file and of those that it includes, up to `halt`; raises Malformed."""
    if depth > INCLUDES_MAX:
        raise Malformed(f"{path}: includes nest deeper than {INCLUDES_MAX}")
    sort, skip = "nosort", False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    at = 0
    while at < len(lines):
        words, start = lines[at].split("#")[0].split(), at + 1
        at += 1
        match words:
            case []:
                continue
            case ["skipif", engine, *_]:
                skip = skip or engine.lower() in ENGINES
                continue
            case ["onlyif", engine, *_]:
                skip = skip or engine.lower() not in ENGINES
                continue
            case ["halt", *_]:
                if not skip:
                    return
            case ["control", "sortmode", mode]:
                sort = _sort_mode(mode, path, start)
            case ["include", name]:
                for included in sorted(path.parent.glob(name)):
                    yield from parse(included, depth + 1)
            case ["statement", kind, *_]:
                body, at = _body(lines, at)
                text, _, _ = _split(body)
                if not skip:
                    yield Statement(start, text, kind != "error")
            case ["query", *rest]:
                body, at = _body(lines, at)
                if not skip:
                    yield _query(start, rest, body, sort, path)
            case ["hash-threshold" | "subtest" | "control" | "sleep" | "connection" | "let", *_]:
                pass
            case ["system", *_]:
                _, at = _body(lines, at)
            case _:  # of the record before: some files have empty lines in their answers
                _, at = _body(lines, at)
        skip = False


def _body(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The lines up to the next empty one, and the place after it."""
    end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
    return list(lines[at:end]), end


def _split(body: list[str]) -> tuple[str, list[str], bool]:
    """SQL, the lines after ----, and whether there was one."""
    if "----" in body:
        cut = body.index("----")
        return "\n".join(body[:cut]).strip(), body[cut + 1 :], True
    return "\n".join(body).strip(), [], False


def _query(line: int, words: Sequence[str], body: list[str], sort: str, path: Path) -> Query:
    text, rows, _ = _split(body)
    if words and words[0] == "error":
        return Query(line, text, ok=False)
    types, label = (words[0] if words else ""), ""
    for word in words[1:]:
        if word in SORT_MODES:
            sort = _sort_mode(word, path, line)
        else:
            label = word
    hashed = _HASHED.fullmatch(rows[0].strip()) if len(rows) == 1 else None
    if hashed:
        return Query(line, text, True, types, sort, label, (), (int(hashed[1]), hashed[2]))
    return Query(line, text, True, types, sort, label, tuple(rows))


def _sort_mode(mode: str, path: Path, line: int) -> str:
    if mode not in SORT_MODES:
        raise Malformed(f"{path}:{line}: no sort mode {mode!r}; there are {', '.join(SORT_MODES)}")
    return mode


def sample(suites: Sequence[Sequence[Path]], count: int, seed: int = 0) -> dict[Path, int]:
    """Choose how many queries to take from which files, so that together they are about `count`, every suite has its
    share and no file more than it needs: files in a seeded order, each the same number."""
    chosen: dict[Path, int] = {}
    for suite in suites:
        if not suite:
            continue
        share = -(-count // len(suites))
        each = max(PER_FILE_MIN, -(-share // len(suite)))
        order = sorted(suite)
        random.Random(seed).shuffle(order)
        for path in order[: -(-share // each)]:
            chosen[path] = each
    return chosen


#: reading a file costs more than a query
PER_FILE_MIN = 6


def pick(records: Sequence[Record], count: int, seed: int = 0, name: str = "") -> set[int]:
    """Positions of `count` of the queries that have an answer, at random; all if there are fewer."""
    queries = [i for i, r in enumerate(records) if isinstance(r, Query) and r.ok]
    if len(queries) <= count:
        return set(queries)
    return set(random.Random(seed ^ zlib.crc32(name.encode())).sample(queries, count))


def render(table: pa.Table, sort: str) -> list[str]:
    """Rows as the lines of a file: values with a space between them, NULL, (empty), floats of 12 digits."""
    lines = [" ".join(map(_shown, row)) for row in rows(table)]
    return lines if sort == "nosort" else sorted(lines)


def _shown(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case "":
            return "(empty)"
        case bool():
            return str(value).lower()
        case float():
            return f"{value + 0.0:.12g}"
    return str(value)
