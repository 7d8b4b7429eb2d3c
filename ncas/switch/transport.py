"""Transports through a switch: datagrams of packed rows, and the formats of the tuples that its programs read."""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.dataflow.types import Schema
from jumpgate.nca.transport import Transport
from jumpgate.ntf.descriptor import Descriptor


def packed(schema: Schema) -> Descriptor:
    """Rows as a switch parses them: every field at a known offset, in network order."""
    return Descriptor.row(schema, byte_order="big", packed=True)


#: four tuples of two words have 64 bytes in a packet of 126; a group of five numbers travels in two answers
DATAGRAMS = Transport("udp", "udp", packed, 2.0)


@dataclass(frozen=True)
class TupleFormat:
    """The integers at the beginning of a packet, by their bits (p4/PROTOCOL.md); `has_rows`: a row may follow, which
    the switch does not read."""

    words: tuple[int, ...]
    has_rows: bool = False
