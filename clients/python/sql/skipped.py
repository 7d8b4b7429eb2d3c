"""Rows that a query left out, as `on_error = "skip"` has it: they are warned of, whoever takes the result."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jumpgate.client.sql.catalog import Table
from jumpgate.dataflow.operators import Read
from jumpgate.words import counted

if TYPE_CHECKING:
    from jumpgate.client.session import Session


class SkippedRows(UserWarning):
    """A result lacks rows that could not be read."""


warnings.simplefilter("always", SkippedRows)  # each result is told of its own


def may_skip(tables: Iterable[Table]) -> bool:
    """Return whether reads of these tables leave rows out instead of failing."""
    reads = (node for table in tables if table.read is not None for node in table.read.walk())
    return any(isinstance(node, Read) and dict(node.options).get("on_error") == "skip" for node in reads)


def skipped(session: Session, jobs: Sequence[str]) -> dict[str, int]:
    """Rows of each file that these jobs left out."""
    found: dict[str, int] = {}
    for job in jobs:
        record = session.describe(job).record
        counters = record["counters"].values() if record else ()
        for source in (source for counter in counters for source in counter.get("sources", ())):
            if rows := source.get("skipped_rows", 0):
                found[source["name"]] = found.get(source["name"], 0) + rows
    return found


def warn(session: Session, jobs: Sequence[str]) -> None:
    """Warn of the rows that these jobs left out."""
    for name, rows in skipped(session, jobs).items():
        warnings.warn(f"skipped {counted(rows, 'row')} of {name} that could not be read", SkippedRows, stacklevel=2)
