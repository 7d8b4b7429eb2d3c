"""Operators without state that several others read: they are computed once for each, or once for all, which then read
the rows that were kept (nca/operator_lists.py)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from jumpgate.compiler.tree import unique
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Join,
    Operator,
    Read,
    Receive,
    Skyline,
    Sort,
    Window,
    numbered,
)
from jumpgate.nca.interface import InstancePlan, JobPlan
from jumpgate.nca.operator_lists import KEPT_ROWS, option

#: seconds of a core to keep a row and to read it again, and for each value of it
ROW, VALUE, TEXT = 15e-9, 3e-9, 15e-9
#: how many times as much computing the rows again must take as keeping them: filters that joins send to scans, which do
#: not reach them through kept rows, may spare much of it; where a text is read they spare little
WORTH, WORTH_TEXT = 3.0, 1.5
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


def kept_seconds(node: Operator, rows: float) -> float:
    """Seconds of a core to keep so many rows of `node` and to read them again."""
    return rows * (ROW + sum(TEXT if f.type.is_text else VALUE for f in node.schema))


def _chosen(plan: JobPlan, instance: InstancePlan) -> list[int]:
    nodes = numbered(instance.root)
    figures = {id(node): plan.figures.operators.get((instance.fragment, n)) for n, node in enumerate(nodes)}
    numbers = {id(node): n for n, node in enumerate(nodes)}
    cores = max(1, instance.threads) * instance.count
    known: dict[int, tuple[float, float]] = {}
    found: list[int] = []

    def again(node: Operator) -> tuple[float, float]:
        """Seconds for its rows once more (infinite where a part is unknown; the tables of joins are there already), and
        how many times as much these must be as to keep them. What only reads columns is not kept: each reader's own
        conditions decide which row groups and values are decoded."""
        if isinstance(node, HOLDS) or numbers[id(node)] in found:
            return 0.0, math.inf
        if id(node) not in known:
            below = [again(i) for i in ((node.probe,) if isinstance(node, Join) else node.inputs)]
            mine = figures[id(node)]
            seconds = math.inf if mine is None else mine.seconds + sum(s for s, _ in below)
            known[id(node)] = seconds, min([_worth(node), *(worth for _, worth in below)])
        return known[id(node)]

    users = _users(nodes)
    for node in unique(instance.root):  # inputs before what reads them
        (seconds, worth), mine = again(node), figures[id(node)]
        if worth < math.inf and mine is not None and seconds < math.inf:
            keep = kept_seconds(node, mine.rows * min(mine.doubt, DOUBT_MAX)) / cores
            if (len(users[id(node)]) - 1) * seconds > max(worth * keep, SAVED_MIN):
                found.append(numbers[id(node)])
    return sorted(found)


def _worth(node: Operator) -> float:
    if isinstance(node, Read) and not formats()[node.format].columnar:
        return WORTH_TEXT
    return WORTH if isinstance(node, Join) else math.inf


def _users(nodes: list[Operator]) -> Mapping[int, set[object]]:
    """Who reads each operator, by identity. Joins that build it by the same keys are one: they share the table."""
    users: defaultdict[int, set[object]] = defaultdict(set)
    for node in nodes:
        for place, input in enumerate(node.inputs):
            builds = isinstance(node, Join) and input is node.build and input is not node.probe
            keys = (node.left_keys if node.builds_left else node.right_keys) if isinstance(node, Join) else ()
            users[id(input)].add(keys if builds else (id(node), place))
    return users
