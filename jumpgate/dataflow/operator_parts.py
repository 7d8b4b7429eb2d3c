"""The parts of operators: sort keys, measures, window functions and frames, partitionings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jumpgate.dataflow.aggregate import AggregateFunction
from jumpgate.dataflow.aggregates import AGGREGATES, find_aggregate
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.types import DataType, float64, int64
from jumpgate.words import counted

WINDOW_FUNCTIONS = (
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
    "last_value", "nth_value",
    "sum", "count", "count_star", "min", "max", "avg", "stddev",
)  # fmt: skip
FRAME_UNITS = ("rows", "range", "groups")
OFFSET_MAX = (1 << 63) - 1
#: measures that take only numbers
NUMERIC_MEASURES = frozenset(a.name for a in AGGREGATES.values() if a.numeric)
PHASES = ("full", "partial", "final")


@dataclass(frozen=True)
class SortKey:
    """A sort key: an expression, its direction, and where its NULLs go."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        return f"{self.expression}{' desc' * self.descending}{' nulls first' * self.nulls_first}"


@dataclass(frozen=True)
class Measure:
    """One aggregate: `function` names its declaration. The arguments that are computed for each row precede its
    options, which are literals. `order` orders the rows for functions that are ordered."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    name: str
    order: tuple[SortKey, ...] = ()

    @classmethod
    def of(cls, function: str, *arguments: Expression, name: str, order: tuple[SortKey, ...] = ()) -> Measure:
        """Return a measure with the type that its declaration gives it. Raises TypeMismatch."""
        declaration = find_aggregate(function)
        types = tuple(a.type for a in arguments[: declaration.arity])
        options = [a.value for a in arguments[declaration.arity :] if isinstance(a, Literal)]
        return cls(function, arguments, declaration.type_of(types, options), name, order)

    @property
    def declaration(self) -> AggregateFunction:
        """Return the declaration of its function."""
        return find_aggregate(self.function)

    @property
    def values(self) -> tuple[Expression, ...]:
        """Return the arguments that are computed for each row."""
        return self.arguments[: self.declaration.arity]

    @property
    def options(self) -> tuple[Literal, ...]:
        """Return the literals after its arguments."""
        return tuple(a for a in self.arguments[self.declaration.arity :] if isinstance(a, Literal))

    @property
    def argument(self) -> Expression | None:
        """The first argument; None for count_star."""
        return self.arguments[0] if self.arguments else None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return the arguments, then the order's keys, as `with_expressions` replaces them."""
        return (*self.arguments, *(k.expression for k in self.order))

    @property
    def compared(self) -> tuple[Expression, ...]:
        """Return the expressions of which values are compared: those of a count are not; elements of a list that tie
        come in an order of their own, which need not be that of their values."""
        if self.function == "count":
            return ()
        is_list = self.function in ("array_agg", "collect_list")
        return tuple(k.expression for k in self.order) if is_list else self.expressions

    def with_expressions(self, expressions: Sequence[Expression]) -> Measure:
        """Return the same measure over other expressions, one for each of `expressions`."""
        count = len(self.arguments)
        order = tuple(replace(k, expression=e) for k, e in zip(self.order, expressions[count:], strict=True))
        return replace(self, arguments=tuple(expressions[:count]), order=order)

    @property
    def row_types(self) -> tuple[tuple[DataType, ...], tuple[DataType, ...]]:
        """Return the types of the values and of the order's keys."""
        return tuple(v.type for v in self.values), tuple(k.expression.type for k in self.order)

    def __str__(self) -> str:
        order = f" order by {', '.join(map(str, self.order))}" if self.order else ""
        return f"{self.name} = {self.function}({', '.join(map(str, self.arguments))}{order})"


def partial_state(measure: Measure) -> tuple[DataType, ...]:
    """Return the types of the columns that a partial aggregate emits for one measure and a final one consumes."""
    states = measure.declaration.states
    if measure.declaration.distinct_of or states is None:
        raise ValueError(f"{measure.function} has no partial state")
    return states.types(*measure.row_types)


