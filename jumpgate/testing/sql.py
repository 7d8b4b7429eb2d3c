"""Dataflows as DuckDB SQL: an independent statement of what each operator and function means.

Columns are called c0, c1, … in every step, as names may repeat; each operator is one step of a WITH clause, so that a
part which is used twice is computed once. Where DuckDB differs the difference is written out: integer sums are HUGEINT
there and cast to BIGINT here (overflow is an error in both), division by zero is infinite or NULL there and NULL here
(data for the dialect `error` must not divide by zero), each call is cast to its declared type.
"""

from __future__ import annotations

import datetime
import decimal as pydecimal
import math
from collections.abc import Sequence

from jumpgate.dataflow.casts import cast_value
from jumpgate.dataflow.deleted import of_files
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Value
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Read,
    Send,
    Shuffle,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Unnest,
    Window,
    WindowFunction,
)
from jumpgate.dataflow.types import DataType, Field, int64, string
from jumpgate.testing.sql_measures import MEASURES, measure_text

TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "string": "VARCHAR",
    "binary": "BLOB",
}
INFIX = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "is_distinct": "IS DISTINCT FROM",
    "is_not_distinct": "IS NOT DISTINCT FROM",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "concat": "||",
    "date_add_days": "+",
    "days_between": "-",
}
DIVIDING = {"divide": "/", "int_divide": "//", "modulo": "%"}
RENAMED = {
    "ends_with": "suffix",
    "null_if": "nullif",
    "day_of_week": "dayofweek",
    "char_length": "length",
    "octet_length": "strlen",
    "truncate": "trunc",
}


def to_sql(root: Operator, dialect: Dialect = DEFAULT) -> str:
    """Return one SELECT for the whole dataflow, with columns c0, c1, …; reads that DuckDB has no reader for name
    tables."""
    return Translator(dialect).statement(root)


def _read_column(field: Field) -> str:
    """A column of files; UUIDs are bytes."""
    name = _identifier(field.name)
    return f"CAST({name} AS BLOB)" if field.type.kind == "binary" else name


def sql_type(type: DataType) -> str:
    if type.kind == "list":
        return f"{sql_type(type.parts[0].type)}[]"
    return f"DECIMAL({type.precision}, {type.scale})" if type.kind == "decimal" else TYPES[type.kind]


def quoted(text: str) -> str:
    """A string literal; NUL, which DuckDB's parser refuses, through chr(0)."""
    return "(" + " || chr(0) || ".join("'" + part.replace("'", "''") + "'" for part in text.split("\0")) + ")"


def literal(value: Value, type: DataType) -> str:
    """A typed literal."""
    match value:
        case None:
            text = "NULL"
        case bytes():
            text = "'" + "".join(f"\\x{b:02X}" for b in value) + "'"
        case str():
            text = quoted(value)
        case bool():
            text = str(value)
        case float():
            text = repr(value) if math.isfinite(value) else f"'{value!r}'"
        case pydecimal.Decimal():
            text = f"'{value:f}'"
        case int() if type.kind == "timestamp_ns":
            words = cast_value(value, type, string)
            assert isinstance(words, str)
            text = f"'{words}'"
        case datetime.datetime():
            text = f"'{value.isoformat(' ')}{'+00' if type.is_zoned else ''}'"
        case datetime.date() | datetime.time():
            text = f"'{value.isoformat()}'"
        case _:
            text = repr(value)
    return f"CAST({text} AS {sql_type(type)})"


