"""Plans of repeated requests: found again with the new endpoints, and never when anything else differs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.converters import probe
from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.file_state import FileStates, file_state, file_states
from jumpgate.dataflow.measures import count
from jumpgate.dataflow.operators import Read, Send
from jumpgate.dataflow.request import Flow, Request, RunOptions
from jumpgate.dataflow.unresolved import col
from jumpgate.hosts.config import local_hosts
from jumpgate.service import plans
from jumpgate.service.embedded import configured_registry
from jumpgate.service.engine import Engine
from jumpgate.service.plans import Plans


def query(file: Path, least: int = 1) -> Dataflow:
    return read(file, schema={"k": "int64"}).filter(col("k") > least).aggregate(by=["k"], n=count())


def request(flow: Dataflow, *endpoints: str, threads: int = 0, dialect: Dialect | None = None) -> Request:
    root = flow.send(*endpoints).root if len(endpoints) > 1 else Send(flow.root, endpoints)
    blank = replace(root, endpoints=("",) * len(endpoints))
    return Request(Flow.of(blank, dialect or Dialect()), endpoints, RunOptions(threads=threads))


class Planner:
    """A cache in front of an engine; counts what is planned anew."""

    def __init__(self) -> None:
        self.plans, self.engine, self.planned = Plans(), Engine(local_hosts(1), configured_registry(local_hosts(1))), 0

    def ask(self, asked: Request) -> tuple[str, ...]:
        """The endpoints of the plan."""
        plan = self.plans.find(asked, frozenset())
        if plan is None:
            self.planned += 1
            with probe.noted() as findings:
                plan = self.engine.plan(*asked.flow.decoded, RunOptions())
            self.plans.keep(asked, frozenset(), plan, findings)
            plan = plans.delivering(plan, asked.endpoints)
        states = {file: file_state(file) for i in plan.instances for o in i.root.walk() if isinstance(o, Read)
                  for file in o.files}  # fmt: skip
        assert plan.files == states
        (shown,) = [e["to"] for e in plan.explain["edges"] if e["id"] == plan.result]
        endpoints = plan.edge(plan.result).endpoints
        assert tuple(shown) == endpoints
        return endpoints


def test_equal_requests_share_a_plan_but_not_their_endpoints(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n')
    planner = Planner()
    assert planner.ask(request(query(file), "127.0.0.1:1")) == ("127.0.0.1:1",)
    assert planner.ask(request(query(file), "127.0.0.1:2")) == ("127.0.0.1:2",)
    assert planner.planned == 1


def test_whatever_differs_is_planned_anew(tmp_path: Path) -> None:
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    for f in (file, other):
        f.write_text('{"k": 1}\n')
    planner = Planner()
    asked = [
        request(query(file), "127.0.0.1:1"),
        request(query(file, 2), "127.0.0.1:1"),
        request(query(other), "127.0.0.1:1"),
        request(query(file), "127.0.0.1:1", "127.0.0.1:2"),
        request(query(file), "127.0.0.1:1", threads=1),
        request(query(file), "127.0.0.1:1", dialect=Dialect(division_by_zero="null")),
    ]
    for one in asked * 2:
        planner.ask(one)
    assert planner.planned == len(asked)


def test_changed_files_are_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n')
    planner = Planner()
    asked = request(query(file), "127.0.0.1:1")
    planner.ask(asked)
    file.write_text('{"k": 1}\n{"k": 2}\n')
    planner.ask(asked)
    assert planner.planned == 2
    file.write_text('{"k": 1}\n{"k": 8}\n')  # as many bytes, but another range of keys
    planner.ask(asked)
    assert planner.planned == 3
    file.write_text('{"k": 1')
    planner.ask(asked)
    assert planner.planned == 4
    file.unlink()
    assert planner.plans.find(asked, frozenset()) is None
    planner.plans.keep(asked, frozenset(), planner.engine.plan(*asked.flow.decoded, RunOptions()), {})
    assert planner.plans.find(asked, frozenset()) is None


def test_a_plan_is_of_use_while_the_same_is_found_in_changed_files(tmp_path: Path) -> None:
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    file.write_text('{"k": 1}\n{"k": 2}\n')
    planner = Planner()
    asked = request(query(file), "127.0.0.1:1")
    planner.ask(asked)
    os.utime(file, ns=(0, 0))
    planner.ask(asked)
    file.write_text('{"k": 2}\n{"k": 1}\n')
    planner.ask(asked)
    other.write_text(file.read_text())
    other.replace(file)
    planner.ask(asked)
    assert planner.planned == 1


def test_a_plan_is_of_use_without_a_look_where_the_same_bytes_were_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n{"k": 2}\n')
    planner = Planner()
    asked = request(query(file), "127.0.0.1:1")
    planner.ask(asked)
    file.write_text('{"k": 2}\n{"k": 1}\n')  # looked into, as the bytes are others
    planner.ask(asked)
    with monkeypatch.context() as patch:
        patch.setattr(probe, "still_hold", lambda *_: pytest.fail("it was looked into"))
        file.unlink()
        file.write_text('{"k": 2}\n{"k": 1}\n')
        planner.ask(asked)
    assert planner.planned == 1
    file.write_text('{"k": 2}\n{"k": 9}\n')
    planner.ask(asked)
    assert planner.planned == 2


def test_a_change_right_after_the_look_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n')
    planner = Planner()
    asked = request(query(file), "127.0.0.1:1")
    planner.ask(asked)
    os.utime(file, ns=(0, 0))
    settled: list[FileStates] = []  # until then the clock of the file system stands still
    look = plans.digest

    def look_and_change(states: FileStates) -> bytes | None:
        found = look(states)
        file.write_text('{"k": 7}\n')
        mtime_ns = states[str(file)].mtime_ns + len(settled)
        os.utime(file, ns=(mtime_ns, mtime_ns))
        return found

    monkeypatch.setattr(plans, "settle", settled.append)
    monkeypatch.setattr(plans, "digest", look_and_change)
    found = planner.plans.find(asked, frozenset())
    assert found is not None, "the bytes that were looked at are those of the plan"
    assert found.files != file_states([str(file)])


def test_the_least_recently_used_goes_first(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(plans, "PLANS_MAX", 2)
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n')
    planner = Planner()
    first, second, third = (request(query(file, n), "127.0.0.1:1") for n in range(3))
    for asked in (first, second, first, third, first):
        planner.ask(asked)
    assert planner.planned == 3
    planner.ask(second)
    assert planner.planned == 4
