"""IPv6 hosts of a software switch: programs parse IPv4, so each host has an IPv4 address that stands for its own.

A controller gives it by P4Runtime: it modifies an extern of this switch's own, beside those of the P4Info.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from finsy.proto import p4d, p4r

#: of P4Runtime; those with the first byte from 0x81 on are a vendor's
EXTERN_TYPE, EXTERN = 0x81000000, 0x81000001
#: nobody has these addresses in an IPv4 network
POOL = ipaddress.IPv4Network("240.0.0.0/8")


@dataclass(frozen=True)
class StandIn:
    """`address`, of POOL, stands for `host` from now on."""

    address: ipaddress.IPv4Address
    host: ipaddress.IPv6Address

    def encode(self, schema: object) -> p4r.Entity:
        """As an entity of P4Runtime; the program has no part in it."""
        members = [p4d.P4Data(bitstring=x.packed) for x in (self.address, self.host)]
        entity = p4r.Entity(extern_entry=p4r.ExternEntry(extern_type_id=EXTERN_TYPE, extern_id=EXTERN))
        entity.extern_entry.entry.Pack(p4d.P4Data(struct=p4d.P4StructLike(members=members)))
        return entity

    @staticmethod
    def decode(entry: p4r.ExternEntry) -> StandIn:
        """Raises ValueError for what is none."""
        data = p4d.P4Data()
        if (entry.extern_type_id, entry.extern_id) != (EXTERN_TYPE, EXTERN) or not entry.entry.Unpack(data):
            raise ValueError("this switch knows one extern, which gives an IPv6 host its IPv4 address")
        address, host = (member.bitstring for member in data.struct.members)
        found = StandIn(ipaddress.IPv4Address(address), ipaddress.IPv6Address(host))
        if found.address not in POOL:
            raise ValueError(f"{found.address} is not one of {POOL}")
        return found
