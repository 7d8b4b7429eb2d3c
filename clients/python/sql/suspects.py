"""Texts that DataFusion is known to answer otherwise than SQL means them: DuckDB answers those (by_duckdb).

They are found in the tree of DuckDB's parser, with the types of the columns that the text names. A rule may take more
than what is wrong, never less: what it does not know it takes for the worst. What only the text shows, because the
tree already has it resolved (windows that refine a named one, ANY beside IN), is found in the tokens.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import duckdb

from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.tokens import parts_of

Tree = dict[str, Any]
#: a type of a value as far as the rules ask; UNKNOWN of a name that is no column's
Kinds = frozenset[str]
UNKNOWN = "unknown"

TREES_MAX = 256
#: unit of a timestamp → digits after the point of its seconds that DuckDB has
_DIGITS = {"s": 0, "m": 3, "u": 6, "n": 6}
#: functions that make an interval of parts of a day → digits after the point of its seconds
_PARTS = {"to_hours": 0, "to_minutes": 0, "to_seconds": 0, "to_milliseconds": 3, "to_microseconds": 6}
_UNITS = ("hour", "minute", "second", "milli", "micro", ":")
_COMPARING = ("COMPARISON", "BETWEEN")
_QUANTIFIED = frozenset({"=", "==", "<>", "!=", "<", ">", "<=", ">="})
_WINDOW_STARTS = frozenset({"PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS", ")", "SELECT", "WITH", "VALUES", "FROM"})
#: functions whose value is one of their arguments
_PASSING = frozenset(
    {"min", "max", "coalesce", "first", "last", "first_value", "last_value", "any_value", "lag", "lead", "nth_value"}
    | {"greatest", "least", "nullif", "ifnull", "date_trunc", "arg_min", "arg_max", "mode", "avg", "median", "+", "-"}
)
#: functions in FROM that give as many rows as they are told
_GENERATORS = frozenset({"range", "generate_series"})
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_TEMPORAL = ("date32[day]", "timestamp[")

_lock = threading.Lock()
_parser = duckdb.connect()


@functools.lru_cache(TREES_MAX)
def parsed(text: str) -> Tree | None:
    """The tree of a query; None of what DuckDB does not parse."""
    call = "SELECT json_serialize_sql($1, skip_null := true, skip_default := true)"
    try:
        with _lock:
            found: Tree = json.loads(_parser.execute(call, [text]).fetchall()[0][0])
    except (duckdb.Error, RecursionError, UnicodeError):
        return None
    return None if found["error"] else found


def nodes(tree: Any) -> Iterator[Tree]:
    """All objects of a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def table_names(tree: Tree) -> set[str]:
    """Names in FROM, those of common table expressions among them."""
    return {node["table_name"] for node in nodes(tree) if node.get("type") == "BASE_TABLE"}


def find(text: str, tables: Iterable[Table], parameters: Iterable[Any] = (), *, meaning: bool = True) -> str:
    """Return the construct of a text over these tables that DataFusion would answer wrongly; empty if none is known.

    meaning: also what is right in SQL as DataFusion means it, and not as DuckDB does.
    """
    said = _in_words(parts_of(text)[1])
    tree = parsed(text)
    if said or tree is None:
        return said
    names = _Names(tree, tables, parameters)
    rules = (*STRUCTURES, *MEANINGS) if meaning else STRUCTURES
    return next((said for node in nodes(tree) for rule in rules if (said := rule(node, names))), "")


def of_ranges(text: str, tables: Iterable[Table]) -> str:
    """Return a text's frames of RANGE by integers, whose bounds DataFusion mistakes at the type's ends."""
    tree = parsed(text)
    if tree is None or "RANGE" not in parts_of(text)[1]:
        return ""
    names = _Names(tree, tables)
    for node in nodes(tree):
        bounds = [node.get("start"), node.get("end")] if node.get("class") == "WINDOW" else []
        if any(bound in ("EXPR_PRECEDING_RANGE", "EXPR_FOLLOWING_RANGE") for bound in bounds):
            kinds = names.kinds(node["orders"][0]["expression"])
            if not kinds or any(kind == UNKNOWN or "int" in kind for kind in kinds):
                return "RANGE by integers, which stays here"
    return ""


