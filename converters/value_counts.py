"""Counts how often values occur in a column, or in several together: in rows, and in runs of equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.converters.arrow_values import plain

#: a Python sequence, or an Arrow column; None for NULL
Values = Any

#: the largest number for rows of several columns, before they are renumbered
NUMBERS_MAX = 2**63


class Column(NamedTuple):
    """Values as an array that can be counted: Arrow's unchanged, Python's as indexes of `named`."""

    array: pa.Array
    named: Sequence[Any] | None = None

    def value(self, found: pa.Scalar) -> Any:
        """Return a value of the array in Python."""
        plain = found.as_py()
        return plain if plain is None or self.named is None else self.named[plain]


def column_of(values: Values) -> Column:
    """Return the values as a column. Raises TypeError for types without equality."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return Column(array_of(values))
    numbers: dict[Any, int] = {}
    codes = [None if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return Column(pa.array(codes, pa.int32()), [*numbers])


def together(columns: Sequence[Values]) -> pa.Array:
    """Return a number for each row of several columns, the same for equal rows; none counts as NULL."""
    rows, values = pa.scalar(0, pa.int64()), 1  # the most values there may be
    for column in columns:
        of = column_of(column).array.dictionary_encode(null_encoding="encode")
        if values * len(of.dictionary) > NUMBERS_MAX:
            known = rows.dictionary_encode()
            rows, values = known.indices.cast(pa.int64()), len(known.dictionary)
        rows = pc.add(pc.multiply(rows, len(of.dictionary)), of.indices.cast(pa.int64()))
        values *= len(of.dictionary)
    return rows


def array_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array that Arrow's kernels take."""
    column = plain(column)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def in_rows(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the values in the order of first occurrence, and the rows of each. Raises pa.ArrowException for types
    without equality."""
    found = pc.value_counts(array)
    return found.field(0), found.field(1)


def in_runs(array: pa.Array) -> pa.Array:
    """Return the number of runs of each value, in that order."""
    if array.null_count:  # Arrow compares the bytes under NULL
        array = array.dictionary_encode(null_encoding="encode").indices
    return in_rows(pc.run_end_encode(array).values)[1]
