"""What all software NCAs share: one fusion domain, one life-cycle, filters and projections taken along on the way."""

from __future__ import annotations

from functools import cached_property

from jumpgate.codegen.support import unsupported
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import Filter, Operator, Project
from jumpgate.nca.interface import Completeness, Device, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor

#: adjacent matches of this domain on one host become one generated program
FUSION = "cpp"
#: what the data path sends and receives over (runtime/src/executor/channels.cpp)
CHANNELS = ("tcp", "udp")


def absorb(node: Operator) -> tuple[tuple[Operator, ...], Operator]:
    """The filters and projections from `node` down, and the first operator that is neither."""
    chain: list[Operator] = []
    while isinstance(node, Filter | Project):
        chain.append(node)
        node = node.input
    return tuple(chain), node


class SoftwareNCA:
    """A generated C++ program on a host. Subclasses say which operator they run (`accepts`).

    A match is one operator with all filters and projections above it: they run in the same pass.
    """

    name = ""
    #: the operator holds state between rows (a hash table, a heap)
    stateful = False

    @property
    def operators(self) -> SoftwareNCA:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle  # loads the code generator: only where jobs run

        return SoftwareLifecycle()

    def accepts(self, node: Operator) -> bool:
        """Whether `node`, no filter or projection, is this NCA's operator."""
        raise NotImplementedError

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport.channel not in CHANNELS:
            return Unsupported(
                f"software NCAs receive over {', '.join(CHANNELS)}, not {transport.channel}", "transport"
            )
        if not transport.carries(ntf):
            return Unsupported(f"{transport.name} does not carry these {ntf.layout} tuples", "layout")
        if ntf.layout not in (Layout.COLUMNAR, Layout.ROW):
            return Unsupported(f"software NCAs read columnar and row layouts, not {ntf.layout}", "layout")
        return None

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        chain, operator = absorb(node)
        if device.kind != "host" or not self.accepts(operator):
            return None
        return self.claim((*chain, operator), dialect)

    def claim(self, taken: tuple[Operator, ...], dialect: Dialect) -> Match | Unsupported:
        """A full match of `taken` (root first), or what the code generator cannot do with one of them."""
        for operator in taken:
            reason = unsupported(operator, dialect)
            if reason is not None:
                return reason
        return Match(self.name, taken, Completeness.FULL, taken[0].schema, FUSION, self.stateful)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return Speeds()