class Translator:
    """Translates one dataflow; the tables dataset_0, … of the reads in `datasets` must be there when it runs."""

    def __init__(self, dialect: Dialect = DEFAULT) -> None:
        self.dialect = dialect
        self.datasets: list[Read] = []
        self._steps: list[str] = []
        self._names: dict[int, str] = {}

    def statement(self, root: Operator) -> str:
        while isinstance(root, Send | Shuffle):
            root = root.input
        last = self._select(root)  # not a step, so that its order is the result's
        return ("WITH " + ",\n".join(self._steps) + "\n" if self._steps else "") + last

    def _step(self, node: Operator) -> str:
        if id(node) not in self._names:
            select = self._select(node)
            name = self._names[id(node)] = f"s{len(self._names)}"
            self._steps.append(f"{name} AS MATERIALIZED ({select})")
        return self._names[id(node)]

    def _select(self, node: Operator) -> str:
        match node:
            case Read():
                return self._read(node)
            case Filter():
                return f"SELECT * FROM {self._step(node.input)} t WHERE {self.expression(node.predicate)}"
            case Project():
                return f"SELECT {self._columns(node.expressions)} FROM {self._step(node.input)} t"
            case Join():
                return self._join(node)
            case Aggregate() if node.phase == "full":
                keys = [self.expression(k) for k in node.keys]
                outputs = [*keys, *(self._measure(m) for m in node.measures)] or ["count(*)"]
                group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
                return f"SELECT {_numbered(outputs)} FROM {self._step(node.input)} t{group}"
            case Sort():
                order, bounds = self._order(node.keys), _bounds(node.limit, node.offset)
                return f"SELECT * FROM {self._step(node.input)} t{order}{bounds}"
            case Window():
                columns = [f"t.c{i}" for i in range(len(node.input.schema))]
                columns += [self._window(f, node) for f in node.functions]
                return f"SELECT {_numbered(columns)} FROM {self._step(node.input)} t"
            case Skyline():
                return self._skyline(node)
            case Unnest():
                join = "LEFT JOIN" if node.outer else "JOIN"
                elements = f"(SELECT unnest({self.expression(node.list)}) AS element)"
                columns = [f"t.c{i}" for i in range(len(node.input.schema))]
                step = self._step(node.input)
                return f"SELECT {_numbered([*columns, 'u.element'])} FROM {step} t {join} LATERAL {elements} u ON TRUE"
            case Limit():
                return f"SELECT * FROM {self._step(node.input)} t{_bounds(node.count, node.offset)}"
            case Distinct():
                return f"SELECT DISTINCT * FROM {self._step(node.input)} t"
            case UnionAll():
                return " UNION ALL ".join(f"SELECT * FROM {self._step(m)}" for m in node.members)
            case Shuffle():
                return f"SELECT * FROM {self._step(node.input)} t"
        raise ValueError(f"no SQL for {node.kind}")

    def _columns(self, expressions: Sequence[Expression]) -> str:
        return _numbered([self.expression(e) for e in expressions])

    def _read(self, node: Read) -> str:
        columns = _numbered([_read_column(f) for f in node.schema])
        files = "[" + ", ".join(map(quoted, node.files)) + "]"
        declared = ", ".join("'" + f.name.replace("'", "''") + f"': '{sql_type(f.type)}'" for f in node.file_schema)
        if of_files(dict(node.options)):
            raise ValueError("no SQL for a read without deleted rows")
        duckdb = formats()[node.format].duckdb
        if duckdb is None:
            self.datasets.append(node)
            return f"SELECT {columns} FROM dataset_{len(self.datasets) - 1}"
        return f"SELECT {columns} FROM {duckdb(files, f'{{{declared}}}', dict(node.options))}"

    def _join(self, node: Join) -> str:
        left, right = self._step(node.left), self._step(node.right)
        width, other = len(node.left.schema), len(node.right.schema)

        def side(index: int) -> str:
            return f"l.c{index}" if index < width else f"r.c{index - width}"

        terms = [
            f"{self.expression(a, lambda i: f'l.c{i}')} = {self.expression(b, lambda i: f'r.c{i}')}"
            for a, b in zip(node.left_keys, node.right_keys, strict=True)
        ]
        if node.residual is not None:
            terms.append(self.expression(node.residual, side))
        condition = " AND ".join(terms) or "TRUE"
        outputs = [f"l.c{i}" for i in range(width)]
        if node.type.output is Output.LEFT:
            no = "" if node.type.matched else "NOT "
            exists = f"{no}EXISTS (SELECT 1 FROM {right} r WHERE {condition})"
            return f"SELECT {_numbered(outputs)} FROM {left} l WHERE {exists}"
        if node.type.marks:
            pairs = f"(SELECT {condition} AS m FROM {right} r)"  # a step of its own: the aggregates are over the pairs
            mark = (
                "(SELECT CASE WHEN bool_or(p.m) THEN TRUE WHEN count(*) FILTER (p.m IS NULL) > 0 THEN NULL "
                f"ELSE FALSE END FROM {pairs} p)"
            )
            return f"SELECT {_numbered([*outputs, mark])} FROM {left} l"
        outputs += [f"r.c{i}" for i in range(other)]
        return f"SELECT {_numbered(outputs)} FROM {left} l {node.type.upper()} JOIN {right} r ON {condition}"

    def _skyline(self, node: Skyline) -> str:
        def terms(better: str, worse: str) -> list[str]:
            found = []
            for k in node.keys:
                mine, other = (self.expression(k.expression, lambda i, s=s: f"{s}.c{i}") for s in ("t", "u"))
                found.append(f"{other} {worse if k.descending else better} {mine}")
            return found

        as_good, better = " AND ".join(terms("<=", ">=")), " OR ".join(terms("<", ">"))
        step = self._step(node.input)
        return f"SELECT * FROM {step} t WHERE NOT EXISTS (SELECT 1 FROM {step} u WHERE {as_good} AND ({better}))"

    def _order(self, keys: Sequence[SortKey]) -> str:
        texts = [
            f"{self.expression(k.expression)} {'DESC' if k.descending else 'ASC'} "
            f"NULLS {'FIRST' if k.nulls_first else 'LAST'}"
            for k in keys
        ]
        return f" ORDER BY {', '.join(texts)}" if texts else ""

    def _window(self, f: WindowFunction, node: Window) -> str:
        arguments = [self.expression(a) for a in f.arguments]
        if f.function == "stddev":
            arguments = [f"CAST({arguments[0]} AS DOUBLE)"]
        function = "count" if f.function == "count_star" else MEASURES.get(f.function, f.function)
        partition = f"PARTITION BY {', '.join(map(self.expression, node.partition_by))}" if node.partition_by else ""
        frame = ""
        if f.function in MEASURES or f.function in ("count_star", "first_value", "last_value", "nth_value"):
            distance = node.order_by[0].expression.type if node.frame.unit == "range" and node.order_by else int64
            start = "UNBOUNDED PRECEDING" if node.frame.start is None else _bound(node.frame.start, distance)
            end = "UNBOUNDED FOLLOWING" if node.frame.end is None else _bound(node.frame.end, distance)
            frame = f" {node.frame.unit.upper()} BETWEEN {start} AND {end}"
        call = f"{function}({', '.join(arguments) or ('*' if f.function == 'count_star' else '')})"
        return f"CAST({call} OVER ({partition}{self._order(node.order_by)}{frame}) AS {sql_type(f.type)})"

    def _measure(self, measure: Measure) -> str:
        if measure.argument is None:
            return "count(*)"
        found = measure_text(measure, [self.expression(e) for e in measure.expressions])
        return f"CAST({found} AS {sql_type(measure.type)})"

    def expression(self, e: Expression, column: object = None) -> str:
        """SQL for `e`; `column(index)` names its columns (t.c0, t.c1, … by default)."""
        name = column if callable(column) else lambda i: f"t.c{i}"
        match e:
            case ColumnRef():
                return str(name(e.index))
            case Literal():
                return literal(e.value, e.type)
            case Cast():
                return self._cast(e, self.expression(e.input, column))
            case Case():
                parts = [self.expression(b, column) for b in e.branches]
                pairs = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(parts[::2], parts[1::2], strict=True))
                return f"(CASE {pairs} ELSE {self.expression(e.otherwise, column)} END)"
            case InList():
                options = ", ".join(self.expression(o) for o in e.options)
                return f"({self.expression(e.input, column)} IN ({options}))"
            case Call():
                call = self._call(e, [self.expression(a, column) for a in e.args])
                return call if e.type.kind == "bool" else f"CAST({call} AS {sql_type(e.type)})"
        raise ValueError(f"no SQL for {type(e).__name__}")

    def _cast(self, e: Cast, input: str) -> str:
        if e.type.is_integer and self.dialect.to_integer == "truncate" and not e.input.type.is_integer:
            input = f"trunc({input})"
        return f"{'TRY_CAST' if e.on_failure == 'null' else 'CAST'}({input} AS {sql_type(e.type)})"

    def _call(self, e: Call, args: list[str]) -> str:
        if e.function in INFIX:
            return "(" + f" {INFIX[e.function]} ".join(args) + ")"
        if e.function == "divide" and self.dialect.division_by_zero == "ieee":
            return f"({args[0]} / {args[1]})"
        if e.function in DIVIDING:
            return f"({args[0]} {DIVIDING[e.function]} nullif({args[1]}, 0))"
        match e.function:
            case "list_of":
                return f"[{', '.join(args)}]"
            case "not":
                return f"(NOT {args[0]})"
            case "negate":
                return f"(- {args[0]})"
            case "is_null":
                return f"({args[0]} IS NULL)"
            case "is_not_null":
                return f"({args[0]} IS NOT NULL)"
            case "like" | "ilike":
                escape = f" ESCAPE {args[2]}" if len(args) > 2 else ""
                return f"({args[0]} {e.function.upper()} {args[1]}{escape})"
            case "add_interval":
                months, days = (f"CAST({a} AS INTEGER)" for a in args[1:3])
                return f"({args[0]} + to_months({months}) + to_days({days}) + to_microseconds({args[3]}))"
            case "trim" | "ltrim" | "rtrim":
                return f"{e.function}({args[0]}, ' ')"
            case "mean":
                return f"(CAST({args[0]} AS DOUBLE) / {args[1]})"
            case "round":
                digits = e.args[1].value if len(e.args) > 1 and isinstance(e.args[1], Literal) else 0
                return f"round({args[0]}, {digits!r})"
        return f"{RENAMED.get(e.function, e.function)}({', '.join(args)})"


def _numbered(expressions: Sequence[str]) -> str:
    """Return the outputs of a SELECT; a dataflow without any gets a dummy."""
    return ", ".join(f"{e} AS c{i}" for i, e in enumerate(expressions)) or "1 AS c0"


def _bound(offset: int, distance: DataType) -> str:
    """Return a frame's bound; a range's is in units of the ordering value."""
    if not offset:
        return "CURRENT ROW"
    size = str(abs(offset))
    if distance.kind == "decimal":
        size = format(pydecimal.Decimal(size).scaleb(-distance.scale), "f")
    elif distance.kind in ("date", "timestamp"):
        size = f"INTERVAL ({size}) {'DAYS' if distance.kind == 'date' else 'MICROSECONDS'}"
    return f"{size} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bounds(limit: int | None, offset: int) -> str:
    return (f" LIMIT {limit}" if limit is not None else "") + (f" OFFSET {offset}" if offset else "")