class _Names:
    """The names of a text: types of columns, and of expressions that the text names."""

    def __init__(self, tree: Tree, tables: Iterable[Table], parameters: Iterable[Any] = ()) -> None:
        named = {name.lower() for name in table_names(tree)}
        #: columns of each table that the text reads, in small letters
        self.columns: dict[str, dict[str, str]] = {
            table.name.lower(): {field.name.lower(): str(field.type) for field in table.schema}
            for table in tables
            if table.name.lower() in named
        }
        self._types: dict[str, set[str]] = {}
        for columns in self.columns.values():
            for name, type in columns.items():
                self._types.setdefault(name, set()).add(type)
        #: timestamps of the tables, and moments among the parameters
        self.coarse = frozenset(
            type for types in self._types.values() for type in types if type.startswith("timestamp[")
        )
        self.moments = [value.isoformat(" ") for value in parameters if isinstance(value, datetime.datetime)]
        self._aliases: dict[str, list[Tree]] = {}
        for node in nodes(tree):
            if node.get("alias") and "class" in node:
                self._aliases.setdefault(node["alias"].lower(), []).append(node)
        #: names that common table expressions and subqueries give columns by their places
        self._placed = {
            name.lower()
            for node in nodes(tree)
            for key in ("aliases", "column_name_alias")
            for name in node.get(key, ())
        }

    def kinds(self, expr: Any, within: frozenset[str] = frozenset()) -> Kinds:
        """The types that the value of an expression may have."""
        if not isinstance(expr, dict):
            return frozenset()
        match expr.get("class"):
            case "COLUMN_REF":
                return self._named(expr["column_names"], within)
            case "CAST":
                return frozenset({_cast_kind(expr["cast_type"]["id"])})
            case "CASE":
                branches = [check["then_expr"] for check in expr["case_checks"]] + [expr.get("else_expr")]
            case "FUNCTION" | "WINDOW":
                if expr["function_name"].lower() not in _PASSING:
                    return frozenset()
                branches = expr.get("children", [])
            case "OPERATOR" if expr["type"] == "OPERATOR_COALESCE":
                branches = expr["children"]
            case "SUBQUERY":
                branches = [e for n in nodes(expr["subquery"]) if "select_list" in n for e in n["select_list"]]
            case _:
                return frozenset()
        return frozenset().union(*(self.kinds(branch, within) for branch in branches))

    def _named(self, parts: Sequence[str], within: frozenset[str]) -> Kinds:
        name = parts[-1].lower()
        if name in within:
            return frozenset()
        found = set(self._types.get(name, ()))
        for expr in self._aliases.get(name, ()):
            found |= self.kinds({**expr, "alias": ""}, within | {name})
        if name in self._placed or (name not in self._types and name not in self._aliases):
            found.add(UNKNOWN)
        return frozenset(found)

    def temporal(self, expr: Any) -> Kinds:
        """Return the types that are dates and times of day, UNKNOWN among them."""
        return frozenset(k for k in self.kinds(expr) if k == UNKNOWN or k.startswith(_TEMPORAL))


def _cast_kind(id: str) -> str:
    return {"DATE": "date32[day]", "TIMESTAMP": "timestamp[us]"}.get(id, id.lower())


# ---- what SQL itself means otherwise --------------------------------------------------------------------------------


def _in_words(words: Sequence[str]) -> str:
    named = False
    for index, word in enumerate(words[:-2]):
        named |= word == "WINDOW" and words[index + 2] == "AS"
        if word in ("ANY", "SOME", "ALL") and index and words[index - 1] in _QUANTIFIED:
            return f"{word} with a subquery" if words[index + 2] != "[" else ""
    if named:
        for first, second, third in zip(words, words[1:], words[2:], strict=False):
            if first in ("OVER", "AS") and second == "(" and third not in _WINDOW_STARTS:
                return "a window that refines a named one"
    return ""


def _join(node: Tree, names: _Names) -> str:
    if node.get("type") != "JOIN":
        return ""
    if node.get("ref_type") in ("NATURAL", "POSITIONAL"):
        return f"{node['ref_type']} JOIN"
    return "RIGHT JOIN … USING" if node.get("join_type") == "RIGHT" and node.get("using_columns") else ""


def _endless(node: Tree, names: _Names) -> str:
    """DataFusion runs it to its end, whoever closes the query."""
    if node.get("type") == "TABLE_FUNCTION" and node["function"].get("function_name", "").lower() in _GENERATORS:
        return f"FROM {node['function']['function_name']}"
    return "WITH RECURSIVE" if node.get("type") == "RECURSIVE_CTE_NODE" else ""


def _sample(node: Tree, names: _Names) -> str:
    return "a sample" if node.get("sample") else ""


def _correlated(node: Tree, names: _Names) -> str:
    """IN and EXISTS of what has a row for no rows, or fewer than its FROM and WHERE have."""
    if node.get("class") != "SUBQUERY":
        return ""
    inner = node["subquery"]["node"]
    if node["subquery_type"] not in ("ANY", "EXISTS") or not _reaches_out(inner, names):
        return ""
    quantifier = "EXISTS" if node["subquery_type"] == "EXISTS" else "IN"
    for select in nodes(inner):
        if any(m["type"].startswith("LIMIT") for m in select.get("modifiers", ())):
            return f"{quantifier} of a correlated subquery with LIMIT or OFFSET"
        if select.get("type") == "SELECT_NODE" and _is_global(select):
            return f"{quantifier} of a correlated subquery with aggregates"
    return ""


