"""Transports: how rows travel between instances. Whoever drives a device declares the one that its rows travel by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.types import Schema
from jumpgate.ntf.descriptor import Descriptor


@dataclass(frozen=True)
class Transport:
    """A way of rows between instances, by whose `name` plans and records call it.

    `channel` is what carries it at the ends that run on hosts: the data path has tcp, the frames of jumpgate/ntf, and
    udp, packets of which each is acknowledged. A package whose device speaks something else puts a gateway in front of
    it that speaks one of them. `layout`: the one format that it carries rows of a schema in; None: what both ends can.
    """

    name: str
    channel: str = "tcp"
    layout: Callable[[Schema], Descriptor] | None = None

    def carries(self, ntf: Descriptor) -> bool:
        """Whether rows of that format can travel by it."""
        return self.layout is None or ntf == self.layout(ntf.schema)


#: frames of any format
TCP = Transport("tcp")
