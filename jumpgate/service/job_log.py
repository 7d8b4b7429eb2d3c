"""What a service says of each job that has ended: one line, with nothing of its text or data."""

from __future__ import annotations

import hashlib

from jumpgate.orchestrator.record import JobRecord


def line(record: JobRecord) -> str:
    """The job's id, state, client, a hash of its text, rows of its result, seconds, and the error's code.

    >>> line(JobRecord("j1", text="SELECT 1", state="done", submitted_ns=0, ended_ns=1_500_000_000))
    'job=j1 state=done client= text=e004ebd5b553 rows=0 seconds=1.500 error='
    """
    sinks = (sink for counters in record.counters.values() for sink in counters.get("sinks", ()))
    results = {edge["id"] for edge in record.edges if not edge["consumers"] and not edge.get("filter")}
    rows = sum(int(sink.get("rows", 0)) for sink in sinks if sink.get("edge") in results)
    facts = {
        "job": record.job,
        "state": record.state,
        "client": record.client,
        "text": hashlib.sha256(record.text.encode()).hexdigest()[:12] if record.text else "",
        "rows": rows,
        "seconds": f"{(record.ended_ns - record.submitted_ns) / 1e9:.3f}",
        "error": (record.error or {}).get("code", ""),
    }
    return " ".join(f"{name}={value}" for name, value in facts.items())
