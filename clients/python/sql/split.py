"""Split a query into what runs as jobs and what DuckDB computes here, with the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from jumpgate.dataflow.operators import Operator


@dataclass
class Cut:
    """A sub-plan that runs as a job; its result has `schema`. `operators` counts those that are offloaded with it."""

    operator: Operator
    schema: pa.Schema
    operators: int


@dataclass(frozen=True)
class Kept:
    """An operator that DuckDB computes: its kind and the reason."""

    kind: str
    reason: str


@dataclass
class Split:
    """A query taken apart: one cut that is the whole query, or what DuckDB keeps."""

    cuts: list[Cut] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    @property
    def operators(self) -> int:
        """The operators of the whole query."""
        return self.offloaded + len(self.kept)

    @property
    def offloaded(self) -> int:
        """The operators that the cuts compute."""
        return sum(cut.operators for cut in self.cuts)
