"""The model: a service that sends its messages one by one, hosts with cores, and the links between them.

Rows move in `CHUNKS` pieces of each instance's part of a stage: a piece is computed, leaves over its host's link, and
continues at its consumers once that piece of all producers has arrived over their links. Between these it crosses the
links of networks (`Device.above`), all of them at once, and the devices of a chain (`Device.below`), which pass rows
on and whose ports are never full. So a stage's operators overlap as they do in a job, with as many events for each
instance, however many others it sends to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jumpgate.compiler.physical.traffic import Traffic
from jumpgate.dataflow.operators import Partitioning
from jumpgate.nca.interface import Edge, InstancePlan, JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.nca.speeds import assumed
from jumpgate.simulate.events import Clock, Server
from jumpgate.simulate.plans import spread
from jumpgate.simulate.tasks import Task, sent_bytes, tasks

#: pieces in which an instance's part of a stage is modelled
CHUNKS = 8


@dataclass(frozen=True)
class Cluster:
    """The performance of hosts, links and service. `shared_cores`: all hosts share the cores of one machine (0: each
    has its own). disk_bytes_s: of each host's disks, which files are read from (0: they are in memory).

    message_s and peer_s are the service's seconds for a message to a host about all of the job's instances there, and
    for each address in it; plan_s is for planning an instance (`./dev bench scale` measures them). spawn_s and
    connect_s are a host's, for an instance and a connection.
    """

    link_bytes_s: float = 1.25e9
    disk_bytes_s: float = 0.0
    latency_s: float = 50e-6
    shared_cores: int = 0
    message_s: float = 85e-6
    peer_s: float = 5e-9
    plan_s: float = 10e-6
    spawn_s: float = 2e-3
    connect_s: float = 60e-6


@dataclass
class Simulated:
    """Seconds until the last of the jobs, submitted together, has ended; `steps` of the last one: planning, set-up, and
    its stages. busy: for each kind of resource, the fraction of the time that the busiest one worked. links: the bytes
    that left and entered each network, of all jobs; read_bytes: those of files."""

    hosts: int
    jobs: int
    instances: int
    connections: int
    messages: int = 0
    seconds: float = 0.0
    started_s: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)
    links: dict[str, tuple[float, float]] = field(default_factory=dict)
    read_bytes: float = 0.0
    events: int = 0

    @property
    def bound_by(self) -> str:
        return max(self.busy, key=lambda name: self.busy[name])


def simulate(
    plan: JobPlan,
    registry: Registry,
    cluster: Cluster,
    measured: Mapping[str, float] | None = None,
    jobs: int = 1,
    groups: int = 1,
) -> Simulated:
    """Simulate `jobs` jobs of one plan, on each of `groups` groups of its hosts (plans.spread). Raises CannotPlace if
    too little is known of an operator."""
    speeds = {**assumed(), **(measured or {})}
    clock = Clock()
    plans = spread(plan, groups)
    world = _World(clock, cluster, plans, registry)
    of_fragment = tasks(plan, registry, speeds)
    sizes = sent_bytes(plan)
    instances = sum(len(each.instances) for each in plans)
    read_bytes = sum(
        task.read_bytes for each in plans for i in each.instances for task in of_fragment[i.fragment].values()
    )
    found = Simulated(len(world.cores), jobs * groups, instances, groups * _connections(plan))
    found.read_bytes = jobs * read_bytes
    for _ in range(jobs):
        for each in plans:
            _Job(world, each, of_fragment, sizes, speeds["job"], found).begin()
    clock.run()
    found.events, found.seconds = clock.events, clock.now
    found.links = {n: (float(world.crossed[n, "up"]), float(world.crossed[n, "down"])) for n in sorted(world.links)}
    whole = max(clock.now, 1e-9)
    cores = max(s.busy_s for s in world.cores.values()) / max(1, cluster.shared_cores)
    found.busy = {
        "service": world.service.busy_s / whole,
        "cores of a host": cores / whole,
        "disk of a host": _busiest(world.disks) / whole,
        "link out of a host": _busiest(world.out) / whole,
        "link into a host": _busiest(world.into) / whole,
        "link of a network": _busiest(world.networks) / whole,
        "device in the network": _busiest(world.passing) / whole,
        "link of the client": world.client.busy_s / whole,
    }
    return found


def _busiest(servers: Mapping[Any, Server]) -> float:
    return max((server.busy_s for server in servers.values()), default=0.0)


def _connections(plan: JobPlan) -> int:
    return sum(
        len(e.producers) * (1 if e.partitioning.kind == "paired" else max(1, len(e.consumers or e.endpoints)))
        for e in plan.edges
    )


class _World:
    """The state that all jobs share."""

    def __init__(self, clock: Clock, cluster: Cluster, plans: Sequence[JobPlan], registry: Registry) -> None:
        self.clock, self.cluster = clock, cluster
        self.service, self.client = Server(clock), Server(clock)
        instances = [i for plan in plans for i in plan.instances]
        self.devices = {d.name: d for i in instances for d in i.device.chain}
        hosts = sorted({i.device.name for i in instances if i.device.kind == "host"})
        shared = Server(clock, cluster.shared_cores) if cluster.shared_cores else None
        self.cores = {name: shared or Server(clock) for name in hosts}
        self.disks = {name: Server(clock) for name in hosts}
        self.out = {name: Server(clock) for name in hosts}
        self.into = {name: Server(clock) for name in hosts}
        speeds = {i.device.name: registry.get(i.nca).operators.speeds(i.device) for i in instances}
        self.setup_s = {name: found.setup_s for name, found in speeds.items()}
        #: seconds for each byte that comes to a device that passes rows on
        self.receive_s = {
            d.name: speeds[i.device.name].receive_s for i in instances for d in i.device.chain
            if speeds[i.device.name].receive_s
        }  # fmt: skip
        self.drain_bytes = {name: of.drain_bytes for name, of in speeds.items()}
        self.passing = {name: shared or Server(clock) for name in self.receive_s}
        self.links = {link.name: link for device in self.devices.values() for link in device.above}
        #: by the network and the direction of its link
        self.networks = {
            (name, way): Server(clock) for name, link in self.links.items() if link.bits_per_s for way in ("up", "down")
        }
        self.crossed: Counter[tuple[str, str]] = Counter()

    def compute(self, instance: InstancePlan, core_s: float, then: Callable[[], None]) -> None:
        """Compute on all threads of the instance, or on one of the cores that hosts share."""
        threads = 1 if self.cluster.shared_cores else max(1, instance.threads)
        cores = self.cores.get(instance.device.name)
        if cores is None:  # a device in the network, whose work is on the way (_Job.crossings)
            then()
        else:
            cores.ask(core_s / threads, then)

    def read(self, instance: InstancePlan, bytes: float, then: Callable[[], None]) -> None:
        """Read bytes of files from the disks of the instance's host."""
        disk = self.disks.get(instance.device.name)
        if disk is None or not bytes or not self.cluster.disk_bytes_s:
            then()
        else:
            disk.ask(bytes / self.cluster.disk_bytes_s, then)


