"""Expressions of DuckDB's plans as SQL, written so that DuckDB binds the same expressions again."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.sources import quoted
from jumpgate.client.duckdb.types import MICROS, ZONED, uuid_bytes, whole_number

#: writes the column of that number
Column = Callable[[int], str]

#: aggregates that the optimiser puts in the place of others
REPLACED = {"sum_no_overflow": "sum"}
COMPARED = {
    "COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}  # fmt: skip
_OPERATIONS = {
    "COMPARE_IN": "({0} IN ({1}))", "COMPARE_NOT_IN": "({0} NOT IN ({1}))", "OPERATOR_NOT": "(NOT {0})",
    "OPERATOR_IS_NULL": "({0} IS NULL)", "OPERATOR_IS_NOT_NULL": "({0} IS NOT NULL)",
    "OPERATOR_COALESCE": "COALESCE({0}, {1})",
}  # fmt: skip
_WINDOWS = {
    "WINDOW_RANK": "rank", "WINDOW_RANK_DENSE": "dense_rank", "WINDOW_NTILE": "ntile", "WINDOW_LEAD": "lead",
    "WINDOW_PERCENT_RANK": "percent_rank", "WINDOW_CUME_DIST": "cume_dist", "WINDOW_ROW_NUMBER": "row_number",
    "WINDOW_FIRST_VALUE": "first_value", "WINDOW_LAST_VALUE": "last_value", "WINDOW_NTH_VALUE": "nth_value",
    "WINDOW_LAG": "lag",
}  # fmt: skip
_NAMED_TYPES = frozenset((
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "UHUGEINT", "FLOAT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS",
    "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID", "BIT",
))  # fmt: skip
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
_OPERATOR = re.compile(r"[-+*/%^&|~!<>@=]+")
_FRAME = re.compile(r"(UNBOUNDED_PRECEDING|UNBOUNDED_FOLLOWING|CURRENT_ROW|EXPR_PRECEDING|EXPR_FOLLOWING)(?:_(.*))?")
_EPOCH = datetime.datetime(1970, 1, 1)


def literal(text: str) -> str:
    """The text as SQL has it."""
    return "'{}'".format(text.replace("'", "''"))


def write_type(data: Any) -> str:
    """Return the name of a type. Raises Stays."""
    info, name = data["type_info"], data["id"]
    if info is None:
        if name not in _NAMED_TYPES:
            raise Stays(f"type {name} is not written as SQL")
        return str(name)
    if info.get("alias") or info.get("extension_info") is not None:
        raise Stays("a type with a name of its own is not written as SQL")
    if name == "DECIMAL":
        return f"DECIMAL({info['width']},{info['scale']})"
    if name == "LIST":
        return f"{write_type(info['child_type'])}[]"
    if name == "STRUCT":
        parts = info["child_types"]
        return "STRUCT({})".format(", ".join(f"{quoted(p['first'])} {write_type(p['second'])}" for p in parts))
    if name == "MAP":
        key, value = info["child_type"]["type_info"]["child_types"]
        return f"MAP({write_type(key['second'])}, {write_type(value['second'])})"
    if name == "ENUM":
        return "ENUM({})".format(", ".join(map(literal, info["values"])))
    raise Stays(f"type {name} is not written as SQL")


def write_constant(data: Any) -> str:
    """A value of a plan, cast to its type. Raises Stays."""
    if data["is_null"]:
        return f"CAST(NULL AS {write_type(data['type'])})"
    try:
        return f"CAST({_value(data['type'], data['value'])} AS {write_type(data['type'])})"
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Stays(f"a constant of type {data['type']['id']} is not written as SQL: {error}") from None


def _value(type: Any, value: Any) -> str:
    name = type["id"]
    if name == "BOOLEAN":
        return str(bool(value))
    if name == "VARCHAR" and "\0" not in value:
        return literal(value)
    if _WHOLE.fullmatch(name):
        return literal(str(whole_number(value)))
    if name == "DECIMAL":
        return literal(str(Decimal(whole_number(value)).scaleb(-type["type_info"]["scale"], Context(prec=60))))
    if name in ("FLOAT", "DOUBLE"):
        return literal(repr(float(value)))
    if name == "DATE":
        return literal((_EPOCH + datetime.timedelta(days=whole_number(value))).date().isoformat())
    if name in MICROS:
        moment = _EPOCH + datetime.timedelta(microseconds=whole_number(value) * MICROS[name])
        return literal(moment.isoformat(" ") + "+00" * (name == ZONED))
    if name == "TIMESTAMP_NS":
        micros, nanos = divmod(whole_number(value), 1000)
        moment = _EPOCH + datetime.timedelta(microseconds=micros)
        return literal(f"{moment.isoformat(' ', 'microseconds')}{nanos:03}")
    if name == "TIME":
        return literal((_EPOCH + datetime.timedelta(microseconds=whole_number(value))).time().isoformat())
    if name == "BLOB" and isinstance(value, str):
        return literal(value)
    if name == "INTERVAL":
        return literal("{months} months {days} days {micros} microseconds".format(**value))
    if name == "UUID":
        return literal(str(uuid.UUID(bytes=uuid_bytes(value))))
    if name == "ENUM":
        return literal(type["type_info"]["values"][whole_number(value)])
    if name == "LIST":
        return "[{}]".format(", ".join(map(write_constant, value["children"])))
    raise ValueError(repr(value))


def write_order(data: Any, column: Column) -> str:
    """A key of ORDER BY. Raises Stays."""
    directions = {"ASCENDING": "ASC", "DESCENDING": "DESC"}
    if data["type"] not in directions or data["null_order"] not in ("NULLS LAST", "NULLS FIRST"):
        raise Stays(f"the order {data['type']} {data['null_order']} is not known")
    return f"{write(data['expression'], column)} {directions[data['type']]} {data['null_order']}"


def write(data: Any, column: Column) -> str:
    """An expression over these columns. Raises Stays."""
    name = data["expression_class"]
    if name not in _WRITERS:
        raise Stays(f"expression {name} is not written as SQL")
    return _WRITERS[name](data, column)


def listed(data: Any, column: Column) -> str:
    """Expressions with commas between them. Raises Stays."""
    return ", ".join(write(item, column) for item in data)


def _conjunction(data: Any, column: Column) -> str:
    word = {"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}[data["type"]]
    return "({})".format(word.join(write(child, column) for child in data["children"]))


def _comparison(data: Any, column: Column) -> str:
    return f"({write(data['left'], column)} {COMPARED[data['type']]} {write(data['right'], column)})"


def _between(data: Any, column: Column) -> str:
    value = write(data["input"], column)
    lower = f"{value} {'>=' if data['lower_inclusive'] else '>'} {write(data['lower'], column)}"
    return f"({lower} AND {value} {'<=' if data['upper_inclusive'] else '<'} {write(data['upper'], column)})"


def _operation(data: Any, column: Column) -> str:
    if data["type"] not in _OPERATIONS:
        raise Stays(f"expression {data['type']} is not written as SQL")
    first, *rest = data["children"]
    return _OPERATIONS[data["type"]].format(write(first, column), listed(rest, column))


def _cast(data: Any, column: Column) -> str:
    word = "TRY_CAST" if data["try_cast"] else "CAST"
    return f"{word}({write(data['child'], column)} AS {write_type(data['return_type'])})"


def _case(data: Any, column: Column) -> str:
    checks = " ".join(
        f"WHEN {write(c['when_expr'], column)} THEN {write(c['then_expr'], column)}" for c in data["case_checks"]
    )
    return f"(CASE {checks} ELSE {write(data['else_expr'], column)} END)"


def _function(data: Any, column: Column) -> str:
    name, children = data["name"], [write(child, column) for child in data["children"]]
    if data["original_arguments"]:
        raise Stays(f"function {name} keeps arguments that its plan does not have")
    if _OPERATOR.fullmatch(name) and len(children) in (1, 2):
        return f"({children[0]} {name} {children[1]})" if len(children) == 2 else f"({name} {children[0]})"
    own = data.get("function_data") or {}
    if name == "struct_pack":
        names = [part["first"] for part in data["return_type"]["type_info"]["child_types"]]
        children = [f"{quoted(part)} := {child}" for part, child in zip(names, children, strict=True)]
    if own.get("lambda_expr") is not None:
        children.append(_lambda(own, len(children)))
    return f"{quoted(name)}({', '.join(children)})"


def _lambda(own: Mapping[str, Any], children: int) -> str:
    """A lambda of one parameter that sees nothing else."""
    if own["has_index"] or own["has_initial"] or children != 1:
        raise Stays("a lambda that sees columns or numbers is not written as SQL")

    def parameter(index: int) -> str:
        if index:
            raise Stays("a lambda of several parameters is not written as SQL")
        return "x"

    return f"lambda x: {write(own['lambda_expr'], parameter)}"


def _aggregate(data: Any, column: Column) -> str:
    arguments = [write(child, column) for child in data["children"]]
    own, name = data.get("function_data") or {}, data["name"]
    if own.keys() == {"separator"}:
        arguments.append(f"CAST({literal(own['separator'])} AS VARCHAR)")
    elif own.keys() == {"quantiles", "order", "desc"} and len(own["quantiles"]) == 1:
        arguments.append(write_constant(own["quantiles"][0]))
    elif own or data["original_arguments"]:
        raise Stays(f"aggregate {name} keeps arguments that its plan does not have")
    inside = "DISTINCT " * (data["aggregate_type"] == "DISTINCT") + ", ".join(arguments)
    if data["order_bys"] is not None:
        inside += " ORDER BY " + ", ".join(write_order(o, column) for o in data["order_bys"]["orders"])
    condition = "" if data["filter"] is None else f" FILTER (WHERE {write(data['filter'], column)})"
    return f"{quoted(REPLACED.get(name, name))}({inside}){condition}"


def _window(data: Any, column: Column) -> str:
    name = data.get("name") if data["type"] == "WINDOW_AGGREGATE" else _WINDOWS.get(data["type"])
    if name is None or data.get("function_data") or data.get("original_arguments"):
        raise Stays(f"window function {data['type']} is not written as SQL")
    if data["exclude_clause"] != "NO_OTHER" or data["arg_orders"]:
        raise Stays("a window function with EXCLUDE or an order of its arguments is not written as SQL")
    more = [data[part] for part in ("offset_expr", "default_expr") if data[part] is not None]
    inside = "DISTINCT " * data["distinct"] + listed([*data["children"], *more], column)
    inside += " IGNORE NULLS" * data["ignore_nulls"]
    condition = "" if data["filters"] is None else f" FILTER (WHERE {write(data['filters'], column)})"
    parts = []
    if data["partitions"]:
        parts.append(f"PARTITION BY {listed(data['partitions'], column)}")
    if data["orders"]:
        parts.append("ORDER BY " + ", ".join(write_order(o, column) for o in data["orders"]))
    parts.append(_frame(data, column))
    return f"{quoted(REPLACED.get(name, name))}({inside}){condition} OVER ({' '.join(parts)})"


def _frame(data: Any, column: Column) -> str:
    units, ends = set(), []
    for end in ("start", "end"):
        found = _FRAME.fullmatch(data[end])
        if found is None:
            raise Stays(f"the frame {data[end]} is not known")
        units.add(found[2])
        value = "" if data[f"{end}_expr"] is None else write(data[f"{end}_expr"], column)
        ends.append(found[1].replace("EXPR", value).replace("_", " ") if not value else
                    f"{value} {found[1].removeprefix('EXPR_')}")  # fmt: skip
    units.discard(None)
    if len(units) > 1:
        raise Stays("a frame of two units is not written as SQL")
    return f"{(units or {'ROWS'}).pop()} BETWEEN {ends[0]} AND {ends[1]}"


_WRITERS: Mapping[str, Callable[[Any, Column], str]] = {
    "BOUND_REF": lambda data, column: column(data["index"]),
    "BOUND_CONSTANT": lambda data, column: write_constant(data["value"]),
    "BOUND_COMPARISON": _comparison,
    "BOUND_BETWEEN": _between,
    "BOUND_CONJUNCTION": _conjunction,
    "BOUND_OPERATOR": _operation,
    "BOUND_CAST": _cast,
    "BOUND_CASE": _case,
    "BOUND_FUNCTION": _function,
    "BOUND_AGGREGATE": _aggregate,
    "BOUND_WINDOW": _window,
    "BOUND_UNNEST": lambda data, column: f"unnest({write(data['child'], column)})",
}
