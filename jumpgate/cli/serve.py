"""`jumpgate serve`: the gRPC service in the foreground."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jumpgate.cli import output
from jumpgate.cli.options import json_option

if TYPE_CHECKING:
    from jumpgate.flight.door import Door
    from jumpgate.hosts.config import Config
    from jumpgate.service.server import Serving

DEFAULT_PORT = 7411
STOP_GRACE_S = 1.0
#: for jobs and agents to end; then the process does, whatever its threads wait for
STOP_S_MAX = 15.0


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option("--flight", type=click.IntRange(0, 65535), help="A port for Flight SQL, too. 0: a free one.")
@click.option("--config", type=click.Path(path_type=Path), help="[default: $JUMPGATE_CONFIG, else ./jumpgate.toml]")
@click.option(
    "--trusted-network",
    is_flag=True,
    help="Serve others without TLS and, if the configuration names no clients, without tokens.",
)
@click.option(
    "--drain-s",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="On SIGTERM: how long jobs that run may go on, while new ones are refused.",
)
@json_option
def command(
    host: str,
    port: int,
    flight: int | None,
    config: Path | None,
    trusted_network: bool,
    drain_s: float,
    as_json: bool,
) -> None:
    """Run the gRPC service, and Flight SQL where it is asked for, until it is interrupted.

    Programs of the same user on this machine find it and may do everything. Others need a certificate and a token: see
    docs/security.md.
    """
    asyncio.run(_serve(host, port, flight, config, trusted_network, drain_s, as_json))


async def _serve(
    host: str,
    port: int,
    flight: int | None,
    config: Path | None,
    trusted_network: bool,
    drain_s: float,
    as_json: bool,
) -> None:
    from jumpgate.hosts.config import load
    from jumpgate.machine import raise_open_files
    from jumpgate.service import job_log
    from jumpgate.service.collector import collect_seldom
    from jumpgate.service.embedded import configured_registry
    from jumpgate.service.server import serve

    raise_open_files()
    configuration = load(config)
    registry = configured_registry(configuration)
    serving = await serve(configuration, registry, host, port, trusted_network=trusted_network)
    try:
        door = None if flight is None else _open_door(configuration, serving, host, flight)
    except BaseException:
        await serving.stop()
        raise
    collect_seldom()
    serving.engine.on_ended = lambda record: print(f"jumpgate: {job_log.line(record)}", file=sys.stderr, flush=True)
    stop, interrupted = asyncio.Event(), asyncio.Event()

    def terminate() -> None:
        (interrupted if stop.is_set() else stop).set()  # the second time without patience

    def interrupt() -> None:
        stop.set()
        interrupted.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    if as_json:
        names = [h.device.name for h in configuration.hosts]
        output.print_json({
            "address": serving.address, "hosts": names, **({} if door is None else {"flight": door.address}),
        })  # fmt: skip
    else:
        also = "" if door is None else f", Flight SQL on {door.address}"
        print(f"serving on {serving.address}{also}; interrupt to stop", flush=True)
    try:
        await stop.wait()
        draining = asyncio.ensure_future(serving.drain(drain_s))
        impatient = asyncio.ensure_future(interrupted.wait())
        await asyncio.wait((draining, impatient), return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        impatient.cancel()
    finally:
        _end_within(STOP_S_MAX)
        if door is not None:
            await asyncio.to_thread(door.close)
        await serving.stop(STOP_GRACE_S)


def _open_door(configuration: Config, serving: Serving, host: str, port: int) -> Door:
    """Serve Flight SQL, encrypted as the service is. Raises ConfigError."""
    from jumpgate.extras import explained
    from jumpgate.ntf.addresses import is_loopback, joined
    from jumpgate.service.direct import Stub

    with explained():
        from jumpgate.flight.clients import Clients
        from jumpgate.flight.door import Door

    if "JUMPGATE_DEBUG" not in os.environ:
        sys.tracebacklimit = 0  # Arrow adds the server's stack to errors that clients see
    os.environ.setdefault("ACERO_ALIGNMENT_HANDLING", "ignore")  # of batches that arrive; else each is a warning
    identity = None if is_loopback(joined(host, port)) else configuration.identity
    stub = Stub(serving.handlers, asyncio.get_running_loop())
    return Door(Clients(configuration, serving.handlers.guard, stub), host, port, identity)


def _end_within(seconds: float) -> None:
    """Ends the process, and its agents with it, where a thread still waits then: for a disk, or for a lock."""
    end = threading.Timer(seconds, os._exit, (1,))
    end.daemon = True
    end.start()
