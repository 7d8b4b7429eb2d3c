"""Prometheus's view of a service: what it counts, and what is so at the moment.

No label has a value of a request: clients, hosts and devices are the configuration's, codes are those of errors, and
everything else is one of few words.
"""

from __future__ import annotations

from collections import Counter as Sums
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import jumpgate
from jumpgate.errors import JumpgateError
from jumpgate.observe.overview import DeviceRow
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service.devices import devices
from jumpgate.service.traffic import traffic
from jumpgate.service.web import Answer, Asked, Page

if TYPE_CHECKING:
    from jumpgate.service.facade import Service

#: seconds, from a job that finds its program built and reads little
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
NS = 1e-9


class Metrics:
    """The counters of one service; on its event loop. `ended` hears of each job, `failed` of each call that failed."""

    def __init__(self, service: Service) -> None:
        self.registry = made = CollectorRegistry()
        PlatformCollector(made)
        ProcessCollector(registry=made)
        made.register(_Seen(service))
        self._jobs = Counter("jumpgate_jobs", "Jobs that have ended.", ("client", "state", "code"), registry=made)
        self._errors = Counter("jumpgate_call_errors", "Calls that ended in an error.", ("code",), registry=made)
        self._seconds = Histogram(
            "jumpgate_job_duration_seconds", "From a request's arrival to the end of its job.", ("client", "state"),
            buckets=BUCKETS_S, registry=made,
        )  # fmt: skip
        self._phases = Histogram(
            "jumpgate_phase_duration_seconds", "Parts of jobs: planning, compilers, the queue, stages and others.",
            ("phase",), buckets=BUCKETS_S, registry=made,
        )  # fmt: skip
        ways = ("kind", "transport")
        self._rows = Counter("jumpgate_edge_rows", "Rows of ended jobs, by the kind of edge.", ways, registry=made)
        self._bytes = Counter("jumpgate_edge_bytes", "Bytes of these rows.", ways, registry=made)
        self._packets = Counter(
            "jumpgate_packets", "Packets that were sent again or dropped.", ("outcome",), registry=made
        )
        self._programs = Counter(
            "jumpgate_programs",
            "Programs that jobs needed: found in a cache, or compiled.",
            ("outcome",),
            registry=made,
        )
        self._spilled = Counter("jumpgate_spilled_bytes", "Bytes of tables that went to disks.", registry=made)
        self._cpu = Counter("jumpgate_instance_cpu_seconds", "Processor time of instances.", registry=made)

    def ended(self, record: JobRecord) -> None:
        """Count a job that was executed."""
        code = str((record.error or {}).get("code", ""))
        self._jobs.labels(record.client, record.state, code).inc()
        self._seconds.labels(record.client, record.state).observe(NS * (record.ended_ns - record.submitted_ns))
        for phase in record.phases:
            if phase.end_ns:
                name = "stage" if phase.name.startswith("stage") else phase.name
                self._phases.labels(name).observe(NS * (phase.end_ns - phase.start_ns))
        for way, flow in traffic(record).items():
            self._rows.labels(way.kind, way.transport).inc(flow.rows)
            self._bytes.labels(way.kind, way.transport).inc(flow.bytes)
            self._packets.labels("repeated").inc(flow.repeated_packets)
            self._packets.labels("dropped").inc(flow.dropped_packets)
        self._programs.labels("compiled").inc(record.compiled)
        self._programs.labels("found").inc(max(0, record.programs - record.compiled))
        self._spilled.inc(sum(c.get("spilled_bytes", 0) for c in record.counters.values()))
        self._cpu.inc(NS * sum(c.get("cpu_ns", 0) for c in record.counters.values()))

    def failed(self, error: JumpgateError) -> None:
        """Count a call that ended in an error."""
        self._errors.labels(error.code).inc()

    def page(self, accepted: str) -> Page:
        """Return all of it, in the format that the reader accepts."""
        encode, type = choose_encoder(accepted)
        return Page(encode(self.registry), type)


