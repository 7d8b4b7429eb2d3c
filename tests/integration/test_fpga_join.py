"""Joins on a card in the network, end to end: software fragments, the emulated card, DuckDB's answers."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import math
import os
import random
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col, count, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.types import parse_type
from jumpgate.errors import InstanceFailed, Overflow, Unreachable
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.interface import Device
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.ncas.fpga_join import FpgaJoin
from jumpgate.ncas.fpga_join.build import build
from jumpgate.ncas.fpga_join.child import Child
from jumpgate.ncas.fpga_join.driver import CardDriver
from jumpgate.ncas.fpga_join.kind import FPGA
from jumpgate.p4.programs.protocol import ACK_RUN, HEADER
from jumpgate.service import embedded
from jumpgate.service.embedded import Embedded
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import wait_until
from tests.support.datagrams import Chaos, Lossy

FACTS = {"a": "int32", "b": "int64", "day": "date", "price": "decimal(7, 2)", "n": "int64"}
DIMENSION = {"k": "int32", "x": "int64", "flag": "bool"}
ROWS = 20_000
#: of the control channel: rows that probe by one key, a table of a key and a number, and the key leaves
ONE_TABLE = (1, 1, 8, 1, "inner", 2, 1, 16, 23, 4, 1, 1, 0, 0, 8, 0)


def facts(rows: int = ROWS, keys: int = 900) -> list[tuple[Any, ...]]:
    r = random.Random(7)
    return [
        (
            None if r.random() < 0.03 else r.randrange(keys),
            None if r.random() < 0.03 else r.randrange(-(2**62), 2**62) if r.random() < 0.1 else r.randrange(50),
            datetime.date(2020, 1, 1) + datetime.timedelta(r.randrange(300)),
            None if r.random() < 0.05 else Decimal(r.randrange(-100000, 999999)) / 100,
            i,
        )
        for i in range(rows)
    ]


def dimension(keys: int = 600, copies: int = 1) -> list[tuple[Any, ...]]:
    r = random.Random(8)
    return [
        (None if r.random() < 0.02 else k, None if r.random() < 0.1 else k * 2**40, r.choice((None, True, False)))
        for k in range(keys)
        for _ in range(copies)
    ]


@pytest.fixture(scope="module", params=[1, 2])
def carded(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session with a card, which is used wherever it matches."""
    service = embedded.start(Config(local_hosts(request.param).hosts, (FPGA.device("card"),)))
    with Session(service.address, parallelism=request.param, prefer=("fpga_join",)) as session:
        yield session
    service.close()


@pytest.fixture
def lab(carded: Session, tmp_path: Path) -> Lab:
    return Lab(carded, tmp_path)


def counts(session: Session) -> dict[str, int]:
    """What the card counted for the last job."""
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    return next(c["card"] for c in record["counters"].values() if "card" in c)


def sent_bytes(session: Session) -> set[int]:
    """Of a row on each edge that leads to the card."""
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    cards = {i["id"] for i in record["instances"] if i["nca"] == "fpga_join"}
    leading = {e["id"] for e in record["edges"] if set(e["consumers"]) == cards}
    sinks = [s for c in record["counters"].values() for s in c["sinks"] if s["edge"] in leading and s["rows"]]
    assert {s["edge"] for s in sinks} == leading
    return {(s["bytes"] - HEADER.size * s["batches"]) // s["rows"] for s in sinks}


Make = Callable[[Dataflow, Dataflow], Dataflow]
JOINS: dict[str, Make] = {
    "inner": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k")),
    "left": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="left"),
    "semi": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="semi"),
    "anti": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="anti"),
    "an expression": lambda f, d: f.join(d, left_on=col("b") + 1, right_on=(col("k") * 3).cast("int64")),
    "two columns": lambda f, d: f.select("a", "n", c=(col("n") % 7).cast("int32")).join(
        d.select("k", "x", e=(col("k") % 7).cast("int32")),
        left_on=[col("a"), col("c")], right_on=[col("k"), col("e")],
    ),
    "below an aggregate": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k")).aggregate(
        by=["flag"], n=count(), s=sum_("price")
    ),
    "no build rows": lambda f, d: f.join(
        d.filter(col("k") < 0), left_on=col("a"), right_on=col("k"), how="left"
    ),
    "no probing rows": lambda f, d: f.filter(col("n") < 0).join(d, left_on=col("a"), right_on=col("k")),
}  # fmt: skip


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("case", JOINS)
def test_joins(lab: Lab, case: str) -> None:
    make = JOINS[case]
    lab.check(make(lab.table(FACTS, facts(), files=4), lab.table(DIMENSION, dimension(), files=2)))
    seen = counts(lab.session)
    if case in ("left", "anti", "no build rows"):
        assert seen["probed"] == ROWS
    elif case != "no probing rows":  # hosts keep what has no partner, where that pays
        assert 0 < seen["probed"] <= ROWS


