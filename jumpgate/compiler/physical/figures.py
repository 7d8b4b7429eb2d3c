"""Expected and measured figures of a plan, operator by operator."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpgate.compiler.physical.traffic import Traffic
from jumpgate.compiler.plan import PhysicalPlan
from jumpgate.compiler.stores import demands
from jumpgate.compiler.work import WHOLE, Part, part_of, read_parts
from jumpgate.dataflow.operators import Emit, Operator, Partitioning, Prune, Read, Receive, numbered
from jumpgate.nca.interface import Edge, Figures, JobFigures
from jumpgate.nca.speeds import Work, assumed, seconds_of, unit_seconds
from jumpgate.nca.storage import Asked


def figures(plan: PhysicalPlan) -> PhysicalPlan:
    """Add the figures of every operator with known statistics, and of the job if none is missing."""
    found: dict[tuple[str, int], Figures] = {}
    receive_s: dict[str, float] = {}
    asked: dict[str, tuple[Asked, float]] = {}
    total: float | None = {**assumed(), **plan.options.speeds}["job"]
    for instance in plan.instances:
        if instance.index:
            continue  # runs the same operators
        speeds = plan.registry.get(instance.nca).operators.speeds(instance.device).of(plan.options.speeds)
        cores = max(1, instance.threads) * instance.count
        parts = read_parts(instance.root, plan.estimator)
        for number, node in enumerate(numbered(instance.root)):
            of_node = _figures(plan, node, parts.get(id(node), WHOLE), speeds.seconds, cores)
            if of_node is None:
                total = None
                continue
            found[instance.fragment, number] = of_node
            total = None if total is None else total + of_node.seconds
        reads = numbered(instance.root), instance.asked
        for demand, link in demands(*reads, plan.estimator, plan.options.link, instance.device):
            before, price = asked.get(instance.fragment, (Asked(0.0, 0.0), 0.0))
            asked[instance.fragment] = before + demand, price + demand.money(link)
            total = None if total is None else total + demand.seconds(link)
        if speeds.receive_s:
            names = (d.name for i in plan.instances if i.nca == instance.nca for d in i.device.chain)
            receive_s.update(dict.fromkeys(names, speeds.receive_s))
        total = None if total is None else total + speeds.setup_s + speeds.seconds["start"]
    crossing, stages = _travel(plan)
    assumed_s = unit_seconds("link", {**assumed(), **plan.options.speeds})
    on_links = sum(traffic.seconds(assumed_s, receive_s) for traffic in stages)
    seconds = None if total is None else total + on_links
    return replace(plan, figures=JobFigures(found, crossing, seconds, asked, _networks(plan, stages)))


def _networks(plan: PhysicalPlan, stages: Sequence[Traffic]) -> dict[str, tuple[float, float]]:
    """Return the bytes that leave and enter each network."""
    names = {link.name for i in plan.instances for link in i.device.above}
    sums = {name: (sum(s.up[name] for s in stages), sum(s.down[name] for s in stages)) for name in sorted(names)}
    return {name: ways for name, ways in sums.items() if any(ways)}


def _travel(plan: PhysicalPlan) -> tuple[dict[str, float], Sequence[Traffic]]:
    """Return the bytes of each edge that cross links, and the traffic of each stage. The edge to the client is left
    out, as every plan sends it the same rows, except from hosts near a store."""
    devices = {d.name: d for i in plan.instances for d in i.device.chain}
    at = {i.id: i for i in plan.instances}
    where = {i.id: i.device.name for i in plan.instances}
    stage_of = {e: stage for i in plan.instances for e, stage in zip(i.inputs, i.input_stages, strict=True)}
    crossing: dict[str, float] = {}
    passed: dict[str, float] = {}  # bytes that leave the top of a chain, by edge
    stages: defaultdict[int, Traffic] = defaultdict(lambda: Traffic(devices))
    for edge in plan.edges:
        if edge.consumers:
            ends = [where[p] for p in edge.producers], [where[c] for c in edge.consumers]
            bytes, traffic = _bytes(plan, edge), stages[stage_of[edge.id]]
            receiver = at[edge.consumers[0]]
            if receiver.device.below:
                left = _bytes(plan, next(e for e in plan.edges if e.id == receiver.output))
                crossing[edge.id], came = traffic.add_chain(bytes, ends[0], receiver.device, left)
                is_pruned = isinstance(receiver.root.inputs[0], Prune)
                passed[receiver.output] = min(came, left) if is_pruned else came
            else:
                crossing[edge.id] = traffic.add(passed.get(edge.id, bytes), edge.partitioning, *ends)
        elif senders := [where[p] for p in edge.producers if devices[where[p]].near]:
            stages[plan.stages].add(_bytes(plan, edge), Partitioning(), senders, ["client"])
    return crossing, [*stages.values()]


def _bytes(plan: PhysicalPlan, edge: Edge) -> float:
    """Return the expected bytes of an edge's rows; 0.0 where they are unknown."""
    return plan.estimator.of(Receive(edge.id, edge.ntf.schema)).bytes or 0.0


def _figures(
    plan: PhysicalPlan, node: Operator, part: Part, seconds: Mapping[str, float], cores: int
) -> Figures | None:
    known = plan.estimator.of(node)
    mine = _sending(plan, node) if isinstance(node, Emit) else part_of(node, plan.estimator, part)
    if mine is None or known.rows is None or known.bytes is None:
        return None
    bytes = plan.estimator.files(node).bytes if isinstance(node, Read) else known.bytes
    return Figures(known.rows, bytes or 0.0, plan.estimator.doubt(node), seconds_of(mine, seconds, cores), mine)


def _sending(plan: PhysicalPlan, node: Emit) -> Work:
    known, edge = plan.estimator.of(node), next(e for e in plan.edges if e.id == node.edge)
    datagrams = {"send datagram": known.rows or 0.0} if edge.transport.channel == "udp" else {}
    return {"send": known.bytes or 0.0, **datagrams}


def measured(instances: Mapping[str, Mapping[str, Any]], fragment: str) -> dict[int, dict[str, float]]:
    """Sum the counters of a fragment's instances by operator number: `rows`, and for ends of pipelines the core
    `seconds`."""
    found: dict[int, Counter[str]] = {}
    for instance, counters in instances.items():
        if instance.rpartition(".")[0] != fragment:
            continue
        for number, of_operator in counters.get("operators", {}).items():
            sums = found.setdefault(int(number), Counter())
            for name, value in of_operator.items():
                if name == "busy_ns":
                    sums["seconds"] += value / 1e9
                else:
                    sums[name] += value
    return {number: dict(sums) for number, sums in found.items()}
