"""Hosts without processes: agents that answer at once, to measure a service's own work for a job over many hosts.
Messages are encoded and decoded as on a connection."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Any

from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.wire import Lines
from jumpgate.nca.interface import Device

#: of an instance that was told to run
_COUNTERS: dict[str, Any] = {"sources": [], "sinks": [], "pipelines": []}


class Network:
    """Messages in transit from agents: they arrive one by one, as from machines that share nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Lines, bytes]] = deque()
        self.messages = self.sent_bytes = 0
        self.agents_s = 0.0  #: this process's CPU time that was the agents'
        self.told_s = 0.0  #: the service's CPU time when the last host was told to run

    def service_s(self) -> float:
        """CPU time of this process but for the agents'."""
        return time.process_time() - self.agents_s

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
        self._instances: list[str] = []

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        """Handle one message; the shared parts are not parsed."""
        began = time.process_time()
        self._answer(data)
        self._network.agents_s += time.process_time() - began

    def _answer(self, data: Any) -> None:
        network = self._network
        network.messages += 1
        network.sent_bytes += len(data)
        head, shared, _ = data.partition(b',"shared":')
        message = json.loads(head + b"}" if shared else head)
        id, verb, arguments = message["id"], message["verb"], message["arguments"]
        match verb:
            case "start":
                self._instances = [f"{arguments['job']}/{id}" for id in arguments["instances"]]
                started = [{"pid": 1, "allocated": {"port": 7000, "ends": {}}} for _ in self._instances]
                network.answer(self._lines, {"id": id, "ok": {"started": started}})
            case "begin":
                told = list(arguments["configurations"])
                self._instances += [f"{arguments['job']}/{i}" for i in arguments["start"]]
                network.answer(self._lines, {"id": id, "ok": {"pids": dict.fromkeys(told, 1)}})
                self._executed(id + 1, len(told), arguments["stages"])
            case "each":
                self._executed(id, len(arguments["instances"]), [arguments["arguments"]["stage"]])
            case "release":
                ended, self._instances = self._instances, []
                for name in ended:
                    network.answer(
                        self._lines, {"event": "ended", "instance": name, "status": 0, "signal": 0, "stopped": False}
                    )
                network.answer(self._lines, {"id": id, "ok": {}})
            case _:
                network.answer(self._lines, {"id": id, "ok": {"path": "/cache/artifact.so"}})

    def _executed(self, first: int, count: int, stages: list[int]) -> None:
        """Answer for stages of `count` instances."""
        if 1 in stages:
            self._network.told_s = self._network.service_s()
        for number in range(first, first + count * len(stages)):
            self._network.answer(self._lines, {"id": number, "ok": _COUNTERS})

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        self._lines.connection_lost(None)
