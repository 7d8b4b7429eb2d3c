"""Joins whose builds may be more than their instance has room for: these may go to disk (nca/disk_joins.py)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumpgate.compiler.tree import unique
from jumpgate.compiler.work import JOIN_ROW_BYTES
from jumpgate.dataflow.operators import Join, Receive, numbered
from jumpgate.nca.disk_joins import OPTION, candidates
from jumpgate.nca.interface import InstancePlan, JobPlan

#: of a host's memory, for the tables of one job where nobody set a limit
HOST_SHARE = 0.6
#: of that, for join builds: the other tables need some, too
BUILD_SHARE = 0.5
#: how wrong an estimate is taken to be at most: to let rows wait costs more than a look-up
DOUBT_MAX = 4.0


def joins_to_disk(plan: JobPlan, limit_bytes: int) -> JobPlan:
    """The plan with the largest builds allowed to go to disk, until what others are estimated to hold has room.

    limit_bytes: of each instance; 0: what its host has, shared by the job's instances there. What is estimated is
    taken times the factor by which it may be off, DOUBT_MAX at most.
    """
    of_host = Counter(i.device.name for i in plan.instances)
    chosen: dict[str, str] = {}
    for i in plan.instances:
        if i.index or i.device.kind != "host":
            continue
        each = limit_bytes or HOST_SHARE * i.device.memory_bytes / of_host[i.device.name] or math.inf
        if numbers := _chosen(plan, i, BUILD_SHARE * each):
            chosen[i.fragment] = " ".join(map(str, sorted(numbers)))
    if not chosen:
        return plan
    instances = tuple(
        replace(i, options=(*i.options, (OPTION, chosen[i.fragment]))) if i.fragment in chosen else i
        for i in plan.instances
    )
    return replace(plan, instances=instances, explain=_explained(plan.explain, chosen))


def _chosen(plan: JobPlan, instance: InstancePlan, room: float) -> list[int]:
    joins = {number: node for number, node in enumerate(numbered(instance.root)) if isinstance(node, Join)}
    held = {number: _held(plan, instance, join) for number, join in joins.items()}
    left, numbers = sum(held.values()), []
    for number in sorted(candidates(instance.root), key=lambda n: -held[n]):
        if left <= room:
            break
        left -= held[number]
        numbers.append(number)
    return numbers


def _held(plan: JobPlan, instance: InstancePlan, join: Join) -> float:
    """Bytes of a build that one instance holds at most; 0 where that is not known."""
    number = {id(node): n for n, node in enumerate(numbered(instance.root))}[id(join.build)]
    known = plan.figures.operators.get((instance.fragment, number))
    if known is None:
        return 0.0
    edges = {edge.id: edge for edge in plan.edges}
    received = [edges[n.edge] for n in unique(join.build) if isinstance(n, Receive)]
    is_whole = any(edge.partitioning.kind == "broadcast" for edge in received)
    return (
        min(known.doubt, DOUBT_MAX) * (known.bytes + JOIN_ROW_BYTES * known.rows) / (1 if is_whole else instance.count)
    )


def _explained(explain: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, Any]:
    def noted(fragment: Mapping[str, Any], numbers: str) -> dict[str, Any]:
        said = f"may go to disk, with the rows that look for partners: join {', '.join(numbers.split())}"
        return {**fragment, "note": "; ".join(filter(None, (fragment["note"], said)))}

    fragments = {f: noted(data, chosen[f]) if f in chosen else data for f, data in explain["fragments"].items()}
    return {**explain, "fragments": fragments}
