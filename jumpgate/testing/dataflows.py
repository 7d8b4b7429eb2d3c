"""Small random dataflows over small random files, for tests that compare an implementation with the oracle.

Everything follows from the seed. Undefined results and errors are not generated: values are too small to overflow, and
a limit stands only at the root. Floats are multiples of one half, so that sums are exact.
"""

from __future__ import annotations

import datetime
import decimal as pydecimal
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from jumpgate.dataflow import formats as declared
from jumpgate.dataflow.aggregate import AggregateFunction
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Case, Expression, InList, Literal, conjunction
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    NUMERIC_MEASURES,
    WINDOW_FUNCTIONS,
    Aggregate,
    Distinct,
    Filter,
    Frame,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Read,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.types import DataType, Field, Schema, bool_, decimal, int64, timestamptz
from jumpgate.testing.oracle import arrow_schema

TYPES = (
    *(DataType(k) for k in ("bool", "int8", "int16", "int32", "int64", "float32", "float64")),
    decimal(7, 2),
    decimal(25, 3),
    *(DataType(k) for k in ("date", "timestamp", "time", "timestamp_ns", "string")),
    timestamptz(),
)
ROWS = (0, 1, 2, 5, 40, 300)
WORDS = ("a", "b", "ab", "abc", "B", "x y", "it's", 'quo"te', "comma, here", "tab\there", "ü", "日本", "%", "_", "\\")
SAID_BY_SUBSTRAIT = ("filter", "filter", "project", "join", "join", "aggregate", "aggregate", "distinct", "union")
KINDS = (*SAID_BY_SUBSTRAIT, "skyline")
#: includes operators that no generated program supports
ALL_KINDS = (*KINDS, "window", "window_over_groups")
FRAMES = (
    Frame(), Frame(), Frame("range", None, None), Frame("rows", None, 0), Frame("rows", -2, 1), Frame("rows", 1, None),
)  # fmt: skip
GROUPS = (Frame("groups", -3, -1), Frame("groups", 0, 2))  # not expressible in Substrait
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct")
PATTERNS = ("a%", "%b", "_", "%")


#: rows of each part of a file that can be skipped
PART_ROWS = 64


def judged() -> tuple[str, ...]:
    """Return the formats that another engine reads, too: what comes of others nobody can compare."""
    return tuple(name for name, format in declared.formats().items() if format.duckdb or format.dataset)


