"""The dataflow's operators: immutable nodes with typed expressions, an output schema and traits (traits.Operator)."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, assert_never

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.join_types import JoinType, Output
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operator_parts import (
    FRAME_UNITS,
    NUMERIC_MEASURES,
    OFFSET_MAX,
    PHASES,
    WINDOW_FUNCTIONS,
    FirstRows,
    Frame,
    Measure,
    Partitioning,
    SortKey,
    WindowFunction,
    has_differences,
    partial_state,
    window_type,
)
from jumpgate.dataflow.traits import Operator, Places, State, Unary, column, columns_of, numbered, rewrite
from jumpgate.dataflow.types import DataType, Field, Schema, bool_
from jumpgate.dataflow.unnest import Unnest
from jumpgate.errors import InvalidDataflow

__all__ = [
    "FRAME_UNITS", "NUMERIC_MEASURES", "OFFSET_MAX", "PHASES", "WINDOW_FUNCTIONS", "FirstRows", "Frame", "Measure",
    "Operator", "Partitioning", "SortKey", "State", "Unary", "Unnest", "WindowFunction", "column", "has_differences",
    "numbered", "partial_state", "rewrite", "window_type",
]  # fmt: skip


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

    @property
    def text(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        columns = ", ".join(self.schema.names)
        hint = f" where {self.predicate}" if self.predicate is not None else ""
        return f"read {self.format} {os.path.basename(self.files[0])}{more} ({columns}){hint}"

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return () if self.predicate is None else (self.predicate,)

    def with_expressions(self, expressions: Sequence[Expression]) -> Read:
        return replace(self, predicate=expressions[0] if expressions else None)

    @property
    def defect(self) -> str:
        return "" if all(c < len(self.file_schema) for c in self.columns) else "column beyond the file's schema"


@dataclass(frozen=True)
class Filter(Unary):
    """Rows for which `predicate` is TRUE (not NULL)."""

    uses_all: ClassVar[bool] = False

    predicate: Expression

    @property
    def text(self) -> str:
        return f"filter {self.predicate}"

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return (self.predicate,)

    def with_expressions(self, expressions: Sequence[Expression]) -> Filter:
        return replace(self, predicate=expressions[0])

    @property
    def together(self) -> None:
        return None

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return True

    @property
    def defect(self) -> str:
        return "" if self.predicate.type.kind == "bool" else f"predicate is {self.predicate.type}"


@dataclass(frozen=True)
class Project(Unary):
    """Computes columns, and names them."""

    uses_all: ClassVar[bool] = False
    keeps: ClassVar[bool] = True

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))

    @property
    def text(self) -> str:
        pairs = zip(self.names, self.expressions, strict=True)
        return "project " + ", ".join(n if getattr(e, "name", None) == n else f"{n} = {e}" for n, e in pairs)

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return self.expressions

    def with_expressions(self, expressions: Sequence[Expression]) -> Project:
        return replace(self, expressions=tuple(expressions))

    @property
    def passes(self) -> tuple[int, ...]:
        return ()

    def lineage(self, index: int) -> tuple[tuple[int, Expression], ...]:
        return ((0, self.expressions[index]),)

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        return [columns_of(self.expressions[i] for i in wanted)]

    @property
    def together(self) -> None:
        return None

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return True

    @property
    def defect(self) -> str:
        names, expressions = len(self.names), len(self.expressions)
        return "" if names == expressions else f"{names} names for {expressions} expressions"


@dataclass(frozen=True)
class Join(Operator):
    """Equi-join with an optional residual condition over (left columns, right columns).

    left_keys[i] (over left's columns) equals right_keys[i] (over right's columns); types match exactly. The right input
    is built into the hash table and the left one probes. With `builds_left`, which the compiler sets if the left one is
    far smaller, the sides swap roles with the same result.
    Output by type (join_types.Output): left ++ right columns; left columns; or these and a nullable bool `mark` (SQL's
    IN: NULL when undecided). No keys means a cross (nested-loop) join under the residual.
    """

    state: ClassVar[State] = State.BUILD_SIDE
    uses_all: ClassVar[bool] = False

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
    def held_inputs(self) -> tuple[Operator, ...]:
        return (self.build,)

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

    @property
    def text(self) -> str:
        keys = ", ".join(f"{a} = {b}" for a, b in zip(self.left_keys, self.right_keys, strict=True))
        residual = f" where {self.residual}" if self.residual is not None else ""
        return f"join {self.type}" + (f" on {keys}" if keys else "") + residual + " (builds left)" * self.builds_left

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return (*self.left_keys, *self.right_keys, *(() if self.residual is None else (self.residual,)))

    def with_expressions(self, expressions: Sequence[Expression]) -> Join:
        left, right = len(self.left_keys), len(self.right_keys)
        keys, rest = tuple(expressions[: left + right]), expressions[left + right :]
        return replace(self, left_keys=keys[:left], right_keys=keys[left:], residual=rest[0] if rest else None)

    @property
    def scopes(self) -> tuple[tuple[int, ...], ...]:
        both = () if self.residual is None else ((0, 1),)
        return (*((0,),) * len(self.left_keys), *((1,),) * len(self.right_keys), *both)

    def enough(self, most: int | None) -> tuple[int | None, ...]:
        return most if self.type.keeps_left else None, None

    @property
    def passes(self) -> tuple[int, ...]:
        return (0, 1) if self.type.pairs else (0,)

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        return "a key is", (*self.left_keys, *self.right_keys)

    @property
    def defect(self) -> str:
        for a, b in zip(self.left_keys, self.right_keys, strict=True):
            if not a.type.same(b.type):
                return f"key {a} is {a.type}, {b} is {b.type}"
        return ""


@dataclass(frozen=True)
class Aggregate(Unary):
    """Group by `keys` (NULL is a group); with no keys exactly one output row, even for empty input (phase != partial).

    phase full: rows → keys ++ measures. partial: rows → keys ++ states (partial_state). final: its input has the
    partial's schema; `keys` are references to the leading columns, measures keep the types of arguments and order
    of the original rows (which are not evaluated).
    """

    state: ClassVar[State] = State.ROWS
    uses_all: ClassVar[bool] = False

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

    @property
    def text(self) -> str:
        phase = "" if self.phase == "full" else f"{self.phase} "
        by = f" by {', '.join(self.key_names)}" if self.keys else ""
        return f"aggregate {phase}{', '.join(map(str, self.measures))}{by}".replace("  ", " ")

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return (*self.keys, *(e for m in self.measures for e in m.expressions))

    def with_expressions(self, expressions: Sequence[Expression]) -> Aggregate:
        rest = iter(expressions)
        keys = tuple(next(rest) for _ in self.keys)
        measures = tuple(m.with_expressions([next(rest) for _ in m.expressions]) for m in self.measures)
        return replace(self, keys=keys, measures=measures)

    @property
    def passes(self) -> tuple[int, ...]:
        return ()

    def lineage(self, index: int) -> tuple[tuple[int, Expression], ...]:
        return ((0, self.keys[index]),) if index < len(self.keys) else ()

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        if self.phase != "full":
            return [{*range(len(self.input.schema))}]
        measures = (m for i, m in enumerate(self.measures, len(self.keys)) if i in wanted)
        return [columns_of((*self.keys, *(e for m in measures for e in m.expressions)))]

    @property
    def together(self) -> tuple[Expression, ...]:
        return self.keys

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        measured = (e for m in self.measures for e in m.compared)
        return "a key or measure is of", (*self.keys, *measured)

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        """Drop whole groups only: without a column, or without keys, there is a row that no group stands for."""
        return self.phase == "full" and bool(columns) and max(columns) < len(self.keys)

    @property
    def partial_phase(self) -> Operator:
        return replace(self, phase="partial")

    def final_phase(self, partial: Operator) -> Operator:
        keys = tuple(column(partial.schema, i) for i in range(len(self.keys)))
        return replace(self, input=partial, keys=keys, phase="final")


@dataclass(frozen=True)
class Ordered(Unary):
    """An operator that holds its input's rows and compares them by `keys`."""

    state: ClassVar[State] = State.ROWS
    uses_all: ClassVar[bool] = False

    keys: tuple[SortKey, ...]

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return tuple(k.expression for k in self.keys)

    def with_expressions(self, expressions: Sequence[Expression]) -> Ordered:
        return replace(self, keys=_sort_keys(self.keys, expressions))

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        return "a key is", self.own_expressions


