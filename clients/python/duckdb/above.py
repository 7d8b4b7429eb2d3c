"""Operators of DuckDB's plans as one SQL text: nested queries whose columns are c0, c1 …"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scanned import columns_of, conditions_of
from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.duckdb.written import COMPARED, write, write_order

#: how a node is named that a cut stands for: its properties are the number of the cut and that of its columns
CUT = "CUT"
#: nodes that are written and compared, with the names of those that are alike
_KINDS = {
    CUT: "cut", "LOGICAL_GET": "get", "LOGICAL_PROJECTION": "projection", "LOGICAL_FILTER": "filter",
    "LOGICAL_AGGREGATE_AND_GROUP_BY": "aggregate", "LOGICAL_WINDOW": "window", "LOGICAL_UNNEST": "window",
    "LOGICAL_ORDER_BY": "ordered", "LOGICAL_TOP_N": "ordered", "LOGICAL_LIMIT": "limit", "LOGICAL_DISTINCT": "distinct",
    "LOGICAL_UNION": "set", "LOGICAL_EXCEPT": "set", "LOGICAL_INTERSECT": "set", "LOGICAL_COMPARISON_JOIN": "join",
    "LOGICAL_ANY_JOIN": "join", "LOGICAL_CROSS_PRODUCT": "cross", "LOGICAL_MATERIALIZED_CTE": "cte",
    "LOGICAL_CTE_REF": "cte_ref",
}  # fmt: skip
_JOINS = {"INNER": "INNER", "LEFT": "LEFT", "RIGHT": "RIGHT", "FULL": "FULL", "SEMI": "SEMI", "ANTI": "ANTI"}
#: joins that are written as others with the sides exchanged
FLIPPED = {"RIGHT_SEMI": "SEMI", "RIGHT_ANTI": "ANTI"}
_SWAPPED = {
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}  # fmt: skip


F = TypeVar("F")


@dataclass(frozen=True)
class Text:
    """A query with so many columns."""

    sql: str
    width: int

    @property
    def inner(self) -> str:
        """The query as a table."""
        return f"({self.sql})"


def cut_name(number: int) -> str:
    """The name of the table that holds a cut's result."""
    return f"jumpgate cut {number}"


def flipped(data: Any) -> Any:
    """A join of the right side with the left one, which keeps the left one's columns."""
    conditions = [
        {"left": c["right"], "right": c["left"], "comparison": _SWAPPED.get(c["comparison"], c["comparison"])}
        for c in data["conditions"]
    ]
    return {**data, "join_type": FLIPPED[data["join_type"]], "children": data["children"][::-1],
            "conditions": conditions, "left_projection_map": data["right_projection_map"],
            "right_projection_map": data["left_projection_map"]}  # fmt: skip


def by_kind(**functions: F) -> dict[str, F]:
    """Return the function of each kind of node; there is one for each name."""
    return {kind: functions[name] for kind, name in _KINDS.items()}


def kept(positions: Sequence[int], width: int) -> Sequence[int]:
    """The columns that an operator keeps; all where none is named."""
    return positions or range(width)


@dataclass
class Writer:
    """Writes one plan; tables: names of those that stand behind scans, by the scans' files."""

    tables: Mapping[str, str]

    def write(self, data: Any) -> Text:
        """The query that a node is, with all below it. Raises Stays."""
        kind = data["type"]
        if kind not in _WRITERS:
            raise Stays(f"operator {kind} is not written as SQL")
        return _WRITERS[kind](self, data)

    def input(self, data: Any) -> Text:
        """The query that the only input of a node is."""
        (child,) = data["children"]
        return self.write(child)


def _column(index: int) -> str:
    return f"t.c{index}"


def _select(values: Sequence[str], source: str) -> Text:
    if not values:
        raise Stays("rows without columns are not written as SQL")
    columns = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values))
    return Text(f"SELECT {columns} FROM {source}", len(values))


def _cut(writer: Writer, data: Any) -> Text:
    return _select([_column(i) for i in range(data["width"])], f"{quoted(cut_name(data['number']))} t")


