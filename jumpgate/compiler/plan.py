"""The data that passes share: the plan, the compiler's options, and operators that exist only while compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from jumpgate.dataflow import bloom
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.file_state import FileStates
from jumpgate.dataflow.objective import Objective
from jumpgate.dataflow.operators import Distinct, Operator, Partitioning, Project, Send, Unary
from jumpgate.dataflow.traits import Places
from jumpgate.dataflow.types import Field, Schema
from jumpgate.nca.interface import Device, Edge, InstancePlan, JobFigures, Match, Statistics
from jumpgate.nca.registry import Registry
from jumpgate.nca.storage import Asked, LinkOf, SegmentsOf
from jumpgate.nca.transport import Transport

if TYPE_CHECKING:
    from jumpgate.compiler.estimate import Estimator

#: (files, format, options) → statistics without reading data, or None
StatisticsFunction = Callable[[tuple[str, ...], str, tuple[tuple[str, str], ...]], Statistics]
#: takes Reads and Filters over Reads, each with columns that later passes ask about together
LookFunction = Callable[[Iterable[tuple[Operator, tuple[str, ...]]]], None]


@dataclass(frozen=True)
class CompileOptions:
    """How to compile. Equal options and requests give equal plans.

    parallelism: instances per operator, spread over the hosts; 0 = one on each host.
    threads: of each instance; 0 = the host's cores, shared by its instances.
    broadcast_bytes_max: a build side estimated larger is partitioned by its keys instead of broadcast.
    speeds: measured cost units in core seconds (jumpgate.nca.speeds), in place of the built-in ones.
    objective: what the plan is to save, and its bounds.
    endpoints: where the client listens (host:port per partition) if the request does not say.
    statistics: returns the statistics of files; None = none. look: prefetches them. link: returns the link to a file's
    store. segments: returns those of files, and which are on the disks of the hosts.
    beam: alternatives kept for each operator.
    prefer: NCAs to use wherever they match, whatever the cost.
    without: devices not to use, as they turned out too small; lost: devices that do not answer.
    memory_limit_bytes: of each instance; 0: the host's memory, shared by the job's instances there.
    quick_builds: build programs without the optimiser; None: those of little work.
    files: the states of the files that are read, from before planning; without files that do not exist.
    trace: keep the plan after each pass for explain.
    """

    parallelism: int = 0
    threads: int = 0
    broadcast_bytes_max: float = 64e6
    speeds: Mapping[str, float] = field(default_factory=dict)
    objective: Objective = Objective()
    dialect: Dialect = field(default_factory=Dialect)
    endpoints: tuple[str, ...] = ()
    statistics: StatisticsFunction | None = None
    look: LookFunction | None = None
    link: LinkOf | None = None
    segments: SegmentsOf | None = None
    beam: int = 4
    prefer: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    memory_limit_bytes: int = 0
    quick_builds: bool | None = None
    files: FileStates = field(default_factory=dict)
    trace: bool = False


@dataclass(frozen=True)
class Site:
    """A place to run a part of the plan: an NCA, its devices, and (once decided) the number of instances.
    `settings`, `note` and `asked` are those of the match."""

    nca: str
    devices: tuple[Device, ...]
    fusion: str = ""
    count: int = 1
    settings: Any = None
    note: str = ""
    asked: Asked | None = None

    def __str__(self) -> str:
        where = ", ".join(d.name for d in self.devices)
        return f"{self.nca} on {where}" + (f" × {self.count}" if self.count > 1 else "")


@dataclass(frozen=True)
class Mapped(Operator):
    """A match in a candidate graph: stands for all its operators; its inputs are the match's inputs."""

    match: Match
    site: Site
    members: tuple[Operator, ...]
    #: the match's operators over the original inputs; leaves[i] stands for members[i]
    leaves: tuple[Operator, ...]

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.members

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        return replace(self, members=inputs)

    @cached_property
    def schema(self) -> Schema:
        return self.match.schema

    @property
    def text(self) -> str:
        inside = " ← ".join(o.kind for o in self.match.operators)
        return f"{self.site}: {self.match.completeness.value} {inside}"

    @property
    def defect(self) -> str:
        return "" if len(self.members) == len(self.leaves) else "members do not fit the match's inputs"


