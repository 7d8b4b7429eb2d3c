"""What an accelerator's author implements: an operator interface (what it can do) and a life-cycle (how it is run)."""

from __future__ import annotations

import enum
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from jumpgate.dataflow import bloom
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.file_state import FileStates
from jumpgate.dataflow.operators import Operator, Partitioning
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.nca.shared import Shared
from jumpgate.nca.speeds import Speeds, Work
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.trust.edges import JobCertificate

#: what travels over filter edges: keys, each once, or Bloom filters of them (jumpgate.dataflow.bloom)
FILTER_KINDS = ("keys", "bloom")


class Completeness(enum.Enum):
    """What remains to be done downstream of a match."""

    FULL = "full"  #: the operators are done
    PARTIAL = "partial"  #: the last operator's final phase must combine the output
    PRUNE = "prune"  #: a superset that leaves the result unchanged; the operators still run downstream


@dataclass(frozen=True)
class Unsupported:
    """“No”, with its reason: a stable code, a sentence, and the setting that would change it (if any)."""

    reason: str
    code: str = "unsupported"
    remedy: str = ""


@dataclass(frozen=True)
class WireInput:
    """What is sent to a device: `expressions` over the match's input number `leaf`, computed by who sends, give the
    columns of `schema`. By the columns `keys` several devices share the rows."""

    leaf: int
    expressions: tuple[Expression, ...]
    schema: Schema
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Wire:
    """How a match's rows travel, where a device reads and writes columns, and a transport, of its own.

    `body` is what the device runs; its leaves are Receives of edges "0", "1", …: the `inputs`, of which several may
    come of one leaf (rows that are sent twice). `from_wire` are expressions over the body's output, computed by who
    receives, and give the match's schema. `spreads`: the device can send to several instances, any row to any of them.
    """

    inputs: tuple[WireInput, ...]
    body: Operator
    from_wire: tuple[Expression, ...]
    transport: Transport = TCP
    spreads: bool = False


@dataclass(frozen=True)
class Match:
    """An NCA would take over `operators` (a connected part of the plan, root first).

    `schema` is what it would emit; for PARTIAL that of the root's partial phase. `limits` are hard needs, compared
    with the device's capacity (e.g. {"memory_bytes": …, "stages": …}). `fusion` names a domain: adjacent matches of one
    domain on one host become a single instance ("" = never fused), or several with `parallelism`: the compiler asks
    again about the phases that it then makes, and about a Shuffle, which only who shares rows over instances takes.
    `wire`: how its rows travel. `claims` names what of the device a plan can use only once. `rows_max`: it is not for
    inputs whose estimate is more rows, one number for all or one for each. `options` go to the instances that run it
    (InstancePlan.options). `note` is shown by explain.
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
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ColumnStatistics:
    """Estimates about a column; None means unknown. `low` and `high` are numbers, days, microseconds; `true_fraction`
    is that of a condition. `heavy` are the fingerprints of values that many rows have, most first, each with the share
    of rows."""

    distinct: float | None = None
    low: float | None = None
    high: float | None = None
    null_fraction: float | None = None
    true_fraction: float | None = None
    heavy: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Selection:
    """What a filter chooses of a table: of `seen` rows `chosen`; `whole`: these are all of its rows. `left` numbers the
    filter's conjuncts that were not tried. `column` is what is known of the values in the columns that were asked for:
    where all is known of those that are left, else of the whole table."""

    seen: int
    chosen: int
    whole: bool
    left: tuple[int, ...] = ()
    column: ColumnStatistics = field(default_factory=ColumnStatistics)


@dataclass(frozen=True)
class Statistics:
    """What is known about an operator's output; None means unknown. Of files, `column(name, type)` looks into a column
    when it is asked, and `select(filter, names)` tries a Filter over their Read and looks into these columns
    together."""

    rows: float | None = None
    bytes: float | None = None
    column: Callable[[str, DataType], ColumnStatistics] | None = field(default=None, compare=False, repr=False)
    select: Callable[[Operator, tuple[str, ...]], Selection | None] | None = field(
        default=None, compare=False, repr=False
    )


#: a value in jumpgate.toml
Property = str | int | float | bool


@dataclass(frozen=True)
class Offer:
    """What a device gives to plans, as its kind declares it (jumpgate/nca/device_kind.py).

    `capacities`: how much of what matches need (`Match.limits`). `claims`: the parts that a plan can use only once;
    None: whatever matches name. `ports`: so many senders can reach it in one plan. `money_per_hour` is charged.
    """

    capacities: tuple[tuple[str, float], ...] = ()
    claims: tuple[str, ...] | None = None
    ports: float = math.inf
    money_per_hour: float = 0.0


@dataclass(frozen=True)
class Device:
    """Somewhere an NCA can run: a host's agent, a board, a store. From jumpgate.toml, or this machine.

    `memory_bytes` 0: unknown. `link_bits_per_s`: the speed of its way to the network (compiler/traffic), 0: unknown.
    `properties` are the keys that its kind declares. Devices of one `pool` share rows.
    """

    name: str
    kind: str = "host"
    cores: int = 1
    memory_bytes: int = 0
    properties: tuple[tuple[str, Property], ...] = ()
    pool: str = ""
    offer: Offer = Offer()
    link_bits_per_s: int = 0

    def __hash__(self) -> int:
        return hash(self.name)  # of which no two are the same; plans count by device

    def capacity(self, name: str) -> float:
        """How much it has of what a match may need; infinite where nothing is known."""
        own = {"cores": float(self.cores), "memory_bytes": float(self.memory_bytes) or math.inf}
        return own.get(name, dict(self.offer.capacities).get(name, math.inf))


#: what an NCA says about a node on a device
Answer = Match | Unsupported | None | tuple[Match | Unsupported, ...]


class Estimates(Protocol):
    """What is expected of the operators of a plan, as the compiler estimates it."""

    def of(self, node: Operator) -> Statistics:
        """Rows and bytes of the node's output."""

    def doubt(self, node: Operator) -> float:
        """The factor by which these may be off, either way; 1: they are known."""

    def column(self, node: Operator, key: Expression) -> ColumnStatistics:
        """The values of an expression over the node's output: how many distinct ones, bounds, NULLs."""


