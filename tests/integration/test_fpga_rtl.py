"""The RTL of a card's table under Verilator: beside a reference under random stimulus, at a tuple a cycle, in place."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col, count, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.types import parse_type
from jumpgate.errors import ConfigError, NotInstalled
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.ncas import fpga_join
from jumpgate.ncas.fpga_join import build
from jumpgate.ncas.fpga_join.kind import FPGA
from jumpgate.service import embedded
from jumpgate.testing.lab import Lab


def missing() -> str:
    """Why the model cannot be built here; empty if it can."""
    try:
        build.verilator()
    except NotInstalled as error:
        return str(error)
    return "" if shutil.which("perl") else "verilator needs perl"


pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=missing() or "never"),
    pytest.mark.timeout(900),  # the RTL's models are compiled
]
SEEDS = 1, 2, 3
EPISODES = 32


@pytest.fixture(scope="module")
def bench() -> Path:
    return build.build("rtl_bench")


def run(bench: Path, *arguments: object) -> dict[str, Any]:
    done = subprocess.run([bench, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_references(bench: Path, seed: int) -> None:
    """Random keys, idle cycles, back-pressure, latencies and memories (ideal, DDR3, or behind AXI4 buses of 512 and 64
    bits); hazards are covered at each distance of the window."""
    covered = run(bench, "check", seed, EPISODES)
    assert covered["least_covered_distance"] > 10
    assert min(covered[name] for name in ("overflowed", "forwards", "matched", "nulls")) > 1000


@pytest.mark.parametrize("keys", ["uniform", "sequential", "all_equal", "adversarial"])
def test_a_tuple_a_cycle(bench: Path, keys: str) -> None:
    found = run(bench, "rates", 20_000)[keys]
    assert (found["build"], found["probe"], found["stalled"]) == (1, 1, False)
    # behind AXI4 the first answers are those of writes that are on their way, which come earlier than the others
    assert found["axi_build"] == 1 and found["axi_probe"] > 0.99


def test_the_bench_notices_a_write_that_is_lost(bench: Path) -> None:
    done = subprocess.run([bench, "check-forgetful", "1", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "the model differs from the reference" in done.stderr


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """Of a service with a live card that has the RTL behind it, whose slowness nobody minds."""
    mocked = pytest.MonkeyPatch()
    mocked.setitem(fpga_join.RECEIVE_S, "verilated", 0.0)
    for width in (23,) if request.config.getoption("--run") == "ci" else (1, 23):  # tables without values: nightly
        build.build(build.BITSTREAMS[width])
    service = embedded.start(Config(local_hosts(1).hosts, (FPGA.device("card", backend="verilated"),)))
    with Session(service.address, prefer=("fpga_join",)) as session:
        yield session
    service.close()
    mocked.undo()


def counts(session: Session) -> dict[str, int]:
    """What the card counted for the last job."""
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    return next(c["card"] for c in record["counters"].values() if "card" in c)


@pytest.mark.nightly(but=("inner", "left"))
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_a_query_through_the_model(session: Session, tmp_path: Path, how: str) -> None:
    """DuckDB's answers, with duplicates, NULLs and entries without room in their buckets."""
    lab = Lab(session, tmp_path)
    facts = lab.table({"a": "int32", "n": "int64"}, [(None if i % 9 == 0 else i % 70, i) for i in range(1500)])
    build_side = lab.table({"k": "int32", "x": "int64"}, [(None if i % 8 == 0 else i % 50, i) for i in range(400)])
    answer = lab.check(facts.join(build_side, left_on=col("a"), right_on=col("k"), how=how))
    seen = counts(session)
    assert (seen["built"], seen["joined"]) == (350, answer.num_rows)
    assert seen["rest"] > 0 and 0 < seen["probed"] <= 1500 and seen["cycles"] > seen["built"] + seen["probed"]


