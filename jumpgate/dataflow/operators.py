"""The dataflow's operators: immutable nodes with resolved, typed expressions. Each knows its output schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import assert_never

from jumpgate.dataflow.aggregates import AGGREGATES, AggregateFunction
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.join_types import JoinType, Output
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.types import DataType, Field, Schema, bool_, float64, int64
from jumpgate.errors import InvalidDataflow

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


@cache
def _kind(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


@dataclass(frozen=True)
class Operator:
    """A node of a plan: what it computes, over its inputs. Immutable; equal by content."""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The operators below it, left to right."""
        return ()

    @property
    def schema(self) -> Schema:
        """Return the names and types of its output columns."""
        raise TypeError(f"{type(self).__name__} has no schema")

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        """Return the same operator over other inputs, as many as it has."""
        return self

    @property
    def kind(self) -> str:
        """Return the operator's name in the registry, the protobuf and explain."""
        return _kind(type(self).__name__)

    def walk(self) -> Iterator[Operator]:
        """This operator and all below it, parents first."""
        yield self
        for child in self.inputs:
            yield from child.walk()


@dataclass(frozen=True)
class Unary(Operator):
    """An operator of one input, whose columns it passes on by default."""

    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        return replace(self, input=inputs[0])

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Read(Operator):
    """Files of one format. `columns` are the selected positions in `file_schema`, in output order.

    options: those that the format declares (formats.Format), as hashable pairs of texts. files are concrete absolute
    paths (globs and directories are expanded by the builder). `predicate` (over the output columns) is a hint for
    skipping row groups and stripes: rows it rejects may be dropped by the reader, but a filter above still decides.
    """

    files: tuple[str, ...]
    format: str
    file_schema: Schema
    columns: tuple[int, ...]
    options: tuple[tuple[str, str], ...] = ()
    predicate: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return self.file_schema.select(self.columns)


@dataclass(frozen=True)
class Filter(Unary):
    """Rows for which `predicate` is TRUE (not NULL)."""

    predicate: Expression


@dataclass(frozen=True)
class Project(Unary):
    """Computes columns, and names them."""

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))


@dataclass(frozen=True)
class Join(Operator):
    """Equi-join with an optional residual condition over (left columns, right columns).

    left_keys[i] (over left's columns) equals right_keys[i] (over right's columns); types match exactly. The right input
    is built into the hash table and the left one probes. With `builds_left`, which the compiler sets if the left one is
    far smaller, the sides swap roles with the same result.

    Output by type (join_types.Output): left ++ right columns; left columns; or these and a nullable bool `mark` (SQL's
    IN: NULL when undecided). No keys means a cross (nested-loop) join under the residual.
    """

    left: Operator
    right: Operator
    type: JoinType
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: Expression | None = None
    builds_left: bool = False

    def __post_init__(self) -> None:
        """Accept a type's name, too. Raises InvalidDataflow for an unknown one."""
        object.__setattr__(self, "type", JoinType(self.type))

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    @property
    def build(self) -> Operator:
        """Return the side in the hash table; `probe` is the other one."""
        return self.left if self.builds_left else self.right

    @property
    def probe(self) -> Operator:
        """Return the input whose rows look up the other one's table."""
        return self.right if self.builds_left else self.left

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        return replace(self, left=inputs[0], right=inputs[1])

    @cached_property
    def schema(self) -> Schema:
        left, right = self.left.schema.fields, self.right.schema.fields
        if self.type.extends_left:
            left = tuple(Field(f.name, f.type.with_nullable(True)) for f in left)
        if self.type.extends_right:
            right = tuple(Field(f.name, f.type.with_nullable(True)) for f in right)
        match self.type.output:
            case Output.PAIRS:
                return Schema((*left, *right))
            case Output.LEFT:
                return Schema(left)
            case Output.MARK:
                return Schema((*left, Field("mark", bool_)))
        assert_never(self.type.output)


def cross(left: Operator, right: Operator) -> Join:
    """Return every pair of rows."""
    return Join(left, right, JoinType.INNER, (), ())


