"""Runs a dataflow on Arrow's own engine, Acero, over pyarrow datasets: one of the yardsticks for ORC."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero, dataset

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Operator, Project, Read, Sort
from jumpgate.dataflow.types import DataType

_BINARY = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
}  # fmt: skip
_AGGREGATES = {
    "sum": "hash_sum", "avg": "hash_mean", "min": "hash_min", "max": "hash_max", "count": "hash_count",
    "count_star": "hash_count_all",
}  # fmt: skip
_JOINS = {"inner": "inner", "left": "left outer", "right": "right outer", "full": "full outer", "semi": "left semi",
          "anti": "left anti"}  # fmt: skip


def run(root: Operator) -> pa.Table:
    """The result of a dataflow without joins' residuals, on all of Arrow's threads. Shared operators run once."""
    counts: dict[int, int] = {}

    def count(node: Operator) -> None:
        counts[id(node)] = counts.get(id(node), 0) + 1
        if counts[id(node)] == 1:
            for child in node.inputs:
                count(child)

    count(root)
    tables: dict[int, pa.Table] = {}

    def visit(node: Operator) -> acero.Declaration:
        if counts[id(node)] == 1:
            return _declare(node, visit)
        if id(node) not in tables:
            tables[id(node)] = _declare(node, visit).to_table()
        return acero.Declaration("table_source", acero.TableSourceNodeOptions(tables[id(node)]))

    return visit(root).to_table().rename_columns(list(root.schema.names))


def _names(node: Operator) -> list[str]:
    """Unique names by position, so that a join cannot confuse two columns."""
    return [f"c{i}" for i in range(len(node.schema))]


def _declare(node: Operator, visit) -> acero.Declaration:  # type: ignore[no-untyped-def]
    match node:
        case Read():
            source = dataset.dataset(list(node.files), format=node.format)
            return _scan(node, source, None)
        case Filter(input=Read() as read):
            source = dataset.dataset(list(read.files), format=read.format)
            by_name = [pc.field(name) for name in read.schema.names]
            scan = _scan(read, source, _expression(node.predicate, by_name))
            return _then("filter", acero.FilterNodeOptions(_expression(node.predicate, _fields(read))), scan)
        case Filter():
            return _then(
                "filter", acero.FilterNodeOptions(_expression(node.predicate, _fields(node.input))), visit(node.input)
            )
        case Project():
            expressions = [_expression(e, _fields(node.input)) for e in node.expressions]
            return _then("project", acero.ProjectNodeOptions(expressions, _names(node)), visit(node.input))
        case Join():
            return _join(node, visit)
        case Aggregate():
            return _aggregate(node, visit)
        case Sort():
            keys = [
                (
                    f"c{_index(k.expression)}",
                    "descending" if k.descending else "ascending",
                    "at_start" if k.nulls_first else "at_end",
                )
                for k in node.keys
            ]
            table = _then("order_by", acero.OrderByNodeOptions(keys), visit(node.input))
            rows = table.to_table().slice(node.offset, node.limit)
            return acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    raise NotImplementedError(type(node).__name__)


def _scan(read: Read, source: dataset.Dataset, predicate: pc.Expression | None) -> acero.Declaration:
    columns = {name: pc.field(name) for name in read.schema.names}
    options = {} if predicate is None else {"filter": predicate}
    scan = acero.Declaration("scan", acero.ScanNodeOptions(source, columns=columns, **options))
    # a scan yields the file's columns by name (and some of its own): put ours into their places
    return _then("project", acero.ProjectNodeOptions(list(columns.values()), _names(read)), scan)


def _join(node: Join, visit) -> acero.Declaration:  # type: ignore[no-untyped-def]
    left, right = (_with_keys(i, k, visit) for i, k in ((node.left, node.left_keys), (node.right, node.right_keys)))
    keys = [f"k{i}" for i in range(len(node.left_keys))]
    options = acero.HashJoinNodeOptions(
        _JOINS[node.type], keys, keys,
        left_output=_names(node.left), right_output=[] if node.type in ("semi", "anti") else _names(node.right),
        output_suffix_for_left="_l", output_suffix_for_right="_r",
    )  # fmt: skip
    joined = acero.Declaration("hashjoin", options, inputs=[left, right])
    positions = [pc.field(i) for i in range(len(node.schema))]
    return _then("project", acero.ProjectNodeOptions(positions, _names(node)), joined)


def _with_keys(node: Operator, keys: tuple[Expression, ...], visit) -> acero.Declaration:  # type: ignore[no-untyped-def]
    names = [*_names(node), *(f"k{i}" for i in range(len(keys)))]
    expressions = [*_fields(node), *(_expression(k, _fields(node)) for k in keys)]
    return _then("project", acero.ProjectNodeOptions(expressions, names), visit(node))


def _aggregate(node: Aggregate, visit) -> acero.Declaration:  # type: ignore[no-untyped-def]
    keys = [_expression(k, _fields(node.input)) for k in node.keys]
    arguments = [
        pc.scalar(1) if m.argument is None else _expression(m.argument, _fields(node.input)) for m in node.measures
    ]
    names = [f"k{i}" for i in range(len(keys))]
    inputs = _then(
        "project",
        acero.ProjectNodeOptions([*keys, *arguments], [*names, *(f"a{i}" for i in range(len(arguments)))]),
        visit(node.input),
    )
    measures = []
    for i, m in enumerate(node.measures):
        function = _AGGREGATES[m.function].removeprefix("" if keys else "hash_")
        target = [] if m.function == "count_star" else [f"a{i}"]
        measures.append((target, function, None, f"m{i}"))
    grouped = _then("aggregate", acero.AggregateNodeOptions(measures, keys=names or None), inputs)
    ordered = [*(pc.field(n) for n in names), *(pc.field(f"m{i}") for i in range(len(measures)))]
    return _then("project", acero.ProjectNodeOptions(ordered, _names(node)), grouped)


def _then(kind: str, options: object, source: acero.Declaration) -> acero.Declaration:
    return acero.Declaration(kind, options, inputs=[source])


def _fields(node: Operator) -> list[pc.Expression]:
    return [pc.field(name) for name in _names(node)]


def _index(expression: Expression) -> int:
    assert isinstance(expression, ColumnRef)
    return expression.index


def _expression(e: Expression, columns: list[pc.Expression]) -> pc.Expression:
    match e:
        case ColumnRef():
            return columns[e.index]
        case Literal():
            return pc.scalar(pa.scalar(e.value, _type(e.type)))
        case Cast():
            return _expression(e.input, columns).cast(_type(e.type), safe=False)
        case InList():
            return _expression(e.input, columns).isin([option.value for option in e.options])
    assert isinstance(e, Call)
    arguments = [_expression(a, columns) for a in e.args]
    if e.function in ("and", "or"):
        combined = arguments[0]
        for argument in arguments[1:]:
            combined = combined & argument if e.function == "and" else combined | argument
        return combined
    if e.function == "is_null":
        return arguments[0].is_null()
    if e.function == "coalesce":
        return pc.coalesce(*arguments)
    return getattr(pc, _BINARY[e.function])(*arguments)


def _type(type: DataType) -> pa.DataType:
    if type.kind == "decimal":
        return pa.decimal128(type.precision, type.scale)
    return {"bool": pa.bool_(), "float32": pa.float32(), "float64": pa.float64(), "date": pa.date32(),
            "timestamp": pa.timestamp("us"), "string": pa.string(), "binary": pa.binary()}.get(
                type.kind) or getattr(pa, type.kind)()  # fmt: skip
