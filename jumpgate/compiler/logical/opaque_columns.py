"""Refuses a plan that uses the values of opaque columns; reads drop those that are not used."""

from __future__ import annotations

from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import Field, not_read
from jumpgate.errors import InvalidDataflow


def opaque_columns(plan: Plan) -> Plan:
    """Remove opaque types before any other pass. Raises InvalidDataflow that names each column."""
    if not _read(plan.root):
        return plan
    pruned = prune_columns(plan)
    found = tuple(dict.fromkeys(not_read(f.name, f.type) for f in _read(pruned.root)))
    if found:
        raise InvalidDataflow("; ".join(found), found, operator="read")
    return pruned


def _read(root: Operator) -> list[Field]:
    return [f for node in unique(root) if isinstance(node, Read) for f in node.schema if f.type.is_opaque]
