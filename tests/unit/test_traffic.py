"""What crosses links, and plans that are compared by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.physical.traffic import Traffic
from jumpgate.dataflow.objective import Objective
from jumpgate.dataflow.operators import Partitioning
from jumpgate.dataflow.types import int64
from jumpgate.hosts.config import parse
from jumpgate.nca.interface import Device, JobPlan, Offer
from jumpgate.nca.link import Link
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.switch.kind import SWITCH
from tests.support.plans import grouped, host, measured, statistics, table

A, B, C = (replace(host(name), link_bits_per_s=8000) for name in "abc")
ROWS = 1_000_000


@pytest.mark.parametrize(
    ("partitioning", "receivers", "crossing", "seconds"),
    [
        (Partitioning("single"), [A], 500, 0.5),  # half of it is there already
        (Partitioning("hash", (0,), 2), [A, B], 500, 0.25),
        (Partitioning("broadcast", count=2), [A, B], 1000, 0.5),
        (Partitioning("paired", count=2), [A, B], 0, 0),
        (Partitioning("single"), [C], 1000, 1.0),
        (Partitioning("single"), [replace(C, link_bits_per_s=0)], 1000, 0.5),
        (Partitioning("single"), [replace(C, kind="switch", link_bits_per_s=0)], 1000, 0.5),
    ],
)
def test_what_stays_crosses_no_link(
    partitioning: Partitioning, receivers: list[Device], crossing: float, seconds: float
) -> None:
    traffic = Traffic({device.name: device for device in (A, B, *receivers)})
    assert traffic.add(1000, partitioning, ["a", "b"], [r.name for r in receivers]) == crossing
    assert traffic.seconds(1e-9, {}) == pytest.approx(seconds)


def test_edges_of_a_stage_share_the_links() -> None:
    traffic = Traffic({"a": A, "b": B})
    for _ in range(3):
        traffic.add(1000, Partitioning("single"), ["a"], ["b"])
    assert traffic.seconds(1e-9, {}) == pytest.approx(3.0)
    assert traffic.seconds(1e-9, {"b": 2e-3}) == pytest.approx(6.0)  # the device is slower than its link


def test_rows_cross_the_networks_between_their_ends() -> None:
    """Two racks of two hosts below a spine, a switch of which is a device itself; the client is at the root."""
    spine = Link("spine", 8000, 1e-3)
    racks = {rack: (Link(rack, 8000, 1e-3), spine) for rack in ("r1", "r2")}
    hosts = [replace(host(f"{rack}{n}"), above=above) for rack, above in racks.items() for n in "ab"]
    tor = replace(host("r1"), kind="switch", link_bits_per_s=8000, above=(spine,))
    names = [h.name for h in hosts]

    def crossed(partitioning: Partitioning, senders: list[str], receivers: list[str]) -> tuple[dict[str, float], ...]:
        traffic = Traffic({device.name: device for device in (*hosts, tor)})
        traffic.add(1600, partitioning, senders, receivers)
        inner = ("r1", "r2", "spine")
        return tuple({n: ways[n] for n in inner if ways[n]} for ways in (traffic.up, traffic.down))

    assert crossed(Partitioning("hash", (0,), 4), names, names) == ({"r1": 400, "r2": 400}, {"r1": 400, "r2": 400})
    assert crossed(Partitioning("hash", (0,), 2), names[:2], names[:2]) == ({}, {})
    assert crossed(Partitioning("broadcast", count=4), names[:1], names) == ({"r1": 3200}, {"r2": 3200})
    assert crossed(Partitioning("paired", count=2), names[:2], [names[0], names[2]]) == ({"r1": 800}, {"r2": 800})
    assert crossed(Partitioning(), names, ["client"]) == ({"r1": 800, "r2": 800, "spine": 1600}, {})
    assert crossed(Partitioning(), names[:2], ["r1"]) == ({}, {})
    assert crossed(Partitioning(), names, ["r1"]) == ({"r2": 800}, {"r1": 800})
    assert crossed(Partitioning("round_robin"), ["r1"], names) == ({"r1": 800}, {"r2": 800})

    traffic = Traffic({device.name: device for device in hosts})
    traffic.add(1600, Partitioning(), names[:2], names[2:3])
    assert traffic.seconds(0.0, {}) == pytest.approx(1600 * 8 / 8000 + 2e-3)  # up to the spine and down


def racks(bits_per_s: int, least: str = "time", cores: int = 2, money: float = 0.0) -> JobPlan:
    """Groups of many rows on four hosts, in racks whose links have this speed. Hosts of the second rack have these
    cores and this price."""
    rows = table("facts", k=int64, v=int64)
    hosts = [
        replace(host(f"{rack}{n}", of), link_bits_per_s=10**10, above=(Link(rack, bits_per_s),), offer=offer)
        for rack, of, offer in (("r1", 2, Offer()), ("r2", cores, Offer(money_per_hour=money)))
        for n in "ab"
    ]
    options = CompileOptions(
        statistics=statistics({"facts": ROWS}), endpoints=("127.0.0.1:7000",), objective=Objective(least)
    )
    return compile_dataflow(grouped(rows, ("k",), measured(rows, "sum", "v", "s")), hosts, default_registry(), options)


def test_a_slow_network_is_left_out_where_its_hosts_are_faster_alone() -> None:
    wide, narrow = racks(10**10), racks(10**7)
    assert {i.device.name for i in wide.instances} == {"r1a", "r1b", "r2a", "r2b"}
    assert wide.figures.networks["r1"][0] > 0
    assert "network r1: ~" in explain_text(wide.explain)
    assert {i.device.name for i in narrow.instances} in ({"r1a", "r1b"}, {"r2a", "r2b"})
    assert not narrow.figures.networks
    assert "refused hosts outside r1: with them it is estimated at" in explain_text(narrow.explain)


def test_a_network_is_left_out_by_the_objective() -> None:
    fast, cheap = (racks(10**7, least, cores=64, money=100.0) for least in ("time", "cost"))
    assert {i.device.name for i in fast.instances} == {"r2a", "r2b"}
    assert {i.device.name for i in cheap.instances} == {"r1a", "r1b"}


def planned(link_bits_per_s: int, slow: bool, prefer: tuple[str, ...] = ()) -> JobPlan:
    """One sum for each of many groups; `slow` hosts take long for each row that they add to one."""
    rows = table("facts", k=int64, v=int64)
    hosts = [replace(host(name), link_bits_per_s=link_bits_per_s) for name in "ab"]
    hardware = SWITCH.device("tor", program="aggregate", p4runtime="10.0.0.9:9559", data="10.0.0.9:9801")
    options = CompileOptions(
        statistics=statistics({"facts": ROWS}), speeds={"group": 4e-6, "group large": 4e-6} if slow else {},
        prefer=prefer, endpoints=("127.0.0.1:7000",),
    )  # fmt: skip
    return compile_dataflow(grouped(rows, ("k",), measured(rows, "sum", "v", "s")), [*hosts, hardware],
                            default_registry(), options)  # fmt: skip


def uses_switch(plan: JobPlan) -> bool:
    return "switch_aggregate" in {i.nca for i in plan.instances}


def test_a_switch_is_taken_where_the_whole_plan_is_faster_by_it() -> None:
    """Hosts would group all rows twice; what the switch adds up they group once."""
    assert uses_switch(planned(0, slow=True))
    assert not uses_switch(planned(0, slow=False))
    assert uses_switch(planned(10_000_000_000, slow=True))
    assert not uses_switch(planned(10_000_000, slow=True))  # all rows over the links, not only half of the groups
    assert uses_switch(planned(10_000_000, slow=False, prefer=("switch_aggregate",)))


def test_explain_has_the_bytes_on_links_and_the_seconds_of_rivals() -> None:
    plan = planned(10_000_000, slow=True)
    shuffle = next(e for e in plan.explain["edges"] if e["partitioning"].startswith("hash"))
    assert shuffle["crossing"] == pytest.approx(plan.figures.crossing[shuffle["id"]], rel=1e-3)
    assert shuffle["crossing"] > 0
    (rival,) = plan.explain["lost"]
    assert rival["cost"]["seconds"] > plan.explain["cost"]["seconds"] == plan.figures.seconds


def test_links_are_written_in_the_configuration() -> None:
    found = parse({
        "host": [{"name": "w", "link_bits_per_s": 10**9}],
        "device": [{"name": "tor", "kind": "switch", "program": "aggregate", "link_bits_per_s": 10**11}],
    })  # fmt: skip
    assert found.hosts[0].device.above == found.devices[0].above == ()
    assert [d.link_bits_per_s for d in (found.hosts[0].device, *found.devices)] == [10**9, 10**11]


def test_networks_are_written_in_the_configuration() -> None:
    found = parse({
        "host": [{"name": "w", "network": "tor", "link_delay_us": 2}, {"name": "x", "network": "rack"}],
        "device": [{"name": "tor", "kind": "switch", "program": "aggregate", "network": "spine", "link_delay_us": 1}],
        "network": [{"name": "rack", "network": "spine", "link_bits_per_s": 5}, {"name": "spine"}],
    })  # fmt: skip
    w, x = (h.device for h in found.hosts)
    assert [link.name for link in w.links] == ["w", "tor", "spine"]
    assert x.above == (Link("rack", 5), Link("spine"))
    assert (w.link_delay_s, found.devices[0].link_delay_s) == pytest.approx((2e-6, 1e-6))
    assert [link.name for link in found.devices[0].links] == ["tor", "spine"]
