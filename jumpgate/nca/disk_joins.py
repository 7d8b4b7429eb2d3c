"""Selects joins that may spill: the build and the rows that may match it are then read one partition at a time."""

from __future__ import annotations

from jumpgate.dataflow.operators import Join, Operator, numbered


def may_go_to_disk(node: Join) -> bool:
    """Return whether each left row's result depends only on the right rows with its keys, and no right rows are emitted
    after the left ones."""
    return bool(node.left_keys) and not (node.builds_left or node.type.unmatched_right or node.type.marks)


def candidates(root: Operator) -> dict[int, Join]:
    """Return the joins of a fragment that may spill, by number: those that share their build with no other join."""
    joins = {number: node for number, node in enumerate(numbered(root)) if isinstance(node, Join)}
    builds = [id(join.build) for join in joins.values()]
    return {n: j for n, j in joins.items() if may_go_to_disk(j) and builds.count(id(j.build)) == 1}
