"""Program → C++ text through templates/cpp. Equal shapes give equal bytes: no literal, name, path or time goes in."""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jinja2

import jumpgate.templates
from jumpgate import __version__
from jumpgate.codegen.cpp import (
    Value,
    any_null,
    blank,
    cpp_type,
    equal,
    hash_group,
    hash_keys,
    hashes_added,
    is_word,
)
from jumpgate.codegen.determined import determined
from jumpgate.codegen.expressions import ExpressionWriter
from jumpgate.codegen.filters import CONSTANT, coded_column, is_plain
from jumpgate.codegen.first_rows import first_rows_code
from jumpgate.codegen.measures import state_of
from jumpgate.codegen.program import (
    AppendSink,
    Element,
    EmitSink,
    FilterStep,
    FirstRowsStep,
    GroupSink,
    LimitStep,
    MarkValue,
    Pipeline,
    ProbeStep,
    Program,
    RowField,
    Sink,
    SourceColumn,
    Step,
    Table,
    UnnestStep,
    leaves,
    sink_expressions,
    source_columns,
    step_expressions,
)
from jumpgate.codegen.row_layout import Layout, names
from jumpgate.codegen.runs import RUN_MIN, Run, Scope, any_runs, condition, fold
from jumpgate.codegen.summary import is_summarised, unread
from jumpgate.codegen.table_code import integer_key, integer_keys, note_ranges, table_code
from jumpgate.codegen.templates import environment
from jumpgate.codegen.window_code import keeps_hash
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.functions import BUILT_IN
from jumpgate.dataflow.types import DataType
from jumpgate.errors import InternalError

#: the most words that identify a group: more cost as much as hashing keys
MEMO_WORDS_MAX = 4


@functools.cache
def _template() -> jinja2.Template:
    env = environment()
    env.filters.update(cpp_type=cpp_type)
    env.globals.update(unknown=_unknown, names=names, RUN_MIN=RUN_MIN)
    return env.get_template("program.cpp.j2")


def _unknown(what: object) -> str:
    """End a template's choice that must be complete."""
    raise InternalError(f"no template knows {what!r}")


def shape_key(program: Program, dialect: Dialect) -> str:
    """Return the content key of the generated text, computed without rendering it."""
    pipelines = [(p.id, p.source, p.columns, p.steps, p.sinks, p.filters) for p in program.pipelines]
    shape = repr((program.tables, pipelines, sorted(program.installed.items()), dialect))
    return hashlib.sha256(f"{__version__}\n{_generator_key()}\n{shape}".encode()).hexdigest()[:32]


@functools.cache
def _generator_key() -> str:
    """Return the key of the generator, templates and the functions' C++; it is part of every key, so a changed
    generator makes new artifacts."""
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), *sorted((Path(jumpgate.templates.__file__).parent / "cpp").glob("*.j2"))]
    functions = repr([(f.name, f.cpp, f.strict, f.fallible, f.shape) for f in BUILT_IN.values()])
    return hashlib.sha256(b"".join(f.read_bytes() for f in files) + functions.encode()).hexdigest()


@dataclass
class Live:
    """The content of a chunk between two steps, and its place in the pipeline's scratch (`version`)."""

    version: int
    dense: bool  # row i is source row i: no selection yet
    selection: bool
    pointers: tuple[int, ...]
    marks: tuple[int, ...]
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Needed:
    """The uses of the rest of a pipeline: row pointers, marks, numbers of elements, and whether of source columns."""

    pointers: set[int]
    marks: set[int]
    places: set[int]
    columns: bool


@dataclass
class Loop:
    """The values of a loop's template: declarations before it, statements in it. `decoded`: type → columns that it is
    the first to read of each row; `rare`: those that it reads of rows only whose codes it has not met."""

    kind: str
    live: Live
    after: Live
    columns: list[tuple[int, str]] = field(default_factory=list)
    decoded: dict[str, list[int]] = field(default_factory=dict)
    rare: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    """An output's C++ type and names; for many outputs, their offsets in the scratch, in bytes per row: of its values,
    of its validity, and of the next output."""

    type: str
    nullable: bool
    data: str
    valid: str
    place: int = 0
    valid_place: int = 0
    end: int = 0

    @classmethod
    def of(cls, number: int, type: DataType, nullable: bool, place: int | None) -> Output:
        cpp = cpp_type(type)
        if place is None:
            return cls(cpp, nullable, f"w->o{number}", f"w->ov{number}")
        end = place + type.width
        found = cls(cpp, nullable, f"w->out<{cpp}>({place})", f"w->out<uint8_t>({end})", place, end=end)
        return replace(found, valid_place=end, end=end + 1) if nullable else found

    def sent(self, number: int) -> list[str]:
        """Return statements that set the output's location."""
        data = f"out[{number}].data = w->outputs[{self.place}];"
        return [data, f"out[{number}].valid = w->outputs[{self.valid_place}];"] if self.nullable else [data]


