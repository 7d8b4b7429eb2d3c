"""Plans in a form in which two that mean the same are equal, whatever tables and columns are numbered or called."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpgate.client.duckdb.above import FLIPPED, by_kind, flipped, kept, limits_of, mark_condition, table_behind
from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scanned import columns_of, conditions_of, replaced
from jumpgate.client.duckdb.written import REPLACED

#: fields of expressions that do not bear on the answer
_IGNORED = frozenset(("alias", "query_location", "is_operator"))


@dataclass(frozen=True)
class Form:
    """A plan, and where in its tree each of its columns is. Projections that only pick columns are not in the tree."""

    tree: Any
    columns: tuple[str, ...]

    @property
    def whole(self) -> Any:
        """The plan with the order of its columns, in which it is compared."""
        return [self.tree, list(self.columns)]


@dataclass
class Canonical:
    """Makes forms; tables: names of those that stand behind scans, by the scans' files. cuts: numbers of cuts, by the
    tables that hold their results."""

    tables: Mapping[str, str]
    cuts: Mapping[str, int]
    #: places of CTEs in the order in which they are met, by their numbers in the plan
    ctes: dict[int, int] = field(default_factory=dict)

    def form(self, data: Any) -> Form:
        """The form of a plan. Raises Stays."""
        kind = data["type"]
        if kind not in _FORMS:
            raise Stays(f"operator {kind} is not compared")
        return _FORMS[kind](self, data)

    def input(self, data: Any) -> Form:
        (child,) = data["children"]
        return self.form(child)


def _expression(data: Any, columns: tuple[str, ...]) -> Any:
    def place(ref: Any) -> Any:
        return {"place": columns[ref["index"]], "return_type": ref["return_type"]}

    return _plain(replaced(data, place))


def _plain(data: Any) -> Any:
    """Without what does not bear on the answer; BETWEEN is two comparisons."""
    if isinstance(data, list):
        return [_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("expression_class") == "BOUND_BETWEEN":
        sides = (("lower", "COMPARE_GREATERTHAN"), ("upper", "COMPARE_LESSTHAN"))
        terms = [
            {"expression_class": "BOUND_COMPARISON", "left": data["input"], "right": data[side],
             "type": name + "OREQUALTO" * data[f"{side}_inclusive"]}
            for side, name in sides
        ]  # fmt: skip
        data = {"expression_class": "BOUND_CONJUNCTION", "type": "CONJUNCTION_AND", "children": terms}
    found = {name: _plain(item) for name, item in data.items() if name not in _IGNORED}
    if found.get("expression_class") in ("BOUND_AGGREGATE", "BOUND_WINDOW"):
        found["name"] = REPLACED.get(found.get("name", ""), found.get("name"))
    if found.get("expression_class") == "BOUND_CONJUNCTION":
        found["children"] = _terms(found["children"], found["type"])
    return found


def _terms(items: list[Any], kind: str = "CONJUNCTION_AND") -> list[Any]:
    """The terms of a conjunction of conjunctions."""
    parts = [item["children"] if item.get("type") == kind else [item] for item in items]
    return [term for part in parts for term in part]


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _numbered(tree: Any, width: int) -> Form:
    return Form(tree, tuple(str(i) for i in range(width)))


def _cut(self: Canonical, data: Any) -> Form:
    return _numbered(["cut", data["number"]], data["width"])


def _get(self: Canonical, data: Any) -> Form:
    own = data["function_data"]
    if data["name"] == "seq_scan" and own.get("table") in self.cuts and not data["table_filters"]["filters"]:
        return Form(["cut", self.cuts[own["table"]]], tuple(map(str, columns_of(data))))
    if data["name"] not in ("parquet_scan", "read_parquet"):
        raise Stays("it reads what is no table of the connection")
    places = tuple(map(str, range(len(data["names"]))))
    tree: Any = ["get", table_behind(data, self.tables), data["names"], data["returned_types"]]
    conditions = [_expression(item, places) for item in conditions_of(data)]
    if conditions:
        tree = ["filter", _sorted(_terms(conditions)), tree]
    return Form(tree, tuple(map(str, columns_of(data))))


def _projection(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    if all(e["expression_class"] == "BOUND_REF" for e in data["expressions"]):
        return Form(found.tree, tuple(found.columns[e["index"]] for e in data["expressions"]))
    values = [_expression(e, found.columns) for e in data["expressions"]]
    return _numbered(["project", values, found.tree], len(values))


def _filter(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    terms = _terms([_expression(e, found.columns) for e in data["expressions"]])
    tree = found.tree
    if tree[0] == "filter":
        terms, tree = [*terms, *tree[1]], tree[2]
    columns = tuple(found.columns[i] for i in kept(data["projection_map"], len(found.columns)))
    return Form(["filter", _sorted(terms), tree], columns)


def _aggregate(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    groups, calls = ([_expression(e, found.columns) for e in data[name]] for name in ("groups", "expressions"))
    sets = data["grouping_sets"] or [list(range(len(groups)))]
    tree = ["aggregate", groups, calls, sets, data["grouping_functions"], found.tree]
    return _numbered(tree, len(groups) + len(calls) + len(data["grouping_functions"]))


def _window(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    calls = [_expression(e, found.columns) for e in data["expressions"]]
    below = tuple(f"I{place}" for place in found.columns)
    return Form([data["type"], calls, found.tree], (*below, *(str(i) for i in range(len(calls)))))


def _ordered(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    tree = ["order", [_expression(o, found.columns) for o in data["orders"]], found.tree]
    columns = tuple(found.columns[i] for i in kept(data.get("projections", ()), len(found.columns)))
    if data["type"] == "LOGICAL_TOP_N":
        tree = ["limit", data["limit"], data["offset"], tree]
    return Form(tree, columns)


def _limit(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    return Form(["limit", *limits_of(data), found.tree], found.columns)


def _distinct(self: Canonical, data: Any) -> Form:
    found = self.input(data)
    indexes = [target.get("index") for target in data["distinct_targets"]]
    if data["distinct_type"] != "DISTINCT" or data["order_by"] is not None or indexes != [*range(len(found.columns))]:
        raise Stays("DISTINCT ON is not compared")
    return _numbered(["distinct", found.whole], len(found.columns))


def _set(self: Canonical, data: Any) -> Form:
    parts = [self.form(child) for child in data["children"]]
    name = data["type"] + " ALL" * data["setop_all"]
    trees: list[Any] = []
    for part in parts:
        flat = name == "LOGICAL_UNION ALL" and part.tree[0] == name
        is_plain = part.columns == tuple(map(str, range(len(part.columns))))
        trees += part.tree[1] if flat and is_plain else [part.whole]
    return _numbered([name, trees], len(parts[0].columns))


def _join(self: Canonical, data: Any) -> Form:
    if data["join_type"] in FLIPPED:
        data = flipped(data)
    if data.get("predicate") is not None or data.get("duplicate_eliminated_columns"):
        raise Stays("a join of that kind is not compared")
    left, right = map(self.form, data["children"])
    sides = tuple(f"L{place}" for place in left.columns), tuple(f"R{place}" for place in right.columns)
    columns = tuple(sides[0][i] for i in kept(data["left_projection_map"], len(left.columns)))
    if data["join_type"] == "MARK":
        condition = mark_condition(data)
        options = _picked(right, condition["right"]).whole
        tree = ["mark", _expression(condition["left"], sides[0]), condition["comparison"], options, left.tree]
        return Form(tree, (*columns, "mark"))
    if data["join_type"] not in ("SEMI", "ANTI"):
        columns += tuple(sides[1][i] for i in kept(data["right_projection_map"], len(right.columns)))
    if data["type"] == "LOGICAL_ANY_JOIN":
        terms = _sorted(_terms([_expression(data["condition"], (*sides[0], *sides[1]))]))
        if data["join_type"] == "INNER":
            return Form(["filter", terms, ["cross", left.tree, right.tree]], columns)
        return Form(["any", data["join_type"], terms, left.tree, right.tree], columns)
    terms = [
        [_expression(c["left"], sides[0]), c["comparison"], _expression(c["right"], sides[1])]
        for c in data["conditions"]
    ]
    return Form(["join", data["join_type"], _sorted(terms), left.tree, right.tree], columns)


def _picked(found: Form, value: Any) -> Form:
    """The rows with one column, which is a value over theirs."""
    if value["expression_class"] == "BOUND_REF":
        return Form(found.tree, (found.columns[value["index"]],))
    return _numbered(["project", [_expression(value, found.columns)], found.tree], 1)


def _cte(self: Canonical, data: Any) -> Form:
    definition, query = data["children"]
    rows = self.form(definition).whole
    self.ctes[data["table_index"]] = len(self.ctes)
    found = self.form(query)
    return Form(["cte", rows, found.tree], found.columns)


def _cte_ref(self: Canonical, data: Any) -> Form:
    if data["cte_index"] not in self.ctes or data["is_recurring"]:
        raise Stays("a recursive CTE is not compared")
    return _numbered(["cte ref", self.ctes[data["cte_index"]]], len(data["chunk_types"]))


def _cross(self: Canonical, data: Any) -> Form:
    left, right = map(self.form, data["children"])
    columns = (*(f"L{place}" for place in left.columns), *(f"R{place}" for place in right.columns))
    return Form(["cross", left.tree, right.tree], columns)


_FORMS: Mapping[str, Callable[[Canonical, Any], Form]] = by_kind(
    cut=_cut, get=_get, projection=_projection, filter=_filter, aggregate=_aggregate, window=_window, ordered=_ordered,
    limit=_limit, distinct=_distinct, set=_set, join=_join, cross=_cross, cte=_cte, cte_ref=_cte_ref,
)  # fmt: skip


def same(ours: Form, theirs: Form) -> bool:
    """Return whether two plans are equal. Numbers are compared as they are written: −0.0 is not 0.0, 1 is not true."""
    return json.dumps(ours.whole, sort_keys=True) == json.dumps(theirs.whole, sort_keys=True)
