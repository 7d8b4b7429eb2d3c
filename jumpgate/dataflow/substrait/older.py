"""Upgrades plans of older versions of Substrait and of older producers.

JSON is rewritten for the version that the `substrait` package knows. Renamed or moved since 0.20, by the version with
the new form: expressions of virtual tables (0.57), keys of an aggregation beside its grouping sets (0.60), expressions
as the rows of a fetch (0.64), URNs of extensions in place of URIs (0.75).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from google.protobuf.message import Message
from substrait.algebra_pb2 import ProjectRel
from substrait.plan_pb2 import Plan

Body: TypeAlias = dict[str, Any]

#: the most objects and lists on one path; protobuf's JSON reader takes fewer
DEPTH_MAX = 400

#: producers whose projections used to replace their input, and their last minor version that did
_REPLACING = {"datafusion": 51, "DuckDB": 53}


def projects_replace(plan: Plan) -> bool:
    """Return whether the plan's projections keep only what they compute. In Substrait they append it to their input,
    and an output mapping selects; older DuckDB and DataFusion wrote no mapping at all."""
    if plan.version.minor_number > _REPLACING.get(plan.version.producer, -1):
        return False
    left: list[Message] = [plan]
    while left:
        message = left.pop()
        if isinstance(message, ProjectRel) and message.common.HasField("emit"):
            return False
        for field, value in message.ListFields():
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                left += value if field.is_repeated else (value,)
    return True


def upgraded(text: str) -> Body:
    """Return the plan as an object with current fields, in camel case. Raises ValueError for text that is not a JSON
    object, RecursionError for one that nests too deeply."""
    plan = _upgraded(json.loads(text), "")
    if not isinstance(plan, dict):
        raise ValueError("a plan in JSON is an object")
    return plan


def _upgraded(value: Any, name: str, depth: int = 0) -> Any:
    """Upgrade `value`, the field `name` of its message, and everything below it."""
    if depth > DEPTH_MAX:
        raise RecursionError("the JSON nests too deeply")
    if isinstance(value, list):
        return [_upgraded(item, name, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    body = {(key := _camel(k)): _upgraded(v, key, depth + 1) for k, v in value.items()}
    change = _CHANGES.get(name)
    if change is not None:
        with contextlib.suppress(AttributeError, TypeError, ValueError):  # protobuf's reader reports the error
            change(body)
    return body


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), name)


def _plan(plan: Body) -> None:
    """Give extensions by URI anchors that no URN has."""
    urns = plan.get("extensionUrns", [])
    free = 1 + max((int(u.get("extensionUrnAnchor", 0)) for u in urns), default=0)
    anchors: dict[int, int] = {}
    for number, uri in enumerate(plan.pop("extensionUris", []), free):
        anchors[int(uri.get("extensionUriAnchor", 0))] = number
        urns.append({"extensionUrnAnchor": number, "urn": uri.get("uri", "")})
    if urns:
        plan["extensionUrns"] = urns
    for declaration in plan.get("extensions", []):
        for said in declaration.values():
            anchor = int(said.pop("extensionUriReference", 0))
            said.setdefault("extensionUrnReference", anchors.get(anchor, free + len(anchors)))


def _fetch(fetch: Body) -> None:
    for name in ("offset", "count"):
        if name in fetch:
            rows = fetch.pop(name)
            fetch.setdefault(f"{name}Expr", {"literal": {"i64": rows}})


def _aggregate(aggregate: Body) -> None:
    """Collect keys that each grouping set lists itself; if a plan has both, the references count."""
    keys = aggregate.get("groupingExpressions", [])
    for grouping in aggregate.get("groupings", []):
        own = grouping.pop("groupingExpressions", None)
        if own is None or "expressionReferences" in grouping:
            continue
        grouping["expressionReferences"] = []
        for key in own:
            if key not in keys:
                keys.append(key)
            grouping["expressionReferences"].append(keys.index(key))
    if keys:
        aggregate["groupingExpressions"] = keys


def _join(join: Body) -> None:
    kind = str(join.get("type", "")).removeprefix("JOIN_TYPE_")
    if kind in ("SEMI", "ANTI", "SINGLE"):
        join["type"] = f"JOIN_TYPE_LEFT_{kind}"


def _interval(interval: Body) -> None:
    if "microseconds" in interval:
        interval["subseconds"], interval["precision"] = interval.pop("microseconds"), 6


def _virtual_table(table: Body) -> None:
    rows = table.pop("values", None)
    if rows is not None and "expressions" not in table:
        table["expressions"] = [{"fields": [{"literal": v} for v in row.get("fields", [])]} for row in rows]


#: changes by the name of the field that holds the message; "" is the plan itself
_CHANGES: dict[str, Callable[[Body], None]] = {
    "": _plan,
    "fetch": _fetch,
    "aggregate": _aggregate,
    **dict.fromkeys(("join", "hashJoin", "mergeJoin", "nestedLoopJoin"), _join),
    "intervalDayToSecond": _interval,
    "virtualTable": _virtual_table,
}
