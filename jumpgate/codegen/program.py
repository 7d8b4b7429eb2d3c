"""A fragment lowered to pipelines, which templates/cpp turns into C++ and the executor runs.

A pipeline streams batches from one source through steps into one or several sinks. State lives in tables (join builds,
groups, sort buffers) whose rows are generated structs. Expressions are the dataflow's, with leaves that say where a
value is at run time; literals have become parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jumpgate.dataflow import located
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.types import DataType, Schema


@dataclass(frozen=True)
class SourceColumn(Expression):
    """Column `index` of the source batch, at the row that the selection names."""

    index: int
    name: str = field(default="", compare=False, repr=False)  # for messages only: not part of the shape

    def __str__(self) -> str:
        return self.name or f"col{self.index}"


@dataclass(frozen=True)
class RowField(Expression):
    """Field `field` of the table row that chunk pointer `pointer` holds; NULL where an `optional` pointer is null.

    `flagged`: the table keeps a NULL flag for the field.
    """

    pointer: int
    table: int
    field: int
    flagged: bool
    optional: bool = False

    def __str__(self) -> str:
        return f"t{self.table}.{self.field}"


@dataclass(frozen=True)
class Finished(Expression):
    """An aggregate's value, computed from its state fields (RowField leaves)."""

    function: str
    states: tuple[RowField, ...]
    scale: int = 0

    def __str__(self) -> str:
        return f"{self.function}[{', '.join(map(str, self.states))}]"


@dataclass(frozen=True)
class MarkValue(Expression):
    """The answer of mark join `mark`."""

    mark: int

    def __str__(self) -> str:
        return f"mark{self.mark}"


@dataclass(frozen=True)
class Element(Expression):
    """The element of `list` whose number chunk array `place` holds; NULL beyond the last one."""

    list: Expression
    place: int

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.list,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return Element(self.type, children[0], self.place)

    def __str__(self) -> str:
        return f"{self.list}[{self.place}]"


@dataclass(frozen=True)
class Parameter(Expression):
    """Literal number `index` of the program."""

    index: int

    def __str__(self) -> str:
        return f"${self.index}"


@dataclass(frozen=True)
class Null(Expression):
    """NULL of a type: part of the program's shape."""

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True)
class InParameter(Expression):
    """Membership in the list parameter `index`; NULL instead of FALSE when the list `has_null`."""

    input: Expression
    index: int
    has_null: bool

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return InParameter(self.type, children[0], self.index, self.has_null)

    def __str__(self) -> str:
        return f"{self.input} in ${self.index}"


@dataclass(frozen=True)
class SortField:
    field: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class ValueList:
    """A contiguous list of a group's values. kind: `int` or `wide` (keys of 64 or 128 bits that order as the values
    do), `text`, or `rows` of the value and the order's keys. `is_number`: keys are the values as doubles."""

    kind: str
    types: tuple[DataType, ...]
    order: tuple[SortField, ...] = ()
    is_number: bool = False

    def entry(self, table: int, number: int) -> str:
        """Return the C++ type of an element."""
        return {"int": "int64_t", "wide": "jg_i128", "text": "JgStr", "rows": f"V{table}_{number}"}[self.kind]

    def key(self, value: str) -> str:
        """Return the C++ of the element for a value."""
        type = self.types[0]
        if self.is_number or type.is_float:
            return f"jg_number_key((double){value}{f' / 1e{type.scale}' if type.scale else ''})"
        return f"(int64_t){value}" if self.kind == "int" else value

    def value(self, key: str) -> str:
        """Return the C++ of an element's value."""
        if self.is_number or self.types[0].is_float:
            return f"jg_key_number({key})"
        return key


@dataclass(frozen=True)
class Held:
    """Where and how a group, or a window function's state, holds a measure: its first field, the types of its
    arguments, (type, descending, nulls first) of the order's keys, C++ of its options, and the list of values, which
    the first measure that shares it `fills`. in_place: its texts belong to the rows that it is about, which live as
    long."""

    function: str
    first: int
    types: tuple[DataType, ...]
    order: tuple[tuple[DataType, bool, bool], ...] = ()
    options: tuple[str, ...] = ()
    list: int = -1
    list_type: ValueList | None = None
    fills: bool = False
    in_place: bool = False

    @property
    def elements(self) -> ValueList:
        """Return the list's type."""
        assert self.list_type is not None
        return self.list_type

    @property
    def row_types(self) -> tuple[DataType, ...]:
        """Return the types of the argument and the order's keys."""
        return (self.types[0], *(t for t, _, _ in self.order))


@dataclass(frozen=True)
class Look:
    """lag, lead, first_value, last_value or nth_value: `field` becomes the value of `argument` in another row, `offset`
    (a parameter) rows away or from the frame's start, or `default` of its own row if there is none. -1: absent."""

    function: str
    field: int
    argument: int
    offset: int = -1
    default: int = -1


