"""Limits the memory of instances, and marks joins whose builds may exceed it: these may spill to disk
(nca/disk_joins.py)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from jumpgate.compiler.plan import PhysicalPlan
from jumpgate.compiler.work import JOIN_ROW_BYTES
from jumpgate.dataflow.operators import Join, numbered
from jumpgate.nca.disk_joins import candidates
from jumpgate.nca.interface import InstancePlan, JoinsOnDisk
from jumpgate.nca.matching import received

#: fraction of a host's memory for the tables of one job, without a configured limit
HOST_SHARE = 0.6
#: fraction of that for join builds: other tables need memory, too
BUILD_SHARE = 0.5
#: the largest error factor to plan for: spilling rows costs more than a look-up
DOUBT_MAX = 4.0


def limit_memory(plan: PhysicalPlan) -> PhysicalPlan:
    """Limit the instances' memory as the options say, and allow the largest builds to spill until the estimated others
    fit. Estimates are multiplied by their error factor, at most DOUBT_MAX."""
    limit = plan.options.memory_limit_bytes
    of_host = Counter(i.device.name for i in plan.instances)
    changes: dict[str, dict[str, Any]] = {}
    for i in plan.instances:
        if i.index:
            continue
        changes[i.fragment] = {"memory_limit_bytes": limit} if limit else {}
        each = limit or HOST_SHARE * i.device.memory_bytes / of_host[i.device.name] or math.inf
        able = isinstance(of := plan.registry.lifecycle(i.nca), JoinsOnDisk) and of.joins_on_disk
        if able and (numbers := _chosen(plan, i, BUILD_SHARE * each)):
            changes[i.fragment]["joins_on_disk"] = frozenset(numbers)
    return plan.changed(changes)


def _chosen(plan: PhysicalPlan, instance: InstancePlan, room: float) -> list[int]:
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


def _held(plan: PhysicalPlan, instance: InstancePlan, join: Join, build: int) -> float:
    """Return the most bytes that one instance holds for the build with that operator number; 0 if unknown."""
    known = plan.figures.operators.get((instance.fragment, build))
    if known is None:
        return 0.0
    reads = received(join.build)
    is_whole = any(edge.id in reads and edge.partitioning.kind == "broadcast" for edge in plan.edges)
    bytes = known.bytes + JOIN_ROW_BYTES * known.rows
    return min(known.doubt, DOUBT_MAX) * bytes / (1 if is_whole else instance.count)