def with_partners(
    left: Operator, right: Operator, left_keys: tuple[Expression, ...], right_keys: tuple[Expression, ...]
) -> Join:
    """Return the rows of `left` that have a partner."""
    return Join(left, right, JoinType.SEMI, left_keys, right_keys)


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
    """One aggregate: `function` of AGGREGATES. The arguments that are computed for each row precede its options, which
    are literals. `order` orders the rows for functions that are ordered."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    name: str
    order: tuple[SortKey, ...] = ()

    @classmethod
    def of(cls, function: str, *arguments: Expression, name: str, order: tuple[SortKey, ...] = ()) -> Measure:
        """Return a measure with the type that its declaration gives it. Raises TypeMismatch."""
        declaration = AGGREGATES[function]
        types = tuple(a.type for a in arguments[: declaration.arity])
        options = [a.value for a in arguments[declaration.arity :] if isinstance(a, Literal)]
        return cls(function, arguments, declaration.type_of(types, options), name, order)

    @property
    def declaration(self) -> AggregateFunction:
        """Return the declaration of its function."""
        return AGGREGATES[self.function]

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
class Aggregate(Unary):
    """Group by `keys` (NULL is a group); with no keys exactly one output row, even for empty input (phase != partial).

    phase full: rows → keys ++ measures. partial: rows → keys ++ states (partial_state). final: its input has the
    partial's schema; `keys` are references to the leading columns, measures keep the types of arguments and order
    of the original rows (which are not evaluated).
    """

    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    measures: tuple[Measure, ...]
    phase: str = "full"

    @cached_property
    def schema(self) -> Schema:
        keys = tuple(Field(n, k.type) for n, k in zip(self.key_names, self.keys, strict=True))
        if self.phase != "partial":
            return Schema((*keys, *(Field(m.name, m.type) for m in self.measures)))
        states = tuple(Field(f"{m.name}.{i}", t) for m in self.measures for i, t in enumerate(partial_state(m)))
        return Schema((*keys, *states))


@dataclass(frozen=True)
class Sort(Unary):
    """Total order by `keys`; with `limit`, a top-n (the first `limit` rows after `offset`)."""

    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class Skyline(Unary):
    """The rows that no other row dominates: none is at least as good by every key and better by one. Smaller values of
    a key are better, with `descending` larger ones; NULL is incomparable with everything."""

    keys: tuple[SortKey, ...]


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
class Window(Unary):
    """The input's columns and one more for each function, computed within each partition in the given order.

    Ranking functions, lag and lead ignore the frame. If the compiler sets `first`, no consumer needs other rows than
    these, and the others may be missing.
    """

    partition_by: tuple[Expression, ...]
    order_by: tuple[SortKey, ...]
    functions: tuple[WindowFunction, ...]
    frame: Frame = Frame()
    first: FirstRows | None = None

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.input.schema, *(Field(f.name, f.type) for f in self.functions)))


@dataclass(frozen=True)
class Limit(Unary):
    """At most `count` rows after `offset`, in input order where the input has one, else any."""

    count: int
    offset: int = 0


@dataclass(frozen=True)
class Distinct(Unary):
    """One of each set of equal rows (NULL equals NULL)."""


@dataclass(frozen=True)
class UnionAll(Operator):
    """All rows of all inputs; types are equal, names are the first input's."""

    members: tuple[Operator, ...]

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.members

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        return replace(self, members=inputs)

    @cached_property
    def schema(self) -> Schema:
        first = self.members[0].schema
        nullable = [any(m.schema[i].type.nullable for m in self.members) for i in range(len(first))]
        return Schema(tuple(Field(f.name, f.type.with_nullable(n)) for f, n in zip(first, nullable, strict=True)))


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


@dataclass(frozen=True)
class Shuffle(Unary):
    """Redistributes rows. A client may ask for it; the compiler inserts its own where parallel plans need them."""

    partitioning: Partitioning


@dataclass(frozen=True)
class Send(Unary):
    """The root: delivers the result to the client's endpoints (host:port, one per partition) in one NTF layout."""

    endpoints: tuple[str, ...]
    partitioning: Partitioning = field(default_factory=Partitioning)
    layout: Layout = Layout.COLUMNAR

    def __post_init__(self) -> None:
        """Accept a layout's name, too. Raises InvalidDataflow for an unknown one."""
        try:
            object.__setattr__(self, "layout", Layout(self.layout))
        except ValueError as unknown:
            raise InvalidDataflow(f"send: {unknown}", operator="send") from None


@dataclass(frozen=True)
class Receive(Operator):
    """A leaf that the compiler inserts for a fragment's input over edge `edge`."""

    edge: str
    edge_schema: Schema

    @cached_property
    def schema(self) -> Schema:
        return self.edge_schema


@dataclass(frozen=True)
class Prune(Unary):
    """Inserted by the compiler for an accelerator that prunes: emits those rows of `input`'s leftmost leaf (of schema
    `kept`) that may matter to `input`, which runs again downstream over the rows that are left."""

    kept: Schema

    @property
    def schema(self) -> Schema:
        return self.kept


@dataclass(frozen=True)
class Emit(Unary):
    """A fragment's root, inserted by the compiler: sends its input over edge `edge`."""

    edge: str
    partitioning: Partitioning


def rewrite(root: Operator, change) -> Operator:  # type: ignore[no-untyped-def]
    """Rebuilds the tree bottom-up; `change(node)` returns the node or its replacement. Shared nodes stay shared."""
    memo: dict[int, Operator] = {}

    def visit(node: Operator) -> Operator:
        if id(node) not in memo:
            inputs = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            memo[id(node)] = change(node if same else node.with_inputs(inputs))
        return memo[id(node)]

    return visit(root)


def numbered(root: Operator) -> list[Operator]:
    """Return every node of the graph once, in the order in which it is printed: parents first, then their inputs. A
    node's position is its number in estimates and counters."""
    found: dict[int, Operator] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(reversed(node.inputs))
    return [*found.values()]


def column(schema: Schema, index: int) -> ColumnRef:
    """A reference to column `index` of `schema`."""
    return ColumnRef(schema[index].type, index, schema[index].name)


def expressions_of(node: Operator) -> tuple[Expression, ...]:
    """All expressions that `node` itself holds (not those of its inputs)."""
    found: list[Expression] = []

    def collect(value: object) -> None:
        if isinstance(value, Expression):
            found.append(value)
        elif isinstance(value, SortKey):
            found.append(value.expression)
        elif isinstance(value, Measure):
            found.extend(value.expressions)
        elif isinstance(value, WindowFunction):
            found.extend(value.arguments)
        elif isinstance(value, tuple):
            for item in value:
                collect(item)

    for f in fields(node):
        collect(getattr(node, f.name))
    return tuple(found)