@dataclass(frozen=True)
class Rendered:
    """The C++ source, and the expressions that can fail, by the numbers that errors use."""

    text: str
    fallible: tuple[str, ...]


def render(program: Program, dialect: Dialect) -> Rendered:
    """Render the program in C++. Raises InternalError for a shape without a template."""
    fallible: list[str] = []
    layouts = [Layout(t) for t in program.tables]
    pipelines = [PipelineRenderer(program, p, dialect, fallible, layouts).context() for p in program.pipelines]
    groups = [s.data for p in pipelines for s in p["sinks"] if s.kind == "groups"]
    sets = _sets(program)
    tables = [
        table_code(
            layouts[t.id],
            _row_scope(layouts, t.id),
            [len(g["words"]) for g in groups if g["table"] == t.id],
            t.id in sets,
        )
        for t in program.tables
    ]
    text = _template().render(
        version=__version__,
        installed=dict.fromkeys(source for _, (_, source) in sorted(program.installed.items()) if source),
        tables=tables,
        has_runs=any_runs([*tables, *({**s.data, "runs": s.runs} for p in pipelines for s in p["sinks"])]),
        has_first_rows=any(isinstance(s, FirstRowsStep) for p in program.pipelines for s in p.steps),
        pipelines=pipelines,
    )
    return Rendered(text, tuple(fallible))


