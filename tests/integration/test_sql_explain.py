"""What ten queries' explain says (tests/golden/sql/), and the decision behind offload = auto."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client import read
from jumpgate.client.session import Estimate
from jumpgate.client.sql import calibrate, decide
from jumpgate.client.sql.connection import Connection
from jumpgate.client.sql.cuts import Candidate
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.measures import count
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import CannotPlace
from jumpgate.service import calibration

Golden = Callable[[str, str], None]
TWICE = (
    "WITH s AS (SELECT item, sum(number) AS n FROM sale GROUP BY item) "
    "SELECT a.n, b.n AS m FROM s AS a JOIN s AS b ON md5(CAST(a.item AS VARCHAR)) = md5(CAST(b.item + 1 AS VARCHAR))"
)
QUERIES = {
    "filter": "SELECT name, price * 2 AS twice FROM item WHERE price > 1.50 AND name LIKE 'a%'",
    "join": "SELECT name, sum(number) AS n FROM item JOIN sale ON id = item GROUP BY name",
    "left_join": "SELECT id, number FROM item LEFT JOIN sale ON id = item",
    "semi": "SELECT id FROM item WHERE id IN (SELECT item FROM sale WHERE number > 10)",
    "anti": "SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = id)",
    "union": "SELECT id FROM item UNION ALL SELECT item FROM sale",
    "top": "SELECT DISTINCT name FROM item ORDER BY name DESC LIMIT 3",
    "average": "SELECT avg(price) AS a, count(*) / 2 AS half FROM item",
    "rest": "SELECT label, array_agg(number) AS n FROM extra JOIN sale ON extra.id = item GROUP BY label",
    "twice": TWICE,
}


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """Tables of which only the schemas matter: nothing runs."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    with jumpgate.connect(offload="always") as connection:
        schemas = {
            "item": {"id": "int64", "name": "string", "price": "decimal(7, 2)"},
            "sale": {"item": "int64", "number": "int64"},
        }
        for name, schema in schemas.items():
            (tmp_path / f"{name}.json").touch()
            connection.register(name, tmp_path / f"{name}.json", schema=schema)
        connection.register("extra", pa.table({"id": [1], "label": ["one"]}))
        yield connection


@pytest.mark.parametrize("name", QUERIES)
def test_explain(connection: Connection, golden: Golden, name: str) -> None:
    query = connection.sql(QUERIES[name])
    assert query.split.cuts, "offload is always"
    text = re.sub(r"\d+ threads", "2 threads", query.explain())  # as many as the machine has cores
    golden(f"sql/{name}.txt", f"{QUERIES[name]}\n\n{text}")


def test_equal_sub_plans_are_one_job(connection: Connection) -> None:
    split = connection.sql(TWICE).split
    assert [cut.uses for cut in split.cuts] == [2]
    assert split.rest is not None and split.offloaded + len(split.kept) == split.operators


def candidate(dataflow: Dataflow, uses: int = 1, is_whole: bool = True) -> Candidate:
    return Candidate(dataflow.root, 1, uses, is_whole)


@pytest.fixture
def flow(tmp_path: Path) -> Dataflow:
    file = tmp_path / "some.json"
    file.write_text('{"k": 1, "v": 2}\n')
    return read(file, schema={"k": "int64", "v": "int64"})


class Asked:
    """Answers what a job and the client would take, in seconds, and counts the questions."""

    def __init__(self, seconds: float | None, elsewhere_s: float, bytes: float = 0.0, gain_s: float = 1.0) -> None:
        self.estimate = Estimate(seconds, elsewhere_s, gain_s, 0.01, 1.0, bytes)
        self.questions = 0

    def __call__(self, operator: Operator) -> Estimate:
        self.questions += 1
        return self.estimate


def auto(ask: decide.Ask, wait_s: float = 0.0, spool_s: float = 0.0, begin_s: float = 0.0) -> decide.Auto:
    """Decides where a job would have to wait so long."""
    return decide.Auto(ask, lambda operator, patience_s: wait_s, spool_s, begin_s)


