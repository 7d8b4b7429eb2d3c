"""The operators of DuckDB's bound, optimised plans as typed nodes, read from json_serialize_plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumpgate.client.duckdb.decode import Shape, flag, known, listed, text, whole
from jumpgate.client.duckdb.expressions import (
    AggregateCall,
    Bound,
    Elements,
    Order,
    WindowCall,
    comparison,
    read_expression,
    read_order,
)
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scans import (
    ColumnFilter,
    Scan,
    read_column_filters,
    read_columns,
    read_source,
    require_source,
)
from jumpgate.client.duckdb.types import SqlType, read_literal, read_type
from jumpgate.dataflow.expressions import Literal

#: operators on one path from the root
DEPTH_MAX = 150


@dataclass(frozen=True)
class Node:
    """An operator; `children` are its inputs."""

    children: tuple[Node, ...]


@dataclass(frozen=True)
class Get(Node):
    """Rows of `scan`. `filters` are over columns of the table, `columns` those that come out (None: one without a
    value, for rows that are only counted)."""

    scan: Scan
    filters: tuple[ColumnFilter, ...]
    columns: tuple[int | None, ...]


@dataclass(frozen=True)
class Rows(Node):
    """Constant rows: VALUES, long lists of IN, nothing at all."""

    types: tuple[SqlType, ...]
    rows: tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True)
class Filter(Node):
    predicates: tuple[Bound, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class Projection(Node):
    expressions: tuple[Bound, ...]


@dataclass(frozen=True)
class Aggregate(Node):
    groups: tuple[Bound, ...]
    calls: tuple[AggregateCall, ...]
    sets: tuple[tuple[int, ...], ...]
    groupings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Condition:
    """`left` is over the columns of the left input, `right` over those of the right one."""

    function: str
    left: Bound
    right: Bound


@dataclass(frozen=True)
class Join(Node):
    """`conditions` all hold. `distinct`: of a delim join the columns, of its right input if `flipped`, whose distinct
    values the DelimGets below its other input are. `is_exists`: of a mark join, that its mark is never NULL."""

    type: str
    conditions: tuple[Condition, ...]
    left_kept: tuple[int, ...]
    right_kept: tuple[int, ...]
    distinct: tuple[Bound, ...]
    flipped: bool
    is_exists: bool = False


@dataclass(frozen=True)
class AnyJoin(Node):
    """A join under any condition, which is over the columns of the left input and then those of the right one."""

    type: str
    condition: Bound
    left_kept: tuple[int, ...]
    right_kept: tuple[int, ...]


@dataclass(frozen=True)
class DelimGet(Node):
    types: tuple[SqlType, ...]


@dataclass(frozen=True)
class CrossProduct(Node):
    """Every pair of rows."""


@dataclass(frozen=True)
class Sort(Node):
    orders: tuple[Order, ...]
    kept: tuple[int, ...]
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class Limit(Node):
    count: int | None
    offset: int


@dataclass(frozen=True)
class Distinct(Node):
    targets: tuple[Bound, ...]


@dataclass(frozen=True)
class SetOperation(Node):
    """`name`: UNION, EXCEPT, INTERSECT."""

    name: str
    is_all: bool


@dataclass(frozen=True)
class Window(Node):
    calls: tuple[WindowCall, ...]


@dataclass(frozen=True)
class Unnest(Node):
    elements: Elements


@dataclass(frozen=True)
class Cte(Node):
    """The first child's rows, which CteRefs of that number below the second child read."""

    number: int


@dataclass(frozen=True)
class CteRef(Node):
    number: int
    types: tuple[SqlType, ...]


def read_plan(data: Any) -> Node:
    """The plan of one statement. Raises Stays, with DuckDB's reason where it gave no plan."""
    if not isinstance(data, dict) or data.get("error") is not False:
        reason = data.get("error_message") if isinstance(data, dict) else None
        raise Stays(f"DuckDB does not hand out its plan: {reason}")
    plans = data.get("plans")
    if data.keys() != {"error", "plans"} or not isinstance(plans, list) or len(plans) != 1:
        raise Stays("a text of several statements is not offloaded")
    return _read_node(plans[0], 0)


