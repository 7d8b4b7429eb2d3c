"""Materialises stateless operators with several consumers: they are computed once, and all consumers read the kept
rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from jumpgate.compiler.plan import PhysicalPlan
from jumpgate.compiler.tree import unique
from jumpgate.compiler.work import SAVED_MIN, kept_seconds
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Join, Operator, Read, Receive, State, numbered
from jumpgate.nca.interface import InstancePlan, KeepsRows

#: recomputing the rows must take this many times as long as keeping them: filters that joins push into scans do not
#: reach through kept rows and may save much of that; for text files and tables they save little
WORTH, WORTH_TEXT = 3.0, 1.5
#: core seconds to read a row of a table once more; many are in no cache
ROW_AGAIN = 5e-8
#: the largest error factor to plan for
DOUBT_MAX = 4.0


def keep_rows(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose the operators whose rows cost far less to keep than to recompute, where the accelerator keeps rows."""
    first = (i for i in plan.instances if not i.index)
    able = (i for i in first if isinstance(of := plan.registry.lifecycle(i.nca), KeepsRows) and of.keeps_rows)
    chosen = {i.fragment: found for i in able if (found := _chosen(plan, i))}
    return plan.changed({name: {"kept_rows": frozenset(numbers)} for name, numbers in chosen.items()})


def _chosen(plan: PhysicalPlan, instance: InstancePlan) -> list[int]:
    nodes = numbered(instance.root)
    figures = {id(node): plan.figures.operators.get((instance.fragment, n)) for n, node in enumerate(nodes)}
    numbers = {id(node): n for n, node in enumerate(nodes)}
    cores = max(1, instance.threads) * instance.count
    known: dict[int, tuple[float, float]] = {}
    found: list[int] = []

    def again(node: Operator) -> tuple[float, float]:
        """Return the seconds to recompute the node's rows (infinite where a part is unknown; join tables exist
        already, and rows of a table are read once more), and the factor by which these must exceed keeping. Columnar
        scans are not kept: each consumer's conditions decide which row groups and values are decoded."""
        mine = figures[id(node)]
        if isinstance(node, Receive) or numbers[id(node)] in found:
            return 0.0, math.inf
        if node.state is State.ROWS:
            return 0.0 if mine is None else mine.rows * ROW_AGAIN / cores, WORTH_TEXT
        if id(node) not in known:
            below = [again(i) for i in ((node.probe,) if isinstance(node, Join) else node.inputs)]
            seconds = math.inf if mine is None else mine.seconds + sum(s for s, _ in below)
            known[id(node)] = seconds, min([_worth(node), *(worth for _, worth in below)])
        return known[id(node)]

    def most(node: Operator) -> float:
        """Return the rows to plan for: more than estimated, but no more than are looked at."""
        mine = figures[id(node)]
        if mine is None or node.state is State.ROWS:
            return math.inf if mine is None else mine.rows
        rows = mine.rows * min(mine.doubt, DOUBT_MAX)
        return min(rows, max(mine.rows, most(node.inputs[0]))) if len(node.inputs) == 1 else rows

    users = _users(nodes)
    for node in unique(instance.root):  # inputs before their consumers
        (seconds, worth), mine = again(node), figures[id(node)]
        if worth < math.inf and mine is not None and seconds < math.inf and node.state is not State.ROWS:
            keep = kept_seconds(node, most(node)) / cores
            if (len(users[id(node)]) - 1) * seconds > max(worth * keep, SAVED_MIN):
                found.append(numbers[id(node)])
    return found


def _worth(node: Operator) -> float:
    if isinstance(node, Read) and not formats()[node.format].columnar:
        return WORTH_TEXT
    return WORTH if isinstance(node, Join) else math.inf


def _users(nodes: list[Operator]) -> Mapping[int, set[object]]:
    """Return the consumers of each operator by identity. Joins that build it by the same keys share the table and count
    once."""
    users: defaultdict[int, set[object]] = defaultdict(set)
    for node in nodes:
        for place, input in enumerate(node.inputs):
            builds = isinstance(node, Join) and input is node.build and input is not node.probe
            keys = (node.left_keys if node.builds_left else node.right_keys) if isinstance(node, Join) else ()
            users[id(input)].add(keys if builds else (id(node), place))
    return users
