"""The messages with which the service answers (jumpgate/v1/service.proto)."""

from __future__ import annotations

import json
from typing import Any

from jumpgate.compiler.explain import explain_text, links
from jumpgate.compiler.physical.figures import measured
from jumpgate.errors import JumpgateError
from jumpgate.orchestrator.job import Event, Job
from jumpgate.orchestrator.record import JobRecord
from jumpgate.v1 import service_pb2 as pb

#: of a typed error; gRPC's peers accept 8 KiB of metadata, which hold the status message as well
ERROR_BYTES_MAX = 3000


def submitted(job: Job, explain: bool) -> pb.SubmitResponse:
    """Return Submit's answer, with the plan's explanation if wanted."""
    plan = job.context.plan
    edge = plan.edge(plan.result)
    return pb.SubmitResponse(
        job_id=job.id,
        instances=[i.id for i in plan.instances],
        stages=plan.stages,
        edge=edge.id,
        producers=len(edge.producers),
        format=edge.ntf.to_proto(),
        token=job.context.token,
        explain_json=json.dumps(plan.explain) if explain else "",
        **({} if job.context.certificate is None else job.context.certificate.to_dict()),
    )


def event_of(job: str, event: Event) -> pb.Event:
    """Return the message of a job's event."""
    detail = "" if event.counters is None else json.dumps(event.counters)
    if event.error is not None:
        detail = error_json(event.error)
    return pb.Event(job_id=job, state=event.state, stage=event.stage, time_ns=event.time_ns, detail_json=detail)


def analyzed(record: JobRecord, verbose: bool) -> pb.ExplainResponse:
    """Return the plan of a job that ran, with what was measured of its operators."""
    fragments = {
        name: {**fragment, "measured": {str(n): m for n, m in measured(record.counters, name).items()}}
        for name, fragment in record.explain.get("fragments", {}).items()
    }
    text = explain_text(record.explain, verbose, record.counters) if fragments else ""
    data = {**record.explain, "fragments": fragments}
    if fragments:
        found = links(record.explain, record.counters)
        data["links"] = [{"from": a, "to": b, "bytes": bytes} for (a, b), bytes in found.links.items()]
        data["hosts"] = [{"host": h.host, "sent": h.sent, "received": h.received} for h in found.hosts]
        data["skew"] = found.skew
    return pb.ExplainResponse(text=text, json=json.dumps(data))


def error_json(error: JumpgateError) -> str:
    """Return the typed error as ASCII JSON that fits into gRPC's metadata: long texts are cut, in the middle."""
    data = error.to_dict()
    for length in (2000, 500, 100, 20):
        text = json.dumps(_shortened(data, length))
        if len(text) <= ERROR_BYTES_MAX:
            return text
    return json.dumps({"code": error.code, "message": _shortened(error.message, 100), "fields": {}})


def _shortened(value: Any, length: int) -> Any:
    """Return texts of at most `length` characters, and as many items of lists as fit beside them."""
    if isinstance(value, dict):
        return {k: _shortened(v, length) for k, v in value.items()}
    if isinstance(value, list):
        return [_shortened(v, length) for v in value[: max(1, length // 50)]]
    text = str(value)
    half = length // 2
    return text if len(text) <= length else f"{text[:half]} … {text[-half:]}"