def _read_node(data: Any, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise Stays(f"more than {DEPTH_MAX} operators are nested")
    if not isinstance(data, dict) or not isinstance(data.get("children"), list):
        raise Stays("an operator is written in a way that is not known")
    shape = known(_SHAPES, "operator", data.get("type"))
    if data["type"] == "LOGICAL_GET":
        require_source(data.get("name"))
    children = tuple(_read_node(child, depth + 1) for child in data["children"])
    rest = {name: value for name, value in data.items() if name not in ("type", "children")}
    found = shape.decode(f"operator {data['type']}", rest)(children)
    assert isinstance(found, Node)
    return found


def _get(
    source: str, types: tuple[SqlType, ...], names: tuple[str, ...], picked: tuple[int, ...],
    indexes: tuple[int | None, ...], filters: Any, extra: None, data: Any,
) -> Any:  # fmt: skip
    columns = tuple(indexes[i] for i in picked) if picked else indexes
    scan = read_source(source, data, types, names)
    conditions = read_column_filters(filters, types)
    return lambda children: Get(children, scan, conditions, columns)


def _raw(data: Any) -> Any:
    """Read later, with what else is known."""
    return data


def _extra(data: Any) -> None:
    if data.get("sample_options") is not None:
        raise Stays("USING SAMPLE takes other rows each time")
    if data.keys() != {"file_filters", "total_files", "filtered_files", "sample_options"}:
        raise Stays("a scan has properties that are not known")


def _limit(limit: dict[str, Any], offset: dict[str, Any]) -> Any:
    count, skip = _bound(limit), _bound(offset)
    return lambda children: Limit(children, count, skip or 0)


def _bound(data: dict[str, Any]) -> int | None:
    if data.keys() != {"type", "constant_integer", "constant_percentage", "expression"}:
        raise Stays("a LIMIT is written in a way that is not known")
    if data["type"] == "UNSET":
        return None
    if data["type"] != "CONSTANT_VALUE" or data["expression"] is not None:
        raise Stays("a LIMIT or OFFSET that is no number is not offloaded")
    return whole(data["constant_integer"])


def _aggregate(groupings: tuple[tuple[int, ...], ...], sets: tuple[tuple[int, ...], ...], **properties: Any) -> Any:
    groups = properties["groups"]
    for call in properties["calls"]:
        if not isinstance(call, AggregateCall):
            raise Stays("an aggregate is written in a way that is not known")
    if not sets:
        sets = (tuple(range(len(groups))),)
    if any(not 0 <= i < len(groups) for s in (*sets, *groupings) for i in s):
        raise Stays("a grouping set is written in a way that is not known")
    return lambda children: Aggregate(children, sets=sets, groupings=groupings, **properties)


def _window(calls: tuple[Bound, ...]) -> Any:
    found = tuple(call for call in calls if isinstance(call, WindowCall))
    if len(found) < len(calls):
        raise Stays("a window function is written in a way that is not known")
    return lambda children: Window(children, found)


def _unnest(calls: tuple[Bound, ...]) -> Any:
    if len(calls) != 1 or not isinstance(calls[0], Elements):
        raise Stays("UNNEST of several lists, side by side, is not offloaded")
    return lambda children: Unnest(children, calls[0])


def _chunk(types: tuple[SqlType, ...], collection: Any) -> Any:
    if not isinstance(collection, dict) or collection.keys() != {"types", "values"}:
        raise Stays("constant rows are written in a way that is not known")
    columns = []
    for type, values in zip(types, collection["values"], strict=True):
        of_type = tuple(read_literal(value) for value in values)
        if any(t != type for t, _ in of_type):
            raise Stays("constant rows are written in a way that is not known")
        columns.append([literal for _, literal in of_type])
    rows = tuple(zip(*columns, strict=True))
    return lambda children: Rows(children, types, rows)


def _values(types: tuple[SqlType, ...], rows: tuple[tuple[Bound, ...], ...]) -> Any:
    found = tuple(tuple(getattr(e, "literal", None) for e in row) for row in rows)
    if any(literal is None for row in found for literal in row):
        raise Stays("VALUES that are no constants are not offloaded")
    return lambda children: Rows((), types, found)  # type: ignore[arg-type]


def _condition(data: Any) -> Condition:
    if not isinstance(data, dict) or data.keys() != {"left", "right", "comparison"}:
        raise Stays("a join condition is written in a way that is not known")
    return Condition(comparison(data["comparison"]), read_expression(data["left"]), read_expression(data["right"]))


def _of(build: Any, **more: Any) -> Any:
    """Makes what takes the children of a node's properties."""
    return lambda **properties: lambda children: build(children, **properties, **more)


_expressions, _types, _indices = listed(read_expression), listed(read_type), listed(whole)
_NUMBERED = frozenset(("table_index",))
_SIDES = {
    "join_type": ("type", text),
    "left_projection_map": ("left_kept", _indices),
    "right_projection_map": ("right_kept", _indices),
}
_JOIN = Shape(
    _of(Join),
    {
        **_SIDES,
        "conditions": ("conditions", listed(_condition)),
        "duplicate_eliminated_columns": ("distinct", _expressions),
        "delim_flipped": ("flipped", flag),
    },
    {"predicate": (None,)},
    frozenset(("mark_index", "mark_types")),
)


def _set(name: str) -> Shape:
    fields = {"setop_all": ("is_all", flag)}
    return Shape(_of(SetOperation, name=name), fields, ignored=_NUMBERED | {"column_count", "allow_out_of_order"})


_SHAPES = {
    "LOGICAL_GET": Shape(
        _get,
        {
            "name": ("source", text), "returned_types": ("types", _types), "names": ("names", listed(text)),
            "projection_ids": ("picked", _indices), "column_indexes": ("indexes", read_columns),
            "table_filters": ("filters", _raw), "extra_info": ("extra", _extra),
            "function_data": ("data", _raw),
        },
        {"projected_input": ([],), "row_group_order_options": (None,), "has_serialize": (True,),
         "catalog_name": ("", "system"), "schema_name": ("", "main"), "original_arguments": ([],),
         "ordinality_idx": (2**64 - 1,)},
        _NUMBERED | {"arguments"},
    ),
    "LOGICAL_CHUNK_GET": Shape(
        _chunk, {"chunk_types": ("types", _types), "collection": ("collection", _raw)}, ignored=_NUMBERED
    ),
    "LOGICAL_EXPRESSION_GET": Shape(
        _values, {"expr_types": ("types", _types), "expressions": ("rows", listed(_expressions))}, ignored=_NUMBERED
    ),
    "LOGICAL_DUMMY_SCAN": Shape(_of(Rows, types=(), rows=((),)), ignored=_NUMBERED),
    "LOGICAL_EMPTY_RESULT": Shape(
        _of(Rows, rows=()), {"return_types": ("types", _types)}, ignored=frozenset(("bindings",))
    ),
    "LOGICAL_FILTER": Shape(
        _of(Filter), {"expressions": ("predicates", _expressions), "projection_map": ("kept", _indices)}
    ),
    "LOGICAL_PROJECTION": Shape(_of(Projection), {"expressions": ("expressions", _expressions)}, ignored=_NUMBERED),
    "LOGICAL_AGGREGATE_AND_GROUP_BY": Shape(
        _aggregate,
        {
            "groups": ("groups", _expressions), "expressions": ("calls", _expressions),
            "grouping_sets": ("sets", listed(_indices)), "grouping_functions": ("groupings", listed(_indices)),
        },
        ignored=frozenset(("group_index", "aggregate_index", "groupings_index", "distinct_validity")),
    ),
    "LOGICAL_COMPARISON_JOIN": _JOIN,
    "LOGICAL_DELIM_JOIN": _JOIN,
    "LOGICAL_ANY_JOIN": Shape(
        _of(AnyJoin), {**_SIDES, "condition": ("condition", read_expression)}, ignored=frozenset(("mark_index",))
    ),
    "LOGICAL_DELIM_GET": Shape(_of(DelimGet), {"chunk_types": ("types", _types)}, ignored=_NUMBERED),
    "LOGICAL_CROSS_PRODUCT": Shape(_of(CrossProduct)),
    "LOGICAL_ORDER_BY": Shape(_of(Sort), {"orders": ("orders", listed(read_order)), "projections": ("kept", _indices)}),
    "LOGICAL_TOP_N": Shape(
        _of(Sort, kept=()),
        {"orders": ("orders", listed(read_order)), "limit": ("limit", whole), "offset": ("offset", whole)},
    ),
    "LOGICAL_LIMIT": Shape(
        _limit, {"limit_val": ("limit", _raw), "offset_val": ("offset", _raw)}
    ),
    "LOGICAL_DISTINCT": Shape(
        _of(Distinct), {"distinct_targets": ("targets", _expressions)},
        {"distinct_type": ("DISTINCT",), "order_by": (None,)},
    ),
    "LOGICAL_UNION": _set("UNION"),
    "LOGICAL_EXCEPT": _set("EXCEPT"),
    "LOGICAL_INTERSECT": _set("INTERSECT"),
    "LOGICAL_WINDOW": Shape(_window, {"expressions": ("calls", _expressions)}, ignored=frozenset(("window_index",))),
    "LOGICAL_UNNEST": Shape(_unnest, {"expressions": ("calls", _expressions)}, ignored=frozenset(("unnest_index",))),
    "LOGICAL_MATERIALIZED_CTE": Shape(
        _of(Cte), {"table_index": ("number", whole)}, ignored=frozenset(("column_count", "ctename", "materialize"))
    ),
    "LOGICAL_CTE_REF": Shape(
        _of(CteRef), {"cte_index": ("number", whole), "chunk_types": ("types", _types)}, {"is_recurring": (False,)},
        _NUMBERED | {"bound_columns"},
    ),
}  # fmt: skip
