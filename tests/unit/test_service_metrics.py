"""The service's metrics: their names are the ones that pages, alerts and the dashboard have, and labels stay few."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from jumpgate.errors import NotFound
from jumpgate.nca.interface import Device
from jumpgate.orchestrator.record import JobRecord, Phase
from jumpgate.service.admission import Demand
from jumpgate.service.metrics import Metrics, pages
from jumpgate.service.web import Asked

DOCS = Path(__file__).parents[2] / "docs"
HOSTS = (Device("a", "host", 4, 1000), Device("b", "host", 2, 500))


def job(id: str, **more: Any) -> JobRecord:
    return JobRecord(id, instances=[{"id": "f0.0", "host": "a"}, {"id": "f1.0", "host": "tor1"}], **more)


def service() -> Any:
    """As much of a service as metrics look at: host b is lost, one job runs and one waits."""
    agents = SimpleNamespace(devices=HOSTS, lost=frozenset({"b"}), is_reached=lambda name: name == "a")
    running = job("j1", client="c", counters={"f0.0": {"held_bytes": 300}})
    admission = SimpleNamespace(waiting=["j2"], running=[("j1", Demand({"a": 3}, {"a": 400.0}))])
    engine = SimpleNamespace(
        agents=agents, admission=admission, devices=(*HOSTS, Device("tor1", "switch")), lost=frozenset({"b"}),
        jobs=lambda: [running, job("j2"), job("j3"), job("j4", ended_ns=1)],
    )  # fmt: skip
    plans = SimpleNamespace(found=3, missed=2)
    return SimpleNamespace(engine=engine, plans=plans, is_draining=False, replans=1, unready="")


def families(metrics: Metrics) -> dict[str, Any]:
    text = metrics.page("application/openmetrics-text; version=1.0.0").body.decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    found = families(metrics)
    return {tuple(v for _, v in sorted(s.labels.items())): s.value for f in found.values() for s in f.samples
            if s.name == name}  # fmt: skip


def test_what_is_at_the_moment() -> None:
    metrics = Metrics(service())
    assert values(metrics, "jumpgate_jobs_current") == {("c", "running"): 1, ("", "queued"): 1, ("", "submitted"): 1}
    assert values(metrics, "jumpgate_device_jobs") == {("a", "host"): 1, ("b", "host"): 0, ("tor1", "switch"): 1}
    assert values(metrics, "jumpgate_device_up") == {("a", "host"): 1, ("b", "host"): 0, ("tor1", "switch"): 1}
    assert values(metrics, "jumpgate_host_held_bytes") == {("a",): 300, ("b",): 0}
    assert values(metrics, "jumpgate_host_threads") == {("a",): 3, ("b",): 0}
    assert values(metrics, "jumpgate_host_estimated_bytes") == {("a",): 400, ("b",): 0}
    assert values(metrics, "jumpgate_plans_total") == {("found",): 3, ("made",): 2}
    assert values(metrics, "jumpgate_replans_total") == {(): 1}


def test_nothing_of_requests_becomes_a_label() -> None:
    metrics = Metrics(service())
    for n in range(50):
        record = job(f"id{n}", text=f"SELECT {n}", state="failed", error={"code": "overflow", "message": f"text {n}"})
        record.phases = [Phase(f"stage {n}", 0, 1), Phase("queue", 0)]
        metrics.ended(record)
        metrics.failed(NotFound(f"no job {n}", job=str(n)))
    assert values(metrics, "jumpgate_jobs_total") == {("", "overflow", "failed"): 50}
    assert values(metrics, "jumpgate_phase_duration_seconds_count") == {("stage",): 50}
    assert values(metrics, "jumpgate_call_errors_total") == {("not_found",): 50}


def test_pages_alerts_and_the_dashboard_have_the_metrics_that_there_are() -> None:
    metrics = Metrics(service())
    metrics.ended(job("j", phases=[Phase("map", 0, 1)], edges=[{"id": "e", "transport": "tcp", "consumers": []}],
                      counters={"f0.0": {"sinks": [{"edge": "e"}]}}))  # fmt: skip
    metrics.failed(NotFound(""))
    there = {sample.name for family in families(metrics).values() for sample in family.samples}
    ours = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in there if name.startswith("jumpgate_")}
    page = (DOCS / "operators.md").read_text()
    rows = re.findall(r"^\| (`jumpgate_.*?) \|", page, re.M)
    described = {name for row in rows for name in re.findall(r"jumpgate_\w+", row)}
    assert described == ours - {name.removesuffix("_total") for name in ours if name.endswith("_total")}

    rules = [rule for group in yaml.safe_load((DOCS / "operations/alerts.yml").read_text())["groups"]
             for rule in group["rules"]]  # fmt: skip
    panels = json.loads((DOCS / "operations/dashboard.json").read_text())["panels"]
    expressions = [rule["expr"] for rule in rules] + [t["expr"] for panel in panels for t in panel["targets"]]
    used = {name for text in expressions for name in re.findall(r"\b(?:jumpgate|process)_\w+", text)}
    assert len(rules) >= 5 and len(panels) >= 10
    assert used <= there


def test_probes() -> None:
    served = service()
    answer = pages(served, Metrics(served))

    def asked(path: str) -> tuple[int, bytes]:
        page = asyncio.run(answer(Asked(path, "", {})))
        assert page is not None
        return page.status, page.body

    assert asked("/readyz") == (200, b"ready\n")
    served.unready = "no host answers"
    assert asked("/readyz") == (503, b"no host answers\n")
    assert asked("/healthz")[0] == 200
    assert asyncio.run(answer(Asked("/", "", {}))) is None
