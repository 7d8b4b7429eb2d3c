"""The hosts and devices of a service, with what running jobs have of them."""

from __future__ import annotations

from collections import Counter

from jumpgate.observe.overview import DeviceRow
from jumpgate.service.engine import Engine


def devices(engine: Engine) -> list[DeviceRow]:
    """Return the devices in the order of the configuration. One that did not answer when last asked is not up."""
    jobs, threads, held = Counter[str](), Counter[str](), Counter[str]()
    running = dict(engine.admission.running)
    for demand in running.values():
        threads.update(demand.threads)
    for record in engine.jobs():
        if record.job in running:
            hosts = {i["id"]: i["host"] for i in record.instances}
            jobs.update(set(hosts.values()))
            for id, counters in record.counters.items():
                held[hosts.get(id, "")] += counters.get("held_bytes", 0)  # as its instances said last
    lost = engine.lost | engine.agents.lost
    return [
        DeviceRow(
            name=device.name,
            kind=device.kind,
            is_up=device.name not in lost,
            jobs=jobs[device.name],
            cores=device.cores,
            threads=threads[device.name],
            memory_bytes=device.memory_bytes,
            held_bytes=held[device.name],
            facts={key: str(of) for key, of in (("pool", device.pool), ("bits/s", device.link_bits_per_s)) if of},
        )
        for device in engine.devices
    ]