#: a frame's bound at the current row's peers
PEERS = -1


@dataclass(frozen=True)
class View:
    """The part of the partition that a window function sees. seen: the `whole`, `rows` up to the current one, a `range`
    up to its peers, or a `frame` of that unit: from `start` to `end`, parameters with offsets, PEERS, or None if
    unbounded. later: for a frame that leaves rows behind, (field, the field of the same state over the rows from there
    on)."""

    seen: str
    unit: str = ""
    start: int | None = None
    end: int | None = None
    later: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Windows:
    """Window functions over a sort buffer's rows, computed into fields of these rows once they are in order.

    The first `partition` fields of the order make a partition, the next `peers` those that tie. ranks: (function,
    field, parameter of ntile's count or -1); states: (where it is held, argument field or -1), as a group's measures;
    looks: values of other rows.
    """

    partition: int
    peers: int
    view: View
    ranks: tuple[tuple[str, int, int], ...]
    states: tuple[tuple[Held, int], ...]
    looks: tuple[Look, ...]


@dataclass
class Table:
    """State rows. kind: join | groups | sort | rows (that wait for a join). `fields` in declaration order; the first
    `keys` of them are the key."""

    id: int
    kind: str
    fields: list[DataType] = field(default_factory=list)
    keys: int = 0
    #: join: the field of each join key (equal keys share one)
    key_fields: tuple[int, ...] = ()
    #: groups: where each measure is held, and the lists of values that measures need
    measures: list[Held] = field(default_factory=list)
    lists: list[ValueList] = field(default_factory=list)
    order: list[SortField] = field(default_factory=list)
    tracks_matches: bool = False
    #: join by keys: a row is visited together with all others of its key
    is_expanded: bool = False
    #: join: its rows may spill, as may the rows that probe it
    on_disk: bool = False
    #: sort: parameters that hold limit and offset
    limit: int | None = None
    offset: int | None = None
    windows: Windows | None = None
    #: sort: keep only rows that none dominates by the fields of `order`
    is_skyline: bool = False

    @property
    def is_ordered(self) -> bool:
        """Return whether its rows are read in order."""
        has_order = bool(self.order) or self.limit is not None
        return self.kind == "sort" and self.windows is None and has_order

    @property
    def partition(self) -> int:
        """Return how many fields of the order make a partition of window functions."""
        return self.windows.partition if self.windows else 0


@dataclass(frozen=True)
class FilterStep:
    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class ProbeStep:
    """Looks up rows of a join's table and passes on what `type` says. With `notes` it passes on nothing but marks the
    table's matched rows. `pointer` names the matched row in the chunks that follow, if there is one."""

    table: int
    type: JoinType
    keys: tuple[Expression, ...]
    residual: Expression | None
    pointer: int
    mark: int = -1
    notes: bool = False

    @property
    def passes_pairs(self) -> bool:
        return self.type.pairs and not self.notes


@dataclass(frozen=True)
class UnnestStep:
    """Repeats each row for each element of `list`, whose numbers go to chunk array `place`; with `outer` a row without
    elements passes once."""

    list: Expression
    place: int
    outer: bool


@dataclass(frozen=True)
class LimitStep:
    limit: int


@dataclass(frozen=True)
class FirstRowsStep:
    """Drops rows beyond the first ones of their partition, as far as one thread knows; the parameter `count` is their
    number. With `ties`, rows that tie with the last one stay. `directions`: (descending, nulls first) of the order's
    keys."""

    count: int
    ties: bool
    partition: tuple[Expression, ...]
    order: tuple[Expression, ...]
    directions: tuple[tuple[bool, bool], ...]


Step = FilterStep | ProbeStep | UnnestStep | LimitStep | FirstRowsStep


@dataclass(frozen=True)
class AppendSink:
    """Appends rows to a join build (hashed by `keys`) or a sort buffer (partitioned by `keys`, if there are any)."""

    table: int
    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class GroupSink:
    """Adds rows to groups. updates: (measure index, merge?, arguments); merge: arguments are partial states."""

    table: int
    keys: tuple[Expression, ...]
    updates: tuple[tuple[int, bool, tuple[Expression, ...]], ...]


@dataclass(frozen=True)
class EmitSink:
    sink: int
    values: tuple[Expression, ...]
    hash_keys: tuple[int, ...] = ()
    murmur3: bool = False


Sink = AppendSink | GroupSink | EmitSink


@dataclass(frozen=True)
class JoinFilter:
    """A filter that a join gives to a source: a row whose source column `column` is outside the range of field `field`
    of join build `table` has no partner, so the source may skip parts with no other rows."""

    column: int
    table: int
    field: int