@dataclass(frozen=True)
class Sort(Ordered):
    """Total order by `keys`; with `limit`, a top-n (the first `limit` rows after `offset`)."""

    limit: int | None = None
    offset: int = 0

    @property
    def text(self) -> str:
        top = f"top {self.limit} " if self.limit is not None else "sort "
        return top + "by " + ", ".join(map(str, self.keys)) + (f" offset {self.offset}" if self.offset else "")

    @property
    def limits(self) -> tuple[int, int | None]:
        return self.offset, self.limit

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return self.limits == (0, None)

    def bounded(self, most: int) -> Operator:
        return replace(self, limit=most if self.limit is None else min(self.limit, most))

    @property
    def partial_phase(self) -> Operator:
        return replace(self, limit=None if self.limit is None else self.limit + self.offset, offset=0)


@dataclass(frozen=True)
class Skyline(Ordered):
    """The rows that no other row dominates: none is at least as good by every key and better by one. Smaller values of
    a key are better, with `descending` larger ones; NULL is incomparable with everything."""

    @property
    def text(self) -> str:
        return "skyline of " + ", ".join(f"{k.expression} {'max' if k.descending else 'min'}" for k in self.keys)

    @property
    def partial_phase(self) -> Operator:
        return self


@dataclass(frozen=True)
class Window(Unary):
    """The input's columns and one more for each function, computed within each partition in the given order.

    Ranking functions, lag and lead ignore the frame. If the compiler sets `first`, no consumer needs other rows than
    these, and the others may be missing.
    """

    state: ClassVar[State] = State.ROWS
    uses_all: ClassVar[bool] = False

    partition_by: tuple[Expression, ...]
    order_by: tuple[SortKey, ...]
    functions: tuple[WindowFunction, ...]
    frame: Frame = Frame()
    first: FirstRows | None = None

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.input.schema, *(Field(f.name, f.type) for f in self.functions)))

    @property
    def text(self) -> str:
        by = f" by {', '.join(map(str, self.partition_by))}" if self.partition_by else ""
        order = f" order {', '.join(map(str, self.order_by))}" if self.order_by else ""
        first = f", {self.first}" if self.first is not None else ""
        return f"window {', '.join(map(str, self.functions))}{by}{order}{first}"

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        arguments = (a for f in self.functions for a in f.arguments)
        return (*self.partition_by, *(k.expression for k in self.order_by), *arguments)

    def with_expressions(self, expressions: Sequence[Expression]) -> Window:
        rest = iter(expressions)
        return replace(
            self,
            partition_by=tuple(next(rest) for _ in self.partition_by),
            order_by=_sort_keys(self.order_by, [next(rest) for _ in self.order_by]),
            functions=tuple(replace(f, arguments=tuple(next(rest) for _ in f.arguments)) for f in self.functions),
        )

    @property
    def row_counts(self) -> Set[int]:
        return {i for i, f in enumerate(self.functions, len(self.input.schema)) if f.counts}

    @property
    def together(self) -> tuple[Expression, ...]:
        return self.partition_by

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        measured = (a for f in self.functions if f.inspects for a in f.arguments)
        return "a key or function is of", (*self.partition_by, *(k.expression for k in self.order_by), *measured)

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        """Drop whole partitions only."""
        return (
            not may_fail
            and bool(columns)
            and columns <= {e.index for e in self.partition_by if isinstance(e, ColumnRef)}
        )


