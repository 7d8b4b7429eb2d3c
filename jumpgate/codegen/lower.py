"""Operator tree of a fragment → pipelines (produce/consume): a chain of streaming operators becomes one pass.

Walking up from a source, a pipeline collects steps and an environment that says how each output column is computed;
projections cost nothing. It ends at state (a join's build side, an aggregate, a sort) or at the Emit. A shared node
keeps one state if it has state; otherwise it is computed twice, unless that is impossible (an edge is received once) or
gives other rows (a limit chooses freely): then its rows are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from jumpgate.codegen import literals, summary
from jumpgate.codegen.bounds import bounds, ordered_alike
from jumpgate.codegen.filters import in_steps
from jumpgate.codegen.first_rows import first_rows_step
from jumpgate.codegen.kept_rows import used_twice
from jumpgate.codegen.measures import finished, held, measure_of, partial_output, row_expressions, state_types
from jumpgate.codegen.program import (
    AppendSink,
    EdgeSource,
    Element,
    EmitSink,
    FileSource,
    FilterStep,
    GroupSink,
    Held,
    JoinFilter,
    LimitStep,
    Look,
    MarkValue,
    Null,
    Pipeline,
    ProbeStep,
    Program,
    RowField,
    Sink,
    SortField,
    SourceColumn,
    Step,
    Table,
    UnnestStep,
    Windows,
    sink_expressions,
    source_columns,
    step_expressions,
)
from jumpgate.codegen.views import view_of
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal, conjuncts
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Emit,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Read,
    Receive,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Unnest,
    Window,
    WindowFunction,
    column,
    numbered,
    partial_state,
)
from jumpgate.dataflow.types import DataType, Field, Schema, bool_
from jumpgate.errors import InternalError
from jumpgate.nca.interface import KeyFilter

#: window functions that number rows, and those that take values of other rows
RANKS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
LOOKS = ("lag", "lead", "first_value", "last_value", "nth_value")


@dataclass
class Stream:
    """A pipeline under construction. `env[i]` computes output column i."""

    source: tuple[str, int]
    columns: tuple[DataType, ...]
    env: list[Expression]
    stage: int
    name: str
    steps: list[Step] = field(default_factory=list)
    after: tuple[int, ...] = ()
    pointers: int = 0

    def resolve(self, expression: Expression) -> Expression:
        return expression.remap(lambda i: self.env[i])

    def step(self, step: Step, label: str) -> None:
        self.steps.append(step)
        self.name += f" → {label}"


class Lowering:
    def __init__(
        self, input_stages: dict[str, int], filters: Sequence[KeyFilter], on_disk: frozenset[int], kept: frozenset[int]
    ) -> None:
        self.program = Program()
        self.filters = filters
        self.on_disk = on_disk
        self.kept = kept
        self.input_stages = input_stages
        self.shared: dict[int, tuple[Table, list[Expression], int]] = {}
        self.builds: dict[tuple[int, tuple[Expression, ...]], tuple[Table, list[int], int]] = {}
        self.distinct_tables: dict[int, dict[int, Table]] = {}
        self.sorted_by: dict[int, tuple[Expression, ...]] = {}  # expressions of a sort buffer's fields, by its table
        self.keep: list[Operator] = []  # keeps nodes alive, so that ids in `shared` and `builds` stay valid
        self.kept_rows: frozenset[int] = frozenset()
        self.numbers: dict[int, int] = {}  # numbers of operators, by identity
        # places where the rows of an operator pass, by its number
        self.passed: dict[int, list[tuple[Stream, int]]] = {}
        self.pipeline_of: dict[int, int] = {}  # by identity of its stream, which `passed` keeps alive
        self.alike: dict[int, dict[Expression, Expression]] = {}  # by operator: expressions with parameters
        self.lowering: list[int] = []  # numbers of the operators that are being lowered, the innermost last

    # ---- literals ----

    def literal(self, e: Expression) -> Expression:
        """Turn literals into parameters. Equal expressions of an operator have the same ones, so that a loop computes
        them once."""
        return literals.parameterised(e, self.program, self.alike.setdefault(self.lowering[-1], {}))

    def integer(self, value: int) -> int:
        return self.program.parameter({"type": "int", "value": str(value)})

    # ---- building blocks ----

    def table(self, kind: str) -> Table:
        table = Table(len(self.program.tables), kind)
        self.program.tables.append(table)
        return table

    def finish(self, stream: Stream, sinks: list[Sink], label: str) -> int:
        """Close the pipeline with its sinks; return its number."""
        pipeline = Pipeline(
            len(self.program.pipelines),
            stream.source,
            stream.columns,
            stream.steps,
            sinks,
            stream.stage,
            f"{stream.name} → {label}",
            stream.after,
        )
        self.program.pipelines.append(pipeline)
        self.program.ends.append(self.lowering[-1])
        self.pipeline_of[id(stream)] = pipeline.id
        if stream.source[0] == "files":
            self._mark_early(pipeline)
            summary.wish(pipeline, self.program)
            pipeline.filters = tuple(self._join_filters(pipeline))
        return pipeline.id

    def _join_filters(self, pipeline: Pipeline) -> Iterator[JoinFilter]:
        """Yield the columns of files that a join looks up and whose rows without a partner are dropped."""
        for step in pipeline.steps:
            if isinstance(step, LimitStep):
                return  # its row count must not depend on skipping
            if not isinstance(step, ProbeStep) or (step.type.unmatched and not step.notes):
                continue
            table = self.program.tables[step.table]
            for key, field_ in zip(step.keys, table.key_fields, strict=True):
                if isinstance(key, SourceColumn) and ordered_alike(key.type, table.fields[field_]):
                    yield JoinFilter(key.index, step.table, field_)

    def _mark_early(self, pipeline: Pipeline) -> None:
        """Load columns early that are needed before any row is dropped; others are loaded for the rows that are left.
        If no column is needed, a columnar file's rows are counted without reading any."""
        source = self.program.sources[pipeline.source[1]]
        assert isinstance(source, FileSource)
        expressions = [*map(step_expressions, pipeline.steps), *map(sink_expressions, pipeline.sinks)]
        if formats()[source.format].columnar and not source.bounds and not any(map(source_columns, expressions)):
            pipeline.columns = ()
            self.program.sources[pipeline.source[1]] = replace(source, positions=(), early=())
            return
        first = pipeline.steps[0] if pipeline.steps else None
        used = source_columns(step_expressions(first)) if first is not None else frozenset(range(len(source.positions)))
        if isinstance(first, LimitStep) or not used:
            used = frozenset(range(len(source.positions)))
        self.program.sources[pipeline.source[1]] = replace(
            source, early=tuple(i in used for i in range(len(source.positions)))
        )

    def drain(self, table: Table, env: list[Expression], stage: int, label: str) -> Stream:
        return Stream(("drain", table.id), (), env, stage, label, pointers=1)

    def fields(self, table: Table, pointer: int, optional: bool = False) -> list[RowField]:
        return [
            RowField(t.with_nullable(t.nullable or optional), pointer, table.id, i, t.nullable, optional)
            for i, t in enumerate(table.fields)
        ]

    # ---- operators ----

    def lower(self, node: Operator) -> list[Stream]:
        """Return the streams that together produce the node's rows."""
        if id(node) in self.shared:
            table, env, stage = self.shared[id(node)]
            return [self.drain(table, list(env), stage, f"{node.kind} (shared)")]
        number = self.numbers[id(node)]
        self.lowering.append(number)
        streams = self._lower(node)
        self.passed.setdefault(number, [(s, len(s.steps)) for s in streams])  # what is computed twice counts once
        if id(node) in self.kept_rows:
            streams = [self._keep_rows(node, streams)]
        self.lowering.pop()
        return streams

    def _lower(self, node: Operator) -> list[Stream]:
        match node:
            case Read():
                return [self._read(node)]
            case Receive():
                self.program.sources.append(EdgeSource(node.edge, node.edge_schema))
                types = node.schema.types
                env = _source_columns(node.schema)
                return [
                    Stream(
                        ("edge", len(self.program.sources) - 1),
                        types,
                        env,
                        self.input_stages.get(node.edge, 1),
                        f"receive {node.edge}",
                    )
                ]
            case Filter():
                return self._filter(node)
            case Project():
                streams = self.lower(node.input)
                for s in streams:
                    s.env = [self.literal(s.resolve(e)) for e in node.expressions]
                return streams
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Distinct():
                keys = tuple(column(node.schema, i) for i in range(len(node.schema)))
                return self._aggregate(Aggregate(node.input, keys, node.schema.names, ()))
            case Sort():
                return self._sort(node)
            case Skyline():
                return self._skyline(node)
            case Window():
                return self._window(node)
            case Limit():
                return self._limit(node)
            case Unnest():
                return self._unnest(node)
            case UnionAll():
                return [s for member in node.members for s in self.lower(member)]
        raise TypeError(f"{node.kind} does not belong in a fragment")

    def _keep_rows(self, node: Operator, streams: list[Stream]) -> Stream:
        """Keep the node's rows in a table (a sort buffer without an order) that each consumer reads."""
        table = self.table("sort")
        table.fields = list(node.schema.types)
        for s in streams:
            self.finish(s, [AppendSink(table.id, (), tuple(map(self.literal, s.env)))], "keep")
        env: list[Expression] = [*self.fields(table, 0)]
        return self._kept(node, table, env, max(s.stage for s in streams), f"{node.kind} (kept)")

    def _unnest(self, node: Unnest) -> list[Stream]:
        streams = self.lower(node.input)
        for s in streams:
            list = self.literal(s.resolve(node.list))
            place, s.pointers = s.pointers, s.pointers + 1
            s.step(UnnestStep(list, place, node.outer), "unnest")
            s.env = [*s.env, Element(node.schema[len(node.schema) - 1].type, list, place)]
        return streams

    def _read(self, node: Read) -> Stream:
        name = node.files[0].rsplit("/", 1)[-1] if node.files else "no files"
        known = {i: n for n, i in enumerate(i for i, f in enumerate(node.file_schema) if not f.type.is_opaque)}
        self.program.sources.append(
            FileSource(
                node.format,
                node.files,
                node.file_schema.select(tuple(known)),
                tuple(known[i] for i in node.columns),
                (True,) * len(node.columns),
                node.options,
                bounds(node.predicate),
                name,
            )
        )
        types = node.schema.types
        env = _source_columns(node.schema)
        return Stream(("files", len(self.program.sources) - 1), types, env, 1, f"read {name}")

    def _filter(self, node: Filter) -> list[Stream]:
        streams = self.lower(node.input)
        for s in streams:
            terms = [s.resolve(t) for t in conjuncts(node.predicate)]
            found = [FilterStep(tuple(map(self.literal, step))) for step in in_steps(terms)]
            s.step(found[0], "filter")
            s.steps += found[1:]
        return streams

    def _build(self, input: Operator, join_keys: tuple[Expression, ...], tracks: bool) -> tuple[Table, list[int], int]:
        """Build a side of a join; return its table, the field of each column, and the stage when it is ready.

        Joins with the same input and keys share the table, unless matches are marked in it (`tracks`).
        """
        key = (id(input), join_keys)
        if not tracks and key in self.builds:
            return self.builds[key]
        table = self.table("join")
        table.tracks_matches = tracks
        streams = self.lower(input)
        position: dict[Expression, int] = {}
        where: list[int] = []
        for k in join_keys:
            position.setdefault(k, len(position))
        table.keys = len(position)
        table.key_fields = tuple(position[k] for k in join_keys)
        for i in range(len(input.schema)):
            reference = column(input.schema, i)
            same = next((p for e, p in position.items() if _is_column(e, i)), None)
            where.append(position.setdefault(reference, len(position)) if same is None else same)
        needed = list(position)
        table.fields = [e.type for e in needed]
        for s in streams:
            values = tuple(self.literal(s.resolve(e)) for e in needed)
            keys = tuple(self.literal(s.resolve(k)) for k in join_keys)
            self.finish(s, [AppendSink(table.id, keys, values)], "build")
        built = table, where, max(s.stage for s in streams)
        if not tracks:
            self.builds[key] = built
            self.keep.append(input)
        return built

    def _join(self, node: Join) -> list[Stream]:
        if node.builds_left:
            return [self._found(node)]
        table, where, built = self._build(node.right, node.right_keys, node.type.unmatched_right)
        if node.type.pairs and node.right_keys:
            table.is_expanded = True
        self._send_keys(table, built)
        streams = self.lower(node.left)
        if self.lowering[-1] in self.on_disk:
            streams = [self._waiting(node, table, streams)]
        for s in streams:
            s.stage = max(s.stage, built + 1)
            pointer, s.pointers = s.pointers, s.pointers + 1
            found = self.fields(table, pointer)
            right: list[Expression] = [found[where[i]] for i in range(len(node.right.schema))]
            residual = None
            if node.residual is not None:
                both = [*s.env, *right]
                residual = self.literal(node.residual.remap(lambda i, both=both: both[i]))  # type: ignore[misc]
            keys = tuple(self.literal(s.resolve(k)) for k in node.left_keys)
            mark = pointer if node.type.marks else -1
            s.step(ProbeStep(table.id, node.type, keys, residual, pointer, mark), f"{node.type} join")
            if node.type.marks:
                s.env = [*s.env, MarkValue(bool_, mark)]
            elif node.type.pairs:
                if node.type.extends_right:
                    nullable = self.fields(table, pointer, optional=True)
                    right = [nullable[where[i]] for i in range(len(node.right.schema))]
                s.env = [*s.env, *right]
        if node.type.unmatched_right:
            fields = self.fields(table, 0)
            nulls: list[Expression] = [Null(t.with_nullable(True)) for t in node.left.schema.types]
            env = [*nulls, *(fields[where[i]] for i in range(len(node.right.schema)))]
            stage = max(s.stage for s in streams)
            streams.append(Stream(("unmatched", table.id), (), env, stage, "unmatched rows", pointers=1))
        return streams

    def _waiting(self, node: Join, build: Table, streams: list[Stream]) -> Stream:
        """Buffer the left rows of a join until its build is complete; a spilled one is probed a partition at a time."""
        build.on_disk = True
        table = self.table("rows")
        table.fields = list(node.left.schema.types)
        for s in streams:
            keys = tuple(self.literal(s.resolve(k)) for k in node.left_keys)
            self.finish(s, [AppendSink(table.id, keys, tuple(map(self.literal, s.env)))], "wait")
        stage = max(s.stage for s in streams)
        return Stream(("pairs", table.id), (), [*self.fields(table, 0)], stage, "waiting rows", pointers=1)

    def _send_keys(self, table: Table, built: int) -> None:
        """Send the keys of the join that is being lowered over its filter edges when its table is complete."""
        for f in self.filters:
            if f.join != self.lowering[-1]:
                continue
            if f.stage < built:
                raise InternalError(f"filter edge {f.edge} is due in stage {f.stage}, the table is complete in {built}")
            fields = self.fields(table, 0)
            found: list[Expression] = [fields[table.key_fields[k]] for k in f.keys]
            keys = Receive(f.edge, Schema(tuple(Field(f"key{i}", k.type) for i, k in enumerate(found))))
            self.shared[id(keys)] = (table, found, f.stage)
            self.keep.append(keys)
            self.program.sinks.append(f.edge)
            for s in self._lower(f.sent(keys)):
                sink = EmitSink(len(self.program.sinks) - 1, tuple(map(self.literal, s.env)))
                self.finish(s, [sink], f"send {f.edge}")

    def _found(self, node: Join) -> Stream:
        """Lower a join that builds its left side: right rows mark matches, then left rows are drained."""
        table, where, built = self._build(node.left, node.left_keys, tracks=True)
        self._send_keys(table, built)
        fields = self.fields(table, 0)
        env: list[Expression] = [fields[w] for w in where]
        stage = built + 1
        for s in self.lower(node.right):
            s.stage = max(s.stage, built + 1)
            stage = max(stage, s.stage)
            pointer, s.pointers = s.pointers, s.pointers + 1
            residual = None
            if node.residual is not None:
                found = self.fields(table, pointer)
                both = [*(found[w] for w in where), *s.env]
                residual = self.literal(node.residual.remap(lambda i, both=both: both[i]))  # type: ignore[misc]
            keys = tuple(self.literal(s.resolve(k)) for k in node.right_keys)
            s.step(ProbeStep(table.id, node.type, keys, residual, pointer, notes=True), f"{node.type} join")
            self.finish(s, [], "note matches")
        source = "matched" if node.type.matched else "unmatched"
        return Stream((source, table.id), (), env, stage, f"{source} rows", pointers=1)

    # ---- aggregates ----

    def _aggregate(self, node: Aggregate) -> list[Stream]:
        table = self.table("groups")
        table.keys = len(node.keys)
        table.fields = [k.type for k in node.keys]
        streams = self.lower(node.input)
        outputs: list[list[int]] = []
        lists: dict[object, int] = {}
        for m in node.measures:
            table.measures.append(held(m, table, lists, self.program))
            states = state_types(m)
            outputs.append(list(range(len(table.fields), len(table.fields) + len(states))))
            table.fields.extend(states)
        distinct = [i for i, m in enumerate(node.measures) if m.declaration.distinct_of]
        for s in streams:
            self.finish(s, self._group_sinks(node, table, s, distinct), f"aggregate ({node.phase})")
        stage = max(s.stage for s in streams)
        for i in distinct:
            self._drain_distinct(table, i, len(node.keys), stage)
        fields = self.fields(table, 0)
        env: list[Expression] = list(fields[: table.keys])
        for m, positions in zip(node.measures, outputs, strict=True):
            states_of = tuple(fields[p] for p in positions)
            env.extend(partial_output(m, states_of) if node.phase == "partial" else (finished(m, states_of),))
        self.shared[id(node)] = (table, env, stage)
        self.keep.append(node)
        return [self.drain(table, list(env), stage, f"aggregate ({node.phase})")]

    def _group_sinks(self, node: Aggregate, table: Table, s: Stream, distinct: list[int]) -> list[Sink]:
        keys = tuple(self.literal(s.resolve(k)) for k in node.keys)
        updates = []
        sinks: list[Sink] = []
        at = len(node.keys)
        for i, m in enumerate(node.measures):
            if node.phase == "final":
                count = len(partial_state(m))
                updates.append((i, True, tuple(s.env[at : at + count])))
                at += count
            elif i not in distinct:
                updates.append((i, False, tuple(self.literal(s.resolve(e)) for e in row_expressions(m))))
        sinks.append(GroupSink(table.id, keys, tuple(updates)))
        for i in distinct:
            argument = node.measures[i].argument
            assert argument is not None
            values = self._distinct_of(table).get(i) or self.table("groups")
            values.fields = [*(k.type for k in node.keys), argument.type]
            values.keys = len(values.fields)
            self._distinct_of(table)[i] = values
            sinks.append(GroupSink(values.id, (*keys, self.literal(s.resolve(argument))), ()))
        return sinks

    def _distinct_of(self, table: Table) -> dict[int, Table]:
        return self.distinct_tables.setdefault(table.id, {})

    def _drain_distinct(self, table: Table, measure: int, keys: int, stage: int) -> None:
        """Deduplicate the (keys, value) pairs in a table of their own, whose drain is the measure's input."""
        pairs = self._distinct_of(table)[measure]
        fields = self.fields(pairs, 0)
        stream = self.drain(pairs, list(fields), stage, "distinct values")
        held = table.measures[measure]
        updates = ((measure, False, (fields[keys],) * (1 + len(held.order))),)
        self.finish(stream, [GroupSink(table.id, tuple(fields[:keys]), updates)], "count")

    # ---- order ----

    def _sort(self, node: Sort) -> list[Stream]:
        table, where = self._sorted(node, node.keys)
        if node.limit is not None:
            table.limit, table.offset = self.integer(node.limit), self.integer(node.offset)
        elif node.offset:
            table.limit, table.offset = self.integer(2**62), self.integer(node.offset)
        stage = self._collect(node, table, "sort")
        fields = self.fields(table, 0)
        return [self._kept(node, table, [fields[w] for w in where], stage, "sort")]

    def _skyline(self, node: Skyline) -> list[Stream]:
        """Sort rows by the keys, the best ones first, so that no later row dominates an earlier one."""
        table, where = self._sorted(node, tuple(replace(k, nulls_first=False) for k in node.keys))
        table.is_skyline = True
        stage = self._collect(node, table, "skyline")
        fields = self.fields(table, 0)
        return [self._kept(node, table, [fields[w] for w in where], stage, "skyline")]

    def _window(self, node: Window) -> list[Stream]:
        """Sort rows by partition and order; the functions' values are fields of the rows."""
        partition = tuple(SortKey(e) for e in node.partition_by)
        table, where = self._sorted(node, (*partition, *node.order_by))
        ranks: list[tuple[str, int, int]] = []
        looks: list[Look] = []
        states: list[tuple[Held, int]] = []
        outputs: list[tuple[Measure | None, list[int]]] = []
        for f in node.functions:
            first = len(table.fields)
            arguments = [where[a.index] for a in f.values if isinstance(a, ColumnRef)]
            argument, default = (*arguments, -1, -1)[:2]
            if f.function in RANKS or f.function in LOOKS:
                if f.function in RANKS:
                    ranks.append((f.function, first, self._count(f)))
                else:
                    looks.append(Look(f.function, first, argument, self._count(f), default))
                table.fields.append(f.type)
                outputs.append((None, [first]))
                continue
            measure = measure_of(f)
            states.append((Held(f.function, first, measure.row_types[0], in_place=True), argument))
            table.fields.extend(state_types(measure))
            outputs.append((measure, list(range(first, len(table.fields)))))
        held_in = [i for m, positions in outputs if m is not None for i in positions]
        view = view_of(node, table, held_in, self.integer)
        table.windows = Windows(len(partition), len(node.order_by), view, tuple(ranks), tuple(states), tuple(looks))
        stage = self._collect(node, table, "window")
        fields = self.fields(table, 0)
        env: list[Expression] = [fields[w] for w in where]
        for m, positions in outputs:
            found = tuple(fields[i] for i in positions)
            env.append(found[0] if m is None else finished(m, found))
        return [self._kept(node, table, env, stage, "window")]

    def _count(self, f: WindowFunction) -> int:
        """Return the parameter of a function's count (rows, parts, or an offset, 1 by default), or -1 if it has
        none."""
        if f.count is None:
            return self.integer(1) if f.function in ("lag", "lead") else -1
        literal = f.arguments[f.count]
        assert isinstance(literal, Literal)
        assert isinstance(literal.value, int)
        return self.integer(literal.value)

    def _sorted(self, node: Sort | Skyline | Window, keys: Sequence[SortKey]) -> tuple[Table, list[int]]:
        """Return a sort buffer in that order for all columns of the node's input, and the field of each column."""
        table = self.table("sort")
        schema = node.input.schema
        wanted: dict[Expression, int] = {}
        for key in keys:
            wanted.setdefault(key.expression, len(wanted))
        table.order = [SortField(wanted[k.expression], k.descending, k.nulls_first) for k in keys]
        where = []
        for i in range(len(schema)):
            same = next((p for e, p in wanted.items() if _is_column(e, i)), None)
            where.append(wanted.setdefault(column(schema, i), len(wanted)) if same is None else same)
        table.fields = [e.type for e in wanted]
        self.sorted_by[table.id] = tuple(wanted)
        return table, where

    def _collect(self, node: Sort | Skyline | Window, table: Table, label: str) -> int:
        """Collect the input's rows in the sort buffer; return the stage in which that happens."""
        streams = self.lower(node.input)
        first = node.first if isinstance(node, Window) else None
        count = -1 if first is None else self.integer(first.count)
        for s in streams:
            if isinstance(node, Window) and first is not None:
                resolved = lambda e, s=s: self.literal(s.resolve(e))  # noqa: E731
                s.step(first_rows_step(node, first, resolved, count), "first rows")
            row = tuple(self.literal(s.resolve(e)) for e in self.sorted_by[table.id])
            self.finish(
                s, [AppendSink(table.id, tuple(row[k.field] for k in table.order[: table.partition]), row)], label
            )
        return max(s.stage for s in streams)

    def _kept(self, node: Operator, table: Table, env: list[Expression], stage: int, label: str) -> Stream:
        """Return the drain of a table that every consumer of the node reads."""
        self.shared[id(node)] = (table, env, stage)
        self.keep.append(node)
        return self.drain(table, list(env), stage, label)

    def _limit(self, node: Limit) -> list[Stream]:
        streams = self.lower(node.input)
        limit = len(self.program.limits)
        self.program.limits.append((self.integer(node.count), self.integer(node.offset)))
        for s in streams:
            s.step(LimitStep(limit), "limit")
        return streams

    def emit(self, node: Emit, stage: int) -> Program:
        """Close the fragment: everything is sent in one stage, that of the root's component."""
        nodes = numbered(node)
        self.kept_rows = used_twice(node) | {id(nodes[number]) for number in self.kept}
        self.numbers = {id(n): number for number, n in enumerate(nodes)}
        self.lowering.append(self.numbers[id(node)])
        self.program.sinks.append(node.edge)
        streams = self.lower(node.input)
        stage = max(stage, *(s.stage for s in streams))
        hashed = node.partitioning.keys if node.partitioning.kind in ("hash", "murmur3") else ()
        for s in streams:
            values = tuple(self.literal(e) for e in s.env)
            murmur3 = node.partitioning.kind == "murmur3"
            s.stage = stage
            self.finish(s, [EmitSink(0, values, hashed, murmur3)], f"send {node.edge}")
        self.program.order_drains()
        for number, places in self.passed.items():
            self.program.passed += [(number, self.pipeline_of[id(s)], step) for s, step in places]
        return self.program


def lower_fragment(
    root: Operator,
    input_stages: dict[str, int] | None = None,
    stage: int = 1,
    filters: Sequence[KeyFilter] = (),
    on_disk: frozenset[int] = frozenset(),
    kept: frozenset[int] = frozenset(),
) -> Program:
    """Return the program of a fragment (root: Emit) that sends in `stage` or later.

    `input_stages`: the stage in which each Receive's edge is read; `filters`: the filter edges that leave it;
    `on_disk`: numbers of the joins whose builds may exceed memory; `kept`: shared operators that keep their rows
    instead of computing them for each consumer.
    """
    if not isinstance(root, Emit):
        raise TypeError("a fragment's root is an Emit")
    return Lowering(input_stages or {}, filters, on_disk, kept).emit(root, stage)


def _source_columns(schema: Schema) -> list[Expression]:
    return [SourceColumn(f.type, i, f.name) for i, f in enumerate(schema)]


def _is_column(e: Expression, index: int) -> bool:
    return isinstance(e, ColumnRef) and e.index == index
