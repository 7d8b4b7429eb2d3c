"""Hosts without processes: agents that answer each question at once, so that what a service does for a job over many
hosts can be measured by itself. Messages are encoded and decoded as they are on a connection."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.wire import Lines
from jumpgate.nca.interface import Device

#: what an agent answers, by verb; `call` is for an instance
_ANSWERS: dict[str, Any] = {
    "has_artifact": {"path": "/cache/artifact.so"},
    "spawn": {"pid": 1},
    "call": {"port": 7000, "ends": {}, "sources": [], "sinks": [], "pipelines": []},
    "release": {},
}


class Network:
    """What is on its way from agents: messages arrive one by one, as they do from machines that share nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Lines, bytes]] = deque()
        self.messages = self.sent_bytes = 0

    def host(self, device: Device) -> AgentHost:
        """One that is connected."""
        found = AgentHost(device, f"{device.name}:7000")
        found._caller.lines.connection_made(_Agent(found._caller.lines, self))
        return found

    def answer(self, lines: Lines, message: dict[str, Any]) -> None:
        self._waiting.append((lines, json.dumps(message).encode() + b"\n"))
        if len(self._waiting) == 1:
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        lines, data = self._waiting.popleft()
        if self._waiting:
            self._loop.call_soon(self._deliver)
        lines.data_received(data)


class _Agent(asyncio.Transport):
    """The other end of an AgentHost's connection."""

    def __init__(self, lines: Lines, network: Network) -> None:
        super().__init__()
        self._lines, self._network = lines, network

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        """One message; of what is in it only the head is looked at."""
        self._network.messages += 1
        self._network.sent_bytes += len(data)
        id, _, rest = data.partition(b'"verb":"')
        number = int(id[6:-1])
        verb = rest[: rest.index(b'"')].decode()
        self._network.answer(self._lines, {"id": number, "ok": _ANSWERS[verb]})
        if verb == "call" and b'"verb":"destroy"' in rest[-256:]:
            name = json.loads(data)["arguments"]["instance"]
            self._network.answer(self._lines, {"event": "ended", "instance": name, "status": 0, "signal": 0})

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        self._lines.connection_lost(None)
