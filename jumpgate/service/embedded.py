"""A service inside this process, for clients that name no address: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import difflib
import threading
from collections.abc import Sequence

from jumpgate.errors import ConfigError
from jumpgate.hosts.config import Config, load
from jumpgate.nca.interface import Device
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.service.server import serve

#: for jobs and agents to end
STOP_TIMEOUT_S = 30.0


class Embedded:
    """A running service; `address` is host:port on the loopback. Ends with `close`, or with the process."""

    def __init__(self, config: Config, registry: Registry) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jumpgate-service", daemon=True)
        self._thread.start()
        self._closed = False
        try:
            self._server, self.engine, port = asyncio.run_coroutine_threadsafe(
                serve(config, registry), self._loop
            ).result()
        except BaseException:
            self._end_loop()
            raise
        self.address = f"127.0.0.1:{port}"
        atexit.register(self.close)

    def close(self) -> None:
        """Ends its jobs and agents; may be called twice."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(STOP_TIMEOUT_S)
        self._end_loop()

    async def _stop(self) -> None:
        await self._server.stop(0)
        await self.engine.close()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def start(config: Config | None = None, registry: Registry | None = None) -> Embedded:
    """Starts one. Configuration and accelerators are those of jumpgate.toml unless given."""
    config = config or load()
    return Embedded(config, registry or configured_registry(config))


def configured_registry(config: Config) -> Registry:
    """Installed accelerators and those of the configuration. Raises ConfigError for a device that none of them can be
    for."""
    registry = Registry(default_registry())
    registry.problems.update(default_registry().problems)
    for name, path in config.ncas:
        registry.load(name, path)
    kinds = sorted({d.kind for nca in registry for d in getattr(nca, "sample_devices", ())})
    for device in config.devices:
        _check(device, kinds)
    return registry


def _check(device: Device, kinds: Sequence[str]) -> None:
    """A device that no accelerator takes for its own would sit there unused, and nobody would know why: one whose kind
    is nearly one of `kinds` (others may be somebody else's), or a switch without a program of ours."""
    if device.kind not in kinds and (close := difflib.get_close_matches(device.kind, kinds, 1, cutoff=0.75)):
        raise ConfigError(
            f"the [[device]] '{device.name}' is of kind {device.kind!r}, which no accelerator knows; did you mean "
            f"{close[0]!r}?",
            device=device.name,
        )
    if device.kind != "switch":
        return
    from jumpgate.p4.programs.render import PROGRAMS

    program = dict(device.properties).get("program")
    if program not in PROGRAMS:
        what = "has no program" if program is None else f"has program {program!r}, which is none"
        hint = difflib.get_close_matches(program or "", PROGRAMS, 1)
        remedy = f"did you mean {hint[0]!r}?" if hint else f"there are {', '.join(PROGRAMS)}"
        raise ConfigError(f"the [[device]] '{device.name}' {what}; {remedy}", device=device.name)
