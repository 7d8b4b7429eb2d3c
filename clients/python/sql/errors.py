"""What DataFusion says about a text, as typed errors that point at the place and suggest what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jumpgate.dataflow.resolve import suggest
from jumpgate.errors import InvalidDataflow, JumpgateError

_PLACE = re.compile(r" at Line: (\d+), Column: (\d+)")
_PARSER = re.compile(r'SQL error: (?:ParserError|TokenizerError)\("(.*)"\)', re.DOTALL)
_TABLE = re.compile(r"table '(?:datafusion\.public\.)?([^']*)' not found")
_COLUMN = re.compile(r"No field named (\S+?)\.(?:\s|$)")
_VALID = re.compile(r"Valid fields are (.*)\.", re.DOTALL)
_PREFIXES = re.compile(
    r"^(?:DataFusion error: |Error during planning: |Schema error: |SQL error: |type_coercion\s+caused by\s+"
    r"|This feature is not implemented: |Optimizer rule '[^']*' failed\s+caused by\s+)+"
)
_PYTHON = re.compile(r"""PyErr \{ type: .*?, value: \w+\((["'])(.*?)\1\), traceback""", re.DOTALL)


class InvalidSql(InvalidDataflow):
    """The text is no query over the registered tables. Fields: line and column (from 1), table, name where known."""

    code = "invalid_sql"


def said_by(error: BaseException) -> str:
    """DataFusion's text; of an error in a function of ours, that error's."""
    python = _PYTHON.search(str(error))
    return python.group(2).replace('\\"', '"') if python else str(error)


def located(text: str, line: int, column: int) -> str:
    """The line of `text` with a caret under the place; what is far from it on a long line is left out."""
    lines = text.splitlines() or [""]
    row = lines[min(line, len(lines)) - 1]
    start = max(0, column - 61)
    return f"  {row[start : start + 120].expandtabs(1)}\n  {' ' * (column - 1 - start)}^"


def invalid_sql(error: BaseException, text: str, tables: Iterable[str]) -> InvalidSql:
    """What `error`, raised by DataFusion while it planned `text`, means to whoever wrote the text."""
    said = said_by(error)
    if parser := _PARSER.search(said):
        return _syntax(parser.group(1).replace('\\"', '"').replace("\\'", "'"), text)
    if table := _TABLE.search(said):
        name = table.group(1)
        known = list(tables)
        hint = suggest(name, known) if known else "; no table is registered yet"
        return InvalidSql(f"there is no table {name!r}{hint.replace('; it has', '; there are')}", table=name)
    if column := _COLUMN.search(said):
        name = column.group(1)
        valid = _VALID.search(said)
        fields = [f.strip().replace('"', "") for f in valid.group(1).split(", ")] if valid else []
        return InvalidSql(f"there is no column {name!r}{_suggest_column(name, fields)}", name=name)
    message = _PREFIXES.sub("", said).strip()
    return InvalidSql(message if message else "the text is no SQL query")


def _syntax(said: str, text: str) -> InvalidSql:
    place = _PLACE.search(said)
    if place:
        line, column = int(place.group(1)), int(place.group(2))
    elif "EOF" in said or "Unterminated" in said:
        lines = text.rstrip().splitlines() or [""]
        line, column = len(lines), len(lines[-1]) + 1
    else:
        return InvalidSql(f"not SQL: {said}")
    what = _PLACE.sub("", said).replace("found: EOF", "found the end of the text")
    return InvalidSql(
        f"not SQL at line {line}, column {column}: {what[:1].lower()}{what[1:]}\n{located(text, line, column)}",
        line=line,
        column=column,
    )


def _suggest_column(name: str, fields: list[str]) -> str:
    """Compares without the tables' names where the text has none."""
    if not fields:
        return ""
    if "." in name:
        return suggest(name, fields)
    return suggest(name, (f.rsplit(".", 1)[-1] for f in fields))


def from_datafusion(error: BaseException) -> JumpgateError:
    """An error of DataFusion while it ran the client's part of a plan, by what it says."""
    from jumpgate import errors

    said = said_by(error)
    lowered = said.lower()
    message = f"DataFusion, in the client's part of the plan: {_PREFIXES.sub('', said).strip()}"
    if "divide by zero" in lowered or "division by zero" in lowered:
        return errors.DivisionByZero(message)
    if "overflow" in lowered:
        return errors.Overflow(message)
    if "cast error" in lowered or "cannot cast" in lowered:
        return errors.InvalidCast(message)
    if "resources exhausted" in lowered:
        return errors.MemoryLimit(message)
    if any(word in lowered for word in ("parquet error", "json error", "csv error", "object store error", "ioerror")):
        return errors.DataError(message)
    return errors.ComputeError(message)
