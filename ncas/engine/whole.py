"""Writes a whole dataflow as one statement of DuckDB's, from its files to its result, exactly, or refuses.

Each operator is a step of a WITH clause whose columns are c0, c1, …; expressions.py writes what they compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Expression, Literal
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
    Shuffle,
    Sort,
    SortKey,
    UnionAll,
    Window,
    numbered,
)
from jumpgate.dataflow.types import DataType, Field
from jumpgate.ncas.engine import sql
from jumpgate.ncas.engine.expressions import Columns, Expressions, Refused, key, sql_type

#: the most operators of a statement
OPERATORS_MAX = 500
#: options of reads that files.py looks after
OPTIONS = frozenset(("absent", "early_days"))
#: characters by which DuckDB takes a path for a pattern
PATTERN = frozenset("*?[]{}")
#: of aggregates over integers and decimals: ours → DuckDB's
MOMENTS = {"stddev": "stddev_samp", "stddev_pop": "stddev_pop", "variance": "var_samp", "variance_pop": "var_pop"}


class Statement:
    """The statement of a dataflow, and its parameters. Raises Refused."""

    def __init__(self, root: Operator, dialect: Dialect) -> None:
        self._expressions = Expressions(dialect)
        self._dialect = dialect
        self._uses = Counter(id(child) for node in numbered(root) for child in node.inputs)
        if len(self._uses) > OPERATORS_MAX:
            raise Refused("the dataflow is too large for the engine", "large")
        if not len(root.schema):
            raise Refused("the engine gives no rows without columns", "no_columns")
        for field in root.schema:
            sql_type(field.type)
        self._steps: list[str] = []
        self._names: dict[int, str] = {}
        last = self._select(root)  # no step, so that its order is that of the result
        self.text = ("WITH " + ",\n".join(self._steps) + "\n" if self._steps else "") + last
        self.parameters = self._expressions.parameters

    def _step(self, node: Operator) -> str:
        """Return the name of an operator's step."""
        if id(node) not in self._names:
            select = self._select(node)
            once = self._uses[id(node)] < 2 or isinstance(node, Read)
            self._names[id(node)] = name = f"s{len(self._names):d}"
            self._steps.append(f"{name} AS {'NOT ' if once else ''}MATERIALIZED ({select})")
        return self._names[id(node)]

    def _select(self, node: Operator) -> str:
        match node:
            case Read():
                return self._read(node)
            case Filter():
                return f"SELECT * FROM {self._step(node.input)} t WHERE {self._expressions.text(node.predicate, _t)}"
            case Project():
                return f"SELECT {_numbered(self._texts(node.expressions))} FROM {self._step(node.input)} t"
            case Join():
                return self._join(node)
            case Aggregate() if node.phase == "full":
                keys = [self._expressions.key(k, _t) for k in node.keys]
                outputs = [*keys, *(self._measure(m) for m in node.measures)] or ["count(*)"]
                group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
                return f"SELECT {_numbered(outputs)} FROM {self._step(node.input)} t{group}"
            case Sort():
                limit = "" if node.limit is None else f" LIMIT {node.limit:d}"
                return f"SELECT * FROM {self._step(node.input)} t{self._order(node.keys)}{limit} OFFSET {node.offset:d}"
            case Window():
                return self._window(node)
            case Limit():
                return f"SELECT * FROM {self._step(node.input)} t LIMIT {node.count:d} OFFSET {node.offset:d}"
            case Distinct():
                columns = [key(_t(i), f.type) for i, f in enumerate(node.schema)]
                for field in node.schema:
                    self._expressions.check_comparable(field.type)
                return f"SELECT DISTINCT {_numbered(columns)} FROM {self._step(node.input)} t"
            case UnionAll():
                return " UNION ALL ".join(f"SELECT * FROM {self._step(m)}" for m in node.members)
            case Shuffle() if node.partitioning.kind != "murmur3":
                return f"SELECT * FROM {self._step(node.input)} t"
        raise Refused(f"the engine has no {node.kind}", f"operator_{node.kind}")

    def _texts(self, expressions: Iterable[Expression]) -> list[str]:
        return [self._expressions.text(e, _t) for e in expressions]

    def _read(self, node: Read) -> str:
        if formats()[node.format].converted:
            raise Refused(f"DuckDB's reader of {node.format} is another than Jumpgate's", f"format_{node.format}")
        if other := sorted({name for name, _ in node.options} - OPTIONS):
            raise Refused(f"the engine reads no files with the option {other[0]}", "option")
        for file in node.files:
            if not file.startswith("/") or "//" in file or PATTERN & {*file}:
                raise Refused("the engine reads files of this host by plain paths", "path")
        columns = [_column(field) for field in node.schema]
        files = self._expressions.parameter(list(node.files))
        return f"SELECT {_numbered(columns)} FROM read_parquet({files}, hive_partitioning = false)"

    def _join(self, node: Join) -> str:
        left, right, width = self._step(node.left), self._step(node.right), len(node.left.schema)

        def either(index: int) -> str:
            return _l(index) if index < width else _r(index - width)

        terms = [
            f"{self._expressions.key(a, _l)} = {self._expressions.key(b, _r)}"
            for a, b in zip(node.left_keys, node.right_keys, strict=True)
        ]
        outputs = [_l(i) for i in range(width)]
        if node.type.marks:
            if len(terms) != 1 or node.residual is not None:
                raise Refused("the engine marks rows by one key, and no condition", "mark")
            mine, others = (
                self._expressions.key(k, of) for k, of in ((node.left_keys[0], _l), (node.right_keys[0], _r))
            )
            return f"SELECT {_numbered([*outputs, f'{mine} IN (SELECT {others} FROM {right} r)'])} FROM {left} l"
        if node.residual is not None:
            terms.append(self._expressions.text(node.residual, either))
        condition = " AND ".join(terms) or "TRUE"
        if node.type.output is not Output.LEFT:
            outputs += [_r(i) for i in range(len(node.right.schema))]
        return f"SELECT {_numbered(outputs)} FROM {left} l {node.type.upper()} JOIN {right} r ON {condition}"

    def _measure(self, measure: Measure) -> str:
        plain, null = measure.declaration.plain, self._dialect.on_overflow == "null"
        distinct = "DISTINCT " if measure.declaration.distinct_of else ""
        if measure.argument is None:
            return "count(*)"
        argument, type = measure.arguments[0], measure.arguments[0].type
        text = self._expressions.text(argument, _t)
        if distinct or plain in ("min", "max"):
            text = self._expressions.key(argument, _t)
        match plain:
            case "count":
                return f"count({distinct}{text})"
            case "min" | "max":
                return f"{plain}({text})"
            case "sum" if type.is_integer:
                return f"{'TRY_CAST' if null else 'CAST'}(sum({distinct}{text}) AS BIGINT)"
            case "sum" if type.kind == "decimal":
                if null and type.precision > sql.SUMMED_DIGITS_MAX:
                    raise Refused(f"a sum of {type.name} that overflows is no NULL in the engine", "overflow_null")
                return sql.checked_sum(f"sum({distinct}{text})", type)
            case "sum" | "avg" if type.is_float:
                return f"{plain}({distinct}CAST({text} AS DOUBLE))"
            case "avg":
                count = f"CAST(count({distinct}{text}) AS DOUBLE)"
                total = sql.checked_sum(f"sum({distinct}{text})", type)
                return f"(CAST({total} AS DOUBLE) / {count})"
            case _ if plain in MOMENTS:
                return _moment(plain, f"CAST({text} AS DOUBLE)", distinct, type)
        raise Refused(f"the engine does not compute {plain} of {type.name} exactly", f"measure_{plain}")

    def _order(self, keys: Sequence[SortKey]) -> str:
        texts = [
            f"{self._expressions.key(k.expression, _t)} {'DESC' if k.descending else 'ASC'} "
            f"NULLS {'FIRST' if k.nulls_first else 'LAST'}"
            for k in keys
            if not isinstance(k.expression, Literal)  # a constant orders nothing
        ]
        return f" ORDER BY {', '.join(texts)}" if texts else ""

    def _window(self, node: Window) -> str:
        if (no := sql.refusal(node, self._dialect)) is not None:
            raise Refused(no.reason, no.code, no.remedy)
        return sql.statement(node, self._step(node.input))


