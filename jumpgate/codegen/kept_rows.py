"""Selects the operators of a fragment that keep their rows in a table, as several others read them."""

from __future__ import annotations

from jumpgate.dataflow.operators import Limit, Operator, Receive, State


def used_twice(root: Operator) -> frozenset[int]:
    """Return the ids of nodes with several consumers that have no state to share and cannot be computed again for
    each."""
    users: dict[int, int] = {}
    once: dict[int, bool] = {}

    def visit(node: Operator) -> bool:
        users[id(node)] = users.get(id(node), 0) + 1
        if id(node) not in once:
            below = [visit(i) for i in node.inputs]
            kept = node.state is State.ROWS
            once[id(node)] = not kept and (isinstance(node, Receive | Limit) or any(below))
        return once[id(node)]

    visit(root)
    return frozenset(id for id, count in users.items() if count > 1 and once[id])