class _Job:
    """One job in progress."""

    def __init__(
        self,
        world: _World,
        plan: JobPlan,
        of_fragment: Mapping[str, Mapping[int, Task]],
        sizes: Mapping[str, float],
        base_s: float,
        found: Simulated,
    ) -> None:
        self.world, self.plan, self.tasks, self.sizes = world, plan, of_fragment, sizes
        self._base_s, self._found = base_s, found
        self._since = 0.0
        self.parts = {i.id: i for i in plan.instances}
        self.edges = {e.id: e for e in plan.edges}
        self._on_host: dict[str, list[InstancePlan]] = {}
        for i in plan.instances:
            self._on_host.setdefault(i.device.name, []).append(i)
        self._places: dict[tuple[str, str], Counter[str]] = {}
        self._crossings: dict[str, list[tuple[Server, float]]] = {}
        self._passed = {i.output for i in plan.instances if i.device.below}

    # ---- what the service does ----

    def begin(self) -> None:
        planning = self._base_s + self.world.cluster.plan_s * len(self.plan.instances)
        self.world.service.ask(planning, lambda: self._step("planning", self._allocate))

    def _step(self, name: str, then: Callable[[], None]) -> None:
        now = self.world.clock.now
        self._found.steps[name] = now - self._since
        self._since = now
        then()

    def _tell(
        self, addresses: int, does: Callable[[InstancePlan, Callable[[], None]], None], then: Callable[[], None]
    ) -> None:
        """Send one message with that many addresses to each host. Each of its instances then calls `does`; call `then`
        once all have answered."""
        world, left = self.world, Counter(instances=len(self.plan.instances))

        def answered() -> None:
            left["instances"] -= 1
            if not left["instances"]:
                then()

        def away(then: Callable[[], None]) -> None:
            world.clock.after(world.cluster.latency_s, then)

        def heard(host: str) -> None:
            for i in self._on_host[host]:
                does(i, partial(away, answered))

        self._found.messages += len(self._on_host)
        for host in self._on_host:
            seconds = world.cluster.message_s + world.cluster.peer_s * addresses
            world.service.ask(seconds, partial(away, partial(heard, host)))

    def _allocate(self) -> None:
        world, spawn_s = self.world, self.world.cluster.spawn_s

        def make(instance: InstancePlan, then: Callable[[], None]) -> None:
            world.compute(instance, spawn_s, lambda: world.clock.after(world.setup_s[instance.device.name], then))

        self._tell(0, make, self._configure)

    def _configure(self) -> None:
        addresses = sum(len(e.consumers) for e in self.plan.edges if e.partitioning.kind != "paired")
        self._tell(addresses, lambda _, then: then(), lambda: self._step("set-up", self._first))

    def fan(self, instance: InstancePlan) -> int:
        """Return how many others an instance connects to."""
        edge = self.edges[instance.output]
        return 1 if edge.partitioning.kind == "paired" else max(1, len(edge.consumers))

    def on(self, edge: Edge, end: str, host: str) -> int:
        """Return how many of an edge's `producers` or `consumers` are on the host."""
        if (edge.id, end) not in self._places:
            self._places[edge.id, end] = Counter(self.parts[i].device.name for i in getattr(edge, end))
        return self._places[edge.id, end][host]

    def bytes(self, edge: Edge) -> float:
        """Return the bytes of an edge's rows; of a chain's, those that all of its devices leave."""
        found = self.sizes.get(edge.id, 0.0)
        return self.plan.figures.crossing.get(edge.id, found) if edge.id in self._passed else found

    def drained(self, edge: Edge) -> Iterator[tuple[str, float]]:
        """Yield the devices that an edge's rows are read from in the end, and the bytes on a link that it takes."""
        for producer in edge.producers:
            device = self.parts[producer].device
            if drained := self.world.drain_bytes[device.name]:
                yield from ((each.name, drained) for each in device.chain)

    def crossings(self, edge: Edge) -> list[tuple[Server, float]]:
        """Return the links of networks and the devices that an edge crosses, with the seconds of one piece of all
        producers."""
        if edge.id not in self._crossings:
            self._crossings[edge.id] = [*self._cross(edge)]
        return self._crossings[edge.id]

    def _cross(self, edge: Edge) -> Iterator[tuple[Server, float]]:
        world, bytes = self.world, self.bytes(edge)
        if not (world.links or world.receive_s):
            return
        traffic = Traffic(world.devices)
        producers, consumers = ([self.parts[i].device.name for i in ids] for ids in (edge.producers, edge.consumers))
        top = self.parts[edge.consumers[0]] if edge.consumers else None
        if top is not None and top.device.below:
            traffic.add_chain(bytes, producers, top.device, self.sizes.get(top.output, 0.0))
        else:
            dealt = edge.partitioning if consumers else Partitioning()
            traffic.add(bytes, dealt, producers, consumers or ["client"])
        for device, drained in self.drained(edge):
            for ends in (([device], consumers), (consumers, [device])):  # answers, and requests
                traffic.add(drained / edge.transport.overhead, Partitioning(), *ends)
        for way, counts in (("up", traffic.up), ("down", traffic.down)):
            for name, crossed in counts.items():
                if name in world.links:
                    world.crossed[name, way] += edge.transport.overhead * crossed  # type: ignore[assignment]
                    if speed := world.links[name].bits_per_s:
                        yield world.networks[name, way], 8 * edge.transport.overhead * crossed / speed / CHUNKS
        for name, came in traffic.into.items():
            if name in world.receive_s:
                yield world.passing[name], came * world.receive_s[name] / CHUNKS

    def _first(self) -> None:
        self._found.started_s = self.world.clock.now
        self._stage(1)

    def _stage(self, number: int) -> None:
        if number > self.plan.stages:
            return
        run = _Stage(self, number)
        self._tell(0, run.start, lambda: self._step(f"stage {number}", lambda: self._stage(number + 1)))


