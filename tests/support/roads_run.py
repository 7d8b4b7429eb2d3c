"""Runs the rows of support.roads on every road: each format, and each `offload`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.client.sql.errors import InvalidSql
from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError
from tests.support import roads, tables
from tests.support.alike import rows
from tests.support.roads import CELLS, FORMULAS, Cell, Error, Formula

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


def run(connection: Connection, folder: Path, formats: tuple[str, ...] = FORMATS) -> Iterator[Result]:
    """All rows."""
    for format in formats:
        for name, table in (("v", roads.V), ("w", roads.W)):
            source = tables.write(table, folder / f"{name}.{format}", format)
            connection.register(name, source.data, **source.options)
        for formula in FORMULAS:
            yield from _formula(connection, formula, format)
        for name in ("v", "w"):
            connection.deregister(name)
    for number, cell in enumerate(CELLS):
        if cell.format in formats:
            yield from _cell(connection, cell, folder / f"cell-{number}.{cell.format}")


def _formula(connection: Connection, formula: Formula, format: str) -> Iterator[Result]:
    for text in formula.queries():
        for mode in MODES:
            found = _answer(connection, text, mode)
            right = _fits(found, formula.value) or _refused(found, text, formula)
            yield Result(text, f"{format}, {mode}", "" if right else f"{found}, expected {formula.value}")


def _refused(found: Any, text: str, formula: Formula) -> bool:
    """Return whether a constant without a value was an error before anything ran."""
    constant = bool(formula.text) and text == list(formula.queries())[-1]
    return constant and isinstance(formula.value, Error) and isinstance(found, InvalidSql)


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
