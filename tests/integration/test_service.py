"""The service over gRPC: typed errors, events, clients that vanish, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from jumpgate import errors
from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Send
from jumpgate.hosts.config import local_hosts
from jumpgate.nca.registry import Registry
from jumpgate.service import answers, embedded, server
from jumpgate.service.embedded import Embedded
from jumpgate.testing.leaks import Watch, wait_until
from jumpgate.trust import tokens, versions
from jumpgate.v1 import dataflow_pb2
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub
from tests.support import scripted, substrait_plans
from tests.support.fakes import FakeNCA
from tests.support.scripted import ScriptedLifecycle, fail


class Shown(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Adds the service's token to every call."""

    def __init__(self, metadata: Any) -> None:
        self._metadata = metadata

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return continuation(details._replace(metadata=self._metadata), request)

    intercept_unary_stream = intercept_unary_unary


class Rig:
    """An embedded service whose planner gives a scripted plan for whatever it is asked, and a client of it."""

    def __init__(self, program: Path) -> None:
        self.lifecycle = ScriptedLifecycle()
        registry = Registry([FakeNCA("scripted", "host", runs=self.lifecycle)])
        self.service = embedded.start(replace(local_hosts(2), host_program=program), registry)
        plan = scripted.plan(self.service.engine.devices)
        self.service.engine.plan = lambda *_: plan  # type: ignore[method-assign]
        self.channel = grpc.insecure_channel(self.service.address)
        shown = Shown(tokens.metadata(tokens.find(self.service.address)))
        self.stub = JumpgateStub(grpc.intercept_channel(self.channel, shown))  # type: ignore[no-untyped-call]

    def submit(self) -> pb.SubmitResponse:
        return self.stub.Submit(pb.SubmitRequest(dataflow=request()))

    def execute(self, job: str) -> Any:
        return self.stub.Execute(pb.ExecuteRequest(job_id=job), timeout=30)

    def run(self, explain: bool = False) -> Any:
        submit = pb.SubmitRequest(dataflow=request())
        return self.stub.Run(pb.RunRequest(submit=submit, explain=explain), timeout=30)

    def state(self, job: str) -> str:
        return str(self.stub.Describe(pb.DescribeRequest(job_id=job)).state)

    def close(self) -> None:
        self.channel.close()
        self.service.close()


def request() -> Any:
    return proto.encode(Send(scripted.READ, ("127.0.0.1:9",)), DEFAULT)


@pytest.fixture
def rig(grpc_is_up: None, scripted_host: Path, watch: Watch) -> Iterator[Rig]:
    made = Rig(scripted_host)
    yield made
    made.close()


def failure(call: Any) -> tuple[grpc.StatusCode, dict[str, Any]]:
    """The status and the typed error of an RPC that must fail."""
    with pytest.raises(grpc.RpcError) as raised:
        list(call()) if callable(call) else list(call)
    error: Any = raised.value
    typed = dict(error.trailing_metadata())[server.ERROR_KEY]
    return error.code(), json.loads(typed)


def test_a_job_from_submit_to_done(rig: Rig) -> None:
    answer = rig.submit()
    assert list(answer.instances) == ["i0", "i1"]
    assert (answer.stages, answer.edge, answer.producers) == (1, "e0", 2)
    assert len(answer.token) == 32
    assert rig.state(answer.job_id) == "compiled"
    events = list(rig.execute(answer.job_id))
    assert [e.state for e in events] == ["allocating", "configuring", "running", "done"]
    assert set(json.loads(events[-1].detail_json)) == {"i0", "i1"}
    assert rig.state(answer.job_id) == rig.state("latest") == "done"
    assert [(j.job_id, j.state) for j in rig.stub.List(pb.ListRequest()).jobs] == [(answer.job_id, "done")]
    record = json.loads(rig.stub.Describe(pb.DescribeRequest(job_id="latest")).record_json)
    assert set(record["counters"]) == {"i0", "i1"}


@pytest.mark.parametrize("explain", [False, True])
def test_a_job_in_one_call(rig: Rig, explain: bool) -> None:
    first, *events = rig.run(explain=explain)
    answer = rig.submit()
    answer.job_id, answer.token = first.submitted.job_id, first.submitted.token
    if not explain:
        answer.ClearField("explain_json")
    assert first.state == "submitted" and first.submitted == answer
    assert [e.state for e in events] == ["allocating", "configuring", "running", "done"]
    assert {e.job_id for e in (first, *events)} == {answer.job_id}
    assert rig.state(answer.job_id) == "done"


def test_what_keeps_a_job_from_starting_ends_the_call_that_runs_it(rig: Rig) -> None:
    rig.service.engine.plan = lambda *_: fail_with(errors.CannotPlace("nobody can"))  # type: ignore[method-assign]
    status, typed = failure(rig.run())
    assert (status, typed["code"]) == (grpc.StatusCode.FAILED_PRECONDITION, errors.CannotPlace.code)
    assert not rig.stub.List(pb.ListRequest()).jobs