def table_behind(data: Any, tables: Mapping[str, str]) -> str:
    """The name of the table that a scan reads. Raises Stays."""
    files = set(data["function_data"].get("files", ()))
    if len(files) != 1 or (name := tables.get(files.pop())) is None:
        raise Stays("it reads what is no table of the connection")
    return name


def _get(writer: Writer, data: Any) -> Text:
    name = quoted(table_behind(data, writer.tables))

    def column(index: int) -> str:
        return f"t.{quoted(data['names'][index])}"

    found = _select([column(i) for i in columns_of(data)], f"{name} t")
    conditions = [write(item, column) for item in conditions_of(data)]
    return Text(found.sql + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), found.width)


def _projection(writer: Writer, data: Any) -> Text:
    return _select([write(e, _column) for e in data["expressions"]], f"{writer.input(data).inner} t")


def _filter(writer: Writer, data: Any) -> Text:
    found = writer.input(data)
    positions = kept(data["projection_map"], found.width)
    text = _select([_column(i) for i in positions], f"{found.inner} t")
    return Text(text.sql + " WHERE " + " AND ".join(write(e, _column) for e in data["expressions"]), text.width)


def _aggregate(writer: Writer, data: Any) -> Text:
    groups = [write(e, _column) for e in data["groups"]]
    groupings = [f"GROUPING({', '.join(groups[i] for i in some)})" for some in data["grouping_functions"]]
    calls = [write(e, _column) for e in data["expressions"]]
    found = _select([*groups, *calls, *groupings], f"{writer.input(data).inner} t")
    sets = data["grouping_sets"] or [list(range(len(groups)))]
    if sets == [list(range(len(groups)))]:
        return Text(found.sql + (f" GROUP BY {', '.join(groups)}" if groups else ""), found.width)
    written = ", ".join("({})".format(", ".join(groups[i] for i in some)) for some in sets)
    return Text(f"{found.sql} GROUP BY GROUPING SETS ({written})", found.width)


def _window(writer: Writer, data: Any) -> Text:
    found = writer.input(data)
    columns = [_column(i) for i in range(found.width)]
    return _select([*columns, *(write(e, _column) for e in data["expressions"])], f"{found.inner} t")


def _ordered(writer: Writer, data: Any) -> Text:
    found = writer.input(data)
    text = _select([_column(i) for i in kept(data.get("projections", ()), found.width)], f"{found.inner} t")
    sql = f"{text.sql} ORDER BY " + ", ".join(write_order(o, _column) for o in data["orders"])
    if data["type"] == "LOGICAL_TOP_N":
        sql += f" LIMIT {data['limit']} OFFSET {data['offset']}"
    return Text(sql, text.width)


def limits_of(data: Any) -> tuple[int | None, int]:
    """The number of rows that a LIMIT gives, None: all, and of those that it skips. Raises Stays."""
    found = []
    for item in (data["limit_val"], data["offset_val"]):
        if item["type"] not in ("UNSET", "CONSTANT_VALUE") or item["expression"] is not None:
            raise Stays("a LIMIT or OFFSET that is no number is not written as SQL")
        found.append(None if item["type"] == "UNSET" else item["constant_integer"])
    return found[0], found[1] or 0


def _limit(writer: Writer, data: Any) -> Text:
    count, offset = limits_of(data)
    found = writer.input(data)
    below = data["children"][0]["type"]
    source = found.sql if below == "LOGICAL_ORDER_BY" else _all(found)
    return Text(source + ("" if count is None else f" LIMIT {count}") + f" OFFSET {offset}", found.width)


def _all(found: Text) -> str:
    return _select([_column(i) for i in range(found.width)], f"{found.inner} t").sql


def _distinct(writer: Writer, data: Any) -> Text:
    if data["distinct_type"] != "DISTINCT" or data["order_by"] is not None:
        raise Stays("DISTINCT ON is not written as SQL")
    found = writer.input(data)
    return Text(_all(found).replace("SELECT", "SELECT DISTINCT", 1), found.width)


