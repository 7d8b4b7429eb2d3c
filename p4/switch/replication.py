"""Multicast groups and clone sessions, as P4Runtime has them (specification 1.3, §9.5)."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from finsy.proto import p4r

from jumpgate.p4.switch.refusal import Refused, invalid, number, unimplemented
from jumpgate.p4.switch.switch import PORTS, Switch

INSERT, DELETE = p4r.Update.INSERT, p4r.Update.DELETE
GROUPS = 1 << 16
SESSIONS = 1 << 10


class Replication:
    """The multicast groups and clone sessions of one installed pipeline."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self._groups: dict[int, p4r.MulticastGroupEntry] = {}
        self._sessions: dict[int, p4r.CloneSessionEntry] = {}

    def write(self, kind: int, given: p4r.PacketReplicationEngineEntry) -> None:
        """Raises Refused."""
        if given.WhichOneof("type") == "multicast_group_entry":
            group = given.multicast_group_entry
            key, count = group.multicast_group_id, GROUPS
            held: dict[int, p4r.MulticastGroupEntry] | dict[int, p4r.CloneSessionEntry] = self._groups
            replicas = [_replica(replica) for replica in group.replicas]
        elif given.WhichOneof("type") == "clone_session_entry":
            session = given.clone_session_entry
            key, count, held = session.session_id, SESSIONS, self._sessions
            replicas = [_replica(replica) for replica in session.replicas]
            if session.packet_length_bytes or session.class_of_service:
                raise unimplemented("copies of a session are whole and have no class of service")
            if kind != DELETE and len(replicas) != 1:
                raise unimplemented("a mirror session leads to one port")
        else:
            raise invalid("the entry has neither a multicast group nor a clone session")
        if not 0 < key < count:
            raise invalid(f"the id is 1 to {count - 1}")
        if (kind == INSERT) == (key in held):
            code = grpc.StatusCode.ALREADY_EXISTS if key in held else grpc.StatusCode.NOT_FOUND
            raise Refused.of(code, f"{key} is {'there already' if key in held else 'not there'}")
        if held is self._groups:
            self.switch.set_multicast(key, [] if kind == DELETE else replicas)
        else:
            self.switch.set_mirror(key, None if kind == DELETE else replicas[0][0])
        if kind == DELETE:
            del held[key]
        else:
            held[key] = group if held is self._groups else session  # type: ignore[assignment]

    def read(self, wanted: p4r.PacketReplicationEngineEntry) -> Iterator[p4r.Entity]:
        kind = wanted.WhichOneof("type")
        found: list[p4r.PacketReplicationEngineEntry] = []
        if kind in (None, "multicast_group_entry"):
            key = wanted.multicast_group_entry.multicast_group_id
            found += [
                p4r.PacketReplicationEngineEntry(multicast_group_entry=g)
                for i, g in self._groups.items()
                if key in (0, i)
            ]
        if kind in (None, "clone_session_entry"):
            key = wanted.clone_session_entry.session_id
            found += [
                p4r.PacketReplicationEngineEntry(clone_session_entry=s)
                for i, s in self._sessions.items()
                if key in (0, i)
            ]
        yield from (p4r.Entity(packet_replication_engine_entry=entry) for entry in found)


def _replica(given: p4r.Replica) -> tuple[int, int]:
    if given.backup_replicas:
        raise unimplemented("this switch has no backup replicas")
    named = given.WhichOneof("port_kind") == "port"
    port = number(given.port, 32, "a replica's port") if named else given.egress_port
    if port >= PORTS or given.instance >= 1 << 16:
        raise invalid(f"a replica has a port up to {PORTS - 1} and an instance up to 65535")
    return port, given.instance