def fail_with(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("malformed", grpc.StatusCode.FAILED_PRECONDITION),
        ("overflow", grpc.StatusCode.FAILED_PRECONDITION),
        ("memory", grpc.StatusCode.RESOURCE_EXHAUSTED),
        ("unreachable", grpc.StatusCode.UNAVAILABLE),
        ("internal", grpc.StatusCode.INTERNAL),
    ],
)
def test_a_jobs_error_arrives_typed(rig: Rig, code: str, status: grpc.StatusCode) -> None:
    rig.lifecycle.script("i1", stage1=fail(code, "caf\N{LATIN SMALL LETTER E WITH ACUTE}\nis closed"))
    job = rig.submit().job_id
    found, typed = failure(rig.execute(job))
    assert found == status
    assert (typed["code"], typed["message"]) == (code, "caf\N{LATIN SMALL LETTER E WITH ACUTE}\nis closed")
    assert typed["fields"].items() >= {"instance": "i1", "host": "host2", "stage": "1", "job": job}.items()
    assert rig.state(job) == "failed"


def test_a_very_long_error_fits_into_the_metadata(rig: Rig) -> None:
    rig.lifecycle.script("i0", stage1=fail("io", "\N{SNOWMAN}" * 100_000))
    status, typed = failure(rig.execute(rig.submit().job_id))
    assert status == grpc.StatusCode.FAILED_PRECONDITION and typed["code"] == "io"
    assert typed["message"].startswith("on host 'host1': " + "\N{SNOWMAN}" * 30) and " … " in typed["message"]


def test_many_problems_fit_into_the_metadata() -> None:
    error = errors.InvalidDataflow("wrong", tuple(f"column {n} " + "x" * 300 for n in range(1000)))
    text = answers.error_json(error)
    assert len(text) <= answers.ERROR_BYTES_MAX
    found = errors.from_dict(json.loads(text))
    assert isinstance(found, errors.InvalidDataflow) and found.problems[0].startswith("column 0 ")


def test_bad_requests_are_refused_and_the_service_goes_on(rig: Rig) -> None:
    for call, status in [
        (lambda: [rig.stub.Submit(pb.SubmitRequest())], grpc.StatusCode.INVALID_ARGUMENT),
        (lambda: [rig.stub.Explain(pb.ExplainRequest())], grpc.StatusCode.INVALID_ARGUMENT),
        (lambda: rig.execute("no such job"), grpc.StatusCode.NOT_FOUND),
        (lambda: rig.execute("../../etc/passwd"), grpc.StatusCode.NOT_FOUND),
        (lambda: [rig.stub.Cancel(pb.CancelRequest(job_id="x"))], grpc.StatusCode.NOT_FOUND),
        (lambda: [rig.stub.Describe(pb.DescribeRequest(job_id="../x"))], grpc.StatusCode.NOT_FOUND),
    ]:
        assert failure(call)[0] == status
    for verb in ("Submit", "Explain", "Prepare", "Look", "Describe", "Cancel", "OpenGroup", "List"):
        garbage = rig.channel.unary_unary(f"/jumpgate.v1.Jumpgate/{verb}")
        with pytest.raises(grpc.RpcError, match="the request is damaged") as refused:
            garbage(b"\xff" * 100, metadata=tokens.metadata(tokens.find(rig.service.address)))
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    stream = rig.channel.stream_stream("/jumpgate.v1.Jumpgate/Receive")
    with pytest.raises(grpc.RpcError, match="the request is damaged"):
        list(stream(iter([b"\xff" * 100]), metadata=tokens.metadata(tokens.find(rig.service.address))))
    assert list(rig.execute(rig.submit().job_id))[-1].state == "done"


@pytest.mark.parametrize("version", ["0", "2", "x" * 1000])
def test_a_client_of_another_version_is_refused_in_words(rig: Rig, version: str) -> None:
    shown = (*tokens.metadata(tokens.find(rig.service.address)), (versions.HEADER, version))
    stub = JumpgateStub(rig.channel)  # type: ignore[no-untyped-call]
    _, typed = failure(lambda: [stub.List(pb.ListRequest(), metadata=shown)])
    assert typed["code"] == errors.ProtocolError.code and versions.CALLS.remedy in typed["message"]
    assert "address" not in typed["fields"]  # it is no machine that is lost, after which a client asks again


def test_clients_of_versions_that_are_served(rig: Rig) -> None:
    known = tokens.metadata(tokens.find(rig.service.address))
    stub = JumpgateStub(rig.channel)  # type: ignore[no-untyped-call]
    assert versions.CALLS.silent  # those of before versions were told
    for shown in ((), *(((versions.HEADER, version),) for version in versions.CALLS.spoken)):
        assert stub.List(pb.ListRequest(), metadata=(*known, *shown)).jobs == []


