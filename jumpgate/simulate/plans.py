"""Clusters that do not exist, and tables that are larger than they are."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.nca.interface import Device, Statistics
from jumpgate.nca.link import Link

ENDPOINT = "192.0.2.1:7411"


def hosts(
    count: int, cores: int, memory_bytes: int, link_bits_per_s: int = 0, rack: int = 0, rack_bits_per_s: int = 0
) -> tuple[Device, ...]:
    """Return equal hosts on one network, or in racks of `rack` hosts, each with a link of `rack_bits_per_s`."""
    where = (("data_address", "192.0.2.1"), ("data_bind", "192.0.2.1"))
    alike = Device("", "host", cores, memory_bytes, where, "hosts", link_bits_per_s=link_bits_per_s)
    return tuple(
        replace(alike, name=f"host{i + 1}", above=(Link(f"rack{i // rack + 1}", rack_bits_per_s),) if rack else ())
        for i in range(count)
    )


def grown(known: StatisticsFunction, times: float) -> StatisticsFunction:
    """Scale the statistics of files to `times` times their rows. Filters are not evaluated on samples then: only their
    selectivity would apply."""
    if times == 1.0:
        return known

    def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        found = known(files, format, options)
        rows, bytes = (None if value is None else value * times for value in (found.rows, found.bytes))
        return replace(found, rows=rows, bytes=bytes, select=None)

    return estimate
