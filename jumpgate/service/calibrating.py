"""Has a machine that was never measured measured in the background, by a process that gives way to all others.

It begins once a service has run for a while, takes some seconds, and ends with the service. Only one process at a time
measures a machine; see jumpgate/client/sql/calibrate_once.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys

from jumpgate import debug
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import JumpgateError
from jumpgate.hosts.config import Config
from jumpgate.service import calibration

#: until a service is taken to stay, and between two looks whether the runtime is built
PATIENCE_S = 5.0
#: of the process that measures; its first argument is the cache in which the result is kept
PROGRAM = "import sys; from jumpgate.client.sql import calibrate_once; calibrate_once.main(sys.argv[1])"


def wanted(config: Config) -> bool:
    """Return whether a service measures its machine: $JUMPGATE_CALIBRATE does not say `never`, and it is a host."""
    return os.environ.get("JUMPGATE_CALIBRATE") != "never" and any(host.is_here for host in config.hosts)


class Calibrating:
    """The measurement of one service, if the machine needs one. Use it on one event loop."""

    def __init__(self, config: Config) -> None:
        self.task = asyncio.create_task(_measured()) if wanted(config) else None

    async def close(self) -> None:
        """End it at once."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])


async def _measured() -> None:
    """Start the process once it would not wait for the runtime's build, which at its priority would take long; return
    when it has ended."""
    while not await asyncio.to_thread(_is_ready):
        await asyncio.sleep(PATIENCE_S)
    await asyncio.sleep(PATIENCE_S)
    if calibration.is_measured():
        return
    process = start()
    assert process.stdin is not None
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    state = os.pidfd_open(process.pid)
    try:
        loop.add_reader(state, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(state)
        os.close(state)
        process.kill()
        process.wait()
        process.stdin.close()


def start() -> subprocess.Popen[bytes]:
    """Start the process, which ends with its standard input."""
    command = [sys.executable, "-P", "-c", PROGRAM, str(cache.root())]
    # a service of its own, of this machine alone, that begins nothing of the kind
    own = {
        "JUMPGATE_CALIBRATE": "never", "JUMPGATE_CONFIG": os.devnull, "JUMPGATE_QUICK_BUILDS": "never",
        "JUMPGATE_FIRST_RUNS": "build",
    }  # fmt: skip
    heard = None if debug.level() >= 1 else subprocess.DEVNULL
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=heard,
        env={**os.environ, **own},
        start_new_session=True,
    )


def _is_ready() -> bool:
    with contextlib.suppress(JumpgateError):
        return calibration.is_measured() or toolchain.is_built()
    return False
