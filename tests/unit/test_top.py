"""`jumpgate top`: what it makes of jobs' records, and what it shows of a service without jobs."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from click.testing import CliRunner

from jumpgate.cli import top
from jumpgate.client.session import Session
from jumpgate.errors import NotFound
from jumpgate.service import embedded

SECOND_NS = 1_000_000_000


def record(job: str) -> dict[str, Any]:
    sources = [{"name": "t.parquet", "rows": 600}, {"name": "e0", "rows": 7}]
    return {
        "job": job,
        "client": "reports",
        "stages": 2,
        "submitted_ns": SECOND_NS,
        "phases": [{"name": "map", "start_ns": SECOND_NS}, {"name": "stage 1", "start_ns": 2 * SECOND_NS}],
        "edges": [{"id": "e0"}],
        "instances": [
            {"id": "f0.0", "host": "b", "threads": 2},
            {"id": "f0.1", "host": "a", "threads": 3},
            {"id": "f1.0", "host": "b", "threads": 1},
        ],
        "counters": {"f0.0": {"sources": sources, "held_bytes": 10}, "f1.0": {"held_bytes": 5}},
    }


def test_facts_of_a_job() -> None:
    assert top.job_facts("running", record("j"), 5 * SECOND_NS) == {
        "job": "j", "client": "reports", "state": "running", "stage": 1, "stages": 2, "seconds": 4.0, "rows": 600,
        "rows_per_s": 200.0,
    }  # fmt: skip
    waiting = {**record("j"), "phases": [], "counters": {}}
    assert top.job_facts("queued (1 of 2)", waiting, 0)["rows_per_s"] == 0.0


def test_jobs_that_have_not_ended_and_their_hosts() -> None:
    """One that is forgotten meanwhile is left out, and those that wait hold nothing."""
    states = {"gone": "running", "x": "running", "y": "queued (1 of 1)", "z": "done"}

    def describe(job: str) -> Any:
        if job == "gone":
            raise NotFound("no job")
        return SimpleNamespace(record=record(job))

    jobs = [SimpleNamespace(id=id, state=state) for id, state in states.items()]
    found = top.look(cast(Session, SimpleNamespace(jobs=lambda: jobs, describe=describe)))
    assert [(j["job"], j["state"]) for j in found["jobs"]] == [("x", "running"), ("y", "queued (1 of 1)")]
    assert found["hosts"] == [
        {"host": "a", "jobs": 1, "threads": 3, "held_bytes": 0},
        {"host": "b", "jobs": 1, "threads": 3, "held_bytes": 15},
    ]
    many = [SimpleNamespace(id=str(n), state="running") for n in range(top.JOBS_MAX + 3)]
    found = top.look(cast(Session, SimpleNamespace(jobs=lambda: many, describe=describe)))
    assert (len(found["jobs"]), found["more"]) == (top.JOBS_MAX, 3)


def test_a_service_without_jobs() -> None:
    service = embedded.start(None)
    try:

        def said(*words: str) -> str:
            done = CliRunner().invoke(top.command, ["--address", service.address, *words], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return done.output

        assert json.loads(said("--json")) == {"jobs": [], "more": 0, "hosts": []}
        assert "rows/s" in said("--once")
    finally:
        service.close()
