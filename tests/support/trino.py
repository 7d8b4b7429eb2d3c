"""Runs queries in a real Trino server that has the connector."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpgate.tpch import TPCH
from jumpgate.trino import write_plugin
from tests.support import jvm, presto
from tests.support.presto import Answers, Query

VERSION = "435"


def trino_text(number: int) -> str:
    """A query of TPC-H as Trino reads it, which groups by no column's new name."""
    return re.sub(r"GROUP BY\s+supplier_no", "GROUP BY l_suppkey", TPCH.queries()[number])


def library() -> Path:
    """The jars of a Trino server, fetched once."""
    return presto.fetched(f"trino-{VERSION}", "trino", "dependency:copy-dependencies")


def install(plugins: Path) -> None:
    """Build the connector and put it into a server's folder of plugins."""
    jvm.build()
    write_plugin(plugins / "jumpgate")


def answers(folder: Path, catalog: Mapping[str, Any], queries: Sequence[Query]) -> Answers:
    """Ask a server about the catalog, which is schema main; the first query must have rows."""
    install(folder / "plugin")
    return presto.ask(folder, catalog, queries, library(), "Trino")


def as_json(value: Any) -> Any:
    """A value as Trino's protocol writes it."""
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return presto.as_json(value)
