"""Clusters that do not exist, and tables that are larger than they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import DataType
from jumpgate.nca.interface import ColumnStatistics, Device, JobPlan, Selection, Statistics
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


def under_switches(devices: tuple[Device, ...], switch: Device, rack_bits_per_s: int) -> tuple[Device, ...]:
    """Put a switch like `switch` into each rack of the hosts, and one above them all."""
    spine = Link("spine", rack_bits_per_s)
    racks = dict.fromkeys(link for device in devices for link in device.above)
    below = tuple(replace(device, above=(*device.above, spine)) for device in devices)
    top = replace(switch, name="spine", link_bits_per_s=rack_bits_per_s)
    return (*below, top, *(replace(top, name=link.name, above=(spine,)) for link in racks))


def group_size(hosts: int, most: int) -> int:
    """Return how many hosts form a group if none may have more than `most`: equal groups of at least half as many, and
    as few hosts too many as possible.

    >>> group_size(16, 64), group_size(1000, 64), group_size(67, 64)
    (16, 50, 34)
    """
    if hosts <= most:
        return hosts
    return min(range(most // 2 + 1, most + 1), key=lambda size: (-hosts % size, -size))


def spread(plan: JobPlan, groups: int) -> tuple[JobPlan, ...]:
    """Return the plan for each of several groups of hosts, whose devices and networks are as those of the plan."""
    return tuple(_renamed(plan, f"{group + 1}/") for group in range(groups)) if groups > 1 else (plan,)


def _renamed(plan: JobPlan, prefix: str) -> JobPlan:
    def renamed(device: Device) -> Device:
        above = tuple(replace(link, name=prefix + link.name) for link in device.above)
        below = tuple(map(renamed, device.below))
        return replace(device, name=prefix + device.name, above=above, below=below)

    return replace(plan, instances=tuple(replace(i, device=renamed(i.device)) for i in plan.instances))


def grown(known: StatisticsFunction, times: float) -> StatisticsFunction:
    """Scale the statistics of files to `times` times their rows, with as many different values as they have."""
    return known if times == 1.0 else grown_tables(known, lambda files: times, lambda column: 1.0)


def grown_tables(
    known: StatisticsFunction, rows: Callable[[tuple[str, ...]], float], values: Callable[[str], float]
) -> StatisticsFunction:
    """Scale the statistics of files: `rows` tells how many times as many rows they are to have, `values` how many times
    as many values a column. What a filter selects of a sample, it then selects of all rows."""

    def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        found, times = known(files, format, options), rows(files)
        if times == 1.0:
            return found
        look, select = found.column, found.select

        def column(name: str, type: DataType) -> ColumnStatistics:
            return _more_values(ColumnStatistics() if look is None else look(name, type), values(name))

        def selection(filter: Operator, names: tuple[str, ...]) -> Selection | None:
            selected = None if select is None else select(filter, names)
            return selected and replace(selected, whole=False, column=ColumnStatistics())

        return Statistics(
            None if found.rows is None else found.rows * times,
            None if found.bytes is None else found.bytes * times,
            column,
            selection,
        )

    return estimate


def _more_values(known: ColumnStatistics, times: float) -> ColumnStatistics:
    """Return the statistics of a column that numbers so many times as many things."""
    if times == 1.0:
        return known
    high = known.high if known.low is None or known.high is None else known.low + (known.high - known.low) * times
    return replace(known, distinct=known.distinct and known.distinct * times, high=high)
