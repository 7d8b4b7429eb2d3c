"""`jumpgate hosts`: the state of the hosts of jumpgate.toml and their agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import jumpgate
from jumpgate.cli import output
from jumpgate.cli.options import json_option
from jumpgate.errors import ConfigError, JumpgateError, NotFound
from jumpgate.words import size

if TYPE_CHECKING:
    from jumpgate.hosts.config import Config, HostConfig
    from jumpgate.hosts.remote import Found, Remote
    from jumpgate.trust.tls import Identity

T = TypeVar("T")

HOSTS_AT_ONCE = 16

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="[default: $JUMPGATE_CONFIG, else ./jumpgate.toml]"
)
names_argument = click.argument("names", nargs=-1, metavar="[HOST]...")


@click.group("hosts")
def command() -> None:
    """The hosts of jumpgate.toml and their agents: all of them, or those that are named."""


@command.command("list")
@config_option
@json_option
@names_argument
def list_(names: Sequence[str], config: Path | None, as_json: bool) -> None:
    """Show whether each host is reached, its versions, cores, memory, and its measured speed."""
    found = _looked(names, config)
    rows = [_row(host, one) for host, one in found]
    if as_json:
        output.print_json({"hosts": rows})
        return
    columns = ("host", "by", "reached", "Jumpgate", "Python", "compiler", "cores", "memory", "scan", "agents")
    output.print_table(
        "",
        columns,
        [
            (r["host"], r["by"], "yes" if r["reached"] else "no", r["jumpgate"], r["python"], r["compiler"], r["cores"],
             r["memory_bytes"] and size(r["memory_bytes"]), _speed(r["speeds"]), ", ".join(r["agents"]))
            for r in rows
        ],
        right=("cores", "memory"),
    )  # fmt: skip


@command.command("check")
@config_option
@json_option
@names_argument
@click.pass_context
def check(context: click.Context, names: Sequence[str], config: Path | None, as_json: bool) -> None:
    """Name the remedy for each thing that is missing. Exit code 1 if a host cannot be used."""
    found = _looked(names, config)
    if as_json:
        output.print_json({"hosts": [{**_row(host, one), "lacks": one.lacks()} for host, one in found]})
    else:
        for host, one in found:
            print("\n".join(f"{host.device.name}: {sentence}" for sentence in one.lacks() or ["ready"]))
    if not all(one.is_usable for _, one in found):
        context.exit(1)


@command.command("start")
@config_option
@json_option
@names_argument
def start(names: Sequence[str], config: Path | None, as_json: bool) -> None:
    """Bring what is missing to hosts with `ssh`, and start agents there that stay up between services."""

    from jumpgate.hosts.config import load

    identity = load(config).identity

    def start(host: HostConfig) -> str:
        return _over_ssh(host, lambda remote: remote.start(remote.look()), identity)

    started = _on_each(_with_ssh(names, config), start)
    _tell(as_json, [{"host": h.device.name, "address": a} for h, a in started], "agent runs at {address}")


@command.command("stop")
@config_option
@json_option
@names_argument
def stop(names: Sequence[str], config: Path | None, as_json: bool) -> None:
    """End all agents on hosts with `ssh`, and what they run. A service that is up starts its own again."""

    def stop(host: HostConfig) -> int:
        return len(_over_ssh(host, lambda remote: remote.stop()))

    stopped = _on_each(_with_ssh(names, config), stop)
    _tell(as_json, [{"host": h.device.name, "stopped": n} for h, n in stopped], "{stopped} ended")


@command.command("logs")
@click.option("-n", "--lines", type=click.IntRange(1), default=50, show_default=True)
@config_option
@json_option
@names_argument
def logs(names: Sequence[str], config: Path | None, as_json: bool, lines: int) -> None:
    """Show the last log lines of the agents of hosts with `ssh`."""

    def logs(host: HostConfig) -> list[str]:
        return _over_ssh(host, lambda remote: remote.logs(lines))

    found = _on_each(_with_ssh(names, config), logs)
    if as_json:
        output.print_json({"hosts": [{"host": h.device.name, "lines": written} for h, written in found]})
    else:
        for host, written in found:
            print("\n".join(f"{host.device.name}: {line}" for line in written))


def _chosen(names: Sequence[str], config: Path | None) -> list[HostConfig]:
    from jumpgate.hosts.config import load

    hosts = {host.device.name: host for host in load(config).hosts}
    for name in names:
        if name not in hosts:
            raise NotFound(f"the configuration has no host '{name}'; it has {', '.join(hosts)}", host=name)
    return [hosts[name] for name in names or hosts]


def _with_ssh(names: Sequence[str], config: Path | None) -> list[HostConfig]:
    hosts = _chosen(names, config)
    for host in hosts:
        if host.ssh is None and names:
            raise ConfigError(
                f"host '{host.device.name}' has no `ssh`: its agent is started by hand", host=host.device.name
            )
    return [host for host in hosts if host.ssh is not None]


def _on_each(hosts: Sequence[HostConfig], verb: Callable[[HostConfig], T]) -> list[tuple[HostConfig, T]]:
    """Call the verb on all at once; raise the first error once all have ended."""
    with ThreadPoolExecutor(HOSTS_AT_ONCE) as threads:
        return list(zip(hosts, threads.map(verb, hosts), strict=True))


def _over_ssh(host: HostConfig, verb: Callable[[Remote], T], identity: Identity | None = None) -> T:
    from jumpgate.hosts.remote import Remote

    remote = Remote.connect(host, identity)
    try:
        return verb(remote)
    finally:
        remote.shell.close()


def _looked(names: Sequence[str], file: Path | None) -> list[tuple[HostConfig, Found]]:
    from jumpgate.hosts.config import load

    config = load(file)
    return _on_each(_chosen(names, file), lambda host: _look(host, config))


def _look(host: HostConfig, config: Config) -> Found:
    from jumpgate.hosts import far_end
    from jumpgate.hosts.remote import Found
    from jumpgate.service.agents import greet

    try:
        if host.ssh is not None:
            return _over_ssh(host, lambda remote: remote.look())
        if host.is_here:
            return Found(far_end.facts())
        return Found(asyncio.run(greet(host, config)))
    except JumpgateError as error:
        return Found(error=error)


def _row(host: HostConfig, found: Found) -> dict[str, Any]:
    facts = found.facts
    return {
        "host": host.device.name,
        "by": f"ssh {host.ssh}" if host.ssh else host.agent or "this machine",
        "reached": found.error is None,
        "error": None if found.error is None else found.error.to_dict(),
        "jumpgate": facts.get("jumpgate", facts.get("version")),
        "ours": jumpgate.__version__,
        "python": facts.get("python"),
        "compiler": facts.get("compiler"),
        "cores": facts.get("cores"),
        "memory_bytes": facts.get("memory_bytes"),
        "speeds": facts.get("speeds") or {},
        "agents": [f"{agent['address']} ({agent['version']})" for agent in facts.get("agents", ())],
    }


def _speed(speeds: dict[str, float]) -> str:
    """Return how fast a core reads Parquet files, as the one figure of a table."""
    seconds = speeds.get("scan parquet byte")
    return f"{size(round(1 / seconds))}/s" if seconds else "not calibrated"


def _tell(as_json: bool, rows: list[dict[str, Any]], text: str) -> None:
    if as_json:
        output.print_json({"hosts": rows})
    else:
        for row in rows:
            print(f"{row['host']}: {text.format(**row)}")