@dataclass(frozen=True)
class Exchange(Unary):
    """Rows travel from the instances that run the plan below (down to the next exchange) to those that run the plan
    above.

    `transport` is that of a match's wire: the device chooses the format. None: both ends agree on it.
    """

    partitioning: Partitioning
    site: Site
    transport: Transport | None = None

    @property
    def text(self) -> str:
        return f"exchange {self.partitioning} from {self.site}"

    @property
    def narrows(self) -> bool:
        """Return whether the compiler chooses the columns that travel."""
        return bool(self.site.fusion) and self.transport is None

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        return [{*wanted, *self.partitioning.keys}] if self.narrows else super().needs(wanted)

    def with_positions(self, places: Places) -> Exchange:
        return replace(self, partitioning=self.partitioning.moved(places))


@dataclass(frozen=True)
class KeysOfBuild(Unary):
    """The keys of a join table with the build side `input`, each once or as a Bloom filter of `blocks` blocks
    (jumpgate.dataflow.bloom), on the way to the reader of the other side. It is below the exchange of a filter edge and
    in no fragment: the join's instances send the keys."""

    keys: tuple[Expression, ...]
    blocks: int = 0

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return self.keys

    def with_expressions(self, expressions: Sequence[Expression]) -> KeysOfBuild:
        return replace(self, keys=tuple(expressions))

    @property
    def passes(self) -> tuple[int, ...]:
        return ()

    @cached_property
    def key_schema(self) -> Schema:
        return Schema(tuple(Field(f"key{i}", key.type) for i, key in enumerate(self.keys)))

    @cached_property
    def schema(self) -> Schema:
        return bloom.sent_schema(self.key_schema, self.blocks)

    @cached_property
    def distinct(self) -> Operator:
        """Return an operator that computes the keys, for estimates."""
        return Distinct(Project(self.input, self.keys, self.key_schema.names))


@dataclass(frozen=True)
class Candidate:
    """A complete mapping. `seconds` and `money` are estimates, seconds None without statistics; `overloaded` counts the
    parts that exceed their devices' memory, `preferred` the preferred NCAs; `sent_bytes` is the traffic of joins
    between hosts and to and from devices."""

    root: Operator
    fragments: int
    matches: int
    seconds: float | None
    money: float
    overloaded: int = 0
    preferred: int = 0
    sent_bytes: float = 0.0


class DeviceFull(Exception):
    """A plan exceeds the capacity of `device`, which only its finished form shows: the request is planned again without
    it."""

    def __init__(self, device: Device, reason: str) -> None:
        super().__init__(f"{device.name}: {reason}")
        self.device, self.reason = device, reason


@dataclass(frozen=True)
class Plan:
    """The logical plan: the operators of a request. Compared by the identity of its parts; never changed in place.
    `refused` names operators and devices with the reason that they are not used; `trace` has the plan after each
    pass."""

    root: Send
    options: CompileOptions
    devices: tuple[Device, ...]
    registry: Registry
    estimator: Estimator
    refused: tuple[tuple[str, str], ...] = ()
    trace: tuple[Mapping[str, Any], ...] = ()

    def over(self, root: Operator) -> Self:
        """Return the plan with another root; itself if that is its own."""
        assert isinstance(root, Send)
        return self if root is self.root else replace(self, root=root)


@dataclass(frozen=True)
class MappedPlan(Plan):
    """A plan whose operators have accelerators: `candidates`, the chosen one first, and from `choose` on its operators
    with exchanges between sites as `root`."""

    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class PhysicalPlan(MappedPlan):
    """A plan that can run: instances, the edges between them and the stages."""

    instances: tuple[InstancePlan, ...] = ()
    edges: tuple[Edge, ...] = ()
    stages: int = 0
    figures: JobFigures = field(default_factory=JobFigures)

    def changed(self, changes: Mapping[str, Mapping[str, Any]]) -> PhysicalPlan:
        """Change fields of the instances of fragments, by the fragment's name."""
        if not any(changes.values()):
            return self
        changed = (replace(i, **of) if (of := changes.get(i.fragment)) else i for i in self.instances)
        return replace(self, instances=tuple(changed))