def _is_global(select: Tree) -> bool:
    """Return whether a SELECT has a row for no rows."""
    if select.get("group_sets"):
        return [] in select["group_sets"] or len(select["group_sets"]) > 1
    shown = [select["select_list"], select.get("having")]
    return any(e.get("class") == "FUNCTION" and e["function_name"].lower() in _aggregates() for e in nodes(shown))


@functools.cache
def _aggregates() -> frozenset[str]:
    with _lock:
        found = _parser.execute("SELECT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'")
        return frozenset(name for (name,) in found.fetchall())


def _reaches_out(select: Tree, names: _Names) -> bool:
    """Return whether a query may use columns of one around it."""
    inside: set[str] = set()
    columns: set[str] = set()
    for node in nodes(select):
        if node.get("type") == "BASE_TABLE":
            inside.add((node.get("alias") or node["table_name"]).lower())
            columns |= names.columns.get(node["table_name"].lower(), {}).keys()
        elif node.get("alias"):
            (columns if "class" in node else inside).add(node["alias"].lower())
    references = (node["column_names"] for node in nodes(select) if node.get("class") == "COLUMN_REF")
    return any(
        parts[0].lower() not in (inside if len(parts) > 1 else columns) and parts[0].lower() not in columns
        for parts in references
    )


def _without_columns(node: Tree, names: _Names) -> str:
    """A condition of a subquery or a volatile function above an aggregate, which DataFusion moves below it."""
    if node.get("type") != "SELECT_NODE":
        return ""
    derived = any(n.get("type") == "SUBQUERY" or _is_named_query(n, names) for n in nodes(node["from_table"]))
    conditions = [node.get("having")] + ([node.get("where_clause")] if derived else [])
    for each in (part for condition in conditions if condition for part in _conjuncts(condition)):
        own = list(_outside_subqueries(each))
        if any(n.get("class") == "COLUMN_REF" for n in own):
            continue
        if any(n.get("class") == "SUBQUERY" for n in own) or any(n.get("function_name") in _VOLATILE for n in own):
            return "a condition without columns above an aggregate"
    return ""


_VOLATILE = frozenset({"random", "uuid", "gen_random_uuid"})


def _is_named_query(node: Tree, names: _Names) -> bool:
    return node.get("type") == "BASE_TABLE" and node["table_name"].lower() not in names.columns


def _conjuncts(condition: Tree) -> list[Tree]:
    return condition["children"] if condition["type"] == "CONJUNCTION_AND" else [condition]


def _outside_subqueries(expr: Any) -> Iterator[Tree]:
    if isinstance(expr, dict):
        yield expr
        for value in [expr.get("child")] if expr.get("class") == "SUBQUERY" else expr.values():
            yield from _outside_subqueries(value)
    elif isinstance(expr, list):
        for value in expr:
            yield from _outside_subqueries(value)


# ---- what DuckDB means otherwise ------------------------------------------------------------------------------------


def _timestamp_cast(node: Tree, names: _Names) -> str:
    if node.get("class") != "CAST":
        return ""
    target = node["cast_type"]["id"]
    return f"a cast to {target}" if target in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS") else ""


def _narrowing_cast(node: Tree, names: _Names) -> str:
    """DataFusion compares what is cast instead, with the other side cast back."""
    if not _compares(node):
        return ""
    sides = [*node.get("children", ()), *(node.get(key) for key in ("left", "right", "input", "lower", "upper"))]
    for side in sides:
        if side and side.get("class") == "CAST" and side["child"].get("class") not in ("CONSTANT", "PARAMETER"):
            target, kinds = side["cast_type"]["id"], names.kinds(side["child"])
            if target == "FLOAT" or (target == "DECIMAL" and any(not k.startswith("int") for k in kinds)):
                return f"a comparison of a cast to {target}"
            if target in _INTEGERS and any(_is_wider(kind, target) for kind in kinds):
                return f"a comparison of a cast to {target}"
    return ""


def _compares(node: Tree) -> bool:
    return node.get("class") in _COMPARING or node.get("type") in ("COMPARE_IN", "COMPARE_NOT_IN")


def _is_wider(kind: str, target: str) -> bool:
    if kind.startswith(("decimal", "double", "float", "halffloat")):
        return True
    return kind.startswith(("int", "uint")) and int(kind.lstrip("uint")) > 8 << _INTEGERS.index(target)