class _Seen(Collector):
    """Gauges that are read when they are asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Metric]:
        return []  # nothing is asked before the service runs

    def collect(self) -> Iterator[Metric]:
        yield _gauge("build_info", "The version.", ("version",), {(jumpgate.__version__,): 1})
        yield _gauge("draining", "1: new jobs are refused.", (), {(): self._service.is_draining})
        yield from self._jobs()
        yield from self._devices()
        plans = self._service.plans
        found = CounterMetricFamily("jumpgate_plans", "Plans that jobs needed: known, or made.", labels=("outcome",))
        found.add_metric(("found",), plans.found)
        found.add_metric(("made",), plans.missed)
        yield found
        again = CounterMetricFamily("jumpgate_replans", "Jobs planned again without a host that did not answer.")
        again.add_metric((), self._service.replans)
        yield again

    def _jobs(self) -> Iterator[Metric]:
        engine = self._service.engine
        waiting = set(engine.admission.waiting)
        running = {job for job, _ in engine.admission.running}
        states: Sums[tuple[str, ...]] = Sums()
        for record in engine.jobs():
            if record.ended_ns:
                continue
            state = "queued" if record.job in waiting else "running" if record.job in running else "submitted"
            states[record.client, state] += 1
        yield _gauge("jobs_current", "Jobs that have not ended.", ("client", "state"), states)

    def _devices(self) -> Iterator[Metric]:
        engine = self._service.engine
        found = devices(engine)
        kinds, host = ("device", "kind"), ("host",)
        yield _gauge(
            "device_up", "0: a host or device that does not answer.", kinds, {(d.name, d.kind): d.is_up for d in found}
        )
        yield _gauge(
            "device_jobs", "Jobs that run on a host or device.", kinds, {(d.name, d.kind): d.jobs for d in found}
        )
        names = {device.name for device in engine.agents.devices}
        hosts = {(d.name,): d for d in found if d.name in names}
        for name, text, value in _HOST_GAUGES:
            yield _gauge(name, text, host, {label: value(d) for label, d in hosts.items()})
        reached = {label: engine.agents.is_reached(d.name) for label, d in hosts.items()}
        yield _gauge("agent_connected", "1: a host's agent can be asked at once.", host, reached)
        wanted = dict.fromkeys(hosts, 0.0)
        for _, demand in engine.admission.running:
            for name, size in demand.bytes.items():
                wanted[(name,)] = wanted.get((name,), 0.0) + size
        yield _gauge("host_estimated_bytes", "What running jobs were estimated to hold.", host, wanted)


#: of a host: the gauge's name, its help, and its value
_HOST_GAUGES: tuple[tuple[str, str, Callable[[DeviceRow], float]], ...] = (
    ("host_cores", "Cores of a host.", lambda d: d.cores),
    ("host_memory_bytes", "Memory of a host.", lambda d: d.memory_bytes),
    ("host_threads", "Threads of running jobs.", lambda d: d.threads),
    ("host_held_bytes", "Bytes in tables of running jobs.", lambda d: d.held_bytes),
)


def _gauge(name: str, text: str, labels: tuple[str, ...], values: Any) -> Metric:
    family = GaugeMetricFamily(f"jumpgate_{name}", text, labels=labels)
    for label, value in values.items():
        family.add_metric(label, float(value))
    return family


def pages(service: Service, metrics: Metrics) -> Answer:
    """Return what answers monitoring's questions about a service."""

    async def answer(asked: Asked) -> Page | None:
        if asked.path == "/metrics":
            return metrics.page(asked.headers.get("accept", ""))
        if asked.path == "/healthz":
            return Page(b"ok\n")
        if asked.path == "/readyz":
            why = service.unready
            return Page(f"{why or 'ready'}\n".encode(), status=503 if why else 200)
        return None

    return answer
