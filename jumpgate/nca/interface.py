"""The interfaces that an accelerator's author implements: an operator interface (what it can do) and a life-cycle (how
it is run)."""

from __future__ import annotations

import enum
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jumpgate.dataflow import bloom
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.file_state import FileStates
from jumpgate.dataflow.operators import Operator, Partitioning
from jumpgate.dataflow.types import Schema
from jumpgate.nca.device import Device as Device
from jumpgate.nca.device import Offer as Offer
from jumpgate.nca.device import Property as Property
from jumpgate.nca.place import Place as Place
from jumpgate.nca.shared import Shared
from jumpgate.nca.speeds import Speeds, Work
from jumpgate.nca.statistics import ColumnStatistics as ColumnStatistics
from jumpgate.nca.statistics import Selection as Selection
from jumpgate.nca.statistics import Statistics as Statistics
from jumpgate.nca.storage import Asked
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.trust.edges import JobCertificate

#: contents of filter edges: distinct keys, or Bloom filters of them (jumpgate.dataflow.bloom)
FILTER_KINDS = ("keys", "bloom")


class Completeness(enum.Enum):
    """The work that remains downstream of a match."""

    FULL = "full"  #: the operators are done
    PARTIAL = "partial"  #: the last operator's final phase must combine the output
    PRUNE = "prune"  #: a superset that leaves the result unchanged; the operators still run downstream


@dataclass(frozen=True)
class Unsupported:
    """A refusal with its reason: a stable code, a sentence, and the setting that would change it (if any)."""

    reason: str
    code: str = "unsupported"
    remedy: str = ""


@dataclass(frozen=True)
class WireInput:
    """The rows sent to a device: the sender computes `expressions` over the match's input number `leaf`, which give the
    columns of `schema`. Several devices share the rows by the columns `keys`."""

    leaf: int
    expressions: tuple[Expression, ...]
    schema: Schema
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Wire:
    """How a match's rows travel if the device reads and writes its own columns and transport.

    `body` is what the device runs; its leaves are Receives of edges "0", "1", …, one for each of `inputs`. Several
    inputs may come from one leaf (rows that are sent twice). The receiver computes `from_wire` over the body's output,
    which gives the match's schema. `spreads`: the device can send any row to any of several instances.
    """

    inputs: tuple[WireInput, ...]
    body: Operator
    from_wire: tuple[Expression, ...]
    transport: Transport = TCP
    spreads: bool = False


@dataclass(frozen=True)
class Match:
    """An NCA's offer to take over `operators` (a connected part of the plan, root first).

    `schema` is that of its output; for PARTIAL that of the root's partial phase. `limits` are hard requirements,
    compared with the device's capacity (e.g. {"memory_bytes": …, "stages": …}). `fusion` names a domain: adjacent
    matches of one domain on one host become a single instance ("" = never fused), or several with `parallelism`: the
    compiler asks again about the phases that it then makes, and about a Shuffle. `wire`: how its rows travel. `claims`
    names parts of the device that a plan can use only once. `rows_max`: the most estimated input rows, one number for
    all inputs or one for each; `bytes_max`: the same in bytes. `settings`: an immutable value for its instances
    (InstancePlan.settings). explain shows `note`. `asked`: what a store does for it; None: what is read there is read
    by ranges. `needs_filter`: it is only for the probe side of a join that sends its keys there (TakesFilters).
    `chains`: devices of a chain may each do it to the rows that the device before leaves.
    """

    nca: str
    operators: tuple[Operator, ...]
    completeness: Completeness
    schema: Schema
    fusion: str = ""
    limits: tuple[tuple[str, float], ...] = ()
    note: str = ""
    wire: Wire | None = None
    claims: tuple[str, ...] = ()
    rows_max: float | tuple[float, ...] = math.inf
    settings: Any = None
    asked: Asked | None = None
    bytes_max: float | tuple[float, ...] = math.inf
    needs_filter: bool = False
    chains: bool = False


#: an NCA's answer about a node on a device
Answer = Match | Unsupported | None | tuple[Match | Unsupported, ...]


