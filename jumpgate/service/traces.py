"""Traces of jobs, sent as OpenTelemetry's OTLP over HTTP: one of the service, its hosts and their instances, which
belongs to the trace of the client if its call says which.

Spans are made of a job's record once it has ended. They have no text, file or value of a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import jumpgate
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service.traffic import result_rows

#: for the last spans to be sent when the service ends
FLUSH_MS = 2000
#: who makes spans: the service, its hosts' agents, and the instances on them
PARTS = ("jumpgate", "jumpgate-agent", "jumpgate-instance")


class Traces:
    """Sends a trace for each job that ends. `endpoint`: the collector's URL, below which /v1/traces takes them."""

    def __init__(self, endpoint: str, exporter: SpanExporter | None = None) -> None:
        sent = exporter or OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=FLUSH_MS / 1000)
        self._processor = BatchSpanProcessor(sent)
        self._tracers = {}
        for part in PARTS:
            resource = Resource({"service.name": part, "service.version": jumpgate.__version__})
            provider = TracerProvider(resource=resource, shutdown_on_exit=False)
            provider.add_span_processor(self._processor)
            self._tracers[part] = provider.get_tracer("jumpgate", jumpgate.__version__)

    def ended(self, record: JobRecord) -> None:
        """Send the job's spans soon."""
        client = TraceContextTextMapPropagator().extract({"traceparent": record.traceparent})
        span = self._tracers["jumpgate"].start_span(
            "job", client, SpanKind.SERVER, _facts(record), start_time=record.submitted_ns
        )
        code = (record.error or {}).get("code", "")
        if code:
            span.set_attribute("error.type", code)
            span.set_status(Status(StatusCode.ERROR, code))
        below = trace.set_span_in_context(span)
        for phase in record.phases:
            with self._span("jumpgate", phase.name, below, phase.start_ns, phase.end_ns or record.ended_ns):
                pass
        self._hosts(record, below)
        span.end(record.ended_ns)

    def _hosts(self, record: JobRecord, job: Any) -> None:
        """Make spans of hosts, from when their instances were allocated, and of the instances that said when they
        worked."""
        starts = [phase.start_ns for phase in record.phases if phase.name == "allocate"]
        if not starts:
            return
        for host in dict.fromkeys(i["host"] for i in record.instances):
            facts = {"host.name": host}
            with self._span("jumpgate-agent", f"host {host}", job, starts[0], record.ended_ns, facts) as below:
                for instance in (i for i in record.instances if i["host"] == host):
                    self._instance(record, instance, below)

    def _instance(self, record: JobRecord, instance: dict[str, Any], host: Any) -> None:
        worked = [p for p in record.counters.get(instance["id"], {}).get("pipelines", ()) if p["end_ns"]]
        if not worked:
            return
        facts = {"jumpgate.nca": instance["nca"], "jumpgate.threads": instance["threads"]}
        start, end = min(p["start_ns"] for p in worked), max(p["end_ns"] for p in worked)
        with self._span("jumpgate-instance", f"instance {instance['id']}", host, start, end, facts) as below:
            for p in worked:
                counted = {"jumpgate.rows_in": p["rows_in"], "jumpgate.wait_ns": p["wait_ns"]}
                name = f"stage {p['stage']} pipeline"
                with self._span("jumpgate-instance", name, below, p["start_ns"], p["end_ns"], counted):
                    pass

    @contextmanager
    def _span(
        self, part: str, name: str, above: Any, start_ns: int, end_ns: int, facts: dict[str, Any] | None = None
    ) -> Iterator[Any]:
        """Make a span; give the context of those below it."""
        span = self._tracers[part].start_span(name, above, attributes=facts, start_time=start_ns)
        yield trace.set_span_in_context(span)
        span.end(end_ns)

    def close(self) -> None:
        """Send what is left, for a bounded time."""
        self._processor.force_flush(FLUSH_MS)
        self._processor.shutdown()  # type: ignore[no-untyped-call]


def _facts(record: JobRecord) -> dict[str, Any]:
    return {
        "jumpgate.job": record.job,
        "jumpgate.state": record.state,
        "jumpgate.client": record.client,
        "jumpgate.stages": record.stages,
        "jumpgate.instances": len(record.instances),
        "jumpgate.programs": record.programs,
        "jumpgate.compiled": record.compiled,
        "jumpgate.rows": result_rows(record),
    }
