"""Cuts the plan at its exchanges into fragments, numbers stages, and names instances and edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from jumpgate.compiler.plan import DeviceFull, Exchange, KeysOfBuild, MappedPlan, PhysicalPlan, Site
from jumpgate.compiler.tree import unique
from jumpgate.dataflow import bloom
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import Emit, Join, Operator, Partitioning, Receive, numbered
from jumpgate.errors import InvalidDataflow
from jumpgate.nca.interface import Completeness, Edge, InstancePlan, KeyFilter, Match
from jumpgate.nca.transport import Transport
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import DESCRIPTOR_BYTES_MAX
from jumpgate.words import counted

#: the edge to the client
RESULT = "result"


@dataclass
class Fragment:
    """One operator tree and the instances that will run it. `inputs` maps edges to the fragments that feed them;
    `filters` maps the filter edges that leave it to their joins."""

    index: int
    root: Emit
    site: Site
    inputs: dict[str, Fragment]
    transport: Transport | None
    filters: dict[str, tuple[Join, KeysOfBuild, Partitioning]] = field(default_factory=dict)

    @cached_property
    def instances(self) -> tuple[str, ...]:
        return tuple(f"f{self.index}.{i}" for i in range(self.site.count))


def cut(plan: MappedPlan) -> PhysicalPlan:
    """Fill instances, edges and stages. Raises DeviceFull."""
    result = plan.root.input
    assert isinstance(result, Exchange)
    cutter = _Cutter(plan)
    fragments, last = cutter.done, cutter.fragment(result, RESULT)
    stages = _Stages()
    count = stages.need(last)
    stages.assign(last, count)
    consumers = {edge: f for f in fragments for edge in f.inputs}
    edges = tuple(
        edge
        for f in fragments
        for edge in (
            _edge(plan, f, consumers.get(f.root.edge)),
            *(_filter_edge(plan, f, id, consumers[id]) for id in f.filters),
        )
    )
    load = _load(fragments)
    instances = tuple(instance for f in fragments for instance in _instances(plan, f, stages, load))
    _check_ports(instances, edges)
    return PhysicalPlan(**vars(plan), instances=instances, edges=edges, stages=count)


@dataclass
class _Waiting:
    """A filter edge whose producer is above its consumer and not cut yet."""

    edge: str
    keys: KeysOfBuild
    partitioning: Partitioning
    inputs: dict[str, Fragment]  # the consumer's inputs


class _Cutter:
    def __init__(self, plan: MappedPlan) -> None:
        self._plan = plan
        self.done: list[Fragment] = []
        self._waiting: list[_Waiting] = []
        self._filters = 0

    def fragment(self, exchange: Exchange, edge: str = "") -> Fragment:
        """Return the fragment below `exchange`, after those that feed it. A node used by two fragments is computed by
        both."""
        inputs: dict[str, Fragment] = {}
        memo: dict[int, Operator] = {}
        waited = len(self._waiting)

        def visit(node: Operator) -> Operator:
            if id(node) in memo:
                return memo[id(node)]
            if isinstance(node, Exchange):
                new: Operator = self._received(node, inputs)
            else:
                children = tuple(visit(i) for i in node.inputs)
                same = all(a is b for a, b in zip(children, node.inputs, strict=True))
                new = node if same else node.with_inputs(children)
            memo[id(node)] = new
            return new

        body = visit(exchange.input)
        index = len(self.done)
        root = Emit(body, edge or f"e{index}", exchange.partitioning)
        fragment = Fragment(index, root, exchange.site, inputs, exchange.transport)
        self._send_filters(fragment, self._waiting[waited:], memo)
        self.done.append(fragment)
        return fragment

    def _received(self, node: Exchange, inputs: dict[str, Fragment]) -> Receive:
        """Return the Receive that replaces `node` in the fragment with these inputs."""
        if isinstance(node.input, KeysOfBuild):
            edge = f"k{self._filters}"
            self._filters += 1
            self._waiting.append(_Waiting(edge, node.input, node.partitioning, inputs))
            self._plan.estimator.arrives(edge, bloom.estimated(node.input.distinct, node.input.blocks))
        else:
            below = self.fragment(node)
            edge = below.root.edge
            inputs[edge] = below
            self._plan.estimator.arrives(edge, below.root.input)
        return Receive(edge, node.schema)

    def _send_filters(self, fragment: Fragment, below: list[_Waiting], memo: dict[int, Operator]) -> None:
        """Connect the fragment's joins to the filter edges that wait `below` it. `memo` maps former nodes to the
        fragment's."""
        for waiting in below:
            build = memo.get(id(waiting.keys.input))
            for join in unique(fragment.root) if build is not None else ():
                if isinstance(join, Join) and join.build is build and _build_keys(join) == waiting.keys.keys:
                    fragment.filters[waiting.edge] = join, waiting.keys, waiting.partitioning
                    waiting.inputs[waiting.edge] = fragment
                    self._waiting.remove(waiting)
                    break


