"""Agents on this machine, as child processes: one stands for the machine itself, several for several hosts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

from jumpgate.errors import Unreachable, from_dict
from jumpgate.hosts.client import AgentHost
from jumpgate.nca.interface import Device

#: a first start may have to build the runtime library
START_TIMEOUT_S = 900.0
#: for an agent to end what it runs
STOP_TIMEOUT_S = 5.0


class LocalAgent:
    """An agent process of ours, with a connection to it; it ends with `stop`, or with this process."""

    def __init__(self, process: subprocess.Popen[bytes], host: AgentHost) -> None:
        self.process, self.host = process, host

    @staticmethod
    async def start(device: Device, host_program: Path | None = None, spares: int | None = None) -> LocalAgent:
        """spares: processes that wait to become instances; None: as many as usual.

        Raises what kept the agent from starting: BuildError, or Unreachable.
        """
        token = secrets.token_hex(16)
        command = [sys.executable, "-m", "jumpgate.hosts.agent"]
        if host_program is not None:
            command += ["--host-program", str(host_program)]
        if spares is not None:
            command += ["--spares", str(spares)]
        # a session of its own: an interrupt at the terminal is the client's to handle
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(token.encode() + b"\n")
                process.stdin.flush()
            line = await asyncio.wait_for(_read_line(process.stdout.fileno()), START_TIMEOUT_S)
            host = await AgentHost.connect(device, "127.0.0.1", _port(line, device), token)
        except BaseException:
            _end(process)
            raise
        host.is_here = True
        return LocalAgent(process, host)

    def hang_up(self) -> None:
        """Tells the agent to end, and does not wait for it."""
        _hang_up(self.process)

    def stop(self) -> None:
        """Ends the agent and all that it runs; needs no event loop, and may be called twice."""
        _end(self.process)


async def _read_line(descriptor: int) -> bytes:
    """The first line from a pipe, b"" at its end; may be cancelled."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    line = b""
    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, readable.set)
    try:
        while not line.endswith(b"\n"):
            await readable.wait()
            readable.clear()
            try:
                part = os.read(descriptor, 4096)
            except BlockingIOError:  # woken by what the last read took
                continue
            if not part:
                break
            line += part
    finally:
        loop.remove_reader(descriptor)
    return line


def _port(line: bytes, device: Device) -> int:
    answer = json.loads(line) if line.endswith(b"\n") else {}
    if "error" in answer:
        raise from_dict(answer["error"])
    if "port" not in answer:
        raise Unreachable(
            f"the agent of host '{device.name}' ended while it started; its message is on standard error",
            host=device.name,
        )
    return int(answer["port"])


def _end(process: subprocess.Popen[bytes]) -> None:
    """The agent sees the end of its standard input and cleans up; one that does not is killed with its children."""
    assert process.stdout is not None
    _hang_up(process)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