@dataclass(frozen=True)
class Limit(Unary):
    """At most `count` rows after `offset`, in input order where the input has one, else any."""

    uses_all: ClassVar[bool] = False

    count: int
    offset: int = 0

    @property
    def text(self) -> str:
        return f"limit {self.count}" + (f" offset {self.offset}" if self.offset else "")

    @property
    def limits(self) -> tuple[int, int | None]:
        return self.offset, self.count

    def bounded(self, most: int) -> Operator:
        return replace(self, count=min(self.count, most))

    def enough(self, most: int | None) -> tuple[int | None, ...]:
        return (self.offset + self.count,)

    @property
    def partial_phase(self) -> Operator:
        return replace(self, count=self.count + self.offset, offset=0)


@dataclass(frozen=True)
class Distinct(Unary):
    """One of each set of equal rows (NULL equals NULL)."""

    state: ClassVar[State] = State.ROWS

    @property
    def together(self) -> tuple[Expression, ...]:
        return tuple(column(self.schema, i) for i in range(len(self.schema)))

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        return "a column is", self.together

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return True


@dataclass(frozen=True)
class UnionAll(Operator):
    """All rows of all inputs; types are equal, names are the first input's."""

    keeps: ClassVar[bool] = True
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

    def lineage(self, index: int) -> tuple[tuple[int, Expression], ...]:
        return tuple((number, column(member.schema, index)) for number, member in enumerate(self.members))

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        return [{*wanted} for _ in self.members]

    @property
    def together(self) -> None:
        return None

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return True

    @property
    def defect(self) -> str:
        types = [m.schema.types for m in self.members]
        same = all(len(t) == len(types[0]) and all(map(DataType.same, t, types[0])) for t in types)
        return "" if same else "members differ in types"