class Generator:
    """Random tables (files in `folder`) and dataflows over them."""

    def __init__(
        self, seed: int, folder: Path, formats: Sequence[str] | None = None, kinds: Sequence[str] = KINDS
    ) -> None:
        self.kinds = kinds
        self.random = random.Random(seed)
        self.folder = folder
        self.formats = judged() if formats is None else formats
        self._tables = 0

    def dataflow(self, operators: int = 4) -> Operator:
        """A dataflow of about that many operators above its reads, perhaps sorted or limited at the root."""
        node = self._node(operators)
        choice = self.random.random()
        if choice < 0.3:
            return self.sort(node)
        if choice < 0.4:
            return Limit(node, self.random.choice((0, 1, 10)), self.random.choice((0, 0, 3)))
        return node

    def _node(self, operators: int) -> Operator:
        if operators <= 0:
            return self.table()
        kind = self.random.choice(self.kinds)
        if kind == "join":
            left = self._node((operators - 1) // 2)
            right = left if self.random.random() < 0.2 else self._node(operators - 1 - (operators - 1) // 2)
            return self.join(left, right)
        node = self._node(operators - 1)
        changes: dict[str, Callable[[Operator], Operator]] = {
            "filter": self.filter,
            "project": self.project,
            "aggregate": self.aggregate,
            "distinct": Distinct,
            "union": self.union,
            "skyline": self.skyline,
            "window": self.window,
            "window_over_groups": self.window_over_groups,
        }
        return changes[kind](node)

    # ---- data -------------------------------------------------------------------------------------------------------

    def table(self) -> Read:
        """A new file, its schema and its read."""
        format = self.random.choice(self.formats)
        names = [f"c{i}" for i in range(self.random.randint(1, 5))]
        types = [t for t in TYPES if t.kind not in declared.formats()[format].lacks]
        schema = Schema(tuple(Field(n, self.random.choice(types)) for n in names))
        nulls = self.random.choice((0.0, 0.2, 0.9))
        spread = self.random.choice((2, 10, 100))
        count = self.random.choice(ROWS)
        rows = [[self.value(t, spread, nulls) for t in schema.types] for _ in range(count)]
        path = self.folder / f"t{self._tables}.{format}"
        self._tables += 1
        write(path, format, schema, rows)
        options = tuple(declared.formats()[format].written_options.items())
        columns = tuple(i for i in range(len(names)) if self.random.random() < 0.8) or (0,)
        return Read((str(path),), format, schema, columns, options)

    def value(self, type: DataType, spread: int, nulls: float) -> Any:
        """A value of `type`, one of about `spread` different ones."""
        if self.random.random() < nulls:
            return None
        n = self.random.randrange(spread)
        match type.kind:
            case "bool":
                return n % 2 == 0
            case "float32" | "float64":
                return (n - 3) / 2
            case "decimal":
                return pydecimal.Decimal(n - 3).scaleb(-type.scale)
            case "date":
                return datetime.date(2000, 2, 27) + datetime.timedelta(days=n)
            case "time":
                return (datetime.datetime(2000, 1, 1, 23, 59, 58) + datetime.timedelta(microseconds=n * 700_001)).time()
            case "timestamp_ns":
                return (n - 3) * 86_399_999_999_999
            case "timestamp" | "timestamptz":
                return datetime.datetime(1999, 12, 31, 23, 59, 58) + datetime.timedelta(microseconds=n * 700_001)
            case "string":
                return WORDS[n % len(WORDS)] + ("" if n < len(WORDS) else str(n))
        return n - 3

    # ---- operators --------------------------------------------------------------------------------------------------

    def filter(self, node: Operator) -> Operator:
        terms = tuple(self.predicate(node.schema, 2) for _ in range(self.random.randint(1, 2)))
        return Filter(node, conjunction(terms))

    def project(self, node: Operator) -> Operator:
        expressions = tuple(self.expression(node.schema) for _ in range(self.random.randint(1, 4)))
        return Project(node, expressions, tuple(f"p{i}" for i in range(len(expressions))))

    def join(self, left: Operator, right: Operator) -> Operator:
        type = self.random.choice(tuple(JoinType))
        pairs = [
            (i, j)
            for i, a in enumerate(left.schema)
            for j, b in enumerate(right.schema)
            if a.type.same(b.type) and not a.type.is_float
        ]
        keys = self.random.sample(pairs, min(len(pairs), self.random.choice((1, 1, 2))))
        both = Schema((*left.schema, *right.schema))
        residual = self.predicate(both, 1) if not keys or self.random.random() < 0.2 else None
        return Join(
            left,
            right,
            type,
            tuple(column(left.schema, i) for i, _ in keys),
            tuple(column(right.schema, j) for _, j in keys),
            residual,
        )

    def aggregate(self, node: Operator) -> Operator:
        exact = [i for i, f in enumerate(node.schema) if not f.type.is_float]
        keys = tuple(column(node.schema, i) for i in exact if self.random.random() < 0.4)
        measures = tuple(self.measure(node.schema, f"m{i}") for i in range(self.random.randint(0 if keys else 1, 3)))
        return Aggregate(node, keys, tuple(f"k{i}" for i in range(len(keys))), measures)

    def measure(self, schema: Schema, name: str) -> Measure:
        """Any aggregate that the schema has columns for, else a count of rows."""
        declaration = AGGREGATES[self.random.choice([a.name for a in AGGREGATES.values() if not a.expanded])]
        fits = [i for i, f in enumerate(schema) if self._fits(declaration, f.type)]
        if not fits or not declaration.arity:
            return Measure.of("count_star", name=name)
        values = [column(schema, self.random.choice(fits)) for _ in range(declaration.arity)]
        options = [Literal(t.with_nullable(False), self.option(t)) for t in declaration.options]
        order: tuple[SortKey, ...] = ()
        if declaration.ordered and not declaration.distinct_of:
            keys = self.random.sample(range(len(schema)), self.random.randint(0, min(2, len(schema))))
            order = tuple(
                SortKey(column(schema, i), self.random.random() < 0.5, self.random.random() < 0.5) for i in keys
            )
        return Measure.of(declaration.name, *values, *options, name=name, order=order)

    def option(self, type: DataType) -> float | str:
        """A quantile's share or a separator."""
        return self.random.choice((0.0, 0.3, 0.5, 1.0)) if type.is_float else self.random.choice(("", ", "))

    @staticmethod
    def _fits(declaration: AggregateFunction, type: DataType) -> bool:
        """Return whether there is such an aggregate, of values that other operators compare."""
        try:
            result = declaration.result((type,) * declaration.arity)
        except TypeMismatch:
            return False
        return (type.is_numeric or not declaration.numeric) and not result.is_nested

    def union(self, node: Operator) -> Operator:
        other = Filter(node, self.predicate(node.schema, 1)) if self.random.random() < 0.7 else node
        return UnionAll((node, other))

    def window_over_groups(self, node: Operator) -> Operator:
        return self.window(node, GROUPS)

    def window(self, node: Operator, frames: Sequence[Frame] = FRAMES) -> Operator:
        """Return a window ordered by every column, so that only equal rows are peers: the result is defined except for
        their order."""
        schema = node.schema
        exact = [i for i, f in enumerate(schema) if not f.type.is_float]
        partition = tuple(column(schema, i) for i in exact if self.random.random() < 0.3)
        order = tuple(
            SortKey(column(schema, i), self.random.random() < 0.5, self.random.random() < 0.5)
            for i in self.random.sample(range(len(schema)), len(schema))
        )
        functions = tuple(self.window_function(schema, f"w{i}") for i in range(self.random.randint(1, 3)))
        frame = self.random.choice(frames)
        if any(f.function in NUMERIC_MEASURES and f.arguments[0].type.is_float for f in functions):
            frame = replace(frame, start=None)  # sums of floats depend on how their rows are grouped
        return Window(node, partition, order, functions, frame)

    def window_function(self, schema: Schema, name: str) -> WindowFunction:
        function = self.random.choice(WINDOW_FUNCTIONS)
        numeric = [i for i, f in enumerate(schema) if f.type.is_numeric]
        if function in NUMERIC_MEASURES and not numeric:
            function = "rank"
        arguments: tuple[Expression, ...] = ()
        if function == "ntile":
            arguments = (Literal(int64.with_nullable(False), 3),)
        elif function not in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "count_star"):
            among = numeric if function in NUMERIC_MEASURES else range(len(schema))
            arguments = (column(schema, self.random.choice(among)),)
        if function in ("lag", "lead", "nth_value"):
            count = self.random.choice((1, 2, 3)) - (function != "nth_value")
            arguments = (*arguments, Literal(int64.with_nullable(False), count))
        return WindowFunction(function, arguments, window_type(function, tuple(a.type for a in arguments)), name)

    def skyline(self, node: Operator) -> Operator:
        width = len(node.schema)
        chosen = self.random.sample(range(width), self.random.randint(1, min(3, width)))
        return Skyline(node, tuple(SortKey(column(node.schema, i), self.random.random() < 0.5) for i in chosen))

    def sort(self, node: Operator) -> Operator:
        width = len(node.schema)
        keys = tuple(
            SortKey(column(node.schema, i), self.random.random() < 0.5, self.random.random() < 0.5)
            for i in self.random.sample(range(width), self.random.randint(1, width))
        )
        return Sort(node, keys, self.random.choice((None, 0, 1, 7)), self.random.choice((0, 0, 2)))

    # ---- expressions ------------------------------------------------------------------------------------------------

    def literal(self, type: DataType) -> Literal:
        return Literal(type.with_nullable(False), self.value(type, 10, 0.0))

    def predicate(self, schema: Schema, depth: int) -> Expression:
        if depth and self.random.random() < 0.5:
            terms = (self.predicate(schema, depth - 1), self.predicate(schema, depth - 1))
            name = self.random.choice(("and", "or", "not"))
            return bind(name, terms[:1] if name == "not" else terms)
        c = column(schema, self.random.randrange(len(schema)))
        choice = self.random.random()
        if choice < 0.15:
            return bind(self.random.choice(("is_null", "is_not_null")), (c,))
        if choice < 0.3 and c.type.kind != "bool":
            options = tuple(self.literal(c.type) for _ in range(self.random.randint(1, 3)))
            return InList(bool_.with_nullable(c.type.nullable), c, options)
        if choice < 0.45 and c.type.kind == "string":
            return bind("like", (c, Literal(DataType("string", nullable=False), self.random.choice(PATTERNS))))
        same = [i for i, f in enumerate(schema) if f.type.same(c.type)]
        other = column(schema, self.random.choice(same)) if self.random.random() < 0.3 else self.literal(c.type)
        return bind(self.random.choice(COMPARISONS), (c, other))

    def expression(self, schema: Schema) -> Expression:
        c = column(schema, self.random.randrange(len(schema)))
        choice = self.random.random()
        if choice < 0.4:
            return c
        if choice < 0.5:
            return self.predicate(schema, 1)
        if choice < 0.65:
            when = self.predicate(schema, 1)
            otherwise = self.literal(c.type)
            return Case(c.type.with_nullable(c.type.nullable or otherwise.type.nullable), (when, c), otherwise)
        if choice < 0.75:
            return bind("coalesce", (c, self.literal(c.type)))
        return self._derived(c)

    def _derived(self, c: Expression) -> Expression:
        """A function of one column that cannot fail on generated values."""
        one = Literal(DataType("int32", nullable=False), 1)
        match c.type.kind:
            case "int32" | "int64" | "float64" | "decimal" if c.type.precision < 30:
                return bind(self.random.choice(("add", "subtract")), (c, self.literal(c.type)))
            case "string":
                name = self.random.choice(("substring", "char_length", "trim"))
                return bind(name, (c, one) if name == "substring" else (c,))
            case "time":
                return bind(self.random.choice(("hour", "minute", "second", "millisecond")), (c,))
            case "date" | "timestamp" | "timestamptz":
                return bind(self.random.choice(("year", "month", "day", "quarter", "day_of_week")), (c,))
        return c


def write(path: Path, format: str, schema: Schema, rows: Sequence[Sequence[Any]]) -> None:
    """Rows (as Literal holds values) as one file, which is read with the format's `written_options`."""
    columns = [pa.array([r[i] for r in rows], t.type) for i, t in enumerate(arrow_schema(schema))]
    declared.formats()[format].write(
        pa.Table.from_arrays(columns, schema=arrow_schema(schema)), path, part_rows=PART_ROWS
    )
