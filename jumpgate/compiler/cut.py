"""Cuts the plan at its exchanges into fragments, numbers stages, and names instances and edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from jumpgate.compiler.plan import DeviceFull, Exchange, Plan, Site
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import Emit, Join, Operator, Receive
from jumpgate.nca.interface import Completeness, Device, Edge, InstancePlan, Match
from jumpgate.nca.transport import Transport
from jumpgate.ntf.descriptor import Descriptor

#: the edge to the client
RESULT = "result"


@dataclass
class Fragment:
    """One operator tree and the instances that will run it. `inputs` maps edges to the fragments that feed them."""

    index: int
    root: Emit
    site: Site
    inputs: dict[str, Fragment]
    transport: Transport | None

    @property
    def instances(self) -> tuple[str, ...]:
        return tuple(f"f{self.index}.{i}" for i in range(self.site.count))


def cut(plan: Plan) -> Plan:
    """Fills instances, edges and stages. Raises DeviceFull."""
    result = plan.root.input
    assert isinstance(result, Exchange)
    fragments: list[Fragment] = []
    last = _fragment(plan, result, RESULT, fragments)
    stages = _Stages()
    count = stages.need(last)
    stages.assign(last, count)
    consumers = {edge: f for f in fragments for edge in f.inputs}
    edges = tuple(_edge(plan, f, consumers.get(f.root.edge)) for f in fragments)
    load = _load(fragments)
    instances = tuple(_instance(plan, f, i, stages, load) for f in fragments for i in range(f.site.count))
    _check_ports(instances, edges)
    return replace(plan, instances=instances, edges=edges, stages=count)


def _fragment(plan: Plan, exchange: Exchange, edge: str, done: list[Fragment]) -> Fragment:
    """The fragment below `exchange`, after those that feed it. A node used by two fragments is computed by both."""
    inputs: dict[str, Fragment] = {}
    memo: dict[int, Operator] = {}

    def visit(node: Operator) -> Operator:
        if id(node) in memo:
            return memo[id(node)]
        if isinstance(node, Exchange):
            below = _fragment(plan, node, "", done)
            inputs[below.root.edge] = below
            plan.estimator.arrives(below.root.edge, below.root.input)
            new: Operator = Receive(below.root.edge, node.schema)
        else:
            children = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(children, node.inputs, strict=True))
            new = node if same else node.with_inputs(children)
        memo[id(node)] = new
        return new

    body = visit(exchange.input)
    index = len(done)
    root = Emit(body, edge or f"e{index}", exchange.partitioning)
    done.append(Fragment(index, root, exchange.site, inputs, exchange.transport))
    return done[-1]


class _Stages:
    """The rule of ARCHITECTURE.md, over all fragments: a join's build side ends before the join's component starts."""

    def __init__(self) -> None:
        self._need: dict[int, int] = {}
        self.of_edge: dict[str, int] = {}
        self.of_fragment: dict[int, int] = {}

    def need(self, fragment: Fragment) -> int:
        """The first stage in which the component of the fragment's root can run."""
        return self._below(fragment.root, fragment)

    def _below(self, node: Operator, fragment: Fragment) -> int:
        if id(node) not in self._need:
            if isinstance(node, Receive):
                stage = self.need(fragment.inputs[node.edge])
            elif isinstance(node, Join):
                stage = max(self._below(node.probe, fragment), 1 + self._below(node.build, fragment))
            else:
                stage = max((self._below(i, fragment) for i in node.inputs), default=1)
            self._need[id(node)] = stage
        return self._need[id(node)]

    def assign(self, fragment: Fragment, stage: int) -> None:
        """Gives the fragment's root `stage`, and what is below its own; what is used twice runs when first needed."""
        self.of_fragment[fragment.index] = stage
        found = {id(fragment.root): stage}

        def lower(node: Operator, to: int) -> None:
            found[id(node)] = min(to, found.get(id(node), to))

        for node in reversed([*unique(fragment.root)]):  # users before what they use
            mine = found[id(node)]
            if isinstance(node, Join):
                lower(node.probe, mine)
                lower(node.build, self._below(node.build, fragment))
            elif isinstance(node, Receive):
                self.of_edge[node.edge] = mine
                self.assign(fragment.inputs[node.edge], mine)
            else:
                for child in node.inputs:
                    lower(child, mine)


def _edge(plan: Plan, producer: Fragment, consumer: Fragment | None) -> Edge:
    """The edge out of a fragment in the layout that its producer offers; both ends' NCAs have their say."""
    body, site = producer.root.input, producer.site
    match = Match(site.nca, tuple(unique(body)), Completeness.FULL, body.schema, site.fusion)
    layout = Layout.COLUMNAR if consumer else plan.root.layout
    count = producer.root.partitioning.count
    if producer.transport is not None:
        transport = producer.transport
        ntf = transport.layout(body.schema) if transport.layout else Descriptor.of(body.schema, layout)
    else:
        ntf, transport = plan.registry.get(site.nca).operators.match_output(match, count, layout)
    return Edge(
        id=producer.root.edge,
        ntf=ntf,
        partitioning=producer.root.partitioning,
        producers=producer.instances,
        consumers=consumer.instances if consumer else (),
        endpoints=() if consumer else (plan.root.endpoints or plan.options.endpoints),
        transport=transport,
    )


def _check_ports(instances: tuple[InstancePlan, ...], edges: tuple[Edge, ...]) -> None:
    producers = {edge.id: len(edge.producers) for edge in edges}
    senders: dict[Device, int] = {}
    for instance in instances:
        senders[instance.device] = senders.get(instance.device, 0) + sum(producers[e] for e in instance.inputs)
    for device, count in senders.items():
        if count > device.offer.ports:
            raise DeviceFull(device, f"{count} instances would send to it, it has {device.offer.ports:g} ports")


def _load(fragments: list[Fragment]) -> dict[Device, int]:
    """How many instances of the most numerous fragment share each device: its cores are divided among them."""
    load: dict[Device, int] = {}
    for f in fragments:
        for device in f.site.devices:
            load[device] = max(load.get(device, 1), math.ceil(f.site.count / len(f.site.devices)))
    return load


def _instance(plan: Plan, fragment: Fragment, index: int, stages: _Stages, load: dict[Device, int]) -> InstancePlan:
    site = fragment.site
    device = site.devices[index % len(site.devices)]
    return InstancePlan(
        id=fragment.instances[index],
        fragment=f"f{fragment.index}",
        nca=site.nca,
        device=device,
        root=fragment.root,
        index=index,
        count=site.count,
        threads=plan.options.threads or max(1, device.cores // load[device]),
        inputs=tuple(fragment.inputs),
        input_stages=tuple(stages.of_edge[e] for e in fragment.inputs),
        output=fragment.root.edge,
        stage=stages.of_fragment[fragment.index],
        options=_dialect(plan.options.dialect),
    )


def _dialect(dialect: Dialect) -> tuple[tuple[str, str], ...]:
    return tuple((f"dialect.{f.name}", getattr(dialect, f.name)) for f in fields(dialect))
