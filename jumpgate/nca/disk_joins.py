"""Which joins may go to disk: then a part of the build at a time is read with the rows that may have partners in it."""

from __future__ import annotations

from jumpgate.dataflow.operators import Join, Operator, numbered


def may_go_to_disk(node: Join) -> bool:
    """Whether each left row's answer follows from the right rows with its keys, and nothing of right rows is left to
    do once all left ones are through."""
    return bool(node.left_keys) and not (node.builds_left or node.type.unmatched_right or node.type.marks)


def candidates(root: Operator) -> dict[int, Join]:
    """The joins of a fragment that may go to disk, by number: those whose build is of no other join."""
    joins = {number: node for number, node in enumerate(numbered(root)) if isinstance(node, Join)}
    builds = [id(join.build) for join in joins.values()]
    return {n: j for n, j in joins.items() if may_go_to_disk(j) and builds.count(id(j.build)) == 1}
