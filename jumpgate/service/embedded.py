"""A service inside this process, for clients that name no address: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import threading

from jumpgate.hosts.config import Config, load
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.service.direct import Direct
from jumpgate.service.guard import Client
from jumpgate.service.server import serve

#: for jobs and agents to end
STOP_TIMEOUT_S = 30.0


class Embedded:
    """A running service; `address` is host:port on the loopback, `token` what its user shows. Ends with `close`, or
    with the process."""

    def __init__(self, config: Config, registry: Registry, port: int = 0) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="jumpgate-service", daemon=True)
        self._thread.start()
        self._closed = False
        try:
            self._serving = asyncio.run_coroutine_threadsafe(serve(config, registry, port=port), self.loop).result()
        except BaseException:
            self._end_loop()
            raise
        self.engine, self.address, self.token = self._serving.engine, self._serving.address, self._serving.token
        self.service = self._serving.service
        #: its own user's calls, without a network between
        self.calls = Direct(self.service, self.loop, Client())
        atexit.register(self.close)

    def close(self) -> None:
        """Ends its jobs and agents; may be called twice."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        asyncio.run_coroutine_threadsafe(self._serving.stop(), self.loop).result(STOP_TIMEOUT_S)
        self._end_loop()

    def _end_loop(self) -> None:
        asyncio.run_coroutine_threadsafe(_end_tasks(), self.loop).result(STOP_TIMEOUT_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _end_tasks() -> None:
    """Cancels what still runs on this loop, such as calls whose client reads no further, and waits for its end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def start(config: Config | None = None, registry: Registry | None = None, port: int = 0) -> Embedded:
    """Starts one. Configuration and accelerators are those of jumpgate.toml, and the port a free one, unless given."""
    config = config or load()
    return Embedded(config, registry or configured_registry(config), port)


def configured_registry(config: Config) -> Registry:
    """Installed accelerators and those of the configuration."""
    registry = Registry(default_registry())
    registry.problems.update(default_registry().problems)
    for name, path in config.ncas:
        registry.load(name, path)
    return registry
