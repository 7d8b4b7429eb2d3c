"""The fluent interface for dataflows. Every step checks names and types and raises all its problems at once.

read("store_sales.parquet", schema=...).filter(col("ss_quantity") > 10).aggregate(by=["ss_item_sk"], n=count())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from jumpgate.dataflow.aggregates import AGGREGATES, known_aggregate
from jumpgate.dataflow.casts import TypeMismatch, common_type
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal, conjunction
from jumpgate.dataflow.files import Paths, implied_options, list_files
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.functions import cast_to
from jumpgate.dataflow.joins import join_operator
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.nested import compared_nested
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Measure,
    Operator,
    Partitioning,
    Project,
    Read,
    Send,
    Shuffle,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Unnest,
    column,
)
from jumpgate.dataflow.partitions import as_option, partition_fields, with_partitions
from jumpgate.dataflow.resolve import Scope, describe, name_of, suggest
from jumpgate.dataflow.tree import tree
from jumpgate.dataflow.types import DataType, Field, Schema, parse_type
from jumpgate.dataflow.unnest import NESTED
from jumpgate.dataflow.unresolved import Aggregation, Order, Unresolved, as_column, as_expression
from jumpgate.dataflow.validate import DEPTH_MAX
from jumpgate.errors import InvalidDataflow

Columns = str | Unresolved | Sequence["str | Unresolved"]
#: infers a schema from the files: (files, format, options) → schema
Inference = Callable[[tuple[str, ...], str, dict[str, str]], Schema]


@dataclass(frozen=True)
class Dataflow:
    """An immutable dataflow; each method returns a new one on top of it. Nothing is read or run here."""

    root: Operator
    depth: int = 1

    @property
    def schema(self) -> Schema:
        """Return the names and types of its columns."""
        return self.root.schema

    def __repr__(self) -> str:
        return f"Dataflow{self.schema}\n{self.explain()}"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return f"<p>{escape(f'Dataflow{self.schema}')}</p><pre>{escape(self.explain())}</pre>"

    def explain(self) -> str:
        """The operators as a tree, root first."""
        return tree(self.root)

    def filter(self, *predicates: Unresolved) -> Dataflow:
        """Rows for which all predicates are true (not NULL)."""
        scope = Scope("filter", self.schema)
        terms = [scope.predicate(as_expression(p)) for p in predicates]
        scope.done()
        return self._then(Filter(self.root, conjunction(tuple(t for t in terms if t is not None))))

    def select(self, *columns: str | Unresolved, **named: object) -> Dataflow:
        """Exactly these columns: names, expressions with .alias(name), or name=expression."""
        scope = Scope("select", self.schema)
        pairs = _named_columns(scope, columns, named)
        _refuse_duplicates(scope, [n for n, _ in pairs])
        if not columns and not named:
            scope.problem("select needs at least one column")
        scope.done()
        return self._then(_project(self.root, pairs))

    project = select

    def with_columns(self, *columns: Unresolved, **named: object) -> Dataflow:
        """All columns and these; one with the name of an existing column replaces it in its place."""
        scope = Scope("with_columns", self.schema)
        new = _named_columns(scope, columns, named)
        _refuse_duplicates(scope, [n for n, _ in new])
        scope.done()
        merged: list[tuple[str, Expression]] = [(f.name, column(self.schema, i)) for i, f in enumerate(self.schema)]
        for name, expression in new:
            at = next((i for i, (n, _) in enumerate(merged) if n == name), len(merged))
            merged[at : at + 1] = [(name, expression)]
        return self._then(_project(self.root, merged))

    def join(
        self,
        other: Dataflow,
        on: Columns | None = None,
        *,
        left_on: Columns | None = None,
        right_on: Columns | None = None,
        how: str = "inner",
        where: Unresolved | None = None,
        suffix: str | None = None,
    ) -> Dataflow:
        """Equi-join; `other` is the build side, best the smaller one.

        on: columns of that name on both sides, of which the result holds one. left_on/right_on: keys by position; the
        result holds all columns. where: a further condition over both sides. how: inner, left, right, full, semi (rows
        of self with a match), anti (without), mark (self and a column `mark`: SQL's IN). A column name that both sides
        have is refused unless `suffix` is given, which then renames other's.
        """
        root = join_operator(
            self.root, other.root, on=on, left_on=left_on, right_on=right_on, how=how, where=where, suffix=suffix
        )
        return _checked(root, _deeper(max(self.depth, other.depth), 2))

    def aggregate(self, *measures: Aggregation, by: Columns = (), **named: Aggregation) -> Dataflow:
        """One row for each group of equal `by` columns (NULL is a group), or a single row without any."""
        scope = Scope("aggregate", self.schema)
        keys = _named_columns(scope, _listed(by), {})
        wanted = [*((getattr(m, "name", None), m) for m in measures), *named.items()]
        resolved = [_measure(scope, m, n) for n, m in wanted]
        if not keys and not resolved and not scope.problems:
            scope.problem("aggregate needs keys (by=) or measures")
        _refuse_duplicates(scope, [n for n, _ in keys] + [m.name for m in resolved if m is not None])
        scope.done()
        found = tuple(m for m in resolved if m is not None)
        return self._then(Aggregate(self.root, tuple(e for _, e in keys), tuple(n for n, _ in keys), found))

    def sort(self, *keys: str | Unresolved | Order) -> Dataflow:
        """Total order by the keys: names, expressions, or `.desc()` / `.asc()` of them."""
        return self._then(Sort(self.root, self._sort_keys("sort", keys)))

    def top(self, count: int, *keys: str | Unresolved | Order, offset: int = 0) -> Dataflow:
        """The first `count` rows in that order, after `offset`."""
        scope = Scope("top", self.schema)
        _check_count(scope, count, offset)
        scope.done()
        return self._then(Sort(self.root, self._sort_keys("top", keys), count, offset))

    def skyline(self, *keys: str | Unresolved | Order) -> Dataflow:
        """The rows that no other row dominates, that is, is at least as good by every key and better by one: small
        values are better, with `.desc()` large ones."""
        return self._then(Skyline(self.root, self._sort_keys("skyline", keys)))

    def unnest(self, column: str | Unresolved, *, name: str | None = None, outer: bool = False) -> Dataflow:
        """A row for each element of a list, in a column `name` (the list's name with `_element`) beside all columns. A
        map's elements are structs of `key` and `value`. A list that is NULL or empty has no row; with `outer` it has
        one, whose element is NULL."""
        scope = Scope("unnest", self.schema)
        list = scope.resolve(as_column(column))
        if list is not None and list.type.kind not in NESTED:
            scope.problem(f"unnest: {describe(as_column(column))} is {list.type.name}, not a list")
        if list is not None and name is None:
            name = f"{getattr(list, 'name', '') or 'list'}_element"
        _refuse_duplicates(scope, [*self.schema.names, str(name)])
        scope.done()
        assert list is not None
        return self._then(Unnest(self.root, list, str(name), outer))

    def limit(self, count: int, offset: int = 0) -> Dataflow:
        """At most `count` rows after `offset`, in the input's order where it has one, else any."""
        scope = Scope("limit", self.schema)
        _check_count(scope, count, offset)
        scope.done()
        return self._then(Limit(self.root, count, offset))

    def distinct(self) -> Dataflow:
        """One of each set of equal rows (NULL equals NULL)."""
        scope = Scope("distinct", self.schema)
        for name in self.schema.names:
            scope.column(name)
        scope.done()
        return self._then(Distinct(self.root))

    def union_all(self, *others: Dataflow) -> Dataflow:
        """All rows of all inputs, columns by position; types are cast to their common ones."""
        scope = Scope("union_all", self.schema)
        schemas = [self.schema, *(o.schema for o in others)]
        for i, schema in enumerate(schemas[1:], 2):
            if len(schema) != len(self.schema):
                scope.problem(f"union_all: input 1 has {len(self.schema)} columns, input {i} has {len(schema)}")
        scope.done()
        types = []
        for name, column_types in zip(self.schema.names, zip(*(s.types for s in schemas), strict=True), strict=True):
            try:
                types.append(common_type(column_types))
            except TypeMismatch as e:
                scope.problem(f"union_all: column {name!r}: {e}")
        scope.done()
        members = tuple(_cast_columns(d.root, types) for d in (self, *others))
        return Dataflow(UnionAll(members), _deeper(max(self.depth, *(o.depth for o in others), 0), 2))

    def shuffle(self, *keys: str, count: int = 1, kind: str = "hash") -> Dataflow:
        """Spreads the rows over `count` partitions: by the keys' hash (hash, murmur3), round_robin or broadcast."""
        return self._then(Shuffle(self.root, self._partitioning("shuffle", kind, keys, count)))

    def send(
        self, *endpoints: str, by: Sequence[str] = (), kind: str | None = None, layout: str = Layout.COLUMNAR
    ) -> Dataflow:
        """Delivers the result to `endpoints` (host:port), partitioned by the columns `by` if there are several.

        Only for clients that receive by themselves; jumpgate.client adds its own endpoint.
        """
        scope = Scope("send", self.schema)
        if not endpoints:
            scope.problem("send needs at least one endpoint")
        if layout not in list(Layout):
            scope.problem(f"send: layout is {layout!r}; it can be {' or '.join(Layout)}")
        strange = [e for e in endpoints if not e.rpartition(":")[2].isdigit()]
        scope.problems += [f"send: endpoint {e!r} is not host:port" for e in strange]
        scope.done()
        kind = kind or ("hash" if by else "single" if len(endpoints) == 1 else "round_robin")
        return self._then(
            Send(self.root, endpoints, self._partitioning("send", kind, by, len(endpoints)), Layout(layout))
        )

    def _then(self, root: Operator) -> Dataflow:
        if isinstance(self.root, Send):
            raise InvalidDataflow(f"{root.kind} after send: send must be the last operator", operator=root.kind)
        return _checked(root, _deeper(self.depth))

    def _sort_keys(self, operator: str, keys: tuple[str | Unresolved | Order, ...]) -> tuple[SortKey, ...]:
        scope = Scope(operator, self.schema)
        if not keys:
            scope.problem(f"{operator} needs at least one key")
        resolved = []
        for key in keys:
            order = key if isinstance(key, Order) else Order(as_column(key))
            expression = scope.resolve(order.expression)
            if expression is not None:
                resolved.append(SortKey(expression, order.descending, order.nulls_first))
        scope.done()
        return tuple(resolved)

    def _partitioning(self, operator: str, kind: str, keys: Sequence[str], count: int) -> Partitioning:
        scope = Scope(operator, self.schema)
        kinds = ("single", "hash", "round_robin", "broadcast", "murmur3")
        if kind not in kinds:
            scope.problem(f"{operator}: unknown partitioning {kind!r}{suggest(kind, kinds)}")
        if (kind in ("hash", "murmur3")) != bool(keys):
            scope.problem(f"{operator}: partitioning {kind!r} " + ("takes no keys" if keys else "needs keys"))
        if count < 1 or (kind == "single" and count != 1):
            scope.problem(f"{operator}: {count} partitions with partitioning {kind!r}")
        references = [scope.column(k) for k in keys]
        scope.done()
        return Partitioning(kind, tuple(r.index for r in references if r is not None), count)


def read(
    paths: Paths,
    *,
    format: str | None = None,
    schema: Schema | Mapping[str, DataType | str] | Inference,
    columns: Sequence[str] | None = None,
    **options: object,
) -> Dataflow:
    """Files of one format: a path, a glob, a directory, or a list of them (files.list_files).

    format: its name ("csv"); from the suffix if not given. schema: the files' schema, {name: type}, or a function that
    finds it. columns: those wanted, in this order (all). options: those of the format, as delimiter and header of CSV;
    of every format: partitions=False leaves the columns of folders (year=2024/) alone. docs/files.md has them all.
    Raises FileUnreadable, InvalidDataflow, and SchemaMismatch (folders that differ).
    """
    files, format = list_files(paths, format)
    found = formats()[format]
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
    partitioned = texts.pop("partitions", "true")
    texts = found.canonical(texts)
    scope = Scope("read", Schema(()))
    scope.problems += found.problems(texts)
    if partitioned not in ("true", "false"):
        scope.problem(f"read: option partitions is {partitioned!r}; it can be true or false")
    scope.done()
    texts |= implied_options(files, found, texts)
    fields = partition_fields(files) if partitioned == "true" else ()
    if isinstance(schema, Mapping | Schema):
        file_schema = schema if isinstance(schema, Schema) else _schema_of(scope, schema)
        fields = tuple(f for f in file_schema if f.name in {p.name for p in fields})
    else:
        file_schema = with_partitions(schema(files, format, texts), fields)
    if fields:
        texts["partitions"] = as_option(f.name for f in fields)
    scope = Scope("read", file_schema)
    _refuse_duplicates(scope, list(file_schema.names))
    if not len(file_schema):
        scope.problem(f"read: {files[0]!r} has no columns")
    scope.done()
    if columns is None:  # opaque ones too: they do no harm unless they are used
        wanted = tuple(range(len(file_schema)))
    else:
        wanted = tuple(c.index for c in map(scope.column, columns) if c is not None)
    scope.done()
    return Dataflow(Read(files, format, file_schema, wanted, tuple(sorted(texts.items()))))


def _schema_of(scope: Scope, types: Mapping[str, DataType | str]) -> Schema:
    fields = []
    for name, type in types.items():
        try:
            fields.append(Field(name, type if isinstance(type, DataType) else parse_type(type).with_nullable(True)))
        except ValueError as e:
            scope.problem(f"read: column {name!r}: {e}")
    scope.done()
    return Schema(tuple(fields))


def _named_columns(
    scope: Scope,
    columns: Iterable[object],
    named: Mapping[str, object],
) -> list[tuple[str, Expression]]:
    """Return (name, typed expression) of each; note problems of those without a name or that do not resolve."""
    wanted = [(None, as_column(c)) for c in columns] + [(n, as_expression(e)) for n, e in named.items()]
    pairs = []
    for given, expression in wanted:
        name = given or name_of(expression)
        if name is None:
            scope.problem(f"{describe(expression)} in {scope.operator} has no name; add .alias(name)")
        resolved = scope.resolve(expression)
        if name is not None and resolved is not None:
            pairs.append((name, resolved))
    return pairs


def _measure(scope: Scope, measure: Aggregation, name: str | None) -> Measure | None:
    if not isinstance(measure, Aggregation):
        what = describe(measure) if isinstance(measure, Unresolved) else repr(measure)
        scope.problem(f"{what} in aggregate is not a measure; use sum_, count, avg, min_, max_, stddev or another")
        return None
    if name is None:
        scope.problem(f"{measure.function} in aggregate has no name; write name={measure.function}(…) or .alias(name)")
    declaration = known_aggregate(measure.function)
    if declaration is None:
        scope.problem(f"unknown measure {measure.function!r}{suggest(measure.function, AGGREGATES)}")
        return None
    arguments = [scope.resolve(a) for a in measure.arguments]
    keys = [scope.resolve(k.expression) for k in measure.order]
    what = f"{measure.function}({', '.join(map(describe, measure.arguments))}) in aggregate"
    order = tuple(
        SortKey(e, k.descending, k.nulls_first) for e, k in zip(keys, measure.order, strict=True) if e is not None
    )
    known = [a for a in arguments if a is not None]
    if len(known) < len(arguments) or len(order) < len(keys):
        return None
    if declaration.numeric and not all(a.type.is_numeric for a in known):
        scope.problem(f"{what} needs a number, not {', '.join(a.type.name for a in known if not a.type.is_numeric)}")
        return None
    try:
        options = [_option(v, t) for v, t in zip(measure.options, declaration.options, strict=True)]
        return Measure.of(measure.function, *known, *options, name=name or "", order=order)
    except TypeMismatch as mismatch:
        scope.problem(f"{what}: {mismatch}")
        return None


def _option(value: object, type: DataType) -> Literal:
    if type.is_float and isinstance(value, int | float) and not isinstance(value, bool):
        return Literal(type.with_nullable(False), float(value))
    if type.kind == "string" and isinstance(value, str):
        return Literal(type.with_nullable(False), value)
    raise TypeMismatch(f"{value!r} is not of type {type.name}")


def _project(root: Operator, pairs: Sequence[tuple[str, Expression]]) -> Project:
    return Project(root, tuple(e for _, e in pairs), tuple(n for n, _ in pairs))


def _cast_columns(root: Operator, types: list[DataType]) -> Operator:
    schema = root.schema
    if all(a.same(b) for a, b in zip(schema.types, types, strict=True)):
        return root
    expressions: list[Expression] = [ColumnRef(f.type, i, f.name) for i, f in enumerate(schema)]
    casts = tuple(cast_to(e, t) for e, t in zip(expressions, types, strict=True))
    return Project(root, casts, schema.names)


def _checked(root: Operator, depth: int) -> Dataflow:
    if found := compared_nested(root):
        raise InvalidDataflow(f"{root.kind}: {'; '.join(found)}", tuple(found), operator=root.kind)
    return Dataflow(root, depth)


def _refuse_duplicates(scope: Scope, names: list[str]) -> None:
    for name in (n for n, times in Counter(names).items() if times > 1):
        scope.problem(f"two columns called {name!r} in {scope.operator}; rename one with .alias")


def _check_count(scope: Scope, count: int, offset: int) -> None:
    for what, number in (("count", count), ("offset", offset)):
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
            scope.problem(f"{scope.operator}: {what} is {number!r}; it must be an integer from 0 on")


def _listed(columns: Columns) -> list[str | Unresolved]:
    return [columns] if isinstance(columns, str | Unresolved) else list(columns)


def _deeper(depth: int, by: int = 1) -> int:
    if depth + by > DEPTH_MAX:
        raise InvalidDataflow(f"a dataflow has at most {DEPTH_MAX} operators on one path")
    return depth + by