class _Stage:
    """A stage of a job: pieces of rows in transit."""

    def __init__(self, job: _Job, number: int) -> None:
        self.world, self.job = job.world, job
        self._parts = {
            i.id: _Part(self, i, task)
            for i in job.plan.instances
            if (task := job.tasks[i.fragment].get(number)) is not None
        }
        self._passed: Counter[tuple[str, int]] = Counter()

    def start(self, instance: InstancePlan, then: Callable[[], None]) -> None:
        part = self._parts.get(instance.id)
        if part is None:
            then()
        else:
            part.start(then)

    def send(self, instance: InstancePlan, edge: str, chunk: int, then: Callable[[], None]) -> None:
        """Send a piece of the instance's output."""
        world, found = self.world, self.job.edges[edge]
        away = self._away_bytes(found, instance) / CHUNKS if instance.device.name in world.out else 0.0

        def left() -> None:
            self._passed[edge, chunk] += 1
            if self._passed[edge, chunk] == len(found.producers):
                self._cross(
                    found, lambda: world.clock.after(world.cluster.latency_s, lambda: self._arrive(found, chunk))
                )
            then()

        if away:
            world.out[instance.device.name].ask(away / world.cluster.link_bytes_s, left)
        else:
            left()

    def _cross(self, edge: Edge, then: Callable[[], None]) -> None:
        """Send a piece of all producers over the links of networks."""
        crossings = self.job.crossings(edge)
        left = Counter(links=len(crossings))

        def crossed() -> None:
            left["links"] -= 1
            if not left["links"]:
                then()

        for link, seconds in crossings:
            link.ask(seconds, crossed)
        if not crossings:
            then()

    def _arrive(self, edge: Edge, chunk: int) -> None:
        world = self.world
        rate = world.cluster.link_bytes_s * CHUNKS
        if not edge.consumers:
            world.client.ask(edge.transport.overhead * self.job.bytes(edge) / rate, lambda: None)
            return
        for id in edge.consumers:
            part = self._parts.get(id)
            if part is not None:
                came = self._come_bytes(edge, part.instance) / rate
                receive = part.received(edge.id, chunk)
                if came and part.instance.device.name in world.into:
                    world.into[part.instance.device.name].ask(came, receive)
                else:
                    receive()

    def _away_bytes(self, edge: Edge, instance: InstancePlan) -> float:
        """Return the bytes that the instance sends to other hosts."""
        share = edge.transport.overhead * self.job.bytes(edge) / len(edge.producers)
        if not edge.consumers:
            return share
        if edge.partitioning.kind == "paired":
            return 0.0
        others = len(edge.consumers) - self.job.on(edge, "consumers", instance.device.name)
        return share * others if edge.partitioning.kind == "broadcast" else share * others / len(edge.consumers)

    def _come_bytes(self, edge: Edge, instance: InstancePlan) -> float:
        """Return the bytes that the instance receives from other hosts."""
        if edge.partitioning.kind == "paired":
            return 0.0
        whole = edge.transport.overhead * self.job.bytes(edge) + sum(drained for _, drained in self.job.drained(edge))
        others = 1 - self.job.on(edge, "producers", instance.device.name) / len(edge.producers)
        return whole * others if edge.partitioning.kind == "broadcast" else whole * others / len(edge.consumers)