class PipelineRenderer:
    """Prepares one pipeline for its template; adds expressions that can fail to `fallible`, whose indexes are their
    numbers."""

    def __init__(
        self,
        program: Program,
        pipeline: Pipeline,
        dialect: Dialect,
        fallible: list[str],
        layouts: Sequence[Layout],
    ) -> None:
        self.program, self.pipeline, self.dialect, self.fallible = program, pipeline, dialect, fallible
        self.layouts = layouts
        self.loaded: set[int] = set()
        self.decoded: set[int] = set()
        self.early: tuple[bool, ...] = ()
        if pipeline.source[0] == "files":
            self.early = program.sources[pipeline.source[1]].early  # type: ignore[union-attr]

    def context(self) -> dict[str, Any]:
        p = self.pipeline
        columnar = p.is_columnar
        live = Live(0, True, columnar, () if columnar else (0,), ())
        lives = [live]
        loops: list[Loop] = []
        needed = self._needed()
        self.loaded = {i for i in range(len(p.columns)) if not self.early or self.early[i]}
        for number, step in enumerate(p.steps):
            after = self._after(live, step, needed[number + 1], number + 1)
            loops.append(self._step(step, live, after))
            live = after
            lives.append(after)
        sinks = [self._sink(s, live) for s in p.sinks]
        return {
            "id": p.id,
            "name": f"pipeline {p.id}",
            "columnar": columnar,
            "loops": loops,
            "sinks": sinks,
            "lives": lives,
            "arrays": list({v.version: v for v in lives}.values()),
            "last": live,
            "filters": [
                {
                    "column": f.column,
                    "table": f.table,
                    "field": f.field,
                    "nullable": self.program.tables[f.table].fields[f.field].nullable,
                }
                for f in p.filters
            ],
            "late_columns": len(self.early) - sum(self.early),
            "is_summarised": is_summarised(p, self.program),
        }

    # ---- what stays alive ----

    def _needed(self) -> list[Needed]:
        """Return what is used from each position in the chain on."""
        parts: list[tuple[Expression, ...]] = [step_expressions(s) for s in self.pipeline.steps]
        parts.append(tuple(e for s in self.pipeline.sinks for e in sink_expressions(s)))
        needs: list[Needed] = []
        pointers: set[int] = set()
        marks: set[int] = set()
        places: set[int] = set()
        columns = False
        for expressions in reversed(parts):
            for e in (leaf for x in expressions for leaf in leaves(x)):
                if isinstance(e, RowField):
                    pointers.add(e.pointer)
                elif isinstance(e, MarkValue):
                    marks.add(e.mark)
                elif isinstance(e, Element):
                    places.add(e.place)
            columns = columns or bool(source_columns(expressions))
            needs.append(Needed({*pointers}, {*marks}, {*places}, columns))
        return needs[::-1]

    def _after(self, live: Live, step: Step, needed: Needed, number: int) -> Live:
        late = bool(self.early) and not all(self.early)
        added = {step.pointer} if isinstance(step, ProbeStep) and step.passes_pairs else set()
        mark = {step.mark} if isinstance(step, ProbeStep) and step.type.marks else set()
        place = {step.place} if isinstance(step, UnnestStep) else set()
        return Live(
            number,
            False,
            live.selection and (needed.columns or late),
            tuple(sorted((set(live.pointers) | added) & needed.pointers)),
            tuple(sorted((set(live.marks) | mark) & needed.marks)),
            tuple(sorted((set(live.places) | place) & needed.places)),
        )

    # ---- loops ----

    def _writer(self) -> ExpressionWriter:
        return ExpressionWriter(self.dialect, self._site)

    def _site(self, e: Expression) -> int:
        self.fallible.append(str(e))
        return len(self.fallible) - 1

    def _loop(
        self, kind: str, live: Live, after: Live, writer: ExpressionWriter, runs: Sequence[Run] = (), **data: Any
    ) -> Loop:
        """Build a loop. Late columns that it is the first to need are loaded before it, for the rows that are left."""
        late = sorted(set(writer.columns) - self.loaded)
        later = sorted(set(range(len(self.pipeline.columns))) - self.loaded) if self.early else []
        self.loaded.update(late)
        columns = [(i, cpp_type(t)) for i, t in sorted(writer.columns.items())]
        rare = self._rarely_read(kind, writer.lines, runs, data)
        decoded = _by_type(columns, {i for i, _ in columns} - {*rare} - self.decoded) if self.early else {}
        self.decoded.update(i for numbers in decoded.values() for i in numbers)
        if rare and kind == "groups":
            texts = {i for i in rare if i in data["coded"]}
            data["unless_slots"], data["unless_memos"] = _by_type(columns, {*rare} - texts), _by_type(columns, texts)
        if runs or any(data.get(key) for key in data if key.endswith("_runs")):  # which find their fields by number
            named = _columns_named((writer.lines, data))
            columns = [(i, type) for i, type in columns if i in named]
        data["pointers_read"] = sorted(writer.pointers)
        data["marks_read"] = sorted(writer.marks)
        later = [c for c in later if c not in late]
        return Loop(kind, live, after, columns, decoded, rare, late, later, list(writer.lines), list(runs), data)

    def _rarely_read(self, kind: str, lines: Sequence[str], runs: Sequence[Run], data: dict[str, Any]) -> list[int]:
        """Return the columns that a loop reads by their codes, but for codes that it has not met."""
        if kind == "filter":
            return [] if data["coded"] is None else [data["coded"]]
        if kind != "groups" or not data["words"] or runs:
            return []
        often = _columns_named((lines, data["updates"]))
        return [c for c in data["codes"] if c not in often | self.decoded]

    def _step(self, step: Step, live: Live, after: Live) -> Loop:
        writer = self._writer()
        match step:
            case FilterStep(terms):
                return self._filter(terms, live, after, writer)
            case UnnestStep(list, place, outer):
                found = writer.write(list)
                return self._loop("unnest", live, after, writer, list=found, place=place, outer=outer, pointer=-1)
            case LimitStep(limit):
                return self._loop("limit", live, after, writer, limit=limit)
            case FirstRowsStep():
                partition, order = ([writer.write(e) for e in of] for of in (step.partition, step.order))
                code = first_rows_code(step, partition, order)
                return self._loop("first", live, after, writer, ahead=not writer.lines, **code)
            case ProbeStep():
                return self._probe(step, live, after, writer)

    def _filter(self, terms: tuple[Expression, ...], live: Live, after: Live, writer: ExpressionWriter) -> Loop:
        plain, column = all(map(is_plain, terms)), coded_column(terms) if self.early else None
        coded = None if column is None else column.index
        test = "passes &= {};" if plain else "if (!({})) continue;" if coded is None else "if (!({})) return false;"
        for term in terms:
            condition = writer.condition(term, "&" if plain else "&&")
            writer.lines.append(test.format(condition))
        adjacent = live.dense and not (after.pointers or after.marks or after.places)
        blocks = plain and adjacent
        data: dict[str, Any] = {"plain": plain, "blocks": blocks, "adjacent": adjacent, "coded": coded}
        if column is not None:
            data["coded_type"] = cpp_type(column.type)
        return self._loop("filter", live, after, writer, **data)

    def _probe(self, step: ProbeStep, live: Live, after: Live, writer: ExpressionWriter) -> Loop:
        table = self.program.tables[step.table]
        keys = [writer.write(k) for k in step.keys]
        types = [k.type for k in step.keys]
        null = any_null(*keys)
        hash_ = hash_keys(keys, types)
        ahead = bool(keys) and not writer.lines
        fields = table.key_fields
        match_ = (
            " && ".join(equal(k.text, f"row->f{f}", t) for k, f, t in zip(keys, fields, types, strict=True)) or "true"
        )
        key = f"(int64_t)({keys[0].text})" if integer_key(table) is not None else None
        if key:
            match_ = f"(join->span || {match_})"  # a chain by key has no other rows
        head = list(writer.lines)
        writer.lines = []
        writer.named[step.pointer] = "row"
        residual = writer.write(step.residual) if step.residual is not None else None
        residual_lines = list(writer.lines)
        writer.lines = head
        unknowns = []  # mark joins: a comparison with a NULL key is UNKNOWN, and so is the match unless one is FALSE
        for k, f, t in zip(keys, fields, types, strict=True):
            sides = [x for x in (k.null, f"row->n{f}" if table.fields[f].nullable else None) if x]
            same = equal(k.text, f"row->f{f}", t)
            unknowns.append(f"({' || '.join([*sides, same])})")
        return self._loop(
            "probe",
            live,
            after,
            writer,
            table=table.id,
            keyed=bool(step.keys),
            join=step.type,
            passes="nothing" if step.notes else step.type.output.value,
            hash=f"({null}) ? 0 : {hash_}" if null and ahead else hash_,
            key=key,
            integers=[f"(int64_t)({keys[k].text})" for k in integer_keys(table)],
            set=step.table in _sets(self.program),
            single=key and step.passes_pairs and step.residual is None and not table.tracks_matches,
            ahead=ahead,
            found=ahead and not step.type.marks and (step.notes or not step.type.unmatched),
            match=match_,
            null=null,
            residual=residual,
            residual_lines=residual_lines,
            pointer=step.pointer,
            mark=step.mark,
            place=-1,
            possible=" && ".join(unknowns) or "true",
            tracks=table.tracks_matches,
        )

    # ---- sinks ----

    def _sink(self, sink: Sink, live: Live) -> Loop:
        writer = self._writer()
        match sink:
            case AppendSink():
                table = self.program.tables[sink.table]
                keys = [writer.write(k) for k in sink.keys]
                null = any_null(*keys)
                hash_ = hash_keys(keys, [k.type for k in sink.keys]) if sink.keys else "0"
                if table.kind == "sort" and table.partition:
                    place = f"(T{table.id}*)jg_deal(t, {table.id}, hash, sizeof(T{table.id}))"
                    hash_ = hash_group(keys, [k.type for k in sink.keys])
                    writer.lines.append(f"const uint64_t hash = {hash_}; T{table.id}* row = {place}; *row = {{}};")
                    if keeps_hash(table):
                        writer.lines.append("row->hash = (uint32_t)hash;")
                    runs = self._stores(table, sink.values, writer)
                    return self._loop("rows", live, live, writer, runs, integers=[], tail=[])
                if table.kind == "sort":
                    writer.lines.append(f"T{table.id} copy{{}}, *row = &copy;")
                    runs = self._stores(table, sink.values, writer, keep=False)
                    tail = [f"jg_offer(t, {table.id}, (const JgRow*)row);"]
                    return self._loop("rows", live, live, writer, runs, integers=[], tail=tail)
                hash_ = f"({null}) ? 0 : {hash_}" if null else hash_
                # builds keep rows without a key apart from the others
                row = f"jg_append(t, {table.id}, {hash_}, {null or 0})"
                if table.kind == "rows":
                    row = f"jg_append_row(t, {table.id}, {hash_})"
                writer.lines.append(f"T{table.id}* row = (T{table.id}*){row};")
                runs = self._stores(table, sink.values, writer)
                integers = [f"(int64_t)({keys[k].text})" for k in integer_keys(table)]
                writer.lines += note_ranges(integers, null)
                return self._loop("rows", live, live, writer, runs, table=table.id, integers=integers, tail=[])
            case GroupSink():
                return self._group(sink, live, writer)
            case EmitSink():
                return self._emit(sink, live, writer)

    def _group(self, sink: GroupSink, live: Live, writer: ExpressionWriter) -> Loop:
        table = self.program.tables[sink.table]
        keys = [writer.write(k) for k in sink.keys]
        types = [k.type for k in sink.keys]
        head, units = writer.lines, []
        for index, merging, arguments in sink.updates:
            writer.lines = []
            held = table.measures[index]
            state = state_of(held.function)
            with writer.unit(len(sink.updates)):
                values = [writer.write(a) for a in arguments]
            update = state.merge_columns if merging else state.update
            units.append([*writer.lines, "{ " + " ".join(update(held, values, table.id)) + " }"])
        writer.lines = head
        scope = self._scope(writer, table.id)
        stored = zip(keys, types, map(self._must_keep, sink.keys), strict=True)
        store_runs, stores = fold((_store(table, i, k, t, keep, "h") for i, (k, t, keep) in enumerate(stored)), scope)
        same = [_same_key(k, i, t, table) for i, (k, t) in enumerate(zip(keys, types, strict=True))]
        unique = determined(sink, self.pipeline, self.program)
        for i, joins in unique.items():
            same[i] = f"({joins.name} || {same[i]})"
        same_runs, same_rest = condition(same, scope)
        ahead = bool(keys) and not head
        hash_runs, hash_rest = fold(hashes_added(keys, types), scope) if ahead else ([], [])
        runs, updates = fold(units, scope)
        return self._loop(
            "groups",
            live,
            live,
            writer,
            runs,
            table=table.id,
            keyed=bool(keys),
            hash=hash_group(keys, types, {i: u.name for i, u in unique.items()}) if keys and not hash_runs else "",
            hash_runs=hash_runs,
            hash_rest=hash_rest,
            same=same_rest,
            same_runs=same_runs,
            unique=list(dict.fromkeys(unique.values())),
            stores=stores,
            store_runs=store_runs,
            updates=updates,
            unread=unread(self.pipeline, self.program),
            ahead=ahead,
            **self._words(sink, writer, ahead and not hash_runs),
        )

    def _must_keep(self, value: Expression) -> bool:
        """Return whether a text must be copied to outlive the batch: rows of joins in memory stay where they are."""
        table = self.program.tables[value.table] if isinstance(value, RowField) else None
        return table is None or table.kind != "join" or table.on_disk

    def _words(self, sink: GroupSink, writer: ExpressionWriter, wanted: bool) -> dict[str, Any]:
        """Return words of 64 bits that identify a row's group, from what its keys are computed from: joined rows, and
        columns, of which those that are `coded` give their codes; `unknown` is the condition for rows without words.
        Where keys are computed from columns alone, `slots` are the codes of these, counts[i] for NULL."""
        words: list[Value] = []
        coded: list[int] = []
        found = dict.fromkeys(leaf for k in sink.keys for leaf in leaves(k))
        fields = Counter(leaf.pointer for leaf in found if isinstance(leaf, RowField))
        for leaf in found:
            match leaf:
                case RowField(pointer=p) if fields[p] > 1 or not is_word(leaf.type):
                    words.append(Value(f"(uint64_t)r{p}[i]"))
                case RowField():  # fewer than rows
                    value = writer.write(leaf)
                    words.append(Value(f"(uint64_t)({value.text})", value.null))
                case SourceColumn(index=c) if leaf.type.is_text:
                    coded.append(c)
                    words.append(Value(f"d{c}[x]", writer.write(leaf).null))
                case SourceColumn() if is_word(leaf.type):
                    value = writer.write(leaf)
                    words.append(Value(f"(uint64_t)({value.text})", value.null))
                case SourceColumn() | MarkValue() | Element():
                    wanted = False
        texts = list(dict.fromkeys(w.text for w in words))
        if not wanted or not self.pipeline.is_columnar or len(texts) > MEMO_WORDS_MAX:  # each row of a table comes once
            texts, words = [], []
        slots: dict[int, str] = {}
        if texts and all(leaf.children or isinstance(leaf, SourceColumn | CONSTANT) for leaf in found):
            for leaf in (leaf for leaf in found if isinstance(leaf, SourceColumn)):
                null, code = writer.write(leaf).null, f"d{leaf.index}[x]"
                slots[leaf.index] = f"({null} ? counts[{len(slots)}] : {code})" if null else code
        return {
            "words": texts,
            "unknown": any_null(*words),
            "coded": coded,
            "slots": list(slots.values()),
            "codes": list(slots) or coded,
        }

    def _emit(self, sink: EmitSink, live: Live, writer: ExpressionWriter) -> Loop:
        outputs: list[Output] = []
        units = []
        placed = 0
        many = len(sink.values) >= RUN_MIN
        for i, e in enumerate(sink.values):
            with writer.unit(len(sink.values)):
                v = writer.write(e)
            output = Output.of(i, e.type, v.null is not None, placed if many else None)
            placed = output.end
            writer.lines.append(f"{output.data}[i] = {blank(v, e.type)};")
            if v.null:
                writer.lines.append(f"{output.valid}[i] = !({v.null});")
            units.append(writer.lines)
            outputs.append(output)
            writer.lines = []
        runs, writer.lines = fold(units, self._scope(writer))
        if sink.hash_keys:
            of_keys = [outputs[k] for k in sink.hash_keys]
            keys = [Value(f"{o.data}[i]", f"!{o.valid}[i]" if o.nullable else None) for o in of_keys]
            types = [sink.values[k].type for k in sink.hash_keys]
            writer.lines.append(f"w->hashes[i] = {hash_group(keys, types)};")
        sent_runs, sent = fold((o.sent(i) for i, o in enumerate(outputs)), Scope()) if many else ([], [])
        data = {
            "sink": sink.sink,
            "outputs": outputs,
            "placed": placed,
            "hashes": bool(sink.hash_keys),
            "sent_runs": sent_runs,
            "sent": sent,
        }
        return self._loop("emit", live, live, writer, runs, **data)

    def _stores(
        self, table: Table, values: Sequence[Expression], writer: ExpressionWriter, keep: bool = True
    ) -> list[Run]:
        """Fill the fields of `row` by statements of the writer and runs after them."""
        head, units = writer.lines, []
        for i, e in enumerate(values):
            writer.lines = []
            with writer.unit(len(values)):
                v = writer.write(e)
            units.append([*writer.lines, *_store(table, i, v, e.type, keep)])
        runs, rest = fold(units, self._scope(writer, table.id))
        writer.lines = [*head, *rest]
        return runs

    def _scope(self, writer: ExpressionWriter, table: int = -1) -> Scope:
        return _row_scope(self.layouts, table, lambda i: cpp_type(writer.columns[i]))


