"""Statistics of tables and columns, by which plans are estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumpgate.dataflow.operators import Operator
    from jumpgate.dataflow.types import DataType


@dataclass(frozen=True)
class ColumnStatistics:
    """Estimates about a column; None means unknown. `low` and `high` are numbers, days, microseconds; `true_fraction`
    is that of a condition. `heavy` lists the fingerprints of frequent values with their fraction of the rows, most
    frequent first. spread: the part of the way from `low` to `high` that the values of a row group span, on average."""

    distinct: float | None = None
    low: float | None = None
    high: float | None = None
    null_fraction: float | None = None
    true_fraction: float | None = None
    heavy: tuple[tuple[int, float], ...] = ()
    spread: float | None = None


@dataclass(frozen=True)
class Selection:
    """The result of a filter over a table: it selected `chosen` of `seen` rows; `whole`: these are all rows of the
    table. `left` numbers the filter's conjuncts that were not evaluated. `column` has the statistics of the requested
    columns: of the selected rows if they are complete, else of the whole table."""

    seen: int
    chosen: int
    whole: bool
    left: tuple[int, ...] = ()
    column: ColumnStatistics = field(default_factory=ColumnStatistics)


@dataclass(frozen=True)
class Statistics:
    """Statistics of an operator's output; None means unknown. For files, `column(name, type)` looks a column up on
    demand, and `select(filter, names)` evaluates a Filter over their Read and looks up the combination of these
    columns."""

    rows: float | None = None
    bytes: float | None = None
    column: Callable[[str, DataType], ColumnStatistics] | None = field(default=None, compare=False, repr=False)
    select: Callable[[Operator, tuple[str, ...]], Selection | None] | None = field(
        default=None, compare=False, repr=False
    )
