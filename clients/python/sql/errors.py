"""DataFusion's errors about a text as typed errors that point at the place and suggest what was meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from jumpgate.client.sql.messages import plain
from jumpgate.client.sql.tokens import place as position_of
from jumpgate.client.sql.tokens import quoted, tokens, unquoted
from jumpgate.dataflow.resolve import suggest
from jumpgate.errors import InvalidDataflow, JumpgateError

_PLACE = re.compile(r" at Line: (\d+), Column: (\d+)")
_PARSER = re.compile(r'SQL error: (?:ParserError|TokenizerError)\("(.*)"\)', re.DOTALL)
_TABLE = re.compile(r"table '(?:datafusion\.(?:public\.)?)?([^']*)' not found")
_COLUMN = re.compile(r"No field named (.+?)\.(?:\s|$)")
#: in Jumpgate's own sentences, a name that the text holds
_NAMED = re.compile(r"(?:function|column|defines|called) [\"']?([\w.]+)[\"']?")
_TOKEN = re.compile(r"No infix parser for token (?:Word\(Word \{ value: \W*)?(\w+).*")
_VALID = re.compile(r"Valid fields are (.*)\.", re.DOTALL)
_PYTHON = re.compile(r"""PyErr \{ type: .*?, value: \w+\((["'])(.*?)\1\), traceback""", re.DOTALL)


class InvalidSql(InvalidDataflow):
    """The text is not a query over the registered tables. Fields: line and column (from 1), table, name where known."""

    code = "invalid_sql"


class TooLarge(InvalidSql):
    """The text is beyond what is looked at: nobody plans it."""

    code = "sql_too_large"


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


def invalid_sql(
    error: BaseException, text: str, tables: Iterable[str], place: Callable[[int, int], tuple[int, int]] | None = None
) -> InvalidSql:
    """Return the typed error for `error`, which DataFusion raised while it planned a text, in terms of the user's
    `text`.

    place: line and column in `text` of those in the text that was planned, if that is another one.
    """
    said = said_by(error)
    if parser := _PARSER.search(said):
        return _syntax(parser.group(1).replace('\\"', '"').replace("\\'", "'"), text, place)
    if table := _TABLE.search(said):
        name = table.group(1)
        known = list(tables)
        hint = suggest(name, known) if known else "; no table is registered yet"
        return _at_name(f"there is no table {name!r}{hint.replace('; it has', '; there are')}", text, name, table=name)
    if column := _COLUMN.search(said):
        name = column.group(1).replace('"', "")
        valid = _VALID.search(said)
        return _at_name(f"there is no column {name!r}{_suggest_column(name, valid)}", text, name, name=name)
    message = plain(said) or "the text is not an SQL query"
    named = _NAMED.search(message)
    return _at_name(message, text, named.group(1)) if named else InvalidSql(message)


def _syntax(said: str, text: str, moved: Callable[[int, int], tuple[int, int]] | None) -> InvalidSql:
    found = _PLACE.search(said)
    if found:
        line, column = int(found.group(1)), int(found.group(2))
        line, column = moved(line, column) if moved else (line, column)
    elif "EOF" in said or "Unterminated" in said:
        lines = text.rstrip().splitlines() or [""]
        line, column = len(lines), len(lines[-1]) + 1
    else:
        return InvalidSql(f"not SQL: {said}")
    what = _PLACE.sub("", said).replace("found: EOF", "found the end of the text").removesuffix(".")
    what = _TOKEN.sub(r"unexpected \1", what.replace("Unexpected EOF while in", "the text ends in"))
    return InvalidSql(
        f"not SQL at line {line}, column {column}: {what[:1].lower()}{what[1:]}\n{located(text, line, column)}",
        line=line,
        column=column,
    )


def _at_name(message: str, text: str, wanted: str, **fields: Any) -> InvalidSql:
    """The error with the place where `text` has the name first, if it has it."""
    parts = wanted.lower().rsplit(".", 2)[-2:]
    found = tokens(text)
    for index, token in enumerate(found):
        if token.kind in ("word", "name") and unquoted(token).lower() == parts[-1]:
            if len(parts) == 2 and (index < 2 or unquoted(found[index - 2]).lower() != parts[0]):
                continue
            line, column = position_of(text, token.start)
            return InvalidSql(f"{message}\n{located(text, line, column)}", line=line, column=column, **fields)
    return InvalidSql(message, **fields)


def _suggest_column(name: str, valid: re.Match[str] | None) -> str:
    """Compares without the tables' names where the text has none."""
    fields = _split_names(valid.group(1)) if valid else []
    if not fields:
        return ""
    last = name.rsplit(".", 1)[-1]
    spelled = list(dict.fromkeys(f[-1] for f in fields if f[-1].lower() == last.lower() and f[-1] != last))
    if len(spelled) == 1:
        return f"; names with capital letters are quoted: write {quoted(spelled[0])}"
    if "." in name:
        return suggest(name, [".".join(f) for f in fields])
    return suggest(name, [f[-1] for f in fields])


def _split_names(listed: str) -> list[list[str]]:
    """Qualified names as DataFusion lists them, each as its parts."""
    found: list[list[str]] = [[]]
    for token in tokens(listed):
        if token.kind in ("word", "name", "marker", "number", "string"):
            found[-1].append(unquoted(token))
        elif token.text == ",":
            found.append([])
    return [parts for parts in found if parts]


_PANIC = "it panicked; the reason is on standard error"


def from_datafusion(error: BaseException) -> JumpgateError:
    """An error of DataFusion while it ran the client's part of a plan, by what it says."""
    from jumpgate import errors

    said = said_by(error)
    lowered = said.lower()
    why = _PANIC if "rust future panicked" in said else plain(said) or "it failed without saying why"
    message = f"DataFusion, in the client's part of the plan: {why}"
    if "divide by zero" in lowered or "division by zero" in lowered:
        return errors.DivisionByZero(message)
    if "overflow" in lowered or "too large to store in a decimal" in lowered:
        return errors.Overflow(message)
    if "cast error" in lowered or "cannot cast" in lowered:
        return errors.InvalidCast(message)
    if "resources exhausted" in lowered:
        return errors.MemoryLimit(
            "what DataFusion computes here needs more than its share of the memory; offload='always' may need"
            f" less, as may fewer rows or columns before joins and groups ({plain(said)})"
        )
    if any(word in lowered for word in ("parquet error", "json error", "csv error", "object store error", "ioerror")):
        return errors.DataError(message)
    if any(word in lowered for word in ("not implemented", "physical plan does not support", "placeholder '")):
        return InvalidSql(message)
    return errors.ComputeError(message)