class Estimates(Protocol):
    """The compiler's estimates for the operators of a plan."""

    def of(self, node: Operator) -> Statistics:
        """Return the rows and bytes of the node's output."""

    def doubt(self, node: Operator) -> float:
        """Return the error factor of the estimate, either way; 1 if it is exact."""

    def column(self, node: Operator, key: Expression) -> ColumnStatistics:
        """Return the statistics of an expression over the node's output: distinct values, bounds, NULLs."""

    def stored(self, node: Operator) -> float | None:
        """Return the bytes of the columns of a read in its files, about."""


class OperatorInterface(Protocol):
    """Answers the compiler's questions. Pure: no I/O, no state; may be asked in any order and often.

    Abilities beyond these are protocols of their own: MatchesEstimated, SendsFilters, TakesFilters,
    ComputesWires.
    """

    #: unique registry name
    name: str

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        """Return None if the NCA can read this layout over this transport, else the reason."""

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        """Return the operators that it takes over from `node` down, as many as possible, with exactly the semantics of
        `dialect`. None = not its operator; a reason = its operator, but unsupported. It may return several answers,
        such as full, partial or pruning: the planner chooses."""

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        """Return the NTF and transport in which it emits the match's result; `layout` is what the consumer prefers."""

    def speeds(self, device: Device) -> Speeds:
        """Return how the device differs from a host's core; the compiler counts the work and computes the cost."""


@runtime_checkable
class MatchesEstimated(Protocol):
    """An operator interface that is asked `match_estimated` in place of `match_operations`."""

    def match_estimated(self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates) -> Answer:
        """Answer as `match_operations` does; `estimates` knows the node's inputs."""


@runtime_checkable
class SendsFilters(Protocol):
    """An operator interface that sends filters of its joins' keys over filter edges (`InstancePlan.filters`), and takes
    such edges as the right input of a semi join."""

    #: the kinds of filters, some of FILTER_KINDS
    travelling_filters: tuple[str, ...]


@runtime_checkable
class TakesFilters(Protocol):
    """An operator interface that takes filter edges with keys over some of its matches, and is asked about each. No
    Bloom filters are sent to it: it makes what its device needs of the keys."""

    def match_filtered(
        self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates
    ) -> Match | Unsupported:
        """Return its match of a semi join, or why it is none. The left input is a match of its own; the keys of the
        right one will arrive over a filter edge, before it reads. Rows without partners may pass."""


@runtime_checkable
class ComputesWires(Protocol):
    """An operator interface whose instances stand at the ends of a device's wire (`Match.wire`): they compute what the
    device reads, send it, and make rows of what comes back."""

    #: the channels (Transport.channel) over which they do
    wire_channels: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """A connection of the plan. `producers` and `consumers` are instance ids in partition order; the edge to the client
    has no `consumers`, and `endpoints` holds its host:port per partition. A filter edge carries the keys of a join
    (`KeyFilter`) against the direction of rows; its `filter` is one of FILTER_KINDS, "" for other edges."""

    id: str
    ntf: Descriptor
    partitioning: Partitioning
    producers: tuple[str, ...]
    consumers: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    transport: Transport = TCP
    filter: str = ""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Each producer's number."""
        return {producer: number for number, producer in enumerate(self.producers)}


@dataclass(frozen=True)
class KeyFilter:
    """The filter that leaves an instance over edge `edge`: the `keys` (positions) of the table of join number `join`,
    each once or as a Bloom filter of `blocks` blocks. It is sent when the table is complete, in `stage`."""

    edge: str
    join: int
    keys: tuple[int, ...]
    stage: int
    blocks: int = 0

    def sent(self, keys: Operator) -> Operator:
        """Return the operator that gives the edge's rows, where `keys` gives those of the table."""
        return bloom.sent(keys, self.blocks)


