"""Runs the rows of support.roads on every road: each format, each `offload`, and both dialects where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.client.sql.errors import InvalidSql
from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError
from tests.support import roads, tables
from tests.support.alike import rows
from tests.support.roads import CELLS, DIALECTS, FORMULAS, SAME, Cell, Error, Formula

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

FORMATS = (*formats(), tables.ARROW)
MODES = ("always", "auto", "never")


@dataclass(frozen=True)
class Result:
    """One row on one road; wrong: the wrong result, empty if it was right."""

    text: str
    road: str
    wrong: str


def run(connect: Callable[[str], Connection], folder: Path, formats: tuple[str, ...] = FORMATS) -> Iterator[Result]:
    """All rows; `connect` makes a connection of a dialect."""
    with ExitStack() as stack:
        connections = {dialect: stack.enter_context(connect(dialect)) for dialect in DIALECTS}
        for format in formats:
            for dialect, connection in connections.items():
                for name, table in (("v", roads.V), ("w", roads.W)):
                    source = tables.write(table, folder / f"{dialect}-{name}.{format}", format)
                    connection.register(name, source.data, **source.options)
                for formula in FORMULAS:
                    if dialect == DIALECTS[-1] or format == "parquet" or formula.duckdb is not SAME:
                        yield from _formula(connection, formula, format, dialect)
                for name in ("v", "w"):
                    connection.deregister(name)
        for number, cell in enumerate(CELLS):
            if cell.format in formats:
                yield from _cell(connections[DIALECTS[-1]], cell, folder / f"cell-{number}.{cell.format}")


def _formula(connection: Connection, formula: Formula, format: str, dialect: str) -> Iterator[Result]:
    expected = [formula.expected(dialect)]
    if formula.accelerated is not SAME:
        expected.append(formula.accelerated)
    for text in formula.queries():
        for mode in MODES:
            found = _answer(connection, text, mode)
            right = any(_fits(found, value) or _refused(found, value, text, formula) for value in expected)
            wrong = "" if right else f"{found}, expected {' or '.join(map(str, expected))}"
            yield Result(text, f"{format}, {mode}, dialect {dialect}", wrong)


def _refused(found: Any, value: Any, text: str, formula: Formula) -> bool:
    """Return whether a constant without a value was an error before anything ran."""
    constant = bool(formula.text) and text == list(formula.queries())[-1]
    return constant and isinstance(value, Error) and isinstance(found, InvalidSql)


def _cell(connection: Connection, cell: Cell, path: Path) -> Iterator[Result]:
    path.write_text(cell.text, encoding="utf-8")
    for mode in MODES:
        try:
            connection.register("cell", path, schema=dict(cell.schema), **dict(cell.options))
            found = _answer(connection, "SELECT a FROM cell", mode, whole=True)
            connection.deregister("cell")
        except JumpgateError as error:
            found = error
        wrong = "" if _fits(found, cell.value) else f"{found}, expected {cell.value}"
        yield Result(cell.text, f"{cell.format}, {mode}", wrong)


def _answer(connection: Connection, text: str, mode: str, whole: bool = False) -> Any:
    """The one value, or (whole) those of the one column, or the error."""
    try:
        with connection.sql(text, offload=mode) as query:
            found = [row[0] for row in rows(query.to_arrow())]
    except JumpgateError as error:
        return error
    return found if whole or len(found) != 1 else found[0]


def _fits(found: Any, value: Any) -> bool:
    if isinstance(value, Error):
        return isinstance(found, JumpgateError) and found.code in value.codes
    if isinstance(value, list):
        return isinstance(found, list) and len(found) == len(value) and all(map(_fits, found, value))
    if isinstance(value, float) and isinstance(found, float):
        return found == value or (math.isnan(found) and math.isnan(value))
    return type(found) is type(value) and bool(found == value)
