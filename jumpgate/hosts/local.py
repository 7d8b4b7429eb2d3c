"""Agents on this machine, as child processes: one stands for the machine itself, several for several hosts."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
import sys

from jumpgate.errors import Unreachable
from jumpgate.hosts.client import AgentHost
from jumpgate.nca.interface import Device

#: a first start may have to build the runtime library
START_TIMEOUT_S = 900.0


class LocalAgent:
    """An agent process of ours; it ends when `close` is called or this process ends."""

    def __init__(self, device: Device, process: subprocess.Popen[bytes], host: AgentHost) -> None:
        self.device, self.process, self.host = device, process, host

    @staticmethod
    async def start(device: Device) -> LocalAgent:
        """Raises Unreachable when the agent does not come up; what it printed went to standard error."""
        token = secrets.token_hex(16)
        process = subprocess.Popen([sys.executable, "-m", "jumpgate.hosts.agent"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(token.encode() + b"\n")
        process.stdin.flush()
        try:
            line = await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), START_TIMEOUT_S)
            if not line.strip():
                raise Unreachable(f"the agent of host '{device.name}' did not start; its message is above",
                                  host=device.name)
            host = await AgentHost.connect(device, "127.0.0.1", int(line), token)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return LocalAgent(device, process, host)

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await self.host.close()
        self.stop()

    def stop(self) -> None:
        """Without an event loop: the agent sees the end of its standard input."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