@dataclass(frozen=True)
class InstancePlan:
    """One instance of a fragment: `root` is an Emit over edge `output`, leaves are Read or Receive.

    `index` of `count` siblings that run the same fragment; the siblings of a Read take disjoint shares of its files.
    Stages are numbered from 1 over the whole job. Cutting a plan at every join's build (right) edge leaves components;
    a component's stage is 1 + the greatest stage of those built into it. `stage` is that of the root's component,
    `input_stages` those of the components that read each of `inputs`. `filters` leave beside the root's rows
    (docs/hosts.md).

    `memory_limit_bytes`: of its tables; 0: none but the host's. `joins_on_disk` may spill (disk_joins.py); only for
    life-cycles that are JoinsOnDisk. `kept_rows` keep their rows for all consumers; only for life-cycles that are
    KeepsRows. Both hold operator numbers (operators.numbered). `quick_build`: the program may be built without the
    optimiser (quick_builds.py). `settings`, `note` and `asked` are those of the match.
    """

    id: str
    fragment: str
    nca: str
    device: Device
    root: Operator
    index: int = 0
    count: int = 1
    threads: int = 1
    inputs: tuple[str, ...] = ()
    input_stages: tuple[int, ...] = ()
    output: str = ""
    stage: int = 1
    filters: tuple[KeyFilter, ...] = ()
    dialect: Dialect = DEFAULT
    memory_limit_bytes: int = 0
    joins_on_disk: frozenset[int] = frozenset()
    kept_rows: frozenset[int] = frozenset()
    quick_build: bool = False
    settings: Any = None
    note: str = ""
    asked: Asked | None = None

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """The operators' kinds, the root's first."""
        return tuple(operator.kind for operator in self.root.walk())


@dataclass(frozen=True)
class Figures:
    """Expected figures of one operator: its output rows and bytes (a Read: bytes of its files), the error factor of the
    rows, its seconds, and its work, from which these are computed."""

    rows: float
    bytes: float
    doubt: float
    seconds: float
    work: Work


@dataclass(frozen=True, eq=False)
class JobFigures:
    """Expected figures of a job: of its operators by fragment and number, the bytes of each edge that cross links, and
    the job's seconds, None if too little is known of an operator; what each fragment asks of stores, and its price; the
    bytes that leave and enter each network."""

    operators: Mapping[tuple[str, int], Figures] = field(default_factory=dict)
    crossing: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    asked: Mapping[str, tuple[Asked, float]] = field(default_factory=dict)
    networks: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class JobPlan:
    """The compiler's output for the orchestrator. `stages` is the number of stages, separated by barriers (≥ 1)."""

    instances: tuple[InstancePlan, ...]
    edges: tuple[Edge, ...]
    stages: int
    result: str  #: id of the edge to the client
    explain: dict[str, Any] = field(default_factory=dict, compare=False)
    figures: JobFigures = field(default_factory=JobFigures, compare=False, repr=False)
    #: states of the files that it reads, from before planning; without files that did not exist
    files: FileStates = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def siblings(self) -> Mapping[tuple[str, str], Sequence[InstancePlan]]:
        """Return a fragment's instances on a device, by both names; on all devices, by its name and ""."""
        found: dict[tuple[str, str], list[InstancePlan]] = {}
        for i in self.instances:
            found.setdefault((i.fragment, i.device.name), []).append(i)
            found.setdefault((i.fragment, ""), []).append(i)
        return found

    @cached_property
    def _by_id(self) -> Mapping[str, Edge]:
        return {edge.id: edge for edge in self.edges}

    def edge(self, id: str) -> Edge:
        """Return the edge with that id. Raises KeyError if there is none, which is a bug."""
        return self._by_id[id]


class Reached(Protocol):
    """A device that the service stays connected to between jobs."""

    device: Device

    async def release(self, job: str) -> None:
        """Release all of the job's resources; return once nothing is left."""


class Driver(Reached, Protocol):
    """The connection to a device without an agent, made by its accelerator's life-cycle (`reach`)."""

    @property
    def alive(self) -> bool:
        """Return whether the device is usable; if not, it is closed and reconnected for the next job."""

    async def watch(self, job: str) -> None:
        """Run as long as a stage of the job does; raise the typed error of the device or of the job's part of it."""

    async def close(self) -> None:
        """End what was started for the device, as the service ends; may be called twice."""


class Host(Reached, Protocol):
    """The orchestrator's access to a device that has an agent, for life-cycles (jumpgate/hosts)."""

    async def compile(self, name: str, source: str, key: str) -> str:
        """Build `source` (C++) unless an artifact with that content key is cached; return the artifact's path on the
        host."""

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        """Build without a waiting caller or a report of failure; `source` is called on a thread. Does nothing if that
        key waits or failed recently, or if many wait: it may be requested again."""

    async def has_artifact(self, key: str) -> str | None:
        """Return the cached artifact's path on that host, or None."""

    async def spawn(self, job: str, instance: str, module: str = "") -> InstanceHandle:
        """Start an instance process: of the C++ runtime, or `python -m module INSTANCE` (see jumpgate.nca.worker). It
        ends with the job, the agent, or the connection to it. `release` kills every instance that is left."""


