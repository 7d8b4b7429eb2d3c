"""Filters that DuckDB pushed into scans, as the expressions that they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.scans import VIRTUAL, is_hint

_BOOLEAN = {"id": "BOOLEAN", "type_info": None}


def columns_of(data: Any) -> list[int]:
    """Numbers of the table's columns that a scan gives. Raises Stays."""
    items = data["column_indexes"]
    if any(item["index_type"] != "FULL_READ" or item["index"] >= VIRTUAL or not item["has_index"] for item in items):
        raise Stays("a scan of parts of columns is not written as SQL")
    if data["extra_info"]["sample_options"] is not None:
        raise Stays("USING SAMPLE takes other rows each time")
    picked = data["projection_ids"]
    return [items[i]["index"] for i in picked] if picked else [item["index"] for item in items]


def conditions_of(data: Any) -> list[Any]:
    """A scan's filters as expressions over the table's columns. Raises Stays."""
    found = []
    for item in data["table_filters"]["filters"]:
        number = item["key"]
        value = {"expression_class": "BOUND_REF", "type": "BOUND_REF", "index": number,
                 "return_type": data["returned_types"][number]}  # fmt: skip
        if not is_hint(item["value"]):
            found.append(_condition(value, item["value"]))
    return found


def _condition(value: Any, data: Any) -> Any:
    kind = data["filter_type"]
    if kind == "CONSTANT_COMPARISON":
        return {"expression_class": "BOUND_COMPARISON", "type": data["comparison_type"], "left": value,
                "right": _constant(data["constant"])}  # fmt: skip
    if kind in ("IS_NULL", "IS_NOT_NULL"):
        return _operation(f"OPERATOR_{kind}", [value])
    if kind == "IN_FILTER":
        return _operation("COMPARE_IN", [value, *map(_constant, data["values"])])
    if kind == "EXPRESSION_FILTER":
        return replaced(data["expr"], lambda ref: value)
    if kind == "STRUCT_EXTRACT":
        return _condition(_field(value, data), data["child_filter"])
    if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
        parts = [child for child in data["child_filters"] if not is_hint(child)]
        if parts and (kind == "CONJUNCTION_AND" or len(parts) == len(data["child_filters"])):
            children = [_condition(value, part) for part in parts]
            return children[0] if len(children) == 1 else {"expression_class": "BOUND_CONJUNCTION", "type": kind,
                                                           "children": children}  # fmt: skip
    raise Stays(f"a scan's filter of type {kind} is not written as SQL")


def _field(value: Any, data: Any) -> Any:
    """The field of a struct that a filter is of."""
    struct, text = value["return_type"], {"id": "VARCHAR", "type_info": None}
    part = struct["type_info"]["child_types"][data["child_idx"]]
    name = _constant({"type": text, "is_null": False, "value": part["first"]})
    return {"expression_class": "BOUND_FUNCTION", "type": "BOUND_FUNCTION", "name": "struct_extract",
            "return_type": part["second"], "children": [value, name], "arguments": [struct, text],
            "original_arguments": [], "catalog_name": "system", "schema_name": "main",
            "has_serialize": False}  # fmt: skip


def replaced(data: Any, column: Callable[[Any], Any]) -> Any:
    """An expression with others in the place of its references."""
    if isinstance(data, list):
        return [replaced(item, column) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("expression_class") == "BOUND_REF":
        return column(data)
    return {name: item if name == "lambda_expr" else replaced(item, column) for name, item in data.items()}


def _constant(value: Any) -> Any:
    return {"expression_class": "BOUND_CONSTANT", "type": "VALUE_CONSTANT", "value": value}


def _operation(kind: str, children: list[Any]) -> Any:
    return {"expression_class": "BOUND_OPERATOR", "type": kind, "return_type": _BOOLEAN, "children": children}
