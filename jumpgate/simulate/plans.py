"""Plans existing files for clusters that do not exist."""

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
    """Return equal hosts on one network."""
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
    """Return the plan for files with `times` times their rows and distinct values."""
    options = CompileOptions(
        dialect=dialect, endpoints=(ENDPOINT,), statistics=grown(probe.estimate, times), look=probe.look,
        speeds=speeds or {},
    )  # fmt: skip
    return compile_dataflow(root, devices, registry, options)


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
