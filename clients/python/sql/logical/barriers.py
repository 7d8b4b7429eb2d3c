"""Keeps DataFusion's physical optimiser from pushing filters below outer joins, where it takes columns for others.

Its rule for filters looks columns up by name alone: over an outer join of tables that share a column `c`, the filter
`a.c IS DISTINCT FROM b.c` becomes `c IS DISTINCT FROM c` of one of them. A limit of all rows between the two stops it.
"""

from __future__ import annotations

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import below, inputs

_OUTER = (pb.Join.LEFT, pb.Join.RIGHT, pb.Join.FULL)
#: operators that a filter is pushed through
_TRANSPARENT = ("projection", "subquery_alias", "filter", "sort", "repartition")
_ALL_ROWS = (1 << 63) - 1


def guard(plan: pb.Plan, nests: bool = True) -> bool:
    """Changes `plan` in place, with all below it; whether there was anything to change. nests: as of a Node."""
    changed = False
    for filter in [node for node in below(plan, nests) if node.WhichOneof("kind") == "filter"]:
        place = filter.filter.input
        while (kind := place.WhichOneof("kind")) in _TRANSPARENT:
            place = getattr(place, kind).input
        if kind == "join" and place.join.type in _OUTER and _share_names(place.join):
            join = pb.Plan()
            join.CopyFrom(place)
            place.limit.fetch = _ALL_ROWS
            place.limit.input.CopyFrom(join)
            changed = True
    return changed


def _share_names(join: pb.Join) -> bool:
    """Return whether the inputs have columns of the same name, or may have."""
    left, right = _names(join.left), _names(join.right)
    return left is None or right is None or bool(left & right)


def _names(plan: pb.Plan) -> set[str] | None:
    """Names of a plan's columns without qualifiers, perhaps with others; None if they are not known."""
    kind = plan.WhichOneof("kind")
    if kind == "scan":
        fields = plan.scan.projection.names if plan.scan.HasField("projection") else None
        return set(fields) if fields is not None else None
    if kind == "projection":
        found = [_name(expr) for expr in plan.projection.exprs]
        return None if None in found else {name for name in found if name is not None}
    if kind in ("filter", "limit", "sort", "subquery_alias", "distinct", "join", "cross_join"):
        parts = [_names(inner) for inner in inputs(plan)]
        return None if None in parts else set().union(*(part for part in parts if part is not None))
    return None


def _name(expr: pb.Expr) -> str | None:
    kind = expr.WhichOneof("kind")
    if kind == "column":
        return str(expr.column.name)
    return str(expr.alias.name) if kind == "alias" else None
