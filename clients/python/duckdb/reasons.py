"""Why a text, or an operator of it, ends up with DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded


class Stays(Exception):
    """A text, or a part of one, runs in DuckDB. The message is the reason, for people."""


@dataclass(frozen=True)
class Kept:
    """An operator that DuckDB computes, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Parts:
    """A plan taken apart: `text` is a query over tables that hold the results of `cuts`; cut_name names them."""

    cuts: tuple[Offloaded, ...]
    text: str
    kept: tuple[Kept, ...]
