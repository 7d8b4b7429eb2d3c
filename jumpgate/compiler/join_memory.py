"""Joins whose builds may be more than their instance has room for: these may go to disk (nca/disk_joins.py)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from jumpgate.compiler.tree import unique
from jumpgate.compiler.work import JOIN_ROW_BYTES
from jumpgate.dataflow.operators import Join, Receive, numbered
from jumpgate.nca.disk_joins import candidates
from jumpgate.nca.interface import InstancePlan, JobPlan
from jumpgate.nca.operator_lists import JOINS_ON_DISK, option

#: of a host's memory, for the tables of one job where nobody set a limit
HOST_SHARE = 0.6
#: of that, for join builds: the other tables need some, too
BUILD_SHARE = 0.5
#: how wrong an estimate is taken to be at most: to let rows wait costs more than a look-up
DOUBT_MAX = 4.0


def joins_to_disk(plan: JobPlan, limit_bytes: int, can: Callable[[str], bool]) -> JobPlan:
    """The plan with the largest builds allowed to go to disk, until what others are estimated to hold has room.

    limit_bytes: of each instance; 0: what its host has, shared by the job's instances there. can: whether the
    accelerator of that name has joins on disk. What is estimated is
    taken times the factor by which it may be off, DOUBT_MAX at most.
    """
    of_host = Counter(i.device.name for i in plan.instances)
    chosen: dict[str, list[int]] = {}
    for i in plan.instances:
        if i.index or not can(i.nca):
            continue
        each = limit_bytes or HOST_SHARE * i.device.memory_bytes / of_host[i.device.name] or math.inf
        if numbers := _chosen(plan, i, BUILD_SHARE * each):
            chosen[i.fragment] = sorted(numbers)
    if not chosen:
        return plan
    instances = tuple(
        replace(i, options=(*i.options, option(JOINS_ON_DISK, chosen[i.fragment]))) if i.fragment in chosen else i
        for i in plan.instances
    )
    fragments = {f: {**said, "on_disk": chosen.get(f, [])} for f, said in plan.explain["fragments"].items()}
    return replace(plan, instances=instances, explain={**plan.explain, "fragments": fragments})


def _chosen(plan: JobPlan, instance: InstancePlan, room: float) -> list[int]:
    numbered_by = {id(node): number for number, node in enumerate(numbered(instance.root))}
    joins = (node for node in numbered(instance.root) if isinstance(node, Join))
    held = {numbered_by[id(j)]: _held(plan, instance, j, numbered_by[id(j.build)]) for j in joins}
    left, numbers = sum(held.values()), []
    for number in sorted(candidates(instance.root), key=lambda n: -held[n]):
        if left <= room:
            break
        left -= held[number]
        numbers.append(number)
    return numbers


def _held(plan: JobPlan, instance: InstancePlan, join: Join, build: int) -> float:
    """Bytes of a build, the operator of that number, that one instance holds at most; 0 where that is not known."""
    known = plan.figures.operators.get((instance.fragment, build))
    if known is None:
        return 0.0
    received = {n.edge for n in unique(join.build) if isinstance(n, Receive)}
    is_whole = any(edge.id in received and edge.partitioning.kind == "broadcast" for edge in plan.edges)
    bytes = known.bytes + JOIN_ROW_BYTES * known.rows
    return min(known.doubt, DOUBT_MAX) * bytes / (1 if is_whole else instance.count)