def test_what_a_job_takes_is_compared_with_the_client(flow: Dataflow) -> None:
    assert auto(Asked(0.03, 0.04))(candidate(flow)) is None
    why = auto(Asked(0.04, 0.03))(candidate(flow))
    assert why == "offload = auto: as a job it would take 40.0 ms, in the client 30.0 ms"
    assert auto(Asked(0.04, 0.03))(candidate(flow, uses=2)) is None  # the client does it twice
    assert decide.always(candidate(flow)) is None


def test_a_result_that_the_client_goes_on_with_has_its_price(flow: Dataflow) -> None:
    asked = Asked(0.03, 0.04, bytes=1e7)
    assert auto(asked, spool_s=1e-8)(candidate(flow)) is None
    why = str(auto(asked, spool_s=1e-8)(candidate(flow, is_whole=False)))
    assert "as a job it would take 130.0 ms" in why
    part = candidate(flow, is_whole=False)
    assert auto(Asked(0.03, 0.04), begin_s=0.005)(part) is None
    assert "in the client 20.0 ms" in str(auto(Asked(0.03, 0.04), begin_s=0.02)(part))


def test_what_is_not_known_stays_with_the_client(flow: Dataflow) -> None:
    assert "too little is known" in str(auto(Asked(None, 0.0))(candidate(flow)))

    def nobody(operator: Operator) -> Estimate:
        raise CannotPlace("nobody takes it")

    assert auto(nobody)(candidate(flow)) == "nobody takes it"


def test_parts_are_asked_about_only_where_they_may_gain(flow: Dataflow) -> None:
    whole = flow.aggregate(by=["k"], n=count())
    asked = Asked(0.04, 0.03, gain_s=0.005)  # a job's overhead is 10 ms
    decision = auto(asked)
    assert decision(candidate(whole)) == decision(Candidate(whole.root.inputs[0], 1, 1))
    assert asked.questions == 1
    asked = Asked(0.04, 0.03, gain_s=0.02)
    decision = auto(asked)
    assert decision(candidate(whole)) is not None and decision(Candidate(whole.root.inputs[0], 1, 1)) is not None
    assert asked.questions == 2


def test_a_job_that_would_wait_too_long_is_for_the_next_time(flow: Dataflow) -> None:
    whole, asked = flow.aggregate(by=["k"], n=count()), Asked(0.03, 0.05)
    patient = auto(asked, wait_s=0.019)
    assert patient(candidate(whole)) is None and not patient.waits
    hasty = auto(asked, wait_s=0.021)
    why = hasty(candidate(whole))
    assert why == (
        "offload = auto: as a job it would take 30.0 ms once it is prepared, in about 21.0 ms; until then in the "
        "client 50.0 ms"
    )
    assert hasty.waits and asked.questions == 2
    assert hasty(Candidate(whole.root.inputs[0], 1, 1)) == why  # no part of it is a job meanwhile
    assert asked.questions == 2


def test_the_service_answers_both_sides(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text('{"k": 1, "v": 2}\n' * 10_000)
    flow = read(file, schema={"k": "int64", "v": "int64"}).aggregate(by=["k"], n=count())
    slow = {"scan json number": 1e-3}
    found = connection.session.estimate(flow, elsewhere=slow, cores=1)
    assert found.seconds is not None and found.seconds < 1
    assert found.elsewhere_s == pytest.approx(10, rel=0.1)  # one column of 10,000 rows
    assert found.gain_s == pytest.approx(10, rel=0.1) and 0 < found.overhead_s < found.seconds
    assert connection.session.estimate(flow, elsewhere={}, cores=1).elsewhere_s == 0


def test_auto_asks_the_service(connection: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"k": 1, "v": 2}\n' * 1000)
    connection.register("t", file, schema={"k": "int64", "v": "int64"})
    text = "SELECT k, sum(v) AS s FROM t GROUP BY k"
    monkeypatch.setattr(calibrate, "load", lambda: {**calibration.assumed(), "job": 10.0})
    assert connection.sql(text, offload="auto").split.offloaded
    monkeypatch.setattr(calibrate, "load", lambda: {**calibration.assumed(), "job": 0.0})
    assert not connection.sql(text + " LIMIT 9", offload="auto").split.offloaded