@dataclass(frozen=True)
class Frame:
    """The rows around each row that a window function sees. unit: rows | range | groups (of peers by the order).

    `start` and `end` are offsets from the current row (0: itself, or its peers; negative: before); None: unbounded.
    Those of a range are differences of the one key that orders: of integers, of a decimal's last digit, in days of a
    date, in microseconds of a timestamp.
    """

    unit: str = "range"
    start: int | None = None
    end: int | None = 0


def has_differences(type: DataType) -> bool:
    """Return whether a frame can be a range of such values."""
    return type.is_integer or type.kind in ("decimal", "date", "timestamp")


@dataclass(frozen=True)
class WindowFunction:
    """One window function. Among the `arguments`, ntile's count and the second argument of nth_value, lag and lead (a
    row's number or distance) are literals; the third one of lag and lead is the default for rows that have no such row,
    of the first one's type."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    name: str

    @property
    def count(self) -> int | None:
        """Return the position of the argument that must be a literal, if any."""
        found = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}.get(self.function)
        return None if found is None or found >= len(self.arguments) else found

    @property
    def counts(self) -> bool:
        """Return whether the values are numbers of rows."""
        return self.function in ("row_number", "rank", "dense_rank", "count", "count_star")

    @property
    def inspects(self) -> bool:
        """Return whether the function looks into values, and does not only count or pass them on."""
        return not self.counts and self.function not in ("lag", "lead", "first_value", "last_value", "nth_value")

    @property
    def values(self) -> tuple[Expression, ...]:
        """Return the arguments that are computed for each row."""
        return tuple(a for i, a in enumerate(self.arguments) if i != self.count)

    def with_values(self, values: tuple[Expression, ...]) -> WindowFunction:
        """Return the same function over other `values`, one for each of its own."""
        rest = iter(values)
        return replace(
            self, arguments=tuple(a if i == self.count else next(rest) for i, a in enumerate(self.arguments))
        )

    def __str__(self) -> str:
        return f"{self.name} = {self.function}({', '.join(map(str, self.arguments))})"


def window_type(function: str, arguments: tuple[DataType, ...]) -> DataType:
    """Return the result type: positions and counts int64 and fractions of a partition float64, never NULL; lag, lead,
    first_value, last_value and nth_value keep the argument's type, nullable; the others are those of the measure of
    that name."""
    if function in ("row_number", "rank", "dense_rank", "ntile"):
        return int64.with_nullable(False)
    if function in ("percent_rank", "cume_dist"):
        return float64.with_nullable(False)
    if function in ("lag", "lead", "first_value", "last_value", "nth_value"):
        return arguments[0].with_nullable(True)
    return AGGREGATES[function].type_of(arguments)


@dataclass(frozen=True)
class FirstRows:
    """The first `count` rows of each partition in a window's order, with `ties` also those that tie with the last of
    them."""

    count: int
    ties: bool

    def __str__(self) -> str:
        rows = "first row" if self.count == 1 else f"first {self.count} rows"
        return f"{rows} of each partition{' with ties' * self.ties}"


@dataclass(frozen=True)
class Partitioning:
    """How rows of an edge are partitioned over its consumers. kind: single | hash | round_robin | broadcast | murmur3,
    or paired, which only the compiler uses: each producer sends to the consumer of its own index.

    `keys` are positions in the edge's schema (hash, murmur3). murmur3 is Spark's hash, seed 42. `heavy` are the
    fingerprints (jumpgate/dataflow/fingerprints.py) of heavy hitters: with hash, their rows go to the consumers in
    turn, or to all if they are `copied`. Only the compiler uses them, on the two sides of a join.
    """

    kind: str = "single"
    keys: tuple[int, ...] = ()
    count: int = 1
    heavy: tuple[int, ...] = ()
    copied: bool = False

    def moved(self, places: Mapping[int, int]) -> Partitioning:
        """Return the same partitioning of rows whose column i is now places[i]."""
        return replace(self, keys=tuple(places[k] for k in self.keys))

    def __str__(self) -> str:
        keys = f"({', '.join(f'#{k}' for k in self.keys)})" if self.keys else ""
        heavy = (
            f", {counted(len(self.heavy), 'heavy key')} {'to all' if self.copied else 'in turn'}" if self.heavy else ""
        )
        return f"{self.kind}{keys}" + (f" × {self.count}" if self.count > 1 else "") + heavy