def _interval(node: Tree, names: _Names) -> str:
    """Parts of a day beside a date, and of a second beside a timestamp without such."""
    if node.get("class") != "FUNCTION" or node["function_name"] not in ("+", "-"):
        return ""
    for part in node.get("children", ()):
        digits = _interval_digits(part)
        if digits is None:
            continue
        for other in node["children"]:
            for kind in names.temporal(other) if other is not part else ():
                if kind in ("date32[day]", UNKNOWN) or digits > _digits(kind):
                    return "hours, or parts of a second, added to a coarser date or timestamp"
    return ""


def _digits(kind: str) -> int:
    """Return the digits of a timestamp's seconds, with a zone or without."""
    return _DIGITS[kind.partition("[")[2][:1]]


def _interval_digits(expr: Tree) -> int | None:
    """Digits of an interval's seconds; None if it has no parts of a day, or is none."""
    if expr.get("class") == "FUNCTION":
        if expr["function_name"] == "*":
            return next((d for child in expr["children"] if (d := _interval_digits(child)) is not None), None)
        return _PARTS.get(expr["function_name"])
    if expr.get("class") == "CAST" and expr["cast_type"]["id"] == "INTERVAL":
        text = str(expr["child"].get("value", {}).get("value", ":")).lower()
        if any(unit in text for unit in _UNITS):
            return 6 if "micro" in text or "." in text else 3 if "milli" in text else 0
    return None


def _average(node: Tree, names: _Names) -> str:
    averages = node.get("class") in ("FUNCTION", "WINDOW") and node["function_name"].lower() in ("avg", "mean")
    if averages and any(names.temporal(child) for child in node.get("children", ())):
        return f"{node['function_name']} of a date or timestamp"
    return ""


def _like(node: Tree, names: _Names) -> str:
    if node.get("class") != "FUNCTION":
        return ""
    function = node["function_name"]
    if function.endswith("like_escape"):
        constant = all(child.get("class") == "CONSTANT" for child in node["children"][1:])
        backslash = constant and node["children"][2]["value"].get("value") == "\\"
        return "" if backslash and function in ("like_escape", "not_like_escape") else "LIKE … ESCAPE"
    if function not in ("~~", "!~~", "~~*", "!~~*"):
        return ""
    pattern = node["children"][1]
    if pattern.get("class") != "CONSTANT":
        return "LIKE with a pattern that is no constant"
    return "LIKE with a backslash" if "\\" in str(pattern["value"].get("value", "")) else ""


def _rounding(node: Tree, names: _Names) -> str:
    rounds = node.get("class") == "FUNCTION" and node["function_name"].lower() in ("ceil", "floor", "ceiling")
    constant = rounds and any(n.get("class") == "CONSTANT" for n in nodes(node["children"]))
    return f"{node['function_name']} of a constant" if constant else ""


def _substring(node: Tree, names: _Names) -> str:
    if node.get("class") != "FUNCTION" or node["function_name"].lower() not in ("substr", "substring"):
        return ""
    start = node["children"][1] if len(node.get("children", ())) > 1 else {}
    value = start.get("value", {}).get("value") if start.get("class") == "CONSTANT" else None
    return "" if isinstance(value, int) and value > 0 else "substring from a place that is not 1 or more"


def _finer_moment(node: Tree, names: _Names) -> str:
    """A moment compared with what has fewer digits, to which DataFusion would cut it."""
    if not _compares(node):
        return ""
    inside = list(nodes(node))
    references = (n["column_names"] for n in inside if n.get("class") == "COLUMN_REF")
    kinds = frozenset[str]().union(*(names.kinds({"class": "COLUMN_REF", "column_names": r}) for r in references))
    if not any(kind.startswith("timestamp[ns") for kind in kinds):  # whose literals have all digits
        kinds |= names.coarse if UNKNOWN in kinds else frozenset()
        texts = [str(n["value"].get("value")) for n in inside if n.get("class") == "CONSTANT"]
        texts += names.moments if any(n.get("class") == "PARAMETER" for n in inside) else []
        least = min((_digits(kind) for kind in kinds if kind.startswith("timestamp[")), default=None)
        if least is not None and any(_second_digits(text) > least for text in texts):
            return "a moment with more digits than the timestamp that it is compared with"
    return ""


def _second_digits(text: str) -> int:
    """Digits after the point of the seconds, of a text that may be a moment."""
    seconds = text.rpartition(":")[2].partition(".")[2] if ":" in text and text[:1].isdigit() else ""
    return len("".join(itertools.takewhile(str.isdigit, seconds)).rstrip("0"))


Rule = Callable[[Tree, _Names], str]
STRUCTURES: tuple[Rule, ...] = (_join, _sample, _correlated, _without_columns)
MEANINGS: tuple[Rule, ...] = (
    _endless,
    _timestamp_cast,
    _narrowing_cast,
    _finer_moment,
    _interval,
    _average,
    _like,
    _rounding,
    _substring,
)
