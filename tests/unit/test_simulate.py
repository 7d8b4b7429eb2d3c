"""The simulator, against what can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.cli.main import main
from jumpgate.client import count_distinct, sum_
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import int64
from jumpgate.errors import CannotPlace
from jumpgate.nca.interface import ColumnStatistics, Device, JobPlan, Selection, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.nca.transport import TCP
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.simulate import report
from jumpgate.simulate.events import Clock, Server
from jumpgate.simulate.model import Cluster, Simulated, simulate
from jumpgate.simulate.plans import ENDPOINT, grown, grown_tables, hosts, under_switches
from jumpgate.simulate.suite import SimulatedQuery
from jumpgate.simulate.tasks import sent_bytes
from tests.support.plans import query3, statistics, table

#: nothing takes time but links
LINKS_ONLY = Cluster(link_bytes_s=1e6, latency_s=0.0, message_s=0.0, peer_s=0.0, plan_s=0.0, spawn_s=0.0, connect_s=0.0)
FREE_WORK = {"job": 0.0}


def plan(root: Operator, count: int, rows: float = 1e6, cores: int = 4) -> JobPlan:
    known = statistics({"facts": rows, "store_sales": rows, "date_dim": rows / 10, "item": rows / 10})
    options = CompileOptions(endpoints=(ENDPOINT,), statistics=known, broadcast_bytes_max=1e9)
    return compile_dataflow(root, hosts(count, cores, 8 << 30), default_registry(), options)


def facts() -> Dataflow:
    return Dataflow(table("facts", k=int64, x=int64))


def run(planned: JobPlan, cluster: Cluster = LINKS_ONLY, jobs: int = 1) -> Simulated:
    return simulate(planned, default_registry(), cluster, FREE_WORK, jobs)


def test_a_server_serves_one_after_the_other() -> None:
    clock, ended = Clock(), []
    one, two = Server(clock), Server(clock, 2)
    for server in (one, two):
        for seconds in (1.0, 2.0, 3.0):
            server.ask(seconds, lambda: ended.append(clock.now))
    clock.run()
    assert sorted(ended) == [1.0, 1.0, 2.0, 3.0, 4.0, 6.0]
    assert one.busy_s == two.busy_s == 6.0


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_result_takes_as_long_as_the_clients_link(count: int) -> None:
    """However many hosts send it, but for the first pieces, which nothing overlaps."""
    planned = plan(facts().root, count)
    least = TCP.overhead * sent_bytes(planned)["result"] / 1e6
    found = run(planned)
    assert least <= found.seconds <= 1.3 * least
    assert found.bound_by in ("link of the client", "link out of a host") and found.hosts == count


@pytest.mark.parametrize("count", [2, 4, 10])
def test_a_shuffle_moves_what_is_not_there_already(count: int) -> None:
    planned = plan(facts().aggregate(n=count_distinct("x"), by="k").aggregate(s=sum_("n")).root, count)
    edge = next(e for e in planned.edges if e.partitioning.kind == "hash")
    least = TCP.overhead * sent_bytes(planned)[edge.id] * (1 - 1 / count) / count / 1e6
    assert least <= run(planned).seconds <= 1.7 * least


def test_racks_share_their_links() -> None:
    """Of what eight hosts in four racks shuffle, three quarters leave each rack, over a link as slow as a host's."""
    root = facts().aggregate(n=count_distinct("x"), by="k").aggregate(s=sum_("n")).root
    options = CompileOptions(endpoints=(ENDPOINT,), statistics=statistics({"facts": 1e6}))
    racks = hosts(8, 4, 8 << 30, 10**7, rack=2, rack_bits_per_s=8_000_000)
    planned = _all_hosts(root, racks, options)
    edge = next(e for e in planned.edges if e.partitioning.kind == "hash")
    least = TCP.overhead * sent_bytes(planned)[edge.id] * (3 / 4) / 4 / 1e6
    found = run(planned)
    assert least <= found.seconds <= 1.7 * least and found.bound_by == "link of a network"
    plain = run(_all_hosts(root, hosts(8, 4, 8 << 30, 10**7), options))
    assert plain.seconds < 0.7 * found.seconds and plain.busy["link of a network"] == 0.0


