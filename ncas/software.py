"""What all software NCAs share: one fusion domain, one life-cycle, filters and projections taken along on the way."""

from __future__ import annotations

from functools import cached_property

from jumpgate.codegen.support import unsupported
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Filter, Operator, Project
from jumpgate.nca.interface import DATAGRAMS, Completeness, Device, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.ntf.descriptor import Descriptor

#: adjacent matches of this domain on one host become one generated program
FUSION = "cpp"


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

    def match_input(self, ntf: Descriptor, transport: str) -> Unsupported | None:
        if transport == DATAGRAMS:
            if ntf == Descriptor.row(ntf.schema, byte_order="big", packed=True):
                return None
            return Unsupported("over datagrams software NCAs read packed rows in network order", "layout")
        if transport != "tcp":
            return Unsupported(f"software NCAs receive over tcp or udp, not {transport}", "transport")
        if ntf.layout not in ("columnar", "row"):
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

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, str]:
        return Descriptor.of(match.schema, layout), "tcp"

    def speeds(self, device: Device) -> Speeds:
        return Speeds()
