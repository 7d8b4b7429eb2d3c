"""Moves rows: shuffles that a client asked for, unions, and filters or projections of what arrives over an edge."""

from __future__ import annotations

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator, Shuffle, UnionAll
from jumpgate.nca.interface import Device, Match, Unsupported
from jumpgate.ncas.software import SoftwareNCA, absorb


class Exchange(SoftwareNCA):
    """Receives, filters, projects and passes on."""

    name = "shuffle"

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Shuffle | UnionAll)

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        chain, operator = absorb(node)
        if not chain or self.accepts(operator):
            return super().match_operations(node, device, dialect)
        # what is below may come from another accelerator: the chain alone is a pass over what it sends
        if device.kind != "host":
            return None
        return self.claim(chain, dialect)


SHUFFLE = Exchange()