def test_a_substrait_plan_is_submitted_and_a_bad_one_is_refused(rig: Rig) -> None:
    tables = substrait_plans.tables()
    plan = substrait_plans.plan(substrait_plans.QUERIES[0], tables).SerializeToString()
    bindings = {name: proto.encode(table) for name, table in tables.items()}
    send = dataflow_pb2.Send(endpoints=["127.0.0.1:1"], layout="columnar")
    send.partitioning.kind, send.partitioning.count = "single", 1

    def submit(data: bytes, **fields: Any) -> pb.SubmitResponse:
        return rig.stub.Submit(pb.SubmitRequest(substrait=pb.SubstraitRequest(plan=data, **fields)))

    for data, fields in (
        (b"\xff" * 100, {"tables": bindings, "send": send}),
        (plan[: len(plan) // 2], {"tables": bindings, "send": send}),
        (plan, {"send": send}),
        (plan, {"tables": bindings}),
    ):
        assert failure(lambda data=data, fields=fields: [submit(data, **fields)])[0] == grpc.StatusCode.INVALID_ARGUMENT
    assert list(rig.execute(submit(plan, tables=bindings, send=send).job_id))[-1].state == "done"


def test_cancel(rig: Rig) -> None:
    rig.lifecycle.script("i0", stage1={"do": "wait"})
    job = rig.submit().job_id
    events = rig.execute(job)
    assert [next(events).state for _ in range(3)][-1] == "running"
    rig.stub.Cancel(pb.CancelRequest(job_id=job))
    status, typed = failure(events)
    assert (status, typed["code"]) == (grpc.StatusCode.CANCELLED, "cancelled")
    rig.stub.Cancel(pb.CancelRequest(job_id=job))
    assert rig.state(job) == "cancelled"


@pytest.mark.parametrize("how", ["cancels", "disconnects"])
@pytest.mark.parametrize("calls", [1, 2])
def test_a_client_that_vanishes_ends_its_job(rig: Rig, watch: Watch, how: str, calls: int) -> None:
    rig.lifecycle.script("i0", stage1={"do": "hang"})
    if calls == 1:
        events = rig.run()
        job = next(events).job_id
    else:
        job = rig.submit().job_id
        events = rig.execute(job)
    assert [next(events).state for _ in range(3)][-1] == "running"
    if how == "cancels":
        events.cancel()
    else:
        rig.channel.close()
    assert wait_until(lambda: rig.service.engine.describe(job).state == "cancelled")
    assert wait_until(lambda: not watch.processes("jg "))


def test_a_killed_agent_is_a_typed_error_and_the_service_goes_on(rig: Rig, watch: Watch) -> None:
    rig.lifecycle.script("i0", stage1={"do": "wait"})
    job = rig.submit().job_id
    events = rig.execute(job)
    assert [next(events).state for _ in range(3)][-1] == "running"
    os.kill(rig.service.engine.agents.own["host1"].process.pid, signal.SIGKILL)
    status, typed = failure(events)
    assert (status, typed["code"]) == (grpc.StatusCode.UNAVAILABLE, "instance_failed")
    assert typed["fields"]["host"] == "host1"
    rig.lifecycle.scripts.clear()
    assert list(rig.execute(rig.submit().job_id))[-1].state == "done"


def test_a_taken_port_is_an_error_with_the_way_out(rig: Rig) -> None:
    async def run() -> None:
        port = int(rig.service.address.rpartition(":")[2])
        with pytest.raises(errors.ConfigError, match=f"cannot listen on 127.0.0.1:{port}: .*--port"):
            await server.serve(local_hosts(1), Registry(), "127.0.0.1", port)

    asyncio.run(run())


@pytest.mark.parametrize("end", ["returns", "is killed"])
def test_everything_ends_with_the_process_of_an_embedded_service(scripted_host: Path, watch: Watch, end: str) -> None:
    program = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[3])\n"
        "from pathlib import Path; import test_service\n"
        "rig = test_service.Rig(Path(sys.argv[1]))\n"
        "rig.lifecycle.script('i0', stage1={'do': 'hang'})\n"
        "events = rig.execute(rig.submit().job_id)\n"
        "while next(events).state != 'running': pass\n"
        "print('running', flush=True)\n"
        "if sys.argv[2] == 'is killed': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(scripted_host), end, str(Path(__file__).parent)],
        capture_output=True,
        timeout=60,
    )
    assert done.stdout == b"running\n", done.stderr.decode()
    assert done.returncode == (0 if end == "returns" else -signal.SIGKILL), done.stderr.decode()
    assert wait_until(lambda: not watch.processes())


def test_a_service_that_cannot_start_leaves_no_thread(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise errors.ConfigError("no")

    monkeypatch.setattr(embedded, "serve", refuse)
    before = threading.active_count()
    with pytest.raises(errors.ConfigError):
        Embedded(local_hosts(1), Registry())
    assert threading.active_count() == before


def test_configured_accelerators_are_loaded_for_each_service() -> None:
    config = replace(local_hosts(1), ncas=(("broken", "nowhere:NCA"),))
    for _ in range(2):
        with pytest.raises(errors.ConfigError, match="cannot be loaded"):
            embedded.configured_registry(config).get("broken")