def _build_keys(join: Join) -> tuple[Expression, ...]:
    return join.left_keys if join.builds_left else join.right_keys


class _Stages:
    """The rule of docs/protocol.md, over all fragments: a join's build side ends before the join's component starts."""

    def __init__(self) -> None:
        self._need: dict[int, int] = {}
        self.of_edge: dict[str, int] = {}
        self.of_fragment: dict[int, int] = {}

    def need(self, fragment: Fragment) -> int:
        """Return the first stage in which the component of the fragment's root can run."""
        return self._below(fragment.root, fragment)

    def _below(self, node: Operator, fragment: Fragment) -> int:
        if id(node) not in self._need:
            if isinstance(node, Receive):
                producer = fragment.inputs[node.edge]
                sent = producer.filters.get(node.edge)
                stage = self._below(sent[0].build, producer) if sent else self.need(producer)
            elif isinstance(node, Join):
                stage = max(self._below(node.probe, fragment), 1 + self._below(node.build, fragment))
            else:
                stage = max((self._below(i, fragment) for i in node.inputs), default=1)
            self._need[id(node)] = stage
        return self._need[id(node)]

    def assign(self, fragment: Fragment, stage: int) -> None:
        """Give the fragment's root `stage`, and the nodes below their own; a shared node runs when it is first
        needed."""
        self.of_fragment[fragment.index] = stage
        found = {id(fragment.root): stage}

        def lower(node: Operator, to: int) -> None:
            found[id(node)] = min(to, found.get(id(node), to))

        for node in reversed([*unique(fragment.root)]):  # consumers before their inputs
            mine = found[id(node)]
            if isinstance(node, Join):
                lower(node.probe, mine)
                lower(node.build, self._below(node.build, fragment))
            elif isinstance(node, Receive):
                self.of_edge[node.edge] = mine
                producer = fragment.inputs[node.edge]
                if node.edge not in producer.filters:
                    self.assign(producer, mine)
            else:
                for child in node.inputs:
                    lower(child, mine)


def _edge(plan: MappedPlan, producer: Fragment, consumer: Fragment | None) -> Edge:
    """Create the edge out of a fragment in the layout that its producer offers and both ends' NCAs accept."""
    body, site = producer.root.input, producer.site
    match = Match(site.nca, tuple(unique(body)), Completeness.FULL, body.schema, site.fusion)
    layout = Layout.COLUMNAR if consumer else plan.root.layout
    count = producer.root.partitioning.count
    if producer.transport is not None:
        transport = producer.transport
        ntf = transport.layout(body.schema) if transport.layout else Descriptor.of(body.schema, layout)
    else:
        ntf, transport = plan.registry.get(site.nca).operators.match_output(match, count, layout)
    _require_small(ntf, len(body.schema))
    return Edge(
        id=producer.root.edge,
        ntf=ntf,
        partitioning=producer.root.partitioning,
        producers=producer.instances,
        consumers=consumer.instances if consumer else (),
        endpoints=() if consumer else (plan.root.endpoints or plan.options.endpoints),
        transport=transport,
    )