class OperatorInterface(Protocol):
    """Answers the compiler's questions. Pure: no I/O, no state; may be asked in any order and often.

    One with a method `match_estimated(node, device, dialect, estimates)` is asked that in place of `match_operations`,
    and may answer by what is expected of the node's inputs. One with `travelling_filters`, some of FILTER_KINDS, sends
    such filters of its joins' keys over filter edges (`InstancePlan.filters`), and takes such edges as the right input
    of a semi join.
    """

    #: unique registry name
    name: str

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        """None if the NCA can read this layout over this transport."""

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        """The operators it would take over from `node` down, as many as it can, exactly as `dialect` has it; None =
        not mine, a reason = mine, but I cannot. Several answers, as full, partial or pruning: the planner chooses."""

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        """The NTF and transport in which it would emit the match's result; `layout` is what the consumer prefers."""

    def speeds(self, device: Device) -> Speeds:
        """How the device differs from a core of a host; the compiler counts the work and computes what it takes."""


@dataclass(frozen=True)
class Edge:
    """A connection of the plan. `producers` and `consumers` are instance ids in partition order; for the edge to the
    client `consumers` is empty and `endpoints` holds its host:port per partition. A filter edge carries the keys of a
    join (`KeyFilter`), against the way that rows take; `filter` is its kind, of FILTER_KINDS, "" of others."""

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
        """Each producer's number among them."""
        return {producer: number for number, producer in enumerate(self.producers)}


@dataclass(frozen=True)
class KeyFilter:
    """What leaves an instance over filter edge `edge`: the keys `keys` (positions) of the table of its join `join` (the
    operator's number), each once or as a Bloom filter of so many `blocks`, when the table is complete, in `stage`."""

    edge: str
    join: int
    keys: tuple[int, ...]
    stage: int
    blocks: int = 0

    def sent(self, keys: Operator) -> Operator:
        """What gives the edge's rows where `keys` gives those of the table."""
        return bloom.sent(keys, self.blocks)


@dataclass(frozen=True)
class InstancePlan:
    """One instance of a fragment: `root` is an Emit over edge `output`, leaves are Read or Receive.

    `index` of `count` siblings that run the same fragment; the siblings of a Read take disjoint shares of its files
    unless option `replicated_reads` is "true". Stages are numbered from 1 over the whole job. Cutting a plan at every
    join's build (right) edge leaves components; a component's stage is 1 + the greatest stage of those built into it.
    `stage` is that of the root's component, `input_stages` those of the components that read each of `inputs`.
    `filters` leave beside the root's rows (docs/hosts.md).
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
    options: tuple[tuple[str, str], ...] = ()
    filters: tuple[KeyFilter, ...] = ()

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """Their kinds, the root's first."""
        return tuple(operator.kind for operator in self.root.walk())


@dataclass(frozen=True)
class Figures:
    """What is expected of one operator: the rows and bytes that it hands on (a Read: bytes of its files), the factor by
    which the rows may be off either way, its seconds, and its work, from which these are computed."""

    rows: float
    bytes: float
    doubt: float
    seconds: float
    work: Work


