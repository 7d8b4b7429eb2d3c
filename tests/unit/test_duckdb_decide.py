"""What `auto` leaves to DuckDB, by estimates, by what was seen, and while programs are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from jumpgate.client.duckdb import decide
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.duckdb.sources import Files
from jumpgate.client.session import Estimate
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Schema, int64
from jumpgate.errors import CannotPlace

FOUND = Offloaded(Read(("/a.parquet",), "parquet", Schema.of(a=int64), (0,)), (), Files(lambda query: None))


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
def reason() -> Callable[[Any], str]:
    auto = decide.Auto()

    def ask(service: Any) -> str:
        return auto.reason("text", FOUND, service)

    ask.auto = auto  # type: ignore[attr-defined]
    return ask


def test_the_faster_one_by_estimates(reason: Callable[[Any], str]) -> None:
    assert reason(Service(0.1, 0.2)) == ""
    assert reason(Service(0.2, 0.1)) == "it would take 200.0 ms as a job, and 100.0 ms in DuckDB"
    assert reason(Service(None, 0.1)) == "too little is known of what it reads"


def test_duckdb_answers_while_programs_are_built(reason: Callable[[Any], str]) -> None:
    service = Service(0.1, 0.2, wait_s=5.0)
    assert reason(service) == "its programs are built, in about 5000.0 ms; until then DuckDB answers"
    assert service.prepared == 1
    assert reason(Service(0.1, 10.0, wait_s=5.0)) == ""


def test_what_was_seen_counts_more(reason: Any) -> None:
    for _ in range(2):
        reason.auto.experience.note("text", decide.HERE, 0.05)
    assert "50.0 ms in DuckDB" in reason(Service(0.1, 10.0))
    for _ in range(2):
        reason.auto.experience.note("text", decide.JOB, 0.02)
    assert reason(Service(9.0, 0.1)) == ""
    for _ in range(3):
        reason.auto.experience.note("text", decide.HERE, 0.01)
    assert reason(Service(0.0, 1.0)) == "it took 20.0 ms as a job and 10.0 ms in DuckDB"


def test_what_no_accelerator_takes(reason: Callable[[Any], str]) -> None:
    class Refusing(Service):
        def estimate(self, flow: Any, dialect: Any, *, elsewhere: Any, cores: int) -> Estimate:
            raise CannotPlace("nobody takes it")

    assert reason(Refusing(0.0, 1.0)) == "nobody takes it"
