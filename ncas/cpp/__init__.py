"""Generated C++ programs on hosts: every operator, and files of every format that has a reader in C++."""

from __future__ import annotations

from functools import cached_property

from jumpgate.codegen.support import unsupported
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Read,
    Shuffle,
    Skyline,
    Sort,
    UnionAll,
    Unnest,
    Window,
)
from jumpgate.nca.interface import Answer, Completeness, Device, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor

#: supported operators; filters and projections join the pass of the operator below them
OPERATORS: dict[type[Operator], str] = {
    Read: "the format's reader; row groups and stripes that a filter or a join excludes are not read",
    Filter: "in the pass of its input",
    Project: "in the pass of its input",
    Join: "hash join of every type, with several keys and a residual condition; without keys, every pair",
    Aggregate: "hash table of groups, NULL among the keys; sums of decimals are exact",
    Distinct: "hash table of rows",
    Sort: "in memory; a top-n holds its rows only",
    Limit: "stops its input when it has its rows",
    Window: "over the sorted rows of each partition",
    Skyline: "over the sorted rows: each is compared with those kept so far",
    Unnest: "in the pass of its input; elements are read where the list's bytes are",
    UnionAll: "passes on what arrives",
    Shuffle: "sends each row to the instance that its keys or the partitioning name",
}
#: adjacent matches on one host become one program
FUSION = "cpp"
#: supported channels (runtime/src/executor/channels.cpp)
CHANNELS = ("tcp", "udp")


class CppPrograms:
    """Generated C++ programs: all operators, in one process for each fragment of the plan.

    A match is one operator with all filters and projections above it, which run in the same pass; adjacent matches
    become one program.
    """

    name = "cpp"
    travelling_filters = ("keys", "bloom")
    wire_channels = CHANNELS

    @property
    def operators(self) -> CppPrograms:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle  # loads the code generator: only where jobs run

        return SoftwareLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport.channel not in CHANNELS:
            return Unsupported(
                f"generated programs receive over {', '.join(CHANNELS)}, not {transport.channel}", "transport"
            )
        if not transport.carries(ntf):
            return Unsupported(f"{transport.name} does not carry these {ntf.layout} tuples", "layout")
        if ntf.layout not in (Layout.COLUMNAR, Layout.ROW):
            return Unsupported(f"generated programs read columnar and row layouts, not {ntf.layout}", "layout")
        return None

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        if device.kind != "host":
            return None
        chain: list[Operator] = []
        below = node
        while isinstance(below, Filter | Project):
            chain.append(below)
            below = below.inputs[0]
        answers = [self._claim((*chain, below), dialect)] if _is_generated(below) else []
        if chain and not isinstance(below, Shuffle | UnionAll):  # the operators below may run on another accelerator
            alone = self._claim(tuple(chain), dialect)
            if isinstance(alone, Match) or not answers:
                answers.append(alone)
        return tuple(answers)

    def _claim(self, taken: tuple[Operator, ...], dialect: Dialect) -> Match | Unsupported:
        """Return a full match of `taken` (root first), or what the code generator cannot do with one of them."""
        for operator in taken:
            reason = unsupported(operator, dialect)
            if reason is not None:
                return reason
        return Match(self.name, taken, Completeness.FULL, taken[0].schema, FUSION)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return Speeds()


def _is_generated(node: Operator) -> bool:
    """Return whether generated programs support the operator; for reads, whether the format has a reader in C++."""
    if isinstance(node, Read):
        return node.format in formats() and formats()[node.format].has_reader
    return type(node) in OPERATORS


CPP = CppPrograms()