@dataclass(frozen=True)
class JobFigures:
    """What is expected of a job: of its operators by fragment and number, of its edges the bytes that cross links, and
    the seconds of all of it, None if there is an operator of which too little is known."""

    operators: Mapping[tuple[str, int], Figures] = field(default_factory=dict)
    crossing: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class JobPlan:
    """What the compiler hands to the orchestrator. `stages` is the number of barriers-separated stages (≥ 1)."""

    instances: tuple[InstancePlan, ...]
    edges: tuple[Edge, ...]
    stages: int
    result: str  #: id of the edge to the client
    explain: dict[str, Any] = field(default_factory=dict, compare=False)
    figures: JobFigures = field(default_factory=JobFigures, compare=False, repr=False)
    #: of the files that it reads, as they were before anything of it was planned; without those that were not there
    files: FileStates = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def siblings(self) -> Mapping[tuple[str, str], Sequence[InstancePlan]]:
        """A fragment's instances on a device, by both names; on all devices, by its name and ""."""
        found: dict[tuple[str, str], list[InstancePlan]] = {}
        for i in self.instances:
            found.setdefault((i.fragment, i.device.name), []).append(i)
            found.setdefault((i.fragment, ""), []).append(i)
        return found

    @cached_property
    def _by_id(self) -> Mapping[str, Edge]:
        return {edge.id: edge for edge in self.edges}

    def edge(self, id: str) -> Edge:
        """The edge with that id. Raises KeyError if there is none, which is a mistake of ours."""
        return self._by_id[id]


class Reached(Protocol):
    """A device that a service keeps a connection to between jobs."""

    device: Device

    async def release(self, job: str) -> None:
        """Takes back all that the job has of it; returns once nothing is left."""


class Driver(Reached, Protocol):
    """A device without an agent, as its accelerator's life-cycle reaches it (`reach`)."""

    @property
    def alive(self) -> bool:
        """Whether it can still be used; if not, it is closed and reached anew for the next job."""

    async def watch(self, job: str) -> None:
        """Runs while a stage of the job does; raises the typed error of the device, or of the job's part of it."""

    async def close(self) -> None:
        """The service ends: ends what was started for the device; may be called twice."""


class Host(Reached, Protocol):
    """What the orchestrator lends a life-cycle for working on a device that has an agent (jumpgate/hosts)."""

    async def compile(self, name: str, source: str, key: str) -> str:
        """Builds `source` (C++) unless an artifact of that content key is cached; returns the artifact's path there."""

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        """The same without anyone who waits for it, or hears that it failed; `source` is called on a thread. Nothing
        happens if that key waits or failed a short while ago, or where many wait: it may be asked for again."""

    async def has_artifact(self, key: str) -> str | None:
        """The cached artifact's path on that host, or None."""

    async def spawn(self, job: str, instance: str, module: str = "") -> InstanceHandle:
        """Starts an instance process: of the C++ runtime, or `python -m module INSTANCE` (see jumpgate.nca.worker). It
        ends with the job, the agent, or the connection to it. `release` kills every instance that is left."""


