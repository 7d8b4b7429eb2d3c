"""The log of a service: what its lines have, and what none has."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from jumpgate.errors import Forbidden, NotFound, Unauthenticated
from jumpgate.orchestrator.record import JobRecord, Phase
from jumpgate.service import logs
from jumpgate.service.traffic import Flow, Way, result_rows, traffic

SECOND_NS = 1_000_000_000


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    handlers, level = logs.logger.handlers[:], logs.logger.level
    yield io.StringIO()
    logs.logger.handlers[:] = handlers
    logs.logger.setLevel(level)


def record() -> JobRecord:
    def edge(id: str, transport: str, consumers: list[str], filter: bool = False) -> dict[str, object]:
        return {"id": id, "transport": transport, "consumers": consumers, "filter": filter}

    def flow(rows: int, **more: object) -> dict[str, object]:
        return {"rows": rows, "bytes": 10 * rows, **more}

    return JobRecord(
        "j1", "failed", "SELECT secret", "two words", "ipv4:10.0.0.1:40", 0, 3 * SECOND_NS,
        phases=[Phase("map", 0, SECOND_NS), Phase("stage 1", SECOND_NS, 3 * SECOND_NS), Phase("stage 2", 2)],
        edges=[
            edge("e0", "tcp", ["f1.0"]), edge("e1", "tcp", ["f0.0"], True), edge("e2", "udp", ["f1.0"]),
            edge("e3", "tcp", []),
        ],
        counters={
            "f0.0": {"sources": [flow(100, name="t.json"), flow(2, name="e1")],
                     "sinks": [flow(7, edge="e0", repeated_packets=3)]},
            "f1.0": {"sources": [flow(7, name="e0"), flow(4, name="e2", dropped_packets=5)],
                     "sinks": [flow(2, edge="e1"), flow(11, edge="e3")]},
        },
        error={"code": "overflow", "message": "secret"},
    )  # fmt: skip


def test_rows_are_counted_once_and_by_what_they_crossed() -> None:
    """Also where nobody counts what was sent, as a switch does not."""
    assert traffic(record()) == {
        Way("read", "file"): Flow(100, 1000),
        Way("filter", "tcp"): Flow(2, 20),
        Way("exchange", "tcp"): Flow(7, 70, repeated_packets=3),
        Way("exchange", "udp"): Flow(4, 40, dropped_packets=5),
        Way("result", "tcp"): Flow(11, 110),
    }
    assert result_rows(record()) == 11


def test_counters_of_an_accelerators_own_harm_nobody() -> None:
    strange = record()
    strange.counters = {"f0.0": {"sinks": [{"rows": 1}, {"edge": "mine"}], "sources": [{}]}, "f9.0": {}}
    assert traffic(strange) == {Way("read", "file"): Flow()}


def untimed(stream: io.StringIO) -> str:
    """Return what was written without the time of each line."""
    return re.sub(r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "", stream.getvalue())


def test_a_job_is_a_line_and_a_slow_one_two(stream: io.StringIO) -> None:
    logs.begin(False, "info", stream)
    logs.job_ended(record(), slow_s=3.5)
    hash = "b8d0267efadc"
    line = 'jumpgate: job=j1 state=failed client="two words" peer=ipv4:10.0.0.1:40 '
    line += f"text={hash} rows=11 seconds=3.000 error=overflow\n"
    assert untimed(stream) == line
    logs.job_ended(record(), slow_s=3.0)
    slow = (
        f'jumpgate: slow job=j1 client="two words" text={hash} seconds=3.000 programs=0 compiled=0 instances=0 '
        'phases="map:1.000,stage 1:2.000"\n'
    )
    assert untimed(stream) == line + line + slow


def test_lines_may_be_json(stream: io.StringIO) -> None:
    logs.begin(True, "info", stream)
    logs.job_ended(record(), slow_s=1.0)
    job, slow = map(json.loads, stream.getvalue().splitlines())
    assert job.items() >= {"level": "info", "event": "job", "client": "two words", "rows": 11, "seconds": 3.0}.items()
    assert slow["event"] == "slow" and slow["phases"] == {"map": 1.0, "stage 1": 2.0}
    assert job["time"].endswith("Z") and "secret" not in stream.getvalue()


def test_levels_leave_lines_out(stream: io.StringIO) -> None:
    logs.begin(False, "warning", stream)
    logs.job_ended(record(), slow_s=1.0)
    assert untimed(stream).startswith("jumpgate: slow ") and stream.getvalue().count("\n") == 1
    logs.begin(False, "error", stream := io.StringIO())
    logs.say(logging.WARNING, "x")
    assert not stream.getvalue()


def test_refusals_are_lines_and_many_of_one_machine_few(stream: io.StringIO) -> None:
    logs.begin(False, "info", stream)
    now = 0.0
    refusals = logs.Refusals(lambda: now)
    refusals.failed("c", "ipv4:10.0.0.1:40", Forbidden("secret"))
    refusals.failed("c", "ipv4:10.0.0.1:40", NotFound("no job"))
    for port in range(100):
        refusals.failed("", f"ipv4:10.0.0.2:{port}", Unauthenticated("who?"))
    now = 2 * logs.REFUSALS_S
    refusals.failed("", "ipv4:10.0.0.2:7", Unauthenticated("who?"))
    assert untimed(stream).splitlines() == [
        "jumpgate: refused client=c peer=ipv4:10.0.0.1:40 error=forbidden more=0",
        "jumpgate: refused client= peer=ipv4:10.0.0.2:0 error=unauthenticated more=0",
        "jumpgate: refused client= peer=ipv4:10.0.0.2:7 error=unauthenticated more=99",
    ]