def _filter_edge(plan: MappedPlan, producer: Fragment, id: str, consumer: Fragment) -> Edge:
    _, keys, to = producer.filters[id]
    kind = "bloom" if keys.blocks else "keys"
    ends = {(f.site.devices, f.site.count) for f in (producer, consumer)}
    if to.kind == "paired" and len(ends) > 1:  # other instances run a part of the plan, too
        to = replace(to, kind="broadcast")
    match = Match(producer.site.nca, (keys,), Completeness.FULL, keys.schema, producer.site.fusion)
    ntf, transport = plan.registry.get(producer.site.nca).operators.match_output(match, consumer.site.count)
    return Edge(id, ntf, to, producer.instances, consumer.instances, transport=transport, filter=kind)


def _check_ports(instances: tuple[InstancePlan, ...], edges: tuple[Edge, ...]) -> None:
    producers = {edge.id: len(edge.producers) for edge in edges}
    bounded = {i.device.name: i.device for i in instances if i.inputs and i.device.offer.ports < math.inf}
    senders = dict.fromkeys(bounded, 0)
    for instance in instances:
        if instance.device.name in bounded:
            senders[instance.device.name] += sum(producers[e] for e in instance.inputs)
    for name, count in senders.items():
        device = bounded[name]
        if count > device.offer.ports:
            raise DeviceFull(
                device,
                f"{counted(count, 'instance')} would send to it; it has {counted(f'{device.offer.ports:g}', 'port')}",
            )


def _load(fragments: list[Fragment]) -> dict[str, int]:
    """Return how many instances of the largest fragment share each device: they divide its cores."""
    load: dict[str, int] = {}
    for f in fragments:
        share = math.ceil(f.site.count / len(f.site.devices))
        for device in f.site.devices:
            load[device.name] = max(load.get(device.name, 1), share)
    return load


def _instances(plan: MappedPlan, fragment: Fragment, stages: _Stages, load: dict[str, int]) -> Iterator[InstancePlan]:
    site = fragment.site
    common: dict[str, Any] = {
        "fragment": f"f{fragment.index}",
        "nca": site.nca,
        "root": fragment.root,
        "count": site.count,
        "inputs": tuple(fragment.inputs),
        "input_stages": tuple(stages.of_edge[e] for e in fragment.inputs),
        "output": fragment.root.edge,
        "stage": stages.of_fragment[fragment.index],
        "filters": _key_filters(fragment, stages),
        "dialect": plan.options.dialect,
        "settings": site.settings,
        "note": site.note,
        "asked": site.asked,
    }
    for index, id in enumerate(fragment.instances):
        device = site.devices[index % len(site.devices)]
        threads = plan.options.threads or max(1, device.cores // load[device.name])
        yield InstancePlan(id, device=device, index=index, threads=threads, **common)


def _key_filters(fragment: Fragment, stages: _Stages) -> tuple[KeyFilter, ...]:
    numbers = {id(node): number for number, node in enumerate(numbered(fragment.root))}
    return tuple(
        KeyFilter(
            edge, numbers[id(join)], tuple(map(_build_keys(join).index, keys.keys)), stages.of_edge[edge], keys.blocks
        )
        for edge, (join, keys, _) in fragment.filters.items()
    )


def _require_small(ntf: Descriptor, columns: int) -> None:
    """Raise InvalidDataflow for an edge whose descriptor is too long for the handshake of its ends."""
    if (size := len(ntf.text().encode())) > DESCRIPTOR_BYTES_MAX:
        raise InvalidDataflow(
            f"an edge of {columns} columns has a descriptor of {size} bytes, of {DESCRIPTOR_BYTES_MAX} at most; "
            "select fewer columns, or give them shorter names",
            columns=columns,
        )