@dataclass(frozen=True)
class Shuffle(Unary):
    """Redistributes rows. A client may ask for it; the compiler inserts its own where parallel plans need them."""

    uses_all: ClassVar[bool] = False

    partitioning: Partitioning

    @property
    def text(self) -> str:
        return f"shuffle {self.partitioning}"

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        return [{*wanted, *self.partitioning.keys}]

    def with_positions(self, places: Places) -> Shuffle:
        return replace(self, partitioning=self.partitioning.moved(places))

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        return "a key is", tuple(column(self.input.schema, k) for k in self.partitioning.keys)

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return True


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

    @property
    def text(self) -> str:
        return f"send {self.layout} {self.partitioning} to {', '.join(self.endpoints)}"


@dataclass(frozen=True)
class Receive(Operator):
    """A leaf that the compiler inserts for a fragment's input over edge `edge`."""

    edge: str
    edge_schema: Schema

    @cached_property
    def schema(self) -> Schema:
        return self.edge_schema

    @property
    def text(self) -> str:
        return f"receive {self.edge}"


@dataclass(frozen=True)
class Prune(Unary):
    """Inserted by the compiler for an accelerator that prunes: emits those rows of `input`'s leftmost leaf (of schema
    `kept`) that may matter to `input`, which runs again downstream over the rows that are left."""

    kept: Schema

    @property
    def schema(self) -> Schema:
        return self.kept

    @property
    def text(self) -> str:
        return f"prune ({', '.join(self.kept.names)}) for"

    @property
    def passes(self) -> tuple[int, ...]:
        return ()

    @property
    def together(self) -> None:
        return None


@dataclass(frozen=True)
class Emit(Unary):
    """A fragment's root, inserted by the compiler: sends its input over edge `edge`."""

    edge: str
    partitioning: Partitioning

    @property
    def text(self) -> str:
        return f"emit {self.edge} {self.partitioning}"


def _sort_keys(keys: Sequence[SortKey], expressions: Sequence[Expression]) -> tuple[SortKey, ...]:
    return tuple(replace(k, expression=e) for k, e in zip(keys, expressions, strict=True))
