"""`jumpgate network`: the links between the hosts and devices of jumpgate.toml, as it says and as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpgate.cli import output
from jumpgate.cli.hosts import config_option
from jumpgate.cli.options import json_option
from jumpgate.errors import ConfigError

if TYPE_CHECKING:
    from rich.tree import Tree

    from jumpgate.nca.interface import Device
    from jumpgate.service.link_speeds import Way
    from jumpgate.stores.settings import Store

ROOT = "network"


@click.group("network")
def command() -> None:
    """The network between the hosts and devices of jumpgate.toml (docs/network.md)."""


@command.command("show")
@config_option
@json_option
def show(config: Path | None, as_json: bool) -> None:
    """Draw the tree of networks, hosts, devices and stores, with the speed and delay of each link."""
    from jumpgate.hosts.config import load

    found = load(config)
    links = [*_links([*(host.device for host in found.hosts), *found.devices]), *map(_store_link, found.stores)]
    if as_json:
        output.print_json({"links": links})
    else:
        output.console().print(_tree(links))


@command.command("measure")
@config_option
@click.option("--seconds", type=click.FloatRange(0.05, 10.0), default=0.5, show_default=True, help="Of each way.")
@json_option
def measure(config: Path | None, seconds: float, as_json: bool) -> None:
    """Measure the ways between hosts, as their instances would use them, and what jumpgate.toml may say of links."""
    import asyncio

    from jumpgate.hosts.config import load
    from jumpgate.service import link_speeds

    found = load(config)
    if len(found.hosts) < 2:
        raise ConfigError("there is one host, and no way between hosts: name others in jumpgate.toml (docs/hosts.md)")
    with output.progress() as progress:
        ways = asyncio.run(link_speeds.measure(found, progress, seconds))
    suggested = {host.device.name: _suggested(host.device.name, ways) for host in found.hosts}
    if as_json:
        output.print_json({"ways": [asdict(way) for way in ways], "links": suggested})
        return
    rows = [(way.source, way.target, _speed(way.bits_per_s), _delay(way.delay_s)) for way in ways]
    output.print_table("", ("from", "to", "speed", "delay"), rows, right=("speed", "delay"))
    print("What jumpgate.toml may say, if no network above the hosts is slower:\n")
    for name, link in suggested.items():
        print(f'[[host]]  # "{name}"\n' + "".join(f"{key} = {value}\n" for key, value in link.items()))


def _suggested(name: str, ways: Iterable[Way]) -> dict[str, float]:
    """Return the keys of a host's link: its fastest way shows the speed, half of its shortest way the delay."""
    own = [way for way in ways if name in (way.source, way.target)]
    return {
        "link_bits_per_s": int(float(f"{max(way.bits_per_s for way in own):.3g}")),
        "link_delay_us": float(f"{min(way.delay_s for way in own) / 2 * 1e6:.3g}"),
    }


def _links(devices: Iterable[Device]) -> list[dict[str, Any]]:
    """Return each link once: its lower end, the network that it leads to, its speed and its delay."""
    found: dict[str, dict[str, Any]] = {}
    for device in devices:
        links = device.links
        for link, above in zip(links, (*(link.name for link in links[1:]), ""), strict=True):
            found[link.name] = {**asdict(link), "network": above, "kind": ROOT}
    for device in devices:
        found[device.name]["kind"] = device.kind
    return [*found.values()]


def _store_link(store: Store) -> dict[str, Any]:
    """Return the way to a store, which is at the root; its latency is that of a request and its answer."""
    return {
        "name": store.url,
        "bits_per_s": store.bits_per_s,
        "delay_s": store.latency_ms / 2000,
        "network": "",
        "kind": "store",
    }


def _tree(links: list[dict[str, Any]]) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    nodes = {"": Tree(Text(ROOT))}
    waiting = links
    while waiting:
        ready = [link for link in waiting if link["network"] in nodes]
        for link in ready:
            nodes[link["name"]] = nodes[link["network"]].add(Text("  ".join(_words(link))))
        waiting = [link for link in waiting if link not in ready]
    return nodes[""]


def _words(link: dict[str, Any]) -> list[str]:
    speed = _speed(link["bits_per_s"]) if link["bits_per_s"] else "speed unknown"
    delay = [_delay(link["delay_s"])] if link["delay_s"] else []
    return [link["name"], link["kind"], speed, *delay]


def _speed(bits_per_s: float) -> str:
    for unit, name in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits_per_s >= unit:
            return f"{bits_per_s / unit:.3g} {name}"
    return f"{bits_per_s:.3g} bit/s"


def _delay(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
