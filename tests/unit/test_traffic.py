"""What crosses links, and plans that are compared by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.compiler.physical.traffic import Traffic
from jumpgate.dataflow.operators import Partitioning
from jumpgate.dataflow.types import int64
from jumpgate.hosts.config import parse
from jumpgate.nca.interface import Device, JobPlan
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
    traffic = Traffic()
    assert traffic.add(1000, partitioning, ["a", "b"], [r.name for r in receivers]) == crossing
    devices = {device.name: device for device in (A, B, *receivers)}
    assert traffic.seconds(devices, 1e-9, {}) == pytest.approx(seconds)


def test_edges_of_a_stage_share_the_links() -> None:
    traffic, devices = Traffic(), {"a": A, "b": B}
    for _ in range(3):
        traffic.add(1000, Partitioning("single"), ["a"], ["b"])
    assert traffic.seconds(devices, 1e-9, {}) == pytest.approx(3.0)
    assert traffic.seconds(devices, 1e-9, {"b": 2e-3}) == pytest.approx(6.0)  # the device is slower than its link


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
    assert [d.link_bits_per_s for d in (found.hosts[0].device, *found.devices)] == [10**9, 10**11]
