"""`jumpgate serve`: the gRPC service in the foreground."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.cli.options import json_option

DEFAULT_PORT = 7411
STOP_GRACE_S = 1.0


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option("--config", type=click.Path(path_type=Path), help="[default: $JUMPGATE_CONFIG, else ./jumpgate.toml]")
@json_option
def command(host: str, port: int, config: Path | None, as_json: bool) -> None:
    """Run the gRPC service until it is interrupted.

    It is meant for this machine or a private network: whoever reaches it can read the files that it can read.
    """
    asyncio.run(_serve(host, port, config, as_json))


async def _serve(host: str, port: int, config: Path | None, as_json: bool) -> None:
    from jumpgate.hosts.config import load
    from jumpgate.service.embedded import configured_registry
    from jumpgate.service.server import serve

    configuration = load(config)
    server, engine, bound = await serve(configuration, configured_registry(configuration), host, port)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    address = f"{host}:{bound}"
    if as_json:
        output.print_json({"address": address, "hosts": [h.device.name for h in configuration.hosts]})
    else:
        print(f"serving on {address}; interrupt to stop", flush=True)
    try:
        await stop.wait()
    finally:
        await server.stop(STOP_GRACE_S)
        await engine.close()
