"""Rows of one object that may be among the first: a sample's K-th key is a threshold (PushdownDB, section VII).

K rows of the sample are not behind it, so rows behind it are not among the object's first K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from jumpgate.ncas.s3_select.dialects import EXACT
from jumpgate.ncas.s3_select.source import Source
from jumpgate.ncas.s3_select.sql import column, select
from jumpgate.ncas.s3_select.supersets import Superset


@dataclass(frozen=True)
class Top:
    """The first `most` rows by an integer column, then by what else decides downstream."""

    key: str
    descending: bool
    nulls_first: bool
    most: int
    sampled: int

    def threshold(self, source: Source, where: str) -> str:
        """Return the condition that a row is not behind the sample's K-th; empty if the sample has fewer rows."""
        key = column(self.key)
        sample = source.selected(select([key], [where, f"{key} IS NOT NULL"], self.sampled))
        values = sorted((int(row["c0"]) for row in sample or ()), reverse=self.descending)
        if not 0 < self.most <= len(values) or abs(values[self.most - 1]) >= EXACT:
            return ""
        condition = f"{key} {'>=' if self.descending else '<='} {values[self.most - 1]:d}"
        return f"({condition} OR {key} IS NULL)" if self.nulls_first else f"({condition})"

    def text_threshold(self, source: Source, superset: Superset, sample: str, exact: str) -> str:
        """Return a condition that each row of text meets that is not behind the K-th of those of a sample that meet the
        exact condition; empty if the sample has fewer. sample, exact: statements for the sample, and for its keys."""
        found = source.sampled(sample, exact, pa.schema([(self.key, pa.int64())]))
        values = sorted((v for batch in found or () for v in batch.column(0).to_pylist()), reverse=self.descending)
        if not 0 < self.most <= len(values):
            return ""
        condition = superset.bound(self.key, "ge" if self.descending else "le", values[self.most - 1])
        return f"({condition} OR {superset.absent(self.key)})" if condition and self.nulls_first else condition


def rows(source: Source, top: Top, shown: Sequence[str], where: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the columns `shown` of the rows that meet the condition and may be among the first."""
    yield from source.rows(select(map(column, shown), [where, top.threshold(source, where)]), wanted)
