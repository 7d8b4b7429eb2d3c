"""`jumpgate serve`: the gRPC service in the foreground."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import json_option
from jumpgate.errors import ConfigError, JumpgateError
from jumpgate.extras import explained
from jumpgate.ntf.addresses import is_loopback, joined

if TYPE_CHECKING:
    from jumpgate.flight.door import Door
    from jumpgate.orchestrator.record import JobRecord
    from jumpgate.service.server import Serving
    from jumpgate.service.web import Web

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
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    help="Serve /metrics for Prometheus, /healthz and /readyz there, without tokens; on the loopback unless a HOST is "
    "given. 0: a free port.",
)
@click.option(
    "--http",
    metavar="[HOST:]PORT",
    help="Serve the live page there: who has a token shows it as a password. On the loopback unless a HOST is given.",
)
@click.option(
    "--traces", metavar="URL", help="Send a trace of each job to this OTLP collector, as http://127.0.0.1:4318."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
@click.option("--slow-s", type=click.FloatRange(0), default=0.0, help="Log the phases of jobs that take so long.")
@json_option
def command(config: Path | None, **options: Any) -> None:
    """Run the gRPC service, and Flight SQL where it is asked for, until it is interrupted.

    Programs of the same user on this machine find it and may do everything. Others need a certificate and a token: see
    docs/security.md.
    """
    asyncio.run(_serve(config, _Options(**options)))


@dataclass(frozen=True)
class _Options:
    """The options of the command."""

    host: str
    port: int
    flight: int | None
    trusted_network: bool
    drain_s: float
    metrics: str | None
    http: str | None
    traces: str | None
    log_format: str
    log_level: str
    slow_s: float
    as_json: bool


async def _serve(config: Path | None, options: _Options) -> None:
    from jumpgate.hosts.config import load
    from jumpgate.machine import raise_open_files
    from jumpgate.service import first_runs, logs, systemd
    from jumpgate.service.collector import collect_seldom
    from jumpgate.service.embedded import configured_registry
    from jumpgate.service.server import serve

    raise_open_files()
    notified = systemd.address()
    logs.begin(options.log_format == "json", options.log_level)
    configuration = load(config)
    registry = configured_registry(configuration)
    serving = await serve(configuration, registry, options.host, options.port, trusted_network=options.trusted_network)
    if first_runs.wanted():
        await serving.engine.stand_by()
    webs: dict[str, Web] = {}
    after = AsyncExitStack()
    door: Door | None = None
    try:
        await _watched(serving, options, webs, after)
        door = None if options.flight is None else _open_door(serving, options.host, options.flight)
        if options.http is not None:
            webs["page"] = await _page(serving, options.http, options.trusted_network)
    except BaseException:
        await _stop(serving, webs, door, after)
        raise
    collect_seldom()
    stop, interrupted = asyncio.Event(), asyncio.Event()

    def terminate() -> None:
        (interrupted if stop.is_set() else stop).set()  # the second time without patience

    def interrupt() -> None:
        stop.set()
        interrupted.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, serving, config)
    _greet(serving, webs, door, options)
    systemd.notify(notified, "READY=1")
    try:
        await stop.wait()
        systemd.notify(notified, "STOPPING=1")
        draining = asyncio.ensure_future(serving.drain(options.drain_s))
        impatient = asyncio.ensure_future(interrupted.wait())
        await asyncio.wait((draining, impatient), return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        impatient.cancel()
    finally:
        _end_within(STOP_S_MAX)
        await _stop(serving, webs, door, after)


def _reload(serving: Serving, config: Path | None) -> None:
    """Reads the configuration again: clients, tokens and limits are those of the file from now on."""
    from jumpgate.hosts.config import load
    from jumpgate.service import logs

    try:
        rest = serving.reload(load(config))
    except ConfigError as error:
        logs.say(logging.ERROR, "not_reloaded", message=error.message)
    else:
        logs.say(logging.INFO, "reloaded", after_restart=",".join(rest))


async def _stop(serving: Serving, webs: dict[str, Web], door: Door | None, after: AsyncExitStack) -> None:
    if door is not None:
        await asyncio.to_thread(door.close)
    for web in webs.values():
        await web.close()
    await serving.stop(STOP_GRACE_S)
    await after.aclose()


async def _page(serving: Serving, place: str, trusted_network: bool) -> Web:
    """Serves the live page. Raises ConfigError: others would see tokens on their way."""
    with explained():
        from jumpgate.service.page import encryption, pages
        from jumpgate.service.web import Web

    host, port = _place(place, "--http")
    identity = serving.engine.config.identity
    is_local = is_loopback(joined(host, port))
    if not (is_local or trusted_network or identity):
        raise ConfigError(f"--http: others can reach {host}, and jumpgate.toml has no [tls]: docs/security.md")
    secret = None if is_local or identity is None else encryption(identity)
    return await Web.start(host, port, pages(serving.service), secret)


async def _watched(serving: Serving, options: _Options, webs: dict[str, Web], after: AsyncExitStack) -> None:
    """Has jobs and errors logged and, if that is wanted, counted and traced; `after` closes what still sends then."""
    from jumpgate.service import logs

    refusals = logs.Refusals()
    ended: list[Callable[[JobRecord], None]] = [lambda record: logs.job_ended(record, options.slow_s)]
    failed: list[Callable[[str, str, JumpgateError], None]] = [refusals.failed]
    if options.metrics is not None:
        host, port = _place(options.metrics, "--metrics")
        with explained():
            from jumpgate.service.metrics import Metrics, pages
            from jumpgate.service.web import Web

        metrics = Metrics(serving.service)
        ended.append(metrics.ended)
        failed.append(lambda _client, _peer, error: metrics.failed(error))
        webs["metrics"] = await Web.start(host, port, pages(serving.service, metrics))

    if options.traces is not None:
        with explained():
            from jumpgate.service.traces import Traces

        traces = Traces(options.traces)
        ended.append(traces.ended)
        after.push_async_callback(asyncio.to_thread, traces.close)

    def on_ended(record: JobRecord) -> None:
        for hear in ended:
            hear(record)

    def on_failed(client: str, peer: str, error: JumpgateError) -> None:
        for hear in failed:
            hear(client, peer, error)

    serving.engine.agents.on_change = logs.host_changed
    serving.engine.on_ended, serving.service.on_failed = on_ended, on_failed


def _place(text: str, option: str) -> tuple[str, int]:
    """Return the host and port of [HOST:]PORT.

    >>> _place("9464", "--http"), _place("[::1]:0", "--http")
    (('127.0.0.1', 9464), ('::1', 0))
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ConfigError(f"{option} is {text!r}, not [HOST:]PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _greet(serving: Serving, webs: dict[str, Web], door: Door | None, options: _Options) -> None:
    """Says where the service is."""
    if options.as_json:
        hosts = [host.device.name for host in serving.engine.config.hosts]
        places = {name: web.address for name, web in webs.items()}
        if door is not None:
            places["flight"] = door.address
        output.print_json({"address": serving.address, "hosts": hosts, **places})
        sys.stdout.flush()
        return
    also = "" if door is None else f", Flight SQL on {door.address}"
    print(f"serving on {serving.address}{also}; interrupt to stop", flush=True)
    for name, web in webs.items():
        print(f"{name} on {web.url}{'metrics' if name == 'metrics' else ''}", flush=True)


def _open_door(serving: Serving, host: str, port: int) -> Door:
    """Serve Flight SQL, encrypted as the service is. Raises ConfigError."""
    from jumpgate.service import logs

    with explained():
        from jumpgate.flight.callers import Audit
        from jumpgate.flight.clients import Clients
        from jumpgate.flight.door import Door

    if "JUMPGATE_DEBUG" not in os.environ:
        sys.tracebacklimit = 0  # Arrow adds the server's stack to errors that clients see
    os.environ.setdefault("ACERO_ALIGNMENT_HANDLING", "ignore")  # of batches that arrive; else each is a warning
    identity = None if is_loopback(joined(host, port)) else serving.engine.config.identity
    loop, service = asyncio.get_running_loop(), serving.service

    def failed(client: str, peer: str, error: JumpgateError) -> None:
        loop.call_soon_threadsafe(service.on_failed, client, peer, error)

    audit = Audit(logs.logged_in, failed)
    clients = Clients(lambda: serving.engine.config, service, loop)
    return Door(clients, host, port, identity, audit)


def _end_within(seconds: float) -> None:
    """Ends the process, and its agents with it, where a thread still waits then: for a disk, or for a lock."""
    end = threading.Timer(seconds, os._exit, (1,))
    end.daemon = True
    end.start()
