"""Finds networks whose links a plan waits for, and which may be faster by their own hosts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jumpgate.nca.interface import Device, JobFigures
from jumpgate.nca.link import Link

#: a link matters that takes this part of a job's seconds
PART_MIN = 0.1
#: the most parts that are planned for
PARTS_MAX = 4


def narrow_parts(devices: Sequence[Device], found: JobFigures) -> Iterator[tuple[str, list[Device]]]:
    """Yield networks, and the devices without the hosts outside of it, the busiest first, where the links of networks
    take much of a plan that all hosts share."""
    if found.seconds is None:
        return
    links = {link.name: link for device in devices for link in device.above}
    busy = {name: _seconds(link, found) for name, link in links.items()}
    if max(busy.values(), default=0.0) < PART_MIN * found.seconds:
        return
    parts = 0
    for name in sorted(links, key=lambda name: -busy[name]):
        part = [d for d in devices if d.kind != "host" or any(link.name == name for link in d.above)]
        hosts = sum(device.kind == "host" for device in part)
        if hosts and len(part) < len(devices) and parts < PARTS_MAX:
            parts += 1
            yield name, part


def _seconds(link: Link, found: JobFigures) -> float:
    return 8 * max(found.networks.get(link.name, (0.0,))) / link.bits_per_s if link.bits_per_s else 0.0