class Groups(Host, Protocol):
    """A host that takes one message for several instances: the agent's service to a life-cycle that `StartsTogether`.
    An error names its instance."""

    def known(self, key: str) -> str | None:
        """Return the path of a cached artifact, if the host has reported it before."""

    def instance(self, job: str, id: str) -> InstanceHandle:
        """Return an instance that `begin` spawns: its address need not be known earlier."""

    async def start(
        self, job: str, instances: Mapping[str, Mapping[str, Any]]
    ) -> list[tuple[InstanceHandle, dict[str, Any]]]:
        """Spawn instances and ask them to allocate; return each with its answer."""

    def begin(
        self,
        instances: Sequence[InstanceHandle],
        configurations: Sequence[Mapping[str, Any]],
        shared: Shared,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        """Spawn the instances of one job that were not started, configure all (their configurations may refer to
        `shared`), and request stages, which each instance runs in order. Return an awaitable that is done once all are
        configured, and the pending answers of each stage."""

    def each(self, instances: Sequence[InstanceHandle], verb: str, **arguments: Any) -> list[Awaitable[dict[str, Any]]]:
        """Send the same request to each; return the pending answers."""


class InstanceHandle(Protocol):
    """One live instance. Calls raise the typed error that the instance answered, or InstanceFailed if it died."""

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        """Send one request and return its answer: allocate, configure, execute, cancel, stats, destroy."""


@dataclass
class JobContext:
    """The state that all verbs of one job's life-cycles share. Secrets stay out of repr."""

    job: str
    token: str = field(repr=False)
    plan: JobPlan
    hosts: dict[str, Host]
    #: devices without agents, by name
    drivers: dict[str, Driver] = field(default_factory=dict)
    #: instance id → "host:port" where it accepts edges; filled by allocate
    addresses: dict[str, str] = field(default_factory=dict)
    #: (instance id, edge id) → "host:port" of that end of an edge, if the edge's channel has an address for each;
    #: filled by allocate
    sockets: dict[tuple[str, str], str] = field(default_factory=dict)
    #: edge id → instance id → what the edge's channel must know at that end; filled by the device's allocate
    ends: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    timeout_ms: int = 30_000
    #: names of the hosts that have the service's own files, not copies
    here: frozenset[str] = frozenset()
    #: what computes for long gives way to other users' jobs
    yields: bool = False
    #: the certificate of both ends of each edge over TCP; None: edges are not encrypted
    certificate: JobCertificate | None = field(default=None, repr=False)

    #: the common parts of configurations; each instance fills the gaps
    shared: Shared = field(default_factory=Shared, repr=False)

    _peers: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def peers(self, edge: Edge) -> tuple[str, ...]:
        """Return each consumer's address for an edge, in partition order, once all instances have been allocated. They
        are the same for all producers, of which there may be a thousand."""
        if edge.id not in self._peers:
            ends = (self.sockets.get((c, edge.id)) or self.addresses[c] for c in edge.consumers)
            self._peers[edge.id] = edge.endpoints or tuple(ends)
        return self._peers[edge.id]

    def secrets(self) -> dict[str, Any]:
        """Return the secrets for an instance's configuration."""
        tls = {} if self.certificate is None else {"tls": self.certificate.to_dict()}
        return {"token": self.token, **tls}


class LifeCycle(Protocol):
    """How one instance is run. The orchestrator calls the verbs in this order. destroy may follow any verb, may be
    called twice, and succeeds also if the instance has died. compile may run long before, and is idempotent. Any other
    verb out of order or repeated raises a typed error at once and changes nothing.

    Abilities beyond these are protocols of their own: QueuesStages, JoinsOnDisk, KeepsRows, StartsTogether,
    BuildsAhead, RunsModule, Reaches.
    """

    async def compile(self, instance: InstancePlan, host: Host) -> Any:
        """Generate and build the instance's program; return an artifact for configure. Cached by content."""

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Any:
        """Claim resources, start processes, set context.addresses[instance.id]; return the handle for later verbs."""

    async def configure(self, handle: Any, instance: InstancePlan, artifact: Any, context: JobContext) -> None:
        """Pass parameters and the peers' addresses; every instance has been allocated by now."""

    async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
        """Run one stage to its end; return the instance's counters so far."""

    async def stats(self, handle: Any) -> dict[str, Any]:
        """Return the current counters, also while a stage runs."""

    async def destroy(self, handle: Any) -> None:
        """End the instance at once, in any state, and leave nothing behind."""


@runtime_checkable
class QueuesStages(Protocol):
    """A life-cycle that may be asked for a stage while the previous one runs. It then starts the stage by itself,
    unless the previous one failed, so a job's only instance need not wait between stages."""

    queues_stages: bool


@runtime_checkable
class JoinsOnDisk(Protocol):
    """A life-cycle that is told which joins may exceed memory (InstancePlan.joins_on_disk)."""

    joins_on_disk: bool


@runtime_checkable
class KeepsRows(Protocol):
    """A life-cycle that is told which operators keep their rows for all consumers (InstancePlan.kept_rows)."""

    keeps_rows: bool


@runtime_checkable
class StartsTogether(Protocol):
    """A life-cycle that sends one message for all of a job's instances on a host. Each verb corresponds to that of one
    instance; `begin_all` combines two, and the host's `release` replaces `destroy`."""

    def compiled(self, instance: InstancePlan, host: Groups) -> Any | None:
        """Return the result of compile if that needs no request, else None."""

    async def allocate_all(self, instances: Sequence[InstancePlan], host: Groups, context: JobContext) -> list[Any]:
        """Return the handle of each instance."""

    def begin_all(
        self,
        handles: Sequence[Any],
        instances: Sequence[InstancePlan],
        artifacts: Sequence[Any],
        host: Groups,
        context: JobContext,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        """Configure instances and request `stages`, each to start when the previous one ended. All instances on every
        host have been allocated. Return an awaitable that is done once all are configured, and each stage's pending
        counters."""

    def execute_all(self, handles: Sequence[Any], host: Groups, stage: int) -> list[Awaitable[dict[str, Any]]]:
        """Request a stage from all at once; return the pending counters of each."""


#: the answer of `Host.has_artifact`
HasArtifact = Callable[[str], Awaitable[str | None]]


@runtime_checkable
class BuildsAhead(Protocol):
    """A life-cycle whose `compile` may take so long that a client with an alternative would rather not wait."""

    async def build_seconds(self, instance: InstancePlan, has: HasArtifact) -> float:
        """Return the expected seconds of compile on the instance's host; 0.0: the artifact is cached."""

    def build_later(self, instance: InstancePlan, host: Host) -> None:
        """Build the artifact when the host is idle."""


@runtime_checkable
class RunsModule(Protocol):
    """A life-cycle whose instances run a Python module. A host may keep a process of it that waits to become one."""

    module: str


@runtime_checkable
class Reaches(Protocol):
    """A life-cycle whose devices have no agent: the service keeps the result of `reach` between its jobs."""

    async def reach(self, device: Device) -> Driver:
        """Connect to the device, or start it. Raises a typed error that says what is missing."""


class NCA(Protocol):
    """A registered accelerator: the two halves under one name. Abilities beyond these: BringsDevices, PlacesData,
    StandsIn."""

    name: str
    operators: OperatorInterface
    lifecycle: LifeCycle


@runtime_checkable
class StandsIn(Protocol):
    """An NCA that starts at once, and runs dataflows while the programs of others are built. Such plans are made of
    stand-ins alone, whose instances have the NCA's own life-cycle."""

    #: what it takes then
    stand_in: OperatorInterface


@runtime_checkable
class BringsDevices(Protocol):
    """An NCA whose devices can be simulated: the conformance kit runs on these if the configuration names none."""

    sample_devices: tuple[Device, ...]


@runtime_checkable
class PlacesData(Protocol):
    """An NCA whose data must lie elsewhere than in files: the conformance kit writes its files into a place of it."""

    def placing(self, folder: Path) -> AbstractContextManager[Place]:
        """Make a place of a new folder in `folder`, for as long as the context is open."""
