"""A service inside this process, for clients that name no address: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import threading
from concurrent.futures import Future

from jumpgate.hosts.config import Config, load
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.service.engine import Engine
from jumpgate.service.server import serve


class Embedded:
    """A running service; `address` is host:port on the loopback. Ends with `close`, or with the process."""

    def __init__(self, config: Config, registry: Registry) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jumpgate-service", daemon=True)
        self._thread.start()
        self._server, self.engine, port = asyncio.run_coroutine_threadsafe(
            serve(config, registry), self._loop).result()
        self.address = f"127.0.0.1:{port}"
        self._closed = False
        atexit.register(self.close)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        done: Future[None] = asyncio.run_coroutine_threadsafe(self._stop(self.engine), self._loop)
        done.result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self, engine: Engine) -> None:
        await self._server.stop(0)
        await engine.close()


def start(config: Config | None = None, registry: Registry | None = None) -> Embedded:
    """Starts one; the configuration is jumpgate.toml's unless given."""
    config = config or load()
    if registry is None:
        registry = default_registry()
        for name, path in config.ncas:
            registry.load(name, path)
    return Embedded(config, registry)
