"""Clusters that do not exist, and tables that are larger than they are."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.nca.interface import Device, Statistics

ENDPOINT = "192.0.2.1:7411"


def hosts(count: int, cores: int, memory_bytes: int) -> tuple[Device, ...]:
    """Return equal hosts on one network."""
    where = (("data_address", "192.0.2.1"), ("data_bind", "192.0.2.1"))
    return tuple(Device(f"host{i}", "host", cores, memory_bytes, where, "hosts") for i in range(1, count + 1))


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