def test_rows_without_partners_stay_where_they_are_read(lab: Lab) -> None:
    """Hosts of the build sides send keys to who reads the rows that probe; NULLs and keys that come several times are
    among them."""
    flow = lab.table(FACTS, facts(), files=4)
    few = lab.table(DIMENSION, dimension(600, 2), files=2).filter(col("k") < 30)
    others = lab.table({"b2": "int64", "y": "int64"}, [(None if k == 7 else k, k) for k in range(12)])
    flow = flow.join(few, left_on=col("a"), right_on=col("k")).join(others, left_on=col("b"), right_on=col("b2"))
    assert lab.check(flow).num_rows > 0
    assert counts(lab.session)["probed"] < ROWS / 4


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_duplicates_overflow_to_the_rest(lab: Lab, how: str) -> None:
    """40 rows a key: 3 of them have room in a bucket."""
    some = facts(2000, 60)
    flow = lab.table(FACTS, some).join(
        lab.table(DIMENSION, dimension(50, 40)), left_on=col("a"), right_on=col("k"), how=how
    )
    answer = lab.check(flow)
    seen = counts(lab.session)
    assert seen["rest"] > 1500 and seen["joined"] == answer.num_rows
    if how == "inner":
        assert answer.num_rows > 20 * len(some), "far more rows leave than arrived"


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_rows_that_are_never_null_have_no_null_bits(lab: Lab, how: str) -> None:
    """Each side alone and both; rows without a partner leave with NULLs all the same."""
    sure = {"a": parse_type("int64"), "n": parse_type("int32")}
    facts_ = {
        "a": [(i % 300, i) for i in range(5000)],
        "?": [(None if i % 11 == 0 else i % 300, i) for i in range(5000)],
    }
    built = {
        "a": [(k, 2**62 - k) for k in range(200) for _ in "abc"],
        "?": [(None if k % 9 == 0 else k, k) for k in range(200)],
    }
    for probing, building in (("a", "a"), ("?", "a"), ("a", "?")):
        facts = lab.table(sure if probing == "a" else {"a": "int64", "n": "int32"}, facts_[probing], files=3)
        types = ("int64", "int64") if building == "?" else (parse_type("int64"), parse_type("int64"))
        table = lab.table(dict(zip("kx", types, strict=True)), built[building], files=2)
        lab.check(facts.join(table, left_on=col("a"), right_on=col("k"), how=how))
        wide = how in ("inner", "left")  # both columns of the build side travel
        assert sent_bytes(lab.session) == {12 + (probing == "?"), (16 if wide else 8) + (building == "?")}


def test_what_a_table_has_no_room_for_is_what_chance_says() -> None:
    """Different keys, three to a bucket: a bucket has a Poisson number of entries. Of eight with one key five go."""
    done = subprocess.run([build("table_bench"), "rest", "14"], check=True, capture_output=True, text=True, timeout=60)
    found = {(r["load"], r["copies"]): r for r in json.loads(done.stdout)}
    for load in (0.25, 0.5, 0.9):
        mean = 3 * load
        beyond = sum((n - 3) * math.exp(-mean) * mean**n / math.factorial(n) for n in range(4, 60)) / mean
        assert found[load, 1]["entries"] == pytest.approx(beyond, rel=0.1)
        assert found[load, 8]["entries"] >= 5 / 8 and found[load, 8]["keys"] == 1
        assert found[load, 1]["entries"] < found[load, 2]["entries"] < found[load, 4]["entries"]


