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
@click.option(
    "--trusted-network",
    is_flag=True,
    help="Serve others without TLS and, if the configuration names no clients, without tokens.",
)
@json_option
def command(host: str, port: int, config: Path | None, trusted_network: bool, as_json: bool) -> None:
    """Run the gRPC service until it is interrupted.

    Programs of the same user on this machine find it and may do everything. Others need a certificate and a token: see
    docs/security.md.
    """
    asyncio.run(_serve(host, port, config, trusted_network, as_json))


async def _serve(host: str, port: int, config: Path | None, trusted_network: bool, as_json: bool) -> None:
    from jumpgate.hosts.config import load
    from jumpgate.service.collector import collect_seldom
    from jumpgate.service.embedded import configured_registry
    from jumpgate.service.server import serve

    configuration = load(config)
    registry = configured_registry(configuration)
    serving = await serve(configuration, registry, host, port, trusted_network=trusted_network)
    collect_seldom()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if as_json:
        output.print_json({"address": serving.address, "hosts": [h.device.name for h in configuration.hosts]})
    else:
        print(f"serving on {serving.address}; interrupt to stop", flush=True)
    try:
        await stop.wait()
    finally:
        await serving.stop(STOP_GRACE_S)
