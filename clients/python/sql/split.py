"""The parts of a query that run as jobs, and those that DuckDB computes here, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jumpgate.client.duckdb.reasons import Kept

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.duckdb.sources import Files
    from jumpgate.client.duckdb.types import SqlType
    from jumpgate.dataflow.operators import Operator


@dataclass(frozen=True)
class Cut:
    """A sub-plan that runs as a job; its columns have these types in DuckDB. `operators` counts those that are
    offloaded with it."""

    operator: Operator
    types: tuple[SqlType, ...]
    files: Files
    operators: int


def cut_of(found: Offloaded) -> Cut:
    """Return the cut that is an offloaded plan."""
    return Cut(found.operator, found.types, found.files, len({id(node) for node in found.operator.walk()}))


@dataclass
class Split:
    """A query taken apart: one cut that is the whole query, or the parts that DuckDB keeps. `text`: what it computes
    over the results of cuts; empty if there are none, or nothing above one."""

    cuts: list[Cut] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    text: str = ""

    @property
    def operators(self) -> int:
        """The operators of the whole query."""
        return self.offloaded + len(self.kept)

    @property
    def offloaded(self) -> int:
        """The operators that the cuts compute."""
        return sum(cut.operators for cut in self.cuts)
