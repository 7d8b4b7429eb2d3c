"""A query as it is to run: its result's columns, the parts of it that run as jobs, and those that DuckDB computes here,
with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jumpgate.client.duckdb.reasons import Kept
from jumpgate.converters import probe
from jumpgate.dataflow.operators import Read

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.duckdb.sources import Files
    from jumpgate.client.duckdb.types import SqlType
    from jumpgate.client.sql.catalog import Table
    from jumpgate.dataflow.operators import Operator

Parameters = Sequence[Any] | Mapping[str, Any]


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


@dataclass(frozen=True)
class Split:
    """A query taken apart: one cut that is the whole query, or the parts that DuckDB keeps. `text`: what it computes
    over the results of cuts; empty if there are none, or nothing above one."""

    cuts: tuple[Cut, ...] = ()
    kept: tuple[Kept, ...] = ()
    text: str = ""

    @property
    def operators(self) -> int:
        """The operators of the whole query."""
        return self.offloaded + len(self.kept)

    @property
    def offloaded(self) -> int:
        """The operators that the cuts compute."""
        return sum(cut.operators for cut in self.cuts)

    def read_bytes(self) -> float:
        """Return the bytes of the rows that the cuts read, as columns in memory, as far as the files tell."""
        reads = [node for cut in self.cuts for node in cut.operator.walk() if isinstance(node, Read)]
        sizes = (probe.estimate(read.files, read.format, read.options).rows or 0.0 for read in reads)
        return sum(rows * sum(t.width for t in read.schema.types) for rows, read in zip(sizes, reads, strict=True))


def left(why: str) -> Split:
    """Return the split of a query that is left to DuckDB as a whole."""
    return Split(kept=(Kept("query", why),))


@dataclass(frozen=True)
class Plan:
    """A query over `tables`, with the values of its parameters, planned for a mode of offloading. types: DuckDB's, of
    the columns of `schema`."""

    text: str
    values: list[Any] | dict[str, Any]
    mode: str
    types: list[str]
    schema: pa.Schema
    tables: tuple[Table, ...]
    split: Split

    def left(self, why: str) -> Plan:
        """Return the plan of the same query that DuckDB runs."""
        return replace(self, split=left(why))