def test_a_chain_of_joins_is_one_visit(lab: Lab) -> None:
    flow = lab.table(FACTS, facts(), files=3)
    for i, (key, how) in enumerate((("a", "inner"), ("b", "left"), ("n", "semi"))):
        build = lab.table({"k": "int64" if key != "a" else "int32", f"x{i}": "int64"},
                          [(k, k * i) for k in range(0, 900, 2 - i % 2)])  # fmt: skip
        build = build.select(**{f"k{i}": col("k"), f"x{i}": col(f"x{i}")})
        flow = flow.join(build, left_on=col(key), right_on=col(f"k{i}"), how=how)
    lab.check(flow)
    record = lab.session.describe(lab.session.jobs()[0].id).record
    assert record is not None
    assert sum(i["nca"] == "fpga_join" for i in record["instances"]) == 1


#: by a key's rest modulo 4
WORDS = ("", "é漢字🙂", None, "a")


def named(lab: Lab, keys: int, copies: int = 1) -> Dataflow:
    """Rows with texts: NULL, empty, of several bytes a character, the same for many keys, and of one key alone."""
    rows = [
        (None if k % 11 == 5 else k, WORDS[k % 4], None if c else f"{WORDS[k % 3]}{k}", k * 2**33)
        for k in range(keys)
        for c in range(copies)
    ]
    return lab.table({"k": "int32", "word": "string", "name": "string", "x": "int64"}, rows, files=2)


NAMED: dict[str, Make] = {
    "inner": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k")),
    "left": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="left"),
    "no build rows": lambda f, d: f.join(d.filter(col("k") < 0), left_on=col("a"), right_on=col("k"), how="left"),
    "groups": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k")).aggregate(
        by=["word", "day"], n=count(), s=sum_("price")
    ),
    "a condition on it": lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="left").filter(
        col("word").is_null() | (col("word") == "a")
    ),
}  # fmt: skip


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("case", NAMED)
def test_texts_of_build_sides_travel_as_codes(lab: Lab, case: str) -> None:
    """Two rows of each key, many more keys that have none; half of the probing rows have one key."""
    rows = [(7 if i % 2 else a, *rest) for i, (a, *rest) in enumerate(facts(4000))]
    flow = NAMED[case](lab.table(FACTS, rows, files=4), named(lab, 300, 2))
    answer = lab.check(flow)
    assert answer.num_rows > 0 and counts(lab.session)["probed"] > 0
    assert "text_code = dense_rank()" in str(lab.session.explain(flow))


def test_a_star_with_texts_in_each_build_side(lab: Lab) -> None:
    flow = lab.table(FACTS, facts(4000), files=4).join(named(lab, 300), left_on=col("a"), right_on=col("k"))
    flow = flow.select("b", "n", "word").join(
        named(lab, 40).select(k2=col("k").cast("int64"), city="name"), left_on=col("b"), right_on=col("k2"), how="left"
    )
    lab.check(flow.aggregate(by=["word", "city"], n=count(), s=sum_("n")))
    assert counts(lab.session)["probed"] > 0


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_joins_around_one_that_the_card_refuses(lab: Lab, how: str) -> None:
    """A host joins what is too wide, whatever the order of the joins in the plan; the card's are next to each other."""
    wide = {f"w{i}": "decimal(38, 0)" for i in range(4)}
    rows = [(k, *(None if k == 3 else Decimal(k + i) for i in range(4))) for k in range(40) for _ in "ab"]
    texts = lab.table({"t": "int64", **wide}, rows)
    last = lab.table({"m": "int64", "z": "int64"}, [(k, -k) for k in range(0, ROWS, 3)])
    flow = JOINS[how](lab.table(FACTS, facts(), files=4), lab.table(DIMENSION, dimension(600, 2), files=2))
    flow = flow.join(texts, left_on=col("b"), right_on=col("t"), how="left")
    lab.check(flow.join(last, left_on=col("n"), right_on=col("m"), how=how))
    assert counts(lab.session)["built"] > 0


def test_all_hosts_have_some_of_the_joined_rows(tmp_path: Path) -> None:
    """Two cards share the rows by their keys, and each sends to both hosts."""
    cards = tuple(FPGA.device(name, pool="cards") for name in ("one", "two"))
    service = embedded.start(Config(local_hosts(1).hosts, cards))
    try:
        with Session(service.address, parallelism=2, prefer=("fpga_join",)) as session:
            lab = Lab(session, tmp_path)
            lab.check(JOINS["left"](lab.table(FACTS, facts(), files=4), lab.table(DIMENSION, dimension(), files=2)))
            record = session.describe(session.jobs()[0].id).record
    finally:
        service.close()
    assert record is not None
    cards_of = {i["id"] for i in record["instances"] if i["nca"] == "fpga_join"}
    leaving = next(e for e in record["edges"] if set(e["producers"]) == cards_of)
    assert (len(cards_of), len(leaving["consumers"])) == (2, 2)
    for consumer in leaving["consumers"]:
        (source,) = (s for s in record["counters"][consumer]["sources"] if s["name"] == leaving["id"])
        assert source["rows"] > ROWS / 4
    assert all(c["card"]["probed"] > ROWS / 4 for c in record["counters"].values() if "card" in c)


