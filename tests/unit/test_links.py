"""Bytes over the links of hosts: the network model of joins in the network."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping.links import (
    Chain,
    Links,
    by_hosts,
    copied,
    even,
    from_device,
    saved_by_device,
    shuffled,
    taken,
    to_device,
)
from jumpgate.compiler.mapping.skew import goes
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.fingerprints import fingerprint
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import int64
from jumpgate.nca.interface import ColumnStatistics, JobPlan, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join.kind import FPGA
from tests.support.plans import grouped, host, joined, measured, statistics, table

SKEW = tuple(Fraction(n, 100) for n in (80, 13, 5, 2))


def test_what_is_in_place_is_not_sent() -> None:
    assert shuffled(1200, even(4), even(4)) == Links((225,) * 4, (225,) * 4, 900)
    assert shuffled(100, SKEW, SKEW).up == tuple(100 * s * (1 - s) for s in SKEW)
    assert copied(1200, even(3)) == Links((800,) * 3, (800,) * 3, 2400)


@pytest.mark.parametrize("lie", [even(4), SKEW])
def test_what_leaves_arrives(lie: tuple[Fraction, ...]) -> None:
    for links in (shuffled(1000, lie, SKEW), shuffled(1000, lie, even(4)), copied(1000, lie)):
        assert sum(links.up) == sum(links.down) == links.sent
    both = to_device(1000, lie) + from_device(500, SKEW)
    assert (sum(both.up), sum(both.down), both.sent) == (1000, 500, 1500)


def test_the_papers_formula() -> None:
    """(N-1)/N · (c(A) + c(A ⋈ T1) + … + Σ c(T_i)) beside c(A) + Σ c(T_i), of which each of N links has a share."""
    chain = Chain(4, (100, 90, 80, 70), (1, 2, 3))
    assert taken(chain.by_hosts()) == Fraction(3, 4) * (100 + 90 + 80 + 1 + 2 + 3) / 4
    assert taken(chain.by_device()) == Fraction(100 + 1 + 2 + 3, 4)
    assert taken(chain.by_hosts(SKEW)) == Fraction(32, 10) * taken(chain.by_hosts())
    assert taken(chain.by_hosts_in_place([even(4)] * 3)) == taken(chain.by_hosts())


def test_a_large_result_is_what_takes_longest() -> None:
    assert taken(Chain(4, (100, 400), (8,)).by_device()) == 2 + 100


def star(rows: float, hosts: int) -> JobPlan:
    """Three large tables are joined to a larger one, on hosts whose links have 1 Gbit/s."""
    flow: Operator = table("facts", "parquet", k0=int64, k1=int64, k2=int64)
    for i in range(3):
        flow = joined(flow, table(f"t{i}", "parquet", **{f"t{i}": int64, f"v{i}": int64}), f"k{i}", f"t{i}")
    flow = grouped(flow, (), *(measured(flow, "sum", f"v{i}", f"s{i}") for i in range(3)))
    sizes = {"facts": rows, **{f"t{i}": 4e6 for i in range(3)}}
    devices = (*(host(f"h{i}") for i in range(hosts)), FPGA.device("card", memory_bytes=4 << 30))
    options = CompileOptions(statistics=statistics(sizes), broadcast_bytes_max=1e6, speeds={"link": 8e-9})
    return compile_dataflow(flow, devices, default_registry(), options)


def test_large_joins_go_to_the_card_and_explain_has_the_bytes_of_both_plans() -> None:
    plan = star(4e8, 4).explain
    assert "fpga_join" in plan["ncas"]
    assert "3 of 4 tables" in plan["fragments"]["f4"]["note"]
    hosts_alone = next(c for c in plan["lost"] if "fpga_join" not in "".join(c["graph"]))
    assert hosts_alone["cost"]["sent_bytes"] > plan["cost"]["sent_bytes"]
    assert explain_text(plan).count("B between hosts and devices") == 1 + len(plan["lost"])


def test_one_host_has_nothing_to_shuffle() -> None:
    plan = star(4e8, 1).explain
    assert "fpga_join" not in plan["ncas"] and plan["cost"]["sent_bytes"] == 0


def test_a_shuffle_by_skewed_keys_has_a_busy_link() -> None:
    """A key with most rows goes to one host, where it is not dealt out: the join that builds its left side."""
    frequent = fingerprint((7,), (int64,))

    def known(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        rows = 1e8 if "facts" in files[0] else 1e7
        heavy = ((frequent, 0.6),) if "facts" in files[0] else ()
        return Statistics(rows, rows * 16, lambda name, type: ColumnStatistics(distinct=1e6, heavy=heavy))

    estimator = Estimator(known)
    side, facts = table("side", "parquet", k=int64, v=int64), table("facts", "parquet", f=int64, x=int64)
    straight = joined(facts, side, "f", "k")
    turned = replace(joined(side, facts, "k", "f"), builds_left=True)
    assert goes(straight, 4, estimator) == (0.25,) * 4, "it is dealt out"
    busy = frequent % 2**64 % 4
    assert goes(turned, 4, estimator) == tuple(pytest.approx(0.7 if h == busy else 0.1) for h in range(4))
    even_busiest, skewed = (by_hosts(j, 4, estimator, 0.0).busiest for j in (straight, turned))
    assert skewed > 2 * even_busiest
    assert saved_by_device(turned, 4, estimator, 0.0) > saved_by_device(straight, 4, estimator, 0.0)
