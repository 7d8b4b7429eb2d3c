"""Plans for devices one above the other in the network, which do a match's work one after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col, count, max_, sum_
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping.map_operators import device_classes
from jumpgate.compiler.physical.traffic import Traffic
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import Config, parse
from jumpgate.nca.interface import ColumnStatistics, Device, JobPlan, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.testing.lab import Lab

ROWS, GROUPS = 4_000_000, 1000
NCAS = ("switch_aggregate", "switch_prune")


def network(program: str = "aggregate", rate: int = 1_000_000_000, racks: int = 2, **tor: Any) -> Config:
    """Two hosts below each of the switches, which are below another; `rate` is that of links of switches."""
    switch = {"kind": "switch", "program": program, "link_bits_per_s": rate}
    tors = [{"name": f"tor{r}", "network": "spine", **switch, **tor} for r in range(racks)]
    hosts = [
        {"name": f"h{r}{i}", "network": f"tor{r}", "cores": 1, "link_bits_per_s": 10**10}
        for r in range(racks)
        for i in range(2)
    ]
    return parse({"host": hosts, "device": [{"name": "spine", **switch}, *tors]})


def compiled(config: Config, flow: Dataflow, lost: tuple[str, ...] = (), groups: int = GROUPS) -> JobPlan:
    def known(files: tuple[str, ...], format: str, options: object) -> Statistics:
        return Statistics(ROWS, ROWS * 20, lambda name, type: ColumnStatistics(distinct=groups))

    devices = (*(h.device for h in config.hosts), *config.devices)
    options = CompileOptions(prefer=NCAS, statistics=known, lost=lost)
    return compile_dataflow(flow.root, devices, default_registry(), options)


def passed(plan: JobPlan) -> list[list[str]]:
    """The devices of each instance in the network."""
    return [[d.name for d in i.device.chain] for i in plan.instances if i.nca in NCAS]


@pytest.fixture
def table(tmp_path: Path) -> Dataflow:
    types = {"item": "int64", "price": "decimal(7, 2)", "brand": "int32"}
    return Lab(None, tmp_path).table(types, [(1, None, 2)], files=4)  # type: ignore[arg-type]


def test_a_tree_is_used_where_it_saves_bytes(table: Dataflow) -> None:
    flow = table.aggregate(by=["item"], s=sum_("price"))
    plan = compiled(network(), flow)
    assert passed(plan) == [["tor0", "tor1", "spine"]]
    text = explain_text(plan.explain)
    assert "on spine" in text and "after tor0, tor1" in text
    assert passed(compiled(network(), flow, lost=("tor1",))) == [["tor0", "spine"]]
    assert passed(compiled(network(), flow, lost=("spine",))) in ([["tor0"]], [["tor1"]])
    each_once = compiled(network(), flow, groups=ROWS)
    assert passed(each_once) == [["spine"]], "switches of racks would leave all rows"


@pytest.mark.parametrize(
    ("program", "make", "chained"),
    [
        ("prune", lambda t: t.select("brand").distinct(), True),
        ("prune_topn", lambda t: t.top(9, col("price").desc()), True),
        ("prune_groupby", lambda t: t.aggregate(by=["brand"], hi=max_("price")), True),
        ("prune_skyline", lambda t: t.skyline(col("price").desc(), "brand"), True),
        ("prune", lambda t: t.aggregate(by=["brand"], n=count()).filter(col("n") > 5), False),
        ("prune_join", lambda t: t.join(t.filter(col("brand") > 1).select(i=col("item")), left_on=col("item"),
                                        right_on=col("i"), how="semi"), False),
    ],
)  # fmt: skip
def test_what_must_see_all_rows_is_done_at_the_top(program: str, make: Any, chained: bool, table: Dataflow) -> None:
    """A sum of a rack's rows may be below a threshold that the whole sum exceeds; keys of others may be partners."""
    ((*below, top),) = passed(compiled(network(program), make(table)))
    assert (below, top) == (["tor0", "tor1"] if chained else [], "spine")


def test_devices_that_differ_form_no_chain() -> None:
    def chains(config: Config) -> list[list[str]]:
        return [[d.name for d in devices[0].chain] for devices in device_classes(config.devices)]

    assert chains(network()) == [["spine"], ["tor0", "tor1", "spine"]]
    assert chains(network(program="prune", success=0.9)) == [["spine"], ["tor0"], ["tor1"]]
    assert chains(network(pool="tors")) == [["spine"], ["tor0"]], "a pool shares rows"


def test_bytes_over_the_links_of_a_tree() -> None:
    config = network(racks=2)
    spine, *tors = config.devices
    outside = Device("h9", link_bits_per_s=10**10)
    top = replace(spine, below=tuple(tors))
    hosts = {h.device.name: h.device for h in config.hosts}
    traffic = Traffic({**hosts, "h9": outside, **{d.name: d for d in (top, *tors)}})
    crossing, came = traffic.add_chain(5000, [*hosts, "h9"], top, 300)
    assert traffic.up == {**dict.fromkeys(hosts, 1000.0), "h9": 1000.0, "tor0": 300.0, "tor1": 300.0}
    assert traffic.down == {"spine": 1000.0}
    assert (crossing, came) == (5600, 900), "a rack's groups each, and those of the host outside"