def _set(writer: Writer, data: Any) -> Text:
    word = data["type"].removeprefix("LOGICAL_") + " ALL" * data["setop_all"]
    parts = [writer.write(child) for child in data["children"]]
    text = f" {word} ".join(part.inner for part in parts)
    return Text(text, parts[0].width)


def mark_condition(data: Any) -> Any:
    """The only condition of a mark join, which compares as ANY does. Raises Stays."""
    conditions = data.get("conditions", ())
    if len(conditions) != 1 or "DISTINCT" in conditions[0]["comparison"]:
        raise Stays("a mark join of other conditions than one comparison is not written as SQL")
    return conditions[0]


def _marked(writer: Writer, data: Any) -> Text:
    """The left rows, with a column that says whether some right row compares so."""
    condition = mark_condition(data)
    left, right = map(writer.write, data["children"])
    options = f"SELECT {write(condition['right'], _column)} AS c0 FROM {right.inner} t"
    mark = f"({write(condition['left'], lambda i: f'l.c{i}')} {COMPARED[condition['comparison']]} ANY ({options}))"
    columns = [f"l.c{i}" for i in kept(data["left_projection_map"], left.width)]
    return _select([*columns, mark], f"{left.inner} l")


def _cte(writer: Writer, data: Any) -> Text:
    definition, query = map(writer.write, data["children"])
    name = quoted(_cte_name(data["table_index"]))
    return Text(f"WITH {name} AS MATERIALIZED ({definition.sql}) {_all(query)}", query.width)


def _cte_ref(writer: Writer, data: Any) -> Text:
    if data["is_recurring"]:
        raise Stays("a recursive CTE is not written as SQL")
    columns = [_column(i) for i in range(len(data["chunk_types"]))]
    return _select(columns, f"{quoted(_cte_name(data['cte_index']))} t")


def _cte_name(number: int) -> str:
    return f"jumpgate cte {number}"


def _join(writer: Writer, data: Any) -> Text:
    if data["join_type"] in FLIPPED:
        data = flipped(data)
    if data["join_type"] == "MARK" and not (data.get("predicate") or data.get("duplicate_eliminated_columns")):
        return _marked(writer, data)
    kind = _JOINS.get(data["join_type"])
    if kind is None or data.get("predicate") is not None or data.get("duplicate_eliminated_columns"):
        raise Stays(f"a join of type {data['join_type']} is not written as SQL")
    left, right = map(writer.write, data["children"])
    if data["type"] == "LOGICAL_ANY_JOIN":
        terms = [write(data["condition"], lambda i: f"l.c{i}" if i < left.width else f"r.c{i - left.width}")]
    else:
        terms = [
            f"({write(c['left'], lambda i: f'l.c{i}')} {COMPARED[c['comparison']]} "
            f"{write(c['right'], lambda i: f'r.c{i}')})"
            for c in data["conditions"]
        ]
    columns = [f"l.c{i}" for i in kept(data["left_projection_map"], left.width)]
    if kind not in ("SEMI", "ANTI"):
        columns += [f"r.c{i}" for i in kept(data["right_projection_map"], right.width)]
    return _select(columns, f"{left.inner} l {kind} JOIN {right.inner} r ON {' AND '.join(terms)}")


def _cross(writer: Writer, data: Any) -> Text:
    left, right = map(writer.write, data["children"])
    columns = [f"{side}.c{i}" for side, part in (("l", left), ("r", right)) for i in range(part.width)]
    return _select(columns, f"{left.inner} l CROSS JOIN {right.inner} r")


_WRITERS: Mapping[str, Callable[[Writer, Any], Text]] = by_kind(
    cut=_cut, get=_get, projection=_projection, filter=_filter, aggregate=_aggregate, window=_window, ordered=_ordered,
    limit=_limit, distinct=_distinct, set=_set, join=_join, cross=_cross, cte=_cte, cte_ref=_cte_ref,
)  # fmt: skip