def _moment(function: str, number: str, distinct: str, type: DataType) -> str:
    """Return a deviation; of infinity and NaN, for which the engine has an error, it is NaN."""
    of = f"{MOMENTS[function]}({distinct}{number})"
    if not type.is_float:
        return of
    least = 1 if function.endswith("_pop") else 2
    finite = f"{of} FILTER (WHERE isfinite({number}))"
    return (
        f"CASE WHEN count(*) FILTER (WHERE NOT isfinite({number})) = 0 THEN {finite} "
        f"WHEN count({distinct}{number}) >= {least:d} THEN CAST('NaN' AS DOUBLE) END"
    )


def _side(name: str) -> Columns:
    return lambda index: f"{name}.c{index:d}"


_t, _l, _r = map(_side, "tlr")


def _column(field: Field) -> str:
    """Return a column of files by its name, the only text of a request that is no parameter."""
    if field.path or "\0" in field.name:
        raise Refused(f"the engine does not read the column {field.name!r}", "column")
    name = '"' + field.name.replace('"', '""') + '"'
    return f"CAST({name} AS {sql_type(field.type)})"


def _numbered(expressions: Sequence[str]) -> str:
    """Return the columns of a SELECT; a step without any has a dummy."""
    return ", ".join(f"{e} AS c{i:d}" for i, e in enumerate(expressions)) or "TRUE AS nothing"