class Groups(Host, Protocol):
    """A host that takes one message for several instances: what an agent does for a life-cycle that `StartsTogether`.
    An error names the instance that it is of."""

    def known(self, key: str) -> str | None:
        """The path of a cached artifact, if the host has said before that it has it."""

    def instance(self, job: str, id: str) -> InstanceHandle:
        """One that is spawned by `begin`, as nobody must know before where it listens."""

    async def start(
        self, job: str, instances: Mapping[str, Mapping[str, Any]]
    ) -> list[tuple[InstanceHandle, dict[str, Any]]]:
        """Spawns instances, and asks them to allocate: each with its answer."""

    def begin(
        self,
        instances: Sequence[InstanceHandle],
        configurations: Sequence[Mapping[str, Any]],
        shared: Shared,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        """Spawns what was not started of instances of one job, configures all (what they are told may refer to
        `shared`), and asks for stages, which each runs in order: done once all are configured; the answers to come of
        each stage."""

    def each(self, instances: Sequence[InstanceHandle], verb: str, **arguments: Any) -> list[Awaitable[dict[str, Any]]]:
        """The same request to each, and their answers to come, whoever is first."""


class InstanceHandle(Protocol):
    """One live instance. Calls raise the typed error that the instance answered, or InstanceFailed when it died."""

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        """One request and its answer: allocate, configure, execute, cancel, stats, destroy."""


@dataclass
class JobContext:
    """What all verbs of one job's life-cycles share. Secrets stay out of repr."""

    job: str
    token: str = field(repr=False)
    plan: JobPlan
    hosts: dict[str, Host]
    #: devices without agents, by name
    drivers: dict[str, Driver] = field(default_factory=dict)
    #: instance id → "host:port" where it accepts edges; filled by allocate
    addresses: dict[str, str] = field(default_factory=dict)
    #: (instance id, edge id) → "host:port" of that end of an edge, where the edge's channel has one for each; filled by
    #: allocate
    sockets: dict[tuple[str, str], str] = field(default_factory=dict)
    #: edge id → instance id → what the edge's channel must know at that end; filled by the device's allocate
    ends: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    timeout_ms: int = 30_000
    #: names of the hosts that have the service's own files, not copies of them
    here: frozenset[str] = frozenset()
    #: what both ends of each edge over TCP show; None: edges are not encrypted
    certificate: JobCertificate | None = field(default=None, repr=False)

    #: what configurations have in common; fills gaps by instance
    shared: Shared = field(default_factory=Shared, repr=False)

    _peers: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def peers(self, edge: Edge) -> tuple[str, ...]:
        """Where each consumer of an edge accepts it, in partition order, once all instances have been allocated. They
        are the same for all producers, of which there may be a thousand."""
        if edge.id not in self._peers:
            ends = (self.sockets.get((c, edge.id)) or self.addresses[c] for c in edge.consumers)
            self._peers[edge.id] = edge.endpoints or tuple(ends)
        return self._peers[edge.id]

    def secrets(self) -> dict[str, Any]:
        """What an instance's configuration holds of them."""
        tls = {} if self.certificate is None else {"tls": self.certificate.to_dict()}
        return {"token": self.token, **tls}


class LifeCycle(Protocol):
    """How one instance is run. Called by the orchestrator in this order; any verb may be followed by destroy, which
    may be called twice and succeeds also if the instance has died. compile may run long before, and is idempotent.
    Any other verb out of order or twice raises a typed error at once, and changes nothing.

    One that has `queues_stages = True` may be asked for a stage while the one before it runs, which it then starts by
    itself, unless that failed: an instance that is a job's only one need not wait between stages. One that has
    `joins_on_disk = True` is told which joins may need more memory than there is, one with `keeps_rows = True` which
    operators are to keep their rows for all who read them (operator_lists.py)."""

    async def compile(self, instance: InstancePlan, host: Host) -> Any:
        """Generates and builds what the instance needs; returns an artifact that configure understands. Cached by
        content."""

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Any:
        """Claims resources, starts what must run, sets context.addresses[instance.id]; returns the handle for later
        verbs."""

    async def configure(self, handle: Any, instance: InstancePlan, artifact: Any, context: JobContext) -> None:
        """Hands over parameters and peers' addresses; every instance has been allocated by now."""

    async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
        """Runs one stage to its end and returns the instance's counters so far."""

    async def stats(self, handle: Any) -> dict[str, Any]:
        """The counters now, also while a stage runs."""

    async def destroy(self, handle: Any) -> None:
        """Ends it at once, whatever it is doing, and leaves nothing behind."""


@runtime_checkable
class StartsTogether(Protocol):
    """A life-cycle that sends one message for all of a job's instances on a host. Each verb is as that of one instance,
    for several, and `begin_all` two of them; `destroy` is the host's `release`."""

    def compiled(self, instance: InstancePlan, host: Groups) -> Any | None:
        """What compile returns, if that needs to ask nobody."""

    async def allocate_all(self, instances: Sequence[InstancePlan], host: Groups, context: JobContext) -> list[Any]:
        """The handle of each."""

    def begin_all(
        self,
        handles: Sequence[Any],
        instances: Sequence[InstancePlan],
        artifacts: Sequence[Any],
        host: Groups,
        context: JobContext,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        """All have been allocated, on every host: configures them, and tells them to run `stages`, each when it has
        ended the one before. Done once all are configured; and of each stage the counters to come."""

    def execute_all(self, handles: Sequence[Any], host: Groups, stage: int) -> list[Awaitable[dict[str, Any]]]:
        """They are told to run at once; the counters of each, when its stage has ended."""


#: what `Host.has_artifact` answers
HasArtifact = Callable[[str], Awaitable[str | None]]


@runtime_checkable
class BuildsAhead(Protocol):
    """A life-cycle whose `compile` may take so long that a client who can do without would rather not wait for it."""

    async def build_seconds(self, instance: InstancePlan, has: HasArtifact) -> float:
        """What compile is expected to take on the instance's host; 0.0: the artifact is there."""

    def build_later(self, instance: InstancePlan, host: Host) -> None:
        """Has the artifact built when the host has nothing else to do."""


@runtime_checkable
class Reaches(Protocol):
    """A life-cycle whose devices have no agent: the service keeps what `reach` gives between its jobs."""

    async def reach(self, device: Device) -> Driver:
        """Connects to the device, or starts it. Raises the typed error that says what is missing."""


class NCA(Protocol):
    """A registered accelerator: the two halves under one name.

    One whose devices can be simulated may have `sample_devices`, a tuple of Device: the conformance kit runs on them
    where the configuration names none.
    """

    name: str
    operators: OperatorInterface
    lifecycle: LifeCycle
