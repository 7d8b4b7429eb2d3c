"""Hosts near a store: the link between it and the other hosts decides what runs there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpgate.client import col, sum_
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema, int64, string
from jumpgate.errors import ConfigError
from jumpgate.hosts.config import parse
from jumpgate.nca.interface import Device, JobPlan, Selection, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.nca.storage import StoreLink
from tests.support.plans import host

SCHEMA = Schema((Field("a", int64), Field("s", string)))
SALES, HERE = (
    Dataflow(Read((path,), "parquet", SCHEMA, (0, 1))) for path in ("s3://lake/t/1.parquet", "/data/u.parquet")
)
#: 1 Gbit/s
SLOW = StoreLink(0.02, 1.25e8)
FAST = StoreLink(0.0, 1.25e9)
PLAIN, NEAR = host("plain"), replace(host("near", 1), near="s3://lake", link_bits_per_s=10**9)
ROWS = 100_000_000.0


def planned(
    flow: Dataflow, link: StoreLink = SLOW, share: float = 0.001, hosts: tuple[Device, ...] = (PLAIN, NEAR)
) -> JobPlan:
    def statistics(files: tuple[str, ...], *_: object) -> Statistics:
        rows = ROWS if files[0].startswith("s3") else 1000.0
        return Statistics(rows, 24 * rows, select=lambda *_: Selection(1_000_000, int(1_000_000 * share), False))

    options = CompileOptions(statistics=statistics, link=lambda file: link if file.startswith("s3") else None)
    return compile_dataflow(flow.root, hosts, default_registry(), options)


def placed(plan: JobPlan) -> dict[str, set[str]]:
    """Return the kinds of operators of each host."""
    found: dict[str, set[str]] = {}
    for instance in plan.instances:
        found.setdefault(instance.device.name, set()).update(instance.operators)
    return found


FEW = SALES.filter(col("a") == 5)


def test_a_slow_link_brings_the_filter_to_the_store() -> None:
    plan = planned(FEW.join(HERE, left_on="a", right_on="a", how="inner", suffix="_r").aggregate(by=["s"], n=sum_("a")))
    assert "read" in placed(plan)["near"]
    text = explain_text(plan.explain)
    assert "near s3://lake" in text and "lost: is estimated at " in text


def test_a_fast_link_and_rows_that_all_come_do_not() -> None:
    joined = HERE.join(SALES, left_on="a", right_on="a", how="inner", suffix="_r").sort("a")
    assert "near" not in placed(planned(joined, FAST, 1.0))
    weak, strong = replace(NEAR, link_bits_per_s=10**6), replace(PLAIN, cores=16)  # it sorts what comes
    assert "near" not in placed(planned(joined, SLOW, 1.0, (strong, weak)))


def test_hosts_near_a_store_read_nothing_else() -> None:
    plan = planned(HERE.filter(col("a") == 5))
    assert set(placed(plan)) == {"plain"}
    assert any("is near s3://lake, and reads nothing else" in f"{why}" for _, why in plan.explain["refused"]) or any(
        "reads nothing else" in r["answer"] for r in plan.explain["refused"]
    )
    assert set(placed(planned(HERE.filter(col("a") == 5), hosts=(NEAR,)))) == {"near"}  # there is no other


def test_it_is_configured_and_has_the_link_of_its_store() -> None:
    stores = [{"url": "s3://lake", "bits_per_s": 1e9}, {"url": "s3://lake/far", "bits_per_s": 1e6}]
    hosts = [{"name": "a", "near": "s3a://lake/far/"}, {"name": "b", "near": "s3://lake", "link_bits_per_s": 5}]
    a, b = (found.device for found in parse({"store": stores, "host": hosts}).hosts)
    assert (a.near, a.link_bits_per_s) == ("s3://lake/far", 10**6)
    assert (b.near, b.link_bits_per_s) == ("s3://lake", 5)
    with pytest.raises(ConfigError, match="not s3://BUCKET"):
        parse({"host": [{"name": "a", "near": "/data"}]})