@dataclass
class Pipeline:
    """source: ("files" | "edge", source number) or ("drain" | "matched" | "unmatched" | "pairs", table
    number). Rows of `pairs` are looked up by the first step, in a join build that may be on disk."""

    id: int
    source: tuple[str, int]
    columns: tuple[DataType, ...]
    steps: list[Step]
    sinks: list[Sink]
    stage: int
    name: str
    #: pipelines that must have finished (a drain of matched or unmatched rows follows its probes)
    after: tuple[int, ...] = ()
    filters: tuple[JoinFilter, ...] = ()

    @property
    def is_columnar(self) -> bool:
        return self.source[0] in ("files", "edge")

    @property
    def feeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(s.table for s in self.sinks if not isinstance(s, EmitSink)))

    @property
    def emits(self) -> tuple[int, ...]:
        return tuple(s.sink for s in self.sinks if isinstance(s, EmitSink))

    @property
    def build(self) -> int:
        """Return the table in which rows of `pairs` are looked up; -1 for other sources."""
        first = self.steps[0] if self.source[0] == "pairs" else None
        return first.table if isinstance(first, ProbeStep) else -1

    @property
    def needs(self) -> tuple[int, ...]:
        drained = () if self.is_columnar else (self.source[1],)
        return tuple(dict.fromkeys((*drained, *(s.table for s in self.steps if isinstance(s, ProbeStep)))))


@dataclass(frozen=True)
class FileSource:
    """A Read as the runtime sees it; `early` columns are needed for every row. wishes: what alone is wanted of each
    column (summary.py), None if it is more."""

    format: str
    files: tuple[str, ...]
    file_schema: Schema
    positions: tuple[int, ...]
    early: tuple[bool, ...]
    options: tuple[tuple[str, str], ...]
    bounds: tuple[tuple[int, str, str], ...]
    name: str
    wishes: tuple[tuple[bool, bool], ...] | None = None

    @cached_property
    def hosts(self) -> dict[str, list[str]]:
        """Return the paths by the hosts that have them, "" for all hosts."""
        return located.hosts(self.files)


@dataclass(frozen=True)
class EdgeSource:
    edge: str
    schema: Schema


@dataclass
class Program:
    """A generated program. `shape` (everything but literals, files and edges) decides the generated text; the rest is
    configuration."""

    tables: list[Table] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)
    sources: list[FileSource | EdgeSource] = field(default_factory=list)
    sinks: list[str] = field(default_factory=list)
    params: list[dict[str, Any]] = field(default_factory=list)
    limits: list[tuple[int, int]] = field(default_factory=list)
    #: (operator's number, pipeline, step): the rows that enter that step are the operator's output
    passed: list[tuple[int, int, int]] = field(default_factory=list)
    #: the number of the operator that consumes each pipeline
    ends: list[int] = field(default_factory=list)
    #: functions of installed packages that the program calls: C++ of the call and C++ beside it, by name
    installed: dict[str, tuple[str, str]] = field(default_factory=dict)

    def order_drains(self) -> None:
        """Let a drain of matched or unmatched rows wait for every pipeline that probes its table."""
        for p in self.pipelines:
            if p.source[0] in ("matched", "unmatched"):
                probes = (
                    q.id
                    for q in self.pipelines
                    if q is not p and any(isinstance(s, ProbeStep) and s.table == p.source[1] for s in q.steps)
                )
                p.after = tuple(probes)

    def parameter(self, param: dict[str, Any]) -> int:
        """Add a parameter; each literal has its own slot, so that equal literals do not change the shape."""
        self.params.append(param)
        return len(self.params) - 1


def step_expressions(step: Step | None) -> tuple[Expression, ...]:
    if isinstance(step, FilterStep):
        return step.terms
    if isinstance(step, ProbeStep):
        return (*step.keys, *((step.residual,) if step.residual is not None else ()))
    if isinstance(step, UnnestStep):
        return (step.list,)
    if isinstance(step, FirstRowsStep):
        return (*step.partition, *step.order)
    return ()


def sink_expressions(sink: Sink) -> tuple[Expression, ...]:
    if isinstance(sink, EmitSink):
        return sink.values
    if isinstance(sink, GroupSink):
        return (*sink.keys, *(a for _, _, arguments in sink.updates for a in arguments))
    return (*sink.keys, *sink.values)


def source_columns(expressions: tuple[Expression, ...]) -> frozenset[int]:
    found = set()
    for e in expressions:
        for leaf in leaves(e):
            if isinstance(leaf, SourceColumn):
                found.add(leaf.index)
    return frozenset(found)


def leaves(e: Expression) -> list[Expression]:
    """Return all sub-expressions, also the state fields below a Finished."""
    return [x for node in e.walk() for x in (node, *(node.states if isinstance(node, Finished) else ()))]
