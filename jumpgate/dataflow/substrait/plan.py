"""Whole plans: bytes or JSON to a message, a message to one dataflow."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeVar

from google._upb import _message
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.operators import Limit, Operator, Project, Sort, column
from jumpgate.dataflow.substrait.older import upgraded
from jumpgate.dataflow.substrait.reader import Kept, Reader
from jumpgate.dataflow.substrait.types import depth_first
from jumpgate.errors import InvalidDataflow

M = TypeVar("M", bound=Message)
BYTES_MAX = 16 << 20
#: Substrait's major version; a new one changes what plans mean
MAJOR_VERSION = 0
#: protobuf's nesting limit is per process: readers wait while it may be lifted
_LIMIT = threading.Lock()


def parse(plan: Plan | bytes | str) -> Plan:
    """Parse the plan as a message; raise InvalidDataflow if it is malformed, truncated, or nested too deeply."""
    if isinstance(plan, Plan):
        found = plan
    else:
        if len(plan) > BYTES_MAX:
            raise InvalidDataflow(f"a Substrait plan has at most {BYTES_MAX >> 20} MiB")
        try:
            if isinstance(plan, str):
                found = json_format.ParseDict(upgraded(plan), Plan())
            else:
                with _LIMIT:
                    found = Plan.FromString(plan)
        except (DecodeError, json_format.ParseError, RecursionError, ValueError) as error:
            raise InvalidDataflow(
                f"this is not a Substrait plan, or it is cut short or nested too deeply: {error}"
            ) from None
    if found.version.major_number != MAJOR_VERSION:
        version = f"{found.version.major_number}.{found.version.minor_number}"
        raise InvalidDataflow(f"the plan is of Substrait {version}; this reads versions {MAJOR_VERSION}.x")
    if len(found.relations) != 1:
        raise InvalidDataflow(f"a plan with {len(found.relations)} relations: one is needed")
    return found


def parse_own(data: bytes, type: type[M]) -> M:
    """Parse a message that this process made itself, at any depth; raises DecodeError. Foreign bytes could crash the
    process by deep nesting: use `parse`."""
    with _LIMIT:
        _message.SetAllowOversizeProtos(True)
        try:
            return type.FromString(data)
        finally:
            _message.SetAllowOversizeProtos(False)


def from_plan(plan: Plan | bytes | str, tables: Mapping[str, Operator]) -> Operator:
    """Convert the whole plan. tables: the dataflows of its named tables. Raises InvalidDataflow with the reason."""
    message = parse(plan)
    relation = message.relations[0]
    rooted = relation.WhichOneof("rel_type") == "root"
    found = Reader(message, tables).relation(relation.root.input if rooted else relation.rel)
    if isinstance(found, Kept):
        raise InvalidDataflow(f"the Substrait plan cannot be a dataflow: {found.reason}")
    return named(found, _columns(found, relation.root.names)) if rooted and relation.root.names else found


def _columns(node: Operator, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns among those of a plan, which also names fields of structs."""
    found: list[str] = []
    position = 0
    for field in node.schema:
        found += names[position : position + 1]
        position += len(list(depth_first((field,))))
    return tuple(found) if position == len(names) else tuple(names)


def named(node: Operator, names: tuple[str, ...]) -> Operator:
    """Rename the columns; a sort or limit at the root stays at the root."""
    width = len(node.schema)
    if len(names) != width:
        raise InvalidDataflow(f"the plan names {len(names)} columns, its relation has {width}")
    if names == node.schema.names:
        return node
    if isinstance(node, Project):
        return Project(node.input, node.expressions, names)
    if isinstance(node, Sort | Limit):
        return node.with_inputs((named(node.input, names),))
    return Project(node, tuple(column(node.schema, i) for i in range(width)), names)