# ---- pieces of C++ ----


def _columns_named(statements: object) -> set[int]:
    """Return the columns that a loop's statements, nested as its template takes them, refer to by name."""
    return {int(number) for number in re.findall(r"\b[cv](\d+)\b", repr(statements))}


def _by_type(columns: Sequence[tuple[int, str]], wanted: set[int]) -> dict[str, list[int]]:
    """Return C++ type → those of the columns that are wanted."""
    found: dict[str, list[int]] = {}
    for number, type in columns:
        if number in wanted:
            found.setdefault(type, []).append(number)
    return found


def _row_scope(layouts: Sequence[Layout], table: int, column: Callable[[int], str] = str) -> Scope:
    return Scope(
        column,
        table,
        lambda table, field: cpp_type(layouts[table].table.fields[field]),
        lambda table, name: layouts[table].place(name),
    )


def _same_key(k: Value, i: int, type: DataType, table: Table) -> str:
    same = equal(k.text, f"row->f{i}", type)
    if not table.fields[i].nullable:
        return same
    return f"(row->n{i} == {f'(uint8_t)({k.null})' if k.null else '0'} && (row->n{i} || {same}))"


def _sets(program: Program) -> set[int]:
    """Return joins by an integer that only test whether a key is present."""
    found = {t.id for t in program.tables if integer_key(t) is not None}
    for step in (s for p in program.pipelines for s in p.steps if isinstance(s, ProbeStep)):
        if step.residual is not None or step.notes or step.type.output.value != "left":
            found.discard(step.table)
    return found


def _store(table: Table, i: int, v: Value, type: DataType, keep: bool = True, hash: str = "0") -> list[str]:
    kept = f"jg_keep(t, {table.id}, {hash}, {v.text})" if type.is_text and keep else f"({cpp_type(type)})({v.text})"
    if not v.null:
        return [f"row->f{i} = {kept};"]
    if not table.fields[i].nullable:
        return [f"if (!({v.null})) row->f{i} = {kept};"]
    return [f"if ({v.null}) row->n{i} = 1; else row->f{i} = {kept};"]
