"""The hosts and devices of a service, with what running jobs have of them."""

from __future__ import annotations

from jumpgate.observe.overview import DeviceRow
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service.engine import Engine


def devices(engine: Engine) -> list[DeviceRow]:
    """Return the devices in the order of the configuration. One that did not answer when last asked is not up."""
    running = dict(engine.admission.running)
    current = [record for record in engine.jobs() if record.job in running]
    lost = engine.lost | engine.agents.lost
    return [
        DeviceRow(
            name=device.name,
            kind=device.kind,
            is_up=device.name not in lost,
            jobs=sum(any(i["host"] == device.name for i in record.instances) for record in current),
            cores=device.cores,
            threads=sum(demand.threads.get(device.name, 0) for demand in running.values()),
            memory_bytes=device.memory_bytes,
            held_bytes=sum(_held_bytes(record, device.name) for record in current),
            facts={
                key: str(value) for key, value in (("pool", device.pool), ("bits/s", device.link_bits_per_s)) if value
            },
        )
        for device in engine.devices
    ]


def _held_bytes(record: JobRecord, host: str) -> int:
    """Return the bytes in tables of a job's instances on a host, as they said last."""
    there = {i["id"] for i in record.instances if i["host"] == host}
    return sum(counters.get("held_bytes", 0) for id, counters in record.counters.items() if id in there)
