"""Receivers that share a result: who gets which part, when rows may be handed on, and when a job is run again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from jumpgate.dataflow.request import Request
from jumpgate.errors import (
    Cancelled,
    CannotPlace,
    CapacityExceeded,
    FileChanged,
    Forbidden,
    InstanceFailed,
    InvalidDataflow,
    JumpgateError,
    NotFound,
    Overflow,
    TimedOut,
    Unreachable,
)
from jumpgate.service import groups
from jumpgate.service.groups import Group, Receiver, may_help
from jumpgate.stores.credentials import parse
from jumpgate.v1 import dataflow_pb2
from jumpgate.v1 import service_pb2 as pb

DIED = InstanceFailed("instance f0.0 died", instance="f0.0", host="h1")
NO_PLACE = CannotPlace("no device is left")


class Jobs:
    """Answers what was asked for; the jobs end as they are told, and the last one never by itself."""

    def __init__(self, *ends: JumpgateError | None) -> None:
        self.ends = list(ends)
        self.requests: list[Request] = []
        self.cancelled: list[str] = []

    async def submit(self, request: Request) -> pb.SubmitResponse:
        if self.ends and isinstance(self.ends[0], CannotPlace):
            raise self.ends.pop(0)  # type: ignore[misc]
        self.requests.append(request)
        return pb.SubmitResponse(job_id=f"job{len(self.requests)}")

    async def execute(self, job: str) -> None:
        await asyncio.sleep(0.01)  # its receivers may say something
        try:
            if not self.ends:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise
        if (end := self.ends.pop(0)) is not None:
            raise end

    def sent_to(self) -> list[list[str]]:
        return [list(request.endpoints) for request in self.requests]


def message(endpoint: str) -> pb.SubmitRequest:
    asked = pb.SubmitRequest()
    asked.dataflow.operators.add().send.endpoints.append(endpoint)
    return asked


def join(group: Group, jobs: Jobs, receiver: int, endpoint: str = "") -> Receiver:
    joined = group.join(receiver, Request.of(message(endpoint or f"e{receiver}:1")), jobs)
    assert joined is not None
    return joined


def test_receivers_of_one_result_bring_the_same_credentials() -> None:
    """Its rows are read with those of the first."""
    mine, other = (parse({"s3://lake": {"access_key": "k", "secret_key": text}}) for text in ("mine", "other"))

    async def joined() -> None:
        group, jobs = Group(3, set()), Jobs()
        group.join(0, replace(Request.of(message("e0:1")), credentials=mine), jobs)
        for rights in (other, None):
            with pytest.raises(Forbidden, match="bring the same credentials of stores"):
                group.join(1, replace(Request.of(message("e1:1")), credentials=rights), jobs)

    asyncio.run(joined())


async def heard(receiver: Receiver) -> list[str]:
    """Steps until the end, an error last."""
    steps = []
    try:
        async for response in receiver.responses():
            steps.append(response.WhichOneof("step"))
    except JumpgateError as error:
        steps.append(error.message)
    return steps


def keep(group: Group, receiver: Receiver, job: str = "job1") -> None:
    group.step(receiver, pb.ReceiveRequest(hand_out=job))


def rejoin(group: Group, receiver: Receiver, endpoint: str) -> None:
    group.step(receiver, pb.ReceiveRequest(join=pb.JoinGroup(request=message(endpoint))))


def enough(group: Group, receiver: Receiver) -> None:
    group.step(receiver, pb.ReceiveRequest(enough=pb.Enough()))


def run(trial: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(trial, 30))


def test_all_share_one_job() -> None:
    async def trial() -> None:
        jobs, group = Jobs(None), Group(2, set())
        first, second = join(group, jobs, 1), join(group, jobs, 0)
        part = (await anext(first.responses())).part
        assert (part.job.job_id, part.partition) == ("job1", 0)
        assert (await anext(second.responses())).part.partition == 1
        assert await heard(first) == await heard(second) == []
        (sent,) = jobs.requests
        assert sent.endpoints == ("e1:1", "e0:1")
        assert isinstance(sent.flow.message, dataflow_pb2.Dataflow)
        send = sent.flow.message.operators[-1].send
        assert (len(send.endpoints), send.partitioning.kind) == (2, "round_robin")

    run(trial())


def test_who_comes_late_has_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GATHER_S", 0.001)

    async def trial() -> None:
        jobs, group = Jobs(None), Group(3, set())
        first = join(group, jobs, 0)
        assert await heard(first) == ["part"]
        assert group.join(2, Request.of(message("e2:1")), jobs) is None
        assert jobs.sent_to() == [["e0:1"]]

    run(trial())


def test_rows_are_taken_once() -> None:
    async def trial() -> None:
        jobs, group = Jobs(), Group(2, set())
        join(group, jobs, 0)
        for number in (0, 2):
            with pytest.raises(
                InvalidDataflow, match=rf"^receiver {number} of 2 joins its group a second time, or was"
            ):
                join(group, jobs, number)

    run(trial())


def test_a_job_is_run_again_without_the_device_that_failed() -> None:
    async def trial() -> None:
        jobs, group = Jobs(DIED, None), Group(2, set())
        receivers = [join(group, jobs, 0), join(group, jobs, 1)]
        for number, receiver in enumerate(receivers):
            responses = receiver.responses()
            assert (await anext(responses)).WhichOneof("step") == "part"
            assert (await anext(responses)).again == "a job is run again without h1: instance f0.0 died"
            keep(group, receiver, "job1")  # it asked before it knew
            rejoin(group, receiver, f"again{number}:1")
        assert [await heard(receiver) for receiver in receivers] == [["part"], ["part"]]
        assert jobs.sent_to() == [["e0:1", "e1:1"], ["again0:1", "again1:1"]]
        assert [list(asked.options.without) for asked in jobs.requests] == [[], ["h1"]]

    run(trial())


def test_once_a_row_may_have_been_handed_on_a_failure_is_final() -> None:
    async def trial() -> None:
        jobs, group = Jobs(DIED), Group(2, set())
        first, second = join(group, jobs, 0), join(group, jobs, 1)
        assert (await anext(first.responses())).HasField("part")
        keep(group, first)
        assert await heard(first) == ["keep", "instance f0.0 died"]
        assert await heard(second) == ["part", "instance f0.0 died"]

    run(trial())


@pytest.mark.parametrize("second", [None, DIED], ids=["works", "fails again"])
def test_with_the_device_if_no_other_can_do_its_work(second: JumpgateError | None) -> None:
    async def trial() -> None:
        jobs, group = Jobs(DIED, NO_PLACE, second), Group(1, set())
        receiver = join(group, jobs, 0)
        responses = receiver.responses()
        assert [(await anext(responses)).WhichOneof("step") for _ in range(2)] == ["part", "again"]
        rejoin(group, receiver, "again:1")
        assert await heard(receiver) == ["part", *([second.message] if second else [])]
        assert [list(asked.options.without) for asked in jobs.requests] == [[], []]

    run(trial())


def test_a_job_goes_on_until_all_have_enough() -> None:
    async def trial() -> None:
        jobs, group = Jobs(), Group(2, set())
        first, second = join(group, jobs, 0), join(group, jobs, 1)
        assert (await anext(first.responses())).HasField("part")
        enough(group, first)
        await asyncio.sleep(0.02)
        assert jobs.cancelled == []
        enough(group, second)
        assert (await heard(first), await heard(second), jobs.cancelled) == ([], ["part"], ["job1"])

    run(trial())


def test_who_has_enough_before_a_row_leaves_all_to_the_others() -> None:
    async def trial() -> None:
        jobs, group = Jobs(None), Group(2, set())
        first = join(group, jobs, 0)
        enough(group, first)
        assert await heard(first) == []
        second = join(group, jobs, 1)
        assert await heard(second) == ["part"]
        assert jobs.sent_to() == [["e1:1"]]

    run(trial())


def test_nobody_gets_rows_of_a_job_whose_receiver_has_gone_away() -> None:
    async def trial() -> None:
        jobs, group = Jobs(), Group(2, set())
        first, second = join(group, jobs, 0), join(group, jobs, 1)
        assert (await anext(first.responses())).HasField("part")
        await asyncio.sleep(0.02)
        group.leave(first)
        assert await heard(second) == ["part", "a receiver of the job's rows has gone away"]
        assert jobs.cancelled == ["job1"]

    run(trial())


def test_a_group_is_its_clients_own() -> None:
    async def trial() -> None:
        known = groups.Groups()
        id = known.open("a", 2)
        assert known.find("a", id) is known.find("a", id)
        for client, asked in (("b", id), ("a", "another")):
            with pytest.raises(
                NotFound, match="^no such group of receivers: it was never opened here, or it has expired"
            ):
                known.find(client, asked)
        with pytest.raises(InvalidDataflow, match=r"^a group has 1 to 1024 receivers, not 0$"):
            known.open("a", 0)

    run(trial())


def test_a_client_that_opens_too_many_groups_loses_its_own_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GROUPS_MAX", 3)

    async def trial() -> None:
        known = groups.Groups()
        theirs, *ours = known.open("b", 1), *(known.open("a", 1) for _ in range(4))
        with pytest.raises(NotFound):
            known.find("a", ours[0])
        assert all([known.find("b", theirs), *(known.find("a", id) for id in ours[1:])])

    run(trial())


@pytest.mark.parametrize("error", [DIED, CapacityExceeded("full", host="h1", device="c1"), FileChanged("t has changed"),
                                   Unreachable("h1 is away", host="h1")])  # fmt: skip
def test_another_run_may_help(error: JumpgateError) -> None:
    assert may_help(error)


@pytest.mark.parametrize("error", [Overflow("too large", host="h1"), Unreachable("no service", address="a:1"),
                                   TimedOut("too late", host="h1"), Cancelled("by its client", host="h1")])  # fmt: skip
def test_another_run_cannot_help(error: JumpgateError) -> None:
    assert not may_help(error)


def test_who_comes_after_the_job_has_failed_is_told_why() -> None:
    async def trial() -> None:
        jobs, group = Jobs(Overflow("too large")), Group(2, set())
        first = join(group, jobs, 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groups, "GATHER_S", 0.01)
            assert await heard(first) == ["part", "too large"]
        with pytest.raises(Overflow, match="too large"):
            join(group, jobs, 1)

    run(trial())


def test_who_has_enough_twice_before_the_job_begins_has_it_once() -> None:
    async def trial() -> None:
        jobs, group = Jobs(None), Group(3, set())
        first, second = join(group, jobs, 0), join(group, jobs, 1)
        enough(group, first)
        enough(group, first)
        join(group, jobs, 2)
        assert await heard(first) == [] and await heard(second) == ["part"]
        assert jobs.sent_to() == [["e1:1", "e2:1"]]

    run(trial())