def test_switches_of_racks_leave_groups() -> None:
    """The links of racks carry the groups alone; each tree of 64 hosts has its own, and all are of one service."""
    root = facts().aggregate(s=sum_("x"), by="k").root
    switch = SWITCH.device("switch", program="aggregate", p4runtime="192.0.2.2:9559", data="192.0.2.2:9801")
    racks = hosts(8, 1, 8 << 30, 10**9, rack=2, rack_bits_per_s=8_000_000)

    def known(files: tuple[str, ...], format: str, options: object) -> Statistics:
        return Statistics(1e6, 16e6, lambda name, type: ColumnStatistics(distinct=1000))

    options = CompileOptions(endpoints=(ENDPOINT,), statistics=known, prefer=("switch_aggregate",))
    one = replace(switch, name="spine")
    drained = default_registry().get("switch_aggregate").operators.speeds(one).drain_bytes
    found = {}
    for which, devices in (("tree", under_switches(racks, switch, 8_000_000)), ("one", (*racks, one))):
        planned = compile_dataflow(root, devices, default_registry(), options)
        (top,) = (i.device for i in planned.instances if i.nca == "switch_aggregate")
        assert len(top.below) == (4 if which == "tree" else 0)
        rows, groups = (sent_bytes(planned)[top_edge] for top_edge in _ends(planned))
        found[which] = run(planned)
        crossed = [ways[0] for name, ways in found[which].links.items() if name.startswith("rack")]
        least = DATAGRAMS.overhead * (groups if which == "tree" else rows / 4)
        least += drained if which == "tree" else 0.0
        assert all(bytes == pytest.approx(least, rel=0.01) for bytes in sorted(crossed)[1:3])
    of_host = DATAGRAMS.overhead * rows / 8 / 1e6
    drains = drained / 1e6  # of each switch, over the link of the host that finishes
    assert of_host + 4 * drains <= found["tree"].seconds <= of_host + 6 * drains
    assert 2 * of_host + drains <= found["one"].seconds <= 2.2 * (of_host + drains)
    both = simulate(planned, default_registry(), LINKS_ONLY, FREE_WORK, groups=3)
    assert (
        both.hosts == 24
        and both.instances == 3 * len(planned.instances)
        and both.links["3/rack1"] == pytest.approx(found["one"].links["rack1"])
    )


def _ends(planned: JobPlan) -> tuple[str, str]:
    """Return the edge to the switch, and the one from it."""
    (at,) = (i for i in planned.instances if i.nca == "switch_aggregate")
    return at.inputs[0], at.output


def _all_hosts(root: Operator, devices: tuple[Device, ...], options: CompileOptions) -> JobPlan:
    """Return the plan as for equal hosts: one that leaves racks out is none here."""
    alike = tuple(replace(device, above=(), link_bits_per_s=0) for device in devices)
    found = compile_dataflow(root, alike, default_registry(), options)
    by_name = {device.name: device for device in devices}
    return replace(found, instances=tuple(replace(i, device=by_name[i.device.name]) for i in found.instances))


def test_a_broadcast_reaches_all_hosts() -> None:
    small = table("date_dim", d_date_sk=int64, d_year=int64)
    joined = facts().join(Dataflow(small), left_on="k", right_on="d_date_sk")
    planned = plan(joined.aggregate(s=sum_("d_year")).root, 4)
    edge = next(e for e in planned.edges if e.partitioning.kind == "broadcast" and not e.filter)
    least = TCP.overhead * sent_bytes(planned)[edge.id] * 3 / 4 / 1e6
    assert least <= run(planned).seconds <= 1.7 * least


def test_cores_are_shared_by_hosts_and_by_jobs() -> None:
    cluster = Cluster(link_bytes_s=1e15)
    few, many = (run(plan(query3(), count, 1e8), cluster).seconds for count in (2, 8))
    assert 3 < few / many < 4.1
    one = run(plan(query3(), 4, 1e8), cluster)
    both = run(plan(query3(), 4, 1e8), cluster, jobs=2)
    assert 1.8 < both.seconds / one.seconds < 2.1 and both.messages == 2 * one.messages
    together = run(plan(query3(), 4, 1e8, cores=1), Cluster(link_bytes_s=1e15, shared_cores=1))
    assert together.seconds > 3.5 * run(plan(query3(), 4, 1e8, cores=1), cluster).seconds


@pytest.mark.parametrize("count", [1, 4])
def test_files_are_read_as_fast_as_disks_are(count: int) -> None:
    """Of a format read by the byte each host reads its share of the files, and the pieces' work is beside that."""
    planned = plan(facts().aggregate(s=sum_("x")).root, count)
    found = run(planned, replace(LINKS_ONLY, disk_bytes_s=1e6))
    read = found.read_bytes
    assert read > 0 and found.bound_by == "disk of a host"
    assert read / count / 1e6 <= found.seconds <= 1.2 * read / count / 1e6
    assert run(planned).busy["disk of a host"] == 0.0


