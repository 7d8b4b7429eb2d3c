"""Several controllers of one switch: who is primary (P4Runtime specification 1.3, §5)."""

from __future__ import annotations

import queue
import threading

import grpc
from finsy.proto import U128, p4r, rpc_status

from jumpgate.p4.switch.refusal import Refused, invalid, not_found

STREAMS_MAX = 16
MESSAGES_MAX = 1024


class Controller:
    """One stream: messages on their way to a client. What does not fit is lost and counted in `lost`."""

    def __init__(self) -> None:
        self.election_id: int | None = None
        self.has_introduced_itself = False
        self.messages: queue.Queue[p4r.StreamMessageResponse | Refused | None] = queue.Queue(MESSAGES_MAX)
        self.lost = 0

    def send(self, message: p4r.StreamMessageResponse | Refused | None) -> None:
        """None ends the stream, Refused with that status."""
        try:
            self.messages.put_nowait(message)
        except queue.Full:
            self.lost += 1

    def end(self, reason: Refused | None = None) -> None:
        """Ends the stream even if messages wait."""
        while True:
            try:
                self.messages.put_nowait(reason)
                return
            except queue.Full:
                with_room = self.messages.get_nowait()
                self.lost += with_room is not None


class Arbitration:
    """The controllers of one device. Primary is, while connected, the one with the highest election id ever seen."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._lock = threading.Lock()
        self._controllers: list[Controller] = []
        self._highest: int | None = None

    def join(self) -> Controller:
        """Raises Refused: too many."""
        with self._lock:
            if len(self._controllers) >= STREAMS_MAX:
                raise Refused.of(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{STREAMS_MAX} controllers are connected")
            controller = Controller()
            self._controllers.append(controller)
            return controller

    def leave(self, controller: Controller) -> None:
        with self._lock:
            was_primary = controller is self._primary()
            self._controllers.remove(controller)
            if was_primary:
                self._tell(self._controllers)

    def update(self, controller: Controller, given: p4r.MasterArbitrationUpdate) -> None:
        """A controller says who it wants to be. Raises Refused, which ends its stream."""
        if given.device_id != self._device_id:
            raise not_found(f"this is device {self._device_id}, not {given.device_id}")
        if given.role.name or given.role.id:
            raise Refused.of(grpc.StatusCode.UNIMPLEMENTED, "this switch has no roles but the default one")
        election_id = U128.decode(given.election_id) if given.HasField("election_id") else None
        with self._lock:
            taken = any(c.election_id == election_id for c in self._controllers if c is not controller)
            if election_id is not None and taken:
                raise invalid(f"another controller has election id {election_id}")
            before = self._primary()
            controller.election_id = election_id
            controller.has_introduced_itself = True
            if election_id is not None and (self._highest is None or election_id > self._highest):
                self._highest = election_id
            changed = self._primary() is not before
            self._tell(self._controllers if changed else [controller])

    def is_primary(self, election_id: p4r.Uint128) -> bool:
        with self._lock:
            primary = self._primary()
            return primary is not None and primary.election_id == U128.decode(election_id)

    def primary(self) -> Controller | None:
        with self._lock:
            return self._primary()

    def end(self) -> None:
        """Ends every stream."""
        with self._lock:
            for controller in self._controllers:
                controller.end(Refused.of(grpc.StatusCode.UNAVAILABLE, "the switch stops"))

    def _primary(self) -> Controller | None:
        if self._highest is None:
            return None
        return next((c for c in self._controllers if c.election_id == self._highest), None)

    def _tell(self, controllers: list[Controller]) -> None:
        primary = self._primary()
        for controller in controllers:
            if controller is primary:
                status = rpc_status.Status(code=0)
            elif primary is not None:
                status = rpc_status.Status(code=6, message="another controller is primary")
            else:
                status = rpc_status.Status(code=5, message="there is no primary controller")
            update = p4r.MasterArbitrationUpdate(device_id=self._device_id, status=status)
            if self._highest is not None:
                update.election_id.CopyFrom(U128.encode(self._highest))
            if controller.has_introduced_itself:
                controller.send(p4r.StreamMessageResponse(arbitration=update))
