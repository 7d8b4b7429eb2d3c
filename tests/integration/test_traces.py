"""Traces of jobs: what a collector is sent, and how they belong to those of clients."""

from __future__ import annotations

import gzip
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.errors import DivisionByZero
from tests.support.served import serving


class Collector:
    """A collector of OTLP: `spans` has what it was sent, by the name of who made it."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Any]] = []
        self.bodies = b""

    def take(self, body: bytes) -> None:
        self.bodies += body
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = [a.value.string_value for a in group.resource.attributes if a.key == "service.name"]
            self.spans += [(names[0], span) for scope in group.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Any]:
        return [span for _, span in self.spans if span.name == name]


@contextmanager
def collector() -> Iterator[tuple[str, Collector]]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", found
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of a program that traces, which is this process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def test_a_job_is_part_of_its_clients_trace(tmp_path: Path, program: InMemorySpanExporter) -> None:
    file = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), file)
    with collector() as (url, found), serving(tmp_path, "--traces", url) as served:
        with Session(served.address) as session:
            assert session.run(read(str(file)).filter(col("x") < 7), text="SELECT secret").to_arrow().num_rows == 7
            with pytest.raises(DivisionByZero):
                session.run(read(str(file)).select(y=col("x") / 0)).to_arrow()
        served.process.send_signal(signal.SIGTERM)  # what is not yet sent is sent then
        assert served.process.wait(20) == 0
    good, bad = program.get_finished_spans()
    assert good.name == bad.name == "jumpgate run" and (bad.attributes or {})["error.type"] == "division_by_zero"
    done, failed = sorted(found.named("job"), key=lambda job: job.start_time_unix_nano)
    for client, job in ((good, done), (bad, failed)):
        assert client.context is not None
        assert int.from_bytes(job.trace_id, "big") == client.context.trace_id
        assert int.from_bytes(job.parent_span_id, "big") == client.context.span_id
    assert failed.status.code == 2 and failed.status.message == "division_by_zero"
    facts = {a.key: a.value for a in done.attributes}
    assert facts["jumpgate.rows"].int_value == 7 and facts["jumpgate.state"].string_value == "done"
    below = {(who, span.name) for who, span in found.spans if span.parent_span_id == done.span_id}
    assert {("jumpgate", "map"), ("jumpgate", "stage 1"), ("jumpgate-agent", "host local")} <= below
    parents = {span.span_id: span for _, span in found.spans}
    (pipeline,) = (s for s in found.named("stage 1 pipeline") if s.trace_id == done.trace_id)
    way = [pipeline]
    while way[-1].parent_span_id in parents:
        way.append(parents[way[-1].parent_span_id])
    assert [span.name.split()[0] for span in way] == ["stage", "instance", "host", "job"]
    for span in way:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert b"secret" not in found.bodies


def test_a_collector_that_is_gone_holds_up_nobody(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), file)
    with serving(tmp_path, "--traces", "http://127.0.0.1:9") as served:
        with Session(served.address) as session:
            assert session.run(read(str(file))).to_arrow().num_rows == 2
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(20) == 0