def test_with_many_hosts_the_service_is_what_counts() -> None:
    found = run(plan(query3(), 300, 1e6), Cluster())
    assert found.bound_by == "service" and found.started_s > found.seconds / 2
    assert found.connections > 300 * 300
    assert list(found.steps) == ["planning", "set-up", "stage 1", "stage 2"]


def test_unknown_tables_are_an_error() -> None:
    options = CompileOptions(endpoints=(ENDPOINT,))
    planned = compile_dataflow(query3(), hosts(2, 1, 1 << 30), default_registry(), options)
    with pytest.raises(CannotPlace, match="cannot simulate .* is not known. Statistics come from the files"):
        run(planned)


def test_tables_that_have_grown() -> None:
    known = statistics({"facts": 10.0})
    found = grown(known, 3.0)(("/facts.json",), "json", ())
    assert (found.rows, found.bytes) == (30.0, 6000.0)
    assert grown(known, 1.0) is known


def test_tables_that_grow_by_their_own_factors() -> None:
    def known(files: tuple[str, ...], format: str, options: object) -> Statistics:
        selected = Selection(100, 7, whole=True)
        return Statistics(10.0, 20.0, lambda name, type: ColumnStatistics(10.0, 1.0, 11.0), lambda *_: selected)

    by_file = grown_tables(known, lambda files: 3.0 if "big" in files[0] else 1.0, lambda c: 2.0 if c == "key" else 1.0)
    large, small = by_file(("/big.json",), "json", ()), by_file(("/small.json",), "json", ())
    assert (large.rows, large.bytes, small.rows) == (30.0, 60.0, 10.0)
    assert large.column and large.select and small.select
    assert large.column("key", int64) == ColumnStatistics(20.0, 1.0, 21.0)
    assert large.column("year", int64) == ColumnStatistics(10.0, 1.0, 11.0)
    found = large.select(facts().root, ())
    assert found and (found.seen, found.chosen, found.whole) == (100, 7, False)
    kept = small.select(facts().root, ())
    assert kept and kept.whole


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"k": [1, 2], "x": [3, 4]}), tmp_path / "t.parquet")
    flow = tmp_path / "a<b>.py"
    flow.write_text(
        f"from jumpgate.client import read, sum_\ndataflow = read({str(tmp_path / 't.parquet')!r})"
        ".aggregate(s=sum_('x'), by='k')\n"
    )

    def said(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["simulate", str(flow), *words])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    page = tmp_path / "page.html"
    status, text = said("--hosts", "2,20", "--times", "1e9", "--json", "-o", str(page))
    found = json.loads(text)["simulated"]
    assert status == 0 and [f["hosts"] for f in found] == [2, 20] and found[0]["seconds"] > found[1]["seconds"]
    shown = page.read_text()
    assert "a&lt;b&gt;.py" in shown and "<b>" not in shown and "src=" not in shown and "href=" not in shown
    status, text = said("--hosts", "2")
    assert status == 0 and "started" in text
    status, text = said("--hosts", "8", "--rack", "4", "--rack-gbit", "5")
    assert status == 0 and "racks of 4 hosts with links of 5 Gb/s" in " ".join(text.split())
    status, text = said("--hosts", "4,66", "--rack", "2", "--switches", "aggregate", "--times", "1e6")
    assert status == 0 and "switches that run aggregate in racks and above" in " ".join(text.split()) and " 66 " in text
    status, text = said("--hosts", "4", "--switches", "aggregate")
    assert status == 1 and "error: --switches puts a switch into each rack: say --rack" in text
    status, text = said("--hosts", "2,many")
    assert status == 1 and "error: --hosts 2,many: write numbers of hosts with commas" in text
    status, text = said("--hosts", "2", "--disk-gb-s", "2")
    assert status == 0 and "links of 10 Gb/s and disks of 2 GB/s" in " ".join(text.split())
    for words, why in ((("--scale", "3"), "--scale is of a --suite"), (("--suite", "tpch"), "say what to simulate")):
        status, text = said(*words)
        assert status == 1 and why in " ".join(text.split())


def test_limits_without_a_colour_share_one() -> None:
    found = [SimulatedQuery(n, 1.0, bound_by=f"limit {min(n, 6)}") for n in range(9)]
    drawn = report.chart(found)
    assert drawn.limits == ("limit 6", "limit 0", "limit 1", "limit 2", "limit 3", "other")
    assert [bar.limit for bar in drawn.bars] == [1, 2, 3, 4, 5, 5, 0, 0, 0]
