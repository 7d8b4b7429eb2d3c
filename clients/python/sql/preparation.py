"""From the text that somebody wrote to the one that DataFusion plans."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql import duckdb_text, limits, refusals, spelling
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.errors import InvalidSql, TooLarge
from jumpgate.client.sql.rewriting import Rewritten, changed
from jumpgate.client.sql.tokens import parts_of

TEXT_BYTES_MAX = 4 << 20


def prepare(text: str, dialect: str = "duckdb", tables: Sequence[Table] = ()) -> Rewritten:
    """The text to plan, with what DataFusion would get wrong written in another way.

    dialect: `duckdb` also gives `/`, avg and numbers with an exponent DuckDB's meaning; `datafusion` does not. tables:
    of which names in the text may differ in case. Raises InvalidSql for what cannot be planned, or would be answered
    wrongly.
    """
    check_size(text)
    parts, words = parts_of(text)
    if not parts:
        raise InvalidSql("the text holds no query")
    limits.check(parts, words)
    refusals.check(text, parts, words)
    changes = duckdb_text.changes(parts, words) if dialect == "duckdb" else []
    changes += spelling.changes(parts, tables)
    return changed(text, changes + refusals.changes(parts, words))  # of two at one place, the inner one comes second


def check_size(text: str) -> None:
    """Raises TooLarge for a text that is too long to be looked at."""
    if len(text.encode(errors="replace")) > TEXT_BYTES_MAX:
        raise TooLarge(f"a query has at most {TEXT_BYTES_MAX >> 20} MiB of text")
