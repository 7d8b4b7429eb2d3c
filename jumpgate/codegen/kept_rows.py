"""Which operators of a fragment keep their rows in a table because several others read them."""

from __future__ import annotations

from jumpgate.dataflow.operators import Aggregate, Limit, Operator, Receive, Skyline, Sort, Window


def used_twice(root: Operator) -> frozenset[int]:
    """Ids of the nodes that have several users, no state to share, and cannot be computed once more for each user."""
    users: dict[int, int] = {}
    once: dict[int, bool] = {}

    def visit(node: Operator) -> bool:
        users[id(node)] = users.get(id(node), 0) + 1
        if id(node) not in once:
            below = [visit(i) for i in node.inputs]
            kept = isinstance(node, Aggregate | Sort | Skyline | Window)
            once[id(node)] = not kept and (isinstance(node, Receive | Limit) or any(below))
        return once[id(node)]

    visit(root)
    return frozenset(id for id, count in users.items() if count > 1 and once[id])