def test_a_chain_and_empty_sides_through_the_model(session: Session, tmp_path: Path) -> None:
    """Three tables of different sizes are asked at once, of which one may be empty; rows come from extremes of keys."""
    lab = Lab(session, tmp_path)
    facts = lab.table(
        {"a": "int32", "b": "int64", "c": "int64"}, [(i % 40, (-1) ** i * (2**62 + i % 30), i) for i in range(900)]
    )
    first = lab.table({"k": "int32", "x": "int64"}, [(k, None if k % 3 == 0 else k) for k in range(30) for _ in "ab"])
    second = lab.table({"l": "int64", "y": "bool"}, [((-1) ** k * (2**62 + k), k % 4 == 0) for k in range(20)])
    third = lab.table({"m": "int64"}, [(k,) for k in range(0, 900, 3)])

    def chain(of: Dataflow) -> Dataflow:
        flow = facts.join(first, left_on=col("a"), right_on=col("k"))
        flow = flow.join(of, left_on=col("b"), right_on=col("l"), how="left")
        return flow.join(third, left_on=col("c"), right_on=col("m"), how="semi")

    assert lab.check(chain(second)).num_rows > 100
    assert counts(session)["built"] == 60 + 20 + 300
    lab.check(chain(second.filter(col("l") == 7)))
    assert counts(session)["built"] == 60 + 300
    assert lab.check(facts.filter(col("c") < 0).join(second, left_on=col("b"), right_on=col("l"))).num_rows == 0


@pytest.mark.nightly(like="tests/integration/test_fpga_rtl.py::test_a_query_through_the_model")
@pytest.mark.parametrize("how", ["inner", "left", "anti"])
def test_counts_and_sums_through_the_model(session: Session, tmp_path: Path, how: str) -> None:
    """The RTL's, and those of the rows that its host joins."""
    lab = Lab(session, tmp_path)
    rows = [(None if i % 9 == 0 else i % 70, None if i % 5 == 0 else i - 2**40) for i in range(900)]
    facts = lab.table({"a": "int32", "n": "int64"}, rows)
    for keys in (50, 400):  # eight entries of each key, or one
        built = [(i % keys, -i if i % 4 else None) for i in range(400)]
        flow = facts.join(lab.table({"k": "int32", "x": "int64"}, built), left_on=col("a"), right_on=col("k"), how=how)
        for whole in (flow.aggregate(rows=count(), s=sum_("n")), flow.aggregate(n=count("n"), s=sum_("n"))):
            lab.check(whole)
            assert "one leaves, with their count and sum" in str(session.explain(whole))
        lab.check(flow.aggregate(rows=count()))
        assert (counts(session)["rest"] > 0) == (keys == 50)


@pytest.mark.nightly(but=("inner", "left"))
@pytest.mark.parametrize("how", ["inner", "left", "semi"])
def test_columns_that_are_never_null_through_the_model(session: Session, tmp_path: Path, how: str) -> None:
    """Rows of one table, of both or of the probing input have no NULL bits; and a value may be columns of a byte."""
    lab = Lab(session, tmp_path)
    sure = {name: parse_type("int64") for name in "abn"}
    facts = lab.table(sure, [(i % 40, i % 35, i) for i in range(600)])
    bytes_ = {f"c{i}": parse_type("int8") for i in range(12)}
    first = lab.table(
        {"k": parse_type("int64"), **bytes_}, [(k, *(k + i for i in range(12))) for k in range(30) for _ in "abcde"]
    )
    second = lab.table({"l": "int64"}, [(k if k % 3 else None,) for k in range(32)])
    flow = facts.join(first, left_on=col("a"), right_on=col("k"), how=how)
    lab.check(flow)
    both = flow.join(second, left_on=col("b"), right_on=col("l"), how="left" if how == "inner" else "anti")
    lab.check(both)
    assert counts(session)["built"] == 150 + 21
    some = lab.table({"p": "int64", "q": "int64"}, [(None if i % 7 == 0 else i % 40, i) for i in range(500)])
    lab.check(some.join(first, left_on=col("p"), right_on=col("k"), how=how))
    assert counts(session)["rest"] > 0 or how == "semi"


def test_what_the_rtl_has_no_room_for_runs_elsewhere(session: Session, tmp_path: Path) -> None:
    lab = Lab(session, tmp_path)
    columns = {f"c{i}": "int64" for i in range(8)}
    wide = lab.table({"a": "int64", **columns}, [(i, *range(8)) for i in range(10)])
    flow = wide.join(lab.table({"k": "int64"}, [(3,)]), left_on=col("a"), right_on=col("k"))
    assert lab.check(flow).num_rows == 1
    assert "a probing row has 74 bytes, the card has room for 64" in str(session.explain(flow))
    with pytest.raises(ConfigError, match='with backend = "verilated" there are 4 at most'):
        FPGA.device("card", backend="verilated", tables=5)