class _Part:
    """An instance's part of a stage."""

    def __init__(self, stage: _Stage, instance: InstancePlan, task: Task) -> None:
        self._stage, self.instance, self._task = stage, instance, task
        self._came: Counter[int] = Counter()
        self._next = self._computed = self._left = 0
        self._started = False
        self._then: Callable[[], None] = lambda: None
        rows = stage.job.plan
        self._row_outputs = [e for e in task.outputs if not rows.edge(e).filter]
        self._filters = [e for e in task.outputs if rows.edge(e).filter]

    def start(self, then: Callable[[], None]) -> None:
        """Start on the service's message; call `then` once all is computed and sent."""
        self._then, world = then, self._stage.world
        self._left = CHUNKS * (1 + len(self._row_outputs) + len(self._filters))
        connecting = world.cluster.connect_s * (self._stage.job.fan(self.instance) if self._row_outputs else 0)

        def connected() -> None:
            self._started = True
            for edge in self._filters:
                for chunk in range(CHUNKS):
                    self._stage.send(self.instance, edge, chunk, self._done)
            self._go_on()

        world.compute(self.instance, connecting, connected)

    def received(self, edge: str, chunk: int) -> Callable[[], None]:
        def receive() -> None:
            self._came[chunk] += 1
            self._go_on()

        return receive

    def _go_on(self) -> None:
        """Compute the pieces whose inputs are complete."""
        while self._started and self._next < CHUNKS and self._came[self._next] >= len(self._task.inputs):
            compute = partial(self._compute, self._task.before_s, partial(self._finish, self._next))
            self._stage.world.read(self.instance, self._task.read_bytes / CHUNKS, compute)
            self._next += 1

    def _compute(self, core_s: float, then: Callable[[], None]) -> None:
        """Compute one piece that takes `core_s`."""
        self._stage.world.compute(self.instance, core_s / CHUNKS, then)

    def _finish(self, chunk: int) -> None:
        self._computed += 1
        self._done()
        if not self._task.holds:
            self._send(chunk)
        elif self._computed == CHUNKS:
            for piece in range(CHUNKS):
                self._compute(self._task.after_s, partial(self._send, piece))

    def _send(self, chunk: int) -> None:
        for edge in self._row_outputs:
            self._stage.send(self.instance, edge, chunk, self._done)

    def _done(self) -> None:
        self._left -= 1
        if not self._left:
            self._then()
