"""What `auto` leaves to DuckDB, by estimates, by what was seen, and while programs are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from jumpgate.client.duckdb import decide
from jumpgate.client.session import Estimate
from jumpgate.client.sql import experience as experience_module
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Schema, int64
from jumpgate.errors import CannotPlace
from jumpgate.service import calibration


def found() -> Read:
    """A text's dataflow, planned anew."""
    return Read(("/a.parquet",), "parquet", Schema.of(a=int64), (0,))


@dataclass
class Service:
    """Answers with these figures."""

    seconds: float | None
    elsewhere_s: float
    wait_s: float = 0.0
    prepared: int = 0

    def estimate(self, flow: Any, dialect: Any, *, elsewhere: Any, cores: int) -> Estimate:
        return Estimate(self.seconds, self.elsewhere_s, 0.0, 0.0, 1.0, 8.0)

    def prepare(self, flow: Any, dialect: Any, *, patience_s: float) -> float:
        self.prepared += 1
        return self.wait_s


@pytest.fixture
def reason(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], str]:
    monkeypatch.setattr(calibration, "stamp", lambda: 0)  # whether this machine was measured does not matter
    auto = decide.Auto()

    def ask(service: Any) -> str:
        return auto.reason("text", found(), service)

    ask.auto = auto  # type: ignore[attr-defined]
    return ask


def test_the_faster_one_by_estimates(reason: Callable[[Any], str]) -> None:
    assert reason(Service(0.1, 0.2)) == ""
    assert reason(Service(0.2, 0.1)) == "it would take 200.0 ms as a job, and 100.0 ms in DuckDB"
    assert reason(Service(None, 0.1)) == "too little is known of what it reads"


def test_a_job_that_prunes_files_spares_duckdb_all_of_them() -> None:
    auto, service = decide.Auto(), Service(0.2, 0.1)
    assert auto.reason("a", found(), service, 100) != ""  # type: ignore[arg-type]
    assert auto.reason("b", found(), service, 10_000) == ""  # type: ignore[arg-type]


def test_duckdb_answers_while_programs_are_built(reason: Callable[[Any], str]) -> None:
    service = Service(0.1, 0.2, wait_s=5.0)
    assert reason(service) == "its programs are built, in about 5000.0 ms; until then DuckDB answers"
    assert service.prepared == 1
    assert reason(Service(0.1, 10.0, wait_s=5.0)) == ""


def test_what_was_seen_counts_more(reason: Any) -> None:
    note = reason.auto.experience.note
    for _ in range(2):
        note("text", decide.HERE, 0.05)
    assert "50.0 ms in DuckDB" in reason(Service(0.1, 10.0))
    for _ in range(2):
        note("text", decide.JOB, 0.02)
    assert reason(Service(9.0, 0.1)) == ""
    for _ in range(3):
        note("text", decide.HERE, 0.01)
    assert reason(Service(0.0, 1.0)) == "it took 20.0 ms as a job and 10.0 ms in DuckDB"


def test_a_choice_that_loses_is_tried_the_other_way(reason: Any) -> None:
    expected = Service(0.3, 0.2)
    assert "300.0 ms as a job" in reason(expected)
    reason.auto.experience.note("text", decide.HERE, 1.0)  # slower than was thought: a job may be faster
    assert reason(expected) == ""
    assert expected.prepared == 1
    reason.auto.experience.note("text", decide.JOB, 1.0)
    assert reason(expected) == "" and expected.prepared == 1  # its programs are there
    reason.auto.experience.note("text", decide.HERE, 0.6)
    assert "700.0 ms as a job, and 600.0 ms" in reason(expected)  # first runs are slower than others


def test_what_others_took_corrects_estimates(reason: Any) -> None:
    experience = reason.auto.experience
    for number in range(experience_module.COMPARED[0]):
        experience.expect(f"other {number}", {decide.JOB: 0.1, decide.HERE: 0.1})
        experience.note(f"other {number}", decide.HERE, 0.3)
    assert experience.factor(decide.HERE) == pytest.approx(3.0) and experience.factor(decide.JOB) == 1.0
    assert reason(Service(0.2, 0.1)) == ""
    experience.expect("slow", {decide.HERE: 1e-6})
    for _ in range(20):
        experience.note("slow", decide.HERE, 1.0)
    assert experience.factor(decide.HERE) == experience_module.FACTOR_MAX


def test_a_service_is_asked_once() -> None:
    auto, same = decide.Auto(), found()
    for seconds in (0.2, 0.3):
        assert "200.0 ms as a job" in auto.reason("text", same, Service(seconds, 0.1))  # type: ignore[arg-type]
    assert "300.0 ms as a job" in auto.reason("text", found(), Service(0.3, 0.1))  # type: ignore[arg-type]


def test_what_duckdb_does_quickly_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "cores", lambda: 2)
    auto, quick = decide.Auto(), 2 * decide.QUICK_S / decide.BYTE_S
    assert auto.early("small", 0.9 * quick, has_jobs=False) == decide.SMALL
    assert auto.early("first", 1.1 * quick, has_jobs=False) == decide.FIRST
    assert auto.early("second", 1.1 * quick, has_jobs=False) == ""
    assert decide.Auto().early("large", 1e12, has_jobs=False) == ""
    assert decide.Auto().early("first", 1.1 * quick, has_jobs=True) == ""
    starting = 2 * decide.STARTING_S / decide.BYTE_S  # bytes that DuckDB reads while a service starts
    assert decide.Auto().early("first", 1.9 * starting, has_jobs=False) == decide.FIRST
    assert decide.Auto().early("first", 2.1 * starting, has_jobs=False) == ""
    auto.experience.note("small", decide.HERE, 1.0)  # small files, and much work
    assert auto.early("small", 0.9 * quick, has_jobs=True) == ""
    auto.experience.note("large", decide.HERE, 0.001)
    assert auto.early("large", 1e12, has_jobs=True) == decide.SMALL
    auto.experience.note("large", decide.JOB, 0.001)
    assert auto.early("large", 1e12, has_jobs=True) == ""


def test_what_no_accelerator_takes(reason: Callable[[Any], str]) -> None:
    class Refusing(Service):
        def estimate(self, flow: Any, dialect: Any, *, elsewhere: Any, cores: int) -> Estimate:
            raise CannotPlace("nobody takes it")

    assert reason(Refusing(0.0, 1.0)) == "nobody takes it"


def test_other_speeds_are_other_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    auto, text, flow = decide.Auto(), "text", found()
    assert auto.reason(text, flow, Service(1.0, 0.5))  # estimated
    assert auto.reason(text, flow, Service(0.1, 0.5))  # from then on known
    for other in ("a", "b", "c"):
        auto.experience.expect(other, {decide.HERE: 1.0})
        auto.experience.note(other, decide.HERE, 4.0)
    assert auto.experience.factor(decide.HERE) == 4.0
    monkeypatch.setattr(calibration, "stamp", lambda: 1)
    assert not auto.reason(text, flow, Service(0.1, 0.5))
    assert auto.experience.factor(decide.HERE) == 1.0
