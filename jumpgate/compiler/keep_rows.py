"""Operators without state that several others read: they are computed once for each, or once for all, which then read
the rows that were kept (nca/operator_lists.py)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from jumpgate.dataflow.operators import Aggregate, Distinct, Join, Operator, Receive, Skyline, Sort, Window, numbered
from jumpgate.nca.interface import InstancePlan, JobPlan
from jumpgate.nca.operator_lists import KEPT_ROWS, option

#: seconds of a core to keep a row and to read it again, and for each value of it
ROW, VALUE = 15e-9, 3e-9
#: how many times as much computing the rows again must take as keeping them: filters that joins send to scans, which do
#: not reach them through kept rows, may spare much of it
WORTH = 3.0
#: seconds that must be saved, as what keeps rows is one more step of the job
SAVED_MIN = 5e-4
#: how wrong an estimate is taken to be at most
DOUBT_MAX = 4.0
#: what holds its rows, or has them once
HOLDS = (Aggregate, Distinct, Sort, Skyline, Window, Receive)


def keep_rows(plan: JobPlan, can: Callable[[str], bool]) -> JobPlan:
    """The plan with those operators chosen whose rows take far less to keep than to compute again. can: whether the
    accelerator of that name keeps rows."""
    chosen = {i.fragment: found for i in plan.instances if not i.index and can(i.nca) if (found := _chosen(plan, i))}
    if not chosen:
        return plan
    instances = tuple(
        replace(i, options=(*i.options, option(KEPT_ROWS, chosen[i.fragment]))) if i.fragment in chosen else i
        for i in plan.instances
    )
    fragments = {f: {**said, "kept_rows": chosen.get(f, [])} for f, said in plan.explain["fragments"].items()}
    return replace(plan, instances=instances, explain={**plan.explain, "fragments": fragments})


def _chosen(plan: JobPlan, instance: InstancePlan) -> list[int]:
    nodes = numbered(instance.root)
    figures = {id(node): plan.figures.operators.get((instance.fragment, n)) for n, node in enumerate(nodes)}
    numbers = {id(node): n for n, node in enumerate(nodes)}
    cores = max(1, instance.threads) * instance.count
    known: dict[int, tuple[float, bool]] = {}

    def again(node: Operator) -> tuple[float, bool]:
        """Seconds for its rows once more (infinite where a part is unknown; the tables of joins are there already), and
        whether that looks up rows of a join. What only reads files is not kept: of these, each reader's own conditions
        decide which row groups and values are decoded."""
        if isinstance(node, HOLDS):
            return 0.0, False
        if id(node) not in known:
            below = [again(i) for i in ((node.probe,) if isinstance(node, Join) else node.inputs)]
            mine = figures[id(node)]
            seconds = math.inf if mine is None else mine.seconds + sum(s for s, _ in below)
            known[id(node)] = seconds, isinstance(node, Join) or any(joins for _, joins in below)
        return known[id(node)]

    found = []
    for node, users in _users(nodes):
        (seconds, joins), mine = again(node), figures[id(node)]
        if joins and mine is not None and seconds < math.inf:
            keep = mine.rows * min(mine.doubt, DOUBT_MAX) * (ROW + VALUE * len(node.schema)) / cores
            if (users - 1) * seconds > max(WORTH * keep, SAVED_MIN):
                found.append(numbers[id(node)])
    return sorted(found)


def _users(nodes: list[Operator]) -> list[tuple[Operator, int]]:
    """Each operator that several others read. Joins that build it by the same keys are one: they share the table."""
    users: defaultdict[int, set[object]] = defaultdict(set)
    for node in nodes:
        for place, input in enumerate(node.inputs):
            builds = isinstance(node, Join) and input is node.build and input is not node.probe
            keys = (node.left_keys if node.builds_left else node.right_keys) if isinstance(node, Join) else ()
            users[id(input)].add(keys if builds else (id(node), place))
    return [(node, len(users[id(node)])) for node in nodes if len(users[id(node)]) > 1]
