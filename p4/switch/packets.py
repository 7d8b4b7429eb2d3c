"""Frames between the program and the controller: their leading header is P4Runtime's packet metadata."""

from __future__ import annotations

from finsy.proto import p4i, p4r

from jumpgate.errors import ConfigError
from jumpgate.p4.switch.refusal import canonical, invalid, number


class ControllerHeader:
    """The `packet_in` or `packet_out` header of a P4Info: fields, most significant first, that fill whole bytes.

    Raises ConfigError if they do not.
    """

    def __init__(self, p4info: p4i.P4Info, name: str) -> None:
        declared = next((m for m in p4info.controller_packet_metadata if m.preamble.name == name), None)
        self.fields = [(field.id, field.name, field.bitwidth) for field in declared.metadata] if declared else []
        bits = sum(width for _, _, width in self.fields)
        if bits % 8:
            raise ConfigError(f"the header {name} has {bits} bits; add padding up to whole bytes", header=name)
        self.size = bits // 8

    def frame(self, packet: p4r.PacketOut) -> bytes:
        """Header and payload of a packet-out. Raises Refused."""
        given = {metadata.metadata_id: metadata.value for metadata in packet.metadata}
        if unknown := set(given) - {i for i, _, _ in self.fields}:
            raise invalid(f"the program's packet_out has no metadata {min(unknown)}")
        header = 0
        for i, name, bits in self.fields:
            if i not in given:
                raise invalid(f"packet-out lacks the metadata '{name}'")
            header = header << bits | number(given[i], bits, name)
        return header.to_bytes(self.size, "big") + packet.payload

    def packet_in(self, frame: bytes) -> p4r.PacketIn | None:
        """None if the frame is shorter than its header."""
        if len(frame) < self.size:
            return None
        header, left = int.from_bytes(frame[: self.size], "big"), 8 * self.size
        metadata = []
        for i, _, bits in self.fields:
            left -= bits
            metadata.append(p4r.PacketMetadata(metadata_id=i, value=canonical(header >> left & (1 << bits) - 1)))
        return p4r.PacketIn(payload=frame[self.size :], metadata=metadata)
