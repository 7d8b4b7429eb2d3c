"""Measures the ways between hosts, by instances that their agents start: for `jumpgate network measure`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import Config
from jumpgate.ntf.addresses import LOOPBACK, joined
from jumpgate.service.agents import Agents

MODULE = "jumpgate.hosts.link_end"
JOB = "link-speeds"
#: peers that each host sends to, where there are many
PEERS_MAX = 4
SECONDS = 0.5


@dataclass(frozen=True)
class Way:
    """The measured way from one host to another. `delay_s`: one way, half of the shortest round trip."""

    source: str
    target: str
    bits_per_s: float
    delay_s: float


async def measure(config: Config, progress: Callable[[str, int, int], None], seconds: float = SECONDS) -> list[Way]:
    """Measure ways between the hosts of a configuration, one after the other, each for `seconds`. Each host sends to
    `PEERS_MAX` others at most. Raises JumpgateError for a host that cannot be used."""
    agents = Agents(config)
    token = secrets.token_hex(16)
    try:
        await agents.meet()
        lent = await agents.lend({device.name for device in agents.devices}, [])
        hosts = {device.name: device for device in agents.devices}
        ends, addresses = {}, {}
        for name, host in lent.items():
            assert isinstance(host, AgentHost)
            said = dict(hosts[name].properties)
            ends[name] = await host.spawn(JOB, f"end.{name}", MODULE)
            port = (await ends[name].call("listen", bind=said.get("data_bind", LOOPBACK), token=token))["port"]
            addresses[name] = joined(str(said.get("data_address", LOOPBACK)), int(port))
        found, pairs = [], [*_pairs([*hosts])]
        for number, (source, target) in enumerate(pairs):
            progress(f"{source} → {target}", number, len(pairs))
            end, address = ends[source], addresses[target]
            way = await end.call("measure", address=address, token=token, seconds=seconds)
            found.append(Way(source, target, 8 * float(way["bytes_per_s"]), float(way["delay_s"])))
        with contextlib.suppress(Exception):  # closing the connections ends them, too
            await asyncio.gather(*(end.call("destroy") for end in ends.values()))
        return found
    finally:
        await agents.close()


def _pairs(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the ways to measure: all of them, or of many hosts those to the next ones and to some far away.

    >>> [*_pairs(["a", "b"])], len([*_pairs([*"abcdefghij"])])
    ([('a', 'b'), ('b', 'a')], 40)
    """
    count = len(names)
    steps = {1 + i * (count - 1) // PEERS_MAX for i in range(PEERS_MAX)} if count > PEERS_MAX else range(1, count)
    for step in sorted(steps):
        for at, name in enumerate(names):
            yield name, names[(at + step) % count]
