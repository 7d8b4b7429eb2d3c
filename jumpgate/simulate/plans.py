"""Plans for clusters that are not there, of files that are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.converters import probe
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device, JobPlan, Statistics
from jumpgate.nca.registry import Registry

ENDPOINT = "192.0.2.1:7411"


def hosts(count: int, cores: int, memory_bytes: int) -> tuple[Device, ...]:
    """Alike, and on one network."""
    where = (("data_address", "192.0.2.1"), ("data_bind", "192.0.2.1"))
    return tuple(Device(f"host{i}", "host", cores, memory_bytes, where, "hosts") for i in range(1, count + 1))


def planned(
    root: Operator,
    devices: tuple[Device, ...],
    registry: Registry,
    times: float = 1.0,
    dialect: Dialect = DEFAULT,
    speeds: Mapping[str, float] | None = None,
) -> JobPlan:
    """The plan for files with so many times the rows that they have, and as many different values as they have."""
    options = CompileOptions(
        dialect=dialect, endpoints=(ENDPOINT,), statistics=grown(probe.estimate, times), look=probe.look,
        speeds=speeds or {},
    )  # fmt: skip
    return compile_dataflow(root, devices, registry, options)


def grown(known: StatisticsFunction, times: float) -> StatisticsFunction:
    """What would be known about files of so many times the rows. What a filter chooses is not tried on the files then:
    only its share would be of use."""
    if times == 1.0:
        return known

    def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        found = known(files, format, options)
        rows, bytes = (None if value is None else value * times for value in (found.rows, found.bytes))
        return replace(found, rows=rows, bytes=bytes, select=None)

    return estimate