REFUSED: dict[str, tuple[Make, str]] = {
    "a full join": (lambda f, d: f.join(d, left_on=col("a"), right_on=col("k"), how="full"), "no full join"),
    "texts": (
        lambda f, d: f.select("a", t=col("n").cast("string")).join(d, left_on=col("a"), right_on=col("k")),
        "the card's rows have a fixed width, and only texts of build sides have codes",
    ),
    "a text as key": (
        lambda f, d: f.select("n", t=col("a").cast("string")).join(
            d.select("x", u=col("k").cast("string")), left_on=col("t"), right_on=col("u")
        ),
        "a key is string",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_refuses_runs_elsewhere(lab: Lab, case: str) -> None:
    make, reason = REFUSED[case]
    flow = make(lab.table(FACTS, facts(500)), lab.table(DIMENSION, dimension()))
    lab.check(flow)
    assert reason in str(lab.session.explain(flow))


def test_build_sides_beyond_its_memory_run_elsewhere(tmp_path: Path) -> None:
    device = FPGA.device("small", memory_bytes=4 * 64 * 64)
    service = embedded.start(Config(local_hosts(1).hosts, (device,)))
    try:
        with Session(service.address, prefer=("fpga_join",)) as session:
            lab = Lab(session, tmp_path)
            flow = JOINS["inner"](lab.table(FACTS, facts()), lab.table(DIMENSION, dimension()))
            lab.check(flow)
            assert "bytes of memory, the card has 1.64e+04" in str(session.explain(flow))
    finally:
        service.close()


def test_a_build_side_has_more_than_its_share_of_the_memory(tmp_path: Path) -> None:
    """Half full, it needs all 4096 buckets: two such jobs take turns."""
    device = FPGA.device("card", memory_bytes=4096 * 64)
    service = embedded.start(Config(local_hosts(1).hosts, (device,)))
    try:
        with Session(service.address, prefer=("fpga_join",)) as session:
            lab = Lab(session, tmp_path)
            flow = JOINS["left"](lab.table(FACTS, facts(2000, 2500)), lab.table(DIMENSION, dimension(2500)))
            assert "1 of 4 tables: 2^12 buckets of 2" in str(session.explain(flow))
            with ThreadPoolExecutor(2) as pool:
                found = list(pool.map(lab.run, [flow, flow]))
            for answer in found:
                oracle.assert_same(answer, lab.truth(flow.root))
    finally:
        service.close()


def test_a_card_whose_rest_is_full_is_planned_around(tmp_path: Path) -> None:
    device = FPGA.device("card", rest_bytes=1000)
    service = embedded.start(Config(local_hosts(1).hosts, (device,)))
    try:
        with Session(service.address, prefer=("fpga_join",)) as session:
            lab = Lab(session, tmp_path)
            flow = JOINS["inner"](lab.table(FACTS, facts(500)), lab.table(DIMENSION, dimension(10, 200)))
            lab.check(flow)
            again, failed = session.jobs()[:2]
            failure, record = (session.describe(job.id).record for job in (failed, again))
            assert failure is not None and "rest_bytes" in failure["error"]["message"]
            assert record is not None and "card" not in {i["host"] for i in record["instances"]}
            lab.check(JOINS["inner"](lab.table(FACTS, facts(500)), lab.table(DIMENSION, dimension(10))))
    finally:
        service.close()


# ---- counts and sums ----

AGGREGATES: dict[str, Make] = {
    "count": lambda f, d: JOINS["inner"](f, d).aggregate(n=count()),
    "all": lambda f, d: JOINS["inner"](f, d).aggregate(n=count(), v=count("x"), s=sum_("x")),
    "a sum of what probes": lambda f, d: JOINS["inner"](f, d).aggregate(s=sum_("price"), n=count()),
    "a key": lambda f, d: f.select(c=col("a").cast("int64")).join(
        d.select(l=col("k").cast("int64")), left_on=col("c"), right_on=col("l")
    ).aggregate(s=sum_("l")),
    "left": lambda f, d: JOINS["left"](f, d).aggregate(n=count(), v=count("x"), s=sum_("x")),
    "semi": lambda f, d: JOINS["semi"](f, d).aggregate(n=count(), s=sum_("n")),
    "anti": lambda f, d: JOINS["anti"](f, d).aggregate(n=count(), s=sum_("n")),
    "no build rows": lambda f, d: JOINS["left"](f, d.filter(col("k") < 0)).aggregate(n=count(), s=sum_("x")),
    "no rows": lambda f, d: JOINS["inner"](f.filter(col("n") < 0), d).aggregate(n=count(), v=count("x"), s=sum_("x")),
}  # fmt: skip


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("copies", [1, 9])
@pytest.mark.parametrize("case", AGGREGATES)
def test_counts_and_sums_leave_in_place_of_rows(lab: Lab, case: str, copies: int) -> None:
    """With NULLs, and with entries that have no room in their buckets, whose rows the card's host adds."""
    flow = AGGREGATES[case](lab.table(FACTS, facts(3000, 300), files=4), lab.table(DIMENSION, dimension(200, copies)))
    assert lab.check(flow).num_rows == 1
    seen = counts(lab.session)
    if case != "no rows":
        assert seen["joined"] > 1000 and (copies == 1 or case == "no build rows" or seen["rest"] > 0)
        assert "one leaves, with their count and sum" in str(lab.session.explain(flow))


def test_sums_are_exact_in_128_bits(lab: Lab) -> None:
    """What exceeds 64 bits on the way fits in the end, or is an error: no sum wraps around."""
    far = 2**63 - 1
    facts = lab.table({"a": "int64", "n": "int64"}, [(1, far)] * 40 + [(1, -far - 1)] * 40 + [(2, far)] * 2 + [(3, 5)])
    keys = lab.table({"k": "int64"}, [(1,), (1,), (1,), (1,), (1,), (3,)])
    flow = facts.join(keys, left_on=col("a"), right_on=col("k")).aggregate(n=count(), s=sum_("n"))
    assert lab.check(flow).to_pylist() == [{"n": 401, "s": 5 - 200}]
    assert counts(lab.session)["joined"] == 401
    more = lab.table({"k": "int64"}, [(2,)])
    with pytest.raises(Overflow):
        lab.run(facts.join(more, left_on=col("a"), right_on=col("k")).aggregate(s=sum_("n")))


# ---- bad networks, a card that dies, several jobs --------------------------------------------------------------------

BadNetwork = tuple[Session, Lossy, Embedded]


@contextlib.contextmanager
def on_a_bad_network(*cards: Device, parallelism: int = 1) -> Iterator[BadNetwork]:
    nca = FpgaJoin()
    lossy = Lossy(nca.lifecycle, Chaos())
    nca.__dict__["lifecycle"] = lossy
    registry = Registry([*(n for n in default_registry() if n.name != nca.name), nca])
    service = embedded.start(Config(local_hosts(1).hosts, cards), registry)
    try:
        with Session(service.address, parallelism=parallelism, prefer=("fpga_join",)) as session:
            yield session, lossy, service
    finally:
        lossy.close()
        service.close()


@pytest.fixture
def bad_network() -> Iterator[BadNetwork]:
    with on_a_bad_network(FPGA.device("card")) as made:
        yield made


@pytest.mark.parametrize("how", ["inner", "left", "anti"])
def test_answers_are_exact_though_packets_are_lost(bad_network: BadNetwork, tmp_path: Path, how: str) -> None:
    session, lossy, _ = bad_network
    lossy.chaos = Chaos(loss=0.3, repeat=0.1, delay=0.2)
    lab = Lab(session, tmp_path)
    lab.check(
        lab.table(FACTS, facts(3000, 60)).join(
            lab.table(DIMENSION, dimension(50, 8)), left_on=col("a"), right_on=col("k"), how=how
        )
    )
    assert counts(session)["probed"] == 3000, "none is taken twice"
    assert sum(relay.lost for relay in lossy.relays.values()) > 20


def test_texts_are_exact_though_packets_are_lost(bad_network: BadNetwork, tmp_path: Path) -> None:
    session, lossy, _ = bad_network
    lossy.chaos = Chaos(loss=0.2, repeat=0.1, delay=0.2)
    lab = Lab(session, tmp_path)
    lab.check(NAMED["left"](lab.table(FACTS, facts(3000, 60)), named(lab, 50, 8)))
    assert counts(session)["probed"] == 3000 and sum(relay.lost for relay in lossy.relays.values()) > 20


@pytest.mark.parametrize("how", ["left", "anti"])
def test_rows_shared_by_two_cards_are_exact_though_packets_are_lost(tmp_path: Path, how: str) -> None:
    """Flows of both cards have the same numbers at the hosts, which must not take one's for the other's."""
    with on_a_bad_network(*(FPGA.device(n, pool="cards") for n in ("one", "two")), parallelism=2) as made:
        session, lossy, _ = made
        lossy.chaos = Chaos(loss=0.2, repeat=0.1, delay=0.2)
        lab = Lab(session, tmp_path)
        flow = JOINS[how](lab.table(FACTS, facts(3000, 60), files=4), lab.table(DIMENSION, dimension(50, 8), files=2))
        lab.check(flow)
        record = session.describe(session.jobs()[0].id).record
        assert record is not None
        probed = [c["card"]["probed"] for c in record["counters"].values() if "card" in c]
        assert len(probed) == 2 and min(probed) > 0 and sum(probed) == 3000
        for card in {at[0] for at in lossy.relays}:
            assert sum(relay.lost for at, relay in lossy.relays.items() if at[0] == card) > 10


def test_a_job_whose_card_dies_is_planned_around_it(bad_network: BadNetwork, tmp_path: Path) -> None:
    session, lossy, service = bad_network
    lossy.chaos = Chaos(loss=1.0)  # a job that cannot end by itself
    lab = Lab(session, tmp_path)
    flow = JOINS["inner"](lab.table(FACTS, facts(100)), lab.table(DIMENSION, dimension(20)))

    def kill() -> None:
        assert wait_until(lambda: any(relay.lost for relay in lossy.relays.values()))
        driver = service.engine.drivers["card"]
        assert isinstance(driver, CardDriver)
        os.kill(driver.child.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        lab.check(flow)
    finally:
        killer.join()
        lossy.close()
    again, failed = session.jobs()[:2]
    failure, record = (session.describe(job.id).record for job in (failed, again))
    assert failure is not None and "card 'card' ended while jobs used it" in failure["error"]["message"]
    assert record is not None and "card" not in {i["host"] for i in record["instances"]}
    lossy.chaos = Chaos()
    lab.check(flow)
    assert counts(session)["probed"] == 100, "it is used again"


def test_several_jobs_at_once(carded: Session, tmp_path: Path) -> None:
    """Four have a table each, the others wait for one."""
    lab = Lab(carded, tmp_path)
    flows = [
        JOINS["left"](lab.table(FACTS, facts(2000, 90 + i)), lab.table(DIMENSION, dimension(60))) for i in range(6)
    ]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lab.run, flows))
    for answer, flow in zip(answers, flows, strict=True):
        oracle.assert_same(answer, lab.truth(flow.root))


def test_a_join_that_fails_is_none_of_the_others() -> None:
    """The third entry of a key has no room, and the first join's host keeps none. Who looks later hears of it, too."""

    async def asked() -> tuple[str, bool, str]:
        child = await Child.start("card", "emulated", "127.0.0.1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.bind(("127.0.0.1", 0))
            end.settimeout(20)
            here = "{}:{}".format(*end.getsockname())
            host, _, port = child.data.rpartition(":")
            other = asyncio.create_task(child.watch(["k"]))
            for id, flow, rest in (("j", 2, 0), ("k", 4, 1 << 20)):
                await child.call("join", id, "00c0ffee00000001", 8, rest, *ONE_TABLE)
                await child.call("receiver", id, flow + 1, here)
                await child.call("flow", id, flow, 0, here)
                await child.call("start", id)
                row = struct.pack(">Bqq", 0, 7, 1)
                end.sendto(HEADER.pack(1, 1, flow, 1, 0xC0FFEE00000001) + 3 * row, (host, int(port)))
                if id == "j":
                    with pytest.raises(InstanceFailed, match="rest_bytes"):
                        await asyncio.wait_for(child.watch(["j"]), 20)
            await asyncio.to_thread(end.recv, 2048)  # the card has taken what came for the second one
        with pytest.raises(InstanceFailed, match="rest_bytes") as again:
            await asyncio.wait_for(child.watch(["k", "j"]), 20)
        built = " ".join((await child.call("count", "k"))[:2])
        going_on = not other.done()
        await child.close()
        with pytest.raises(InstanceFailed, match="ended while jobs used it"):
            await other
        return again.value.message, going_on, built

    said, going_on, built = asyncio.run(asked())
    assert "card 'card': j:" in said and going_on and built == "3 1"


def test_requests_get_their_own_answers_though_one_is_cancelled() -> None:
    async def asked() -> list[str]:
        child = await Child.start("card", "emulated", "127.0.0.1")
        await child.call("join", "j", "00c0ffee00000001", 8, 1 << 20, *ONE_TABLE)
        gone = asyncio.create_task(child.call("start", "j"))
        await asyncio.sleep(0)  # it is on its way
        await asyncio.sleep(0)
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
        answer = await child.call("count", "j")
        await child.close()
        return answer

    assert asyncio.run(asked()) == ["0"] * 5


def test_requests_that_wait_fail_when_the_card_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumpgate.ncas.fpga_join.child.STOP_TIMEOUT_S", 0.2)

    async def asked() -> list[BaseException | list[str]]:
        child = await Child.start("card", "emulated", "127.0.0.1")
        os.kill(child.pid, signal.SIGSTOP)  # it answers no more, and does not end by itself
        waiting = [asyncio.create_task(child.call("count", name)) for name in "jk"]
        await asyncio.sleep(0.05)
        await child.close()
        assert asyncio.all_tasks() <= {asyncio.current_task(), *waiting}, "only who asked is left"
        return await asyncio.gather(*waiting, return_exceptions=True)

    failures = asyncio.run(asked())
    assert [type(failure) for failure in failures] == [Unreachable, Unreachable]


async def _started(child: Child, end: socket.socket) -> tuple[str, int]:
    """Where a card waits for the rows of a join's one table, which come from that socket."""
    here = "{}:{}".format(*end.getsockname())
    await child.call("join", "j", "00c0ffee00000001", 8, 1 << 20, *ONE_TABLE)
    await child.call("receiver", "j", 1, here)
    await child.call("flow", "j", 2, 0, here)
    await child.call("start", "j")
    host, _, port = child.data.rpartition(":")
    return host, int(port)


def test_a_repetition_is_acknowledged_with_all_that_was_taken_behind_it() -> None:
    """Answers to these may be lost, too; a gap ends the run."""

    async def asked() -> tuple[set[int], tuple[int, ...], str]:
        child = await Child.start("card", "emulated", "127.0.0.1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.bind(("127.0.0.1", 0))
            end.settimeout(20)
            card = await _started(child, end)

            def send(number: int) -> None:
                end.sendto(HEADER.pack(1, 1, 2, number, 0xC0FFEE00000001) + struct.pack(">Bqq", 0, 7, 1), card)

            def answer() -> tuple[int, ...]:
                return HEADER.unpack(end.recv(2048))[:4]

            taken: set[int] = set()
            for number in (1, 2, 3, 4, 6, 7):
                send(number)
            while len(taken) < 6:
                kind, further, flow, first = answer()
                assert (kind, flow) == (ACK_RUN, 2)
                taken |= {*range(first, first + further + 1)}
            send(2)
            again = answer()
        built = (await child.call("count", "j"))[0]
        await child.close()
        return taken, again, built

    assert asyncio.run(asked()) == ({1, 2, 3, 4, 6, 7}, (ACK_RUN, 2, 2, 2), "6")


def test_a_card_takes_nothing_without_the_jobs_secret() -> None:
    async def acknowledged(said: int) -> bool:
        child = await Child.start("card", "emulated", "127.0.0.1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.bind(("127.0.0.1", 0))
            card = await _started(child, end)
            end.sendto(HEADER.pack(1, 1, 2, 1, said) + struct.pack(">Bqq", 0, 7, 1), card)
            end.settimeout(5 if said == 0xC0FFEE00000001 else 0.3)
            with contextlib.suppress(TimeoutError):
                await asyncio.to_thread(end.recv, 2048)
        built = int((await child.call("count", "j"))[0])
        await child.close()
        return built == 1

    assert asyncio.run(acknowledged(0xC0FFEE00000001))
    assert not asyncio.run(acknowledged(0xC0FFEE00000000))
