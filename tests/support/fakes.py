"""Accelerators made up for tests: one that prunes, one that aggregates in part, one that refuses. They run nothing.

Together with `interpret` they show that the compiler completes what an accelerator leaves undone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Aggregate, Filter, Operator, Sort
from jumpgate.nca.interface import Answer, Completeness, Device, Match, Offer, Unsupported
from jumpgate.nca.matching import each, partial_phase, pruned_leaf
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ncas.cpp import CppPrograms
from jumpgate.ntf.descriptor import Descriptor

#: a device for them
SWITCH = Device("tor1", "switch", offer=Offer((("stages", 12.0),)))


@dataclass
class FakeNCA:
    """Base: on devices of `kind`, reads and emits anything over TCP, costs nearly nothing. Its life-cycle is `runs`."""

    name: str
    kind: str = "switch"
    limits: tuple[tuple[str, float], ...] = ()
    speeds_of: Speeds = field(default_factory=lambda: Speeds(factor=1e-3))
    runs: Any = None

    @property
    def operators(self) -> FakeNCA:
        return self

    @property
    def lifecycle(self) -> Any:
        return self.runs

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        return None if transport == TCP else Unsupported(f"{self.name} does not speak {transport.name}", "transport")

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        return self.answer(node) if device.kind == self.kind else None

    def answer(self, node: Operator) -> Match | Unsupported | None:
        """Return a subclass's answer about `node`."""
        return None

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return self.speeds_of


@dataclass
class PruningNCA(FakeNCA):
    """Drops some of the rows that a filter would drop, and of a top-n's input rows that cannot be among the first."""

    name: str = "fake_prune"

    def answer(self, node: Operator) -> Match | None:
        top = isinstance(node, Sort) and node.limit is not None
        if not top and not isinstance(node, Filter):
            return None
        operators = (node,)
        return Match(self.name, operators, Completeness.PRUNE, pruned_leaf(operators).schema, limits=self.limits)


@dataclass
class PartialNCA(FakeNCA):
    """Aggregates in part, but no distinct counts."""

    name: str = "fake_partial"

    def answer(self, node: Operator) -> Match | Unsupported | None:
        if not isinstance(node, Aggregate) or node.phase != "full":
            return None
        if not all(m.declaration.has_parts for m in node.measures):
            return Unsupported("count_distinct has no partial state", "measure", "Use count of a distinct.")
        schema = partial_phase(node).schema
        return Match(self.name, (node,), Completeness.PARTIAL, schema, limits=self.limits)


@dataclass
class RefusingNCA(FakeNCA):
    """Says of every operator of its device that it is its own, but impossible."""

    name: str = "fake_refusal"
    reason: str = "join key is 64 bits wide; this switch's registers hold 32"

    def answer(self, node: Operator) -> Unsupported:
        return Unsupported(self.reason, "width", "Add a software host.")


class Lacking(CppPrograms):
    """Generated programs that have no operators of some kinds."""

    def __init__(self, *kinds: type[Operator]) -> None:
        self._kinds = kinds

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        found = each(super().match_operations(node, device, dialect))
        return tuple(a for a in found if not (isinstance(a, Match) and isinstance(a.operators[-1], self._kinds)))


class Runs:
    """A life-cycle over the host's instances that does nothing wrong."""

    async def compile(self, instance: Any, host: Any) -> str:
        return "artifact"

    async def allocate(self, instance: Any, context: Any) -> Any:
        return await context.hosts[instance.device.name].spawn(context.job, instance.id)

    async def configure(self, handle: Any, instance: Any, artifact: Any, context: Any) -> None:
        await handle.call("configure")

    async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
        found: dict[str, Any] = await handle.call("execute", stage=stage)
        return found

    async def stats(self, handle: Any) -> dict[str, Any]:
        found: dict[str, Any] = await handle.call("stats")
        return found

    async def destroy(self, handle: Any) -> None:
        await handle.call("destroy")


class Filters(FakeNCA):
    def answer(self, node: Operator) -> Match | Unsupported | None:
        return Match(self.name, (node,), Completeness.FULL, node.schema) if isinstance(node, Filter) else None
