"""Transports: how rows travel between instances. A device's accelerator declares the transport of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.types import Schema
from jumpgate.ntf.descriptor import Descriptor


@dataclass(frozen=True)
class Transport:
    """A way for rows to travel between instances; plans and records refer to its `name`.

    `channel` carries it at the ends that run on hosts: the data path has tcp, the frames of jumpgate/ntf, and udp,
    packets that are acknowledged one by one. A package whose device uses another protocol adds a gateway that speaks
    one of these. `layout`: the only format in which it carries rows of a schema; None: any that both ends support.
    `overhead`: bytes on a link per byte of rows, with headers of frames or packets, TCP or UDP, IP and Ethernet.
    """

    name: str
    channel: str = "tcp"
    layout: Callable[[Schema], Descriptor] | None = None
    overhead: float = 1.05

    def carries(self, ntf: Descriptor) -> bool:
        """Return whether rows of that format can travel by it."""
        return self.layout is None or ntf == self.layout(ntf.schema)


#: frames of any format
TCP = Transport("tcp")
