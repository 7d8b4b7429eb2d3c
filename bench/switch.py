"""The software switch: packets over loopback UDP beside a bare echo, tuples through programs in process, compile times.

Tuples in process: seconds of CPU of the thread that runs `process_packed`, batch by batch; the best of the rounds.

The echo and the switch take turns behind one driver, each in a process of its own, both with segmentation
offload. The ratio is the smaller of two: packets a second of time, and packets a second of the server's CPU.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes as c
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import _switch_grid, _switch_trees, _tna_programs, _tna_verdicts
from bench import _switch_load as load
from bench._measure import Figure, remark, report
from jumpgate import client
from jumpgate.client import count, max_, min_, sum_
from jumpgate.client.session import Session
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ncas.switch.transport import DATAGRAMS
from jumpgate.p4.compiler import compile_source
from jumpgate.p4.compiler import report as model
from jumpgate.p4.compiler.allocation.resources import Resources
from jumpgate.p4.compiler.judge import VARIABLE, Verdict, find, judge
from jumpgate.p4.programs import render
from jumpgate.p4.switch import library
from jumpgate.p4.switch.build import build
from jumpgate.p4.switch.switch import Entry, Switch
from jumpgate.service import embedded
from jumpgate.study.paper.network import permitted
from jumpgate.tpcds.data import generate, path
from tests.support import cpp, switch_by_hand, vendor_cases
from tests.support.datagram_runs import Run, grouped, merged
from tests.support.datagrams import Chaos, Line, Peers
from tests.support.switch_programs import SECRET

HERE = Path(__file__).parent
SECONDS = 1.5
ROUNDS = 5
PACKET_BYTES = 1400
WINDOW = 1024
TUPLES = 1_000_000
BATCH = 4096
OUT = 5
#: shares of bursts that are lost, and of what
USUAL_LOSS, BURST_LOSS = 0.01, 0.3
LOSSY_ROWS, LOSSY_ROUNDS = 6_000, 5
#: of each host below a tree of switches
TREE_ROWS = 500_000
#: two ways whose times differ by at most this factor are equally good
TIE = 1.1
AGGREGATE = library.HERE.parent / "programs" / "aggregate.p4"
DISTINCT = AGGREGATE.with_name("prune_distinct.p4")

BUILD = """
import sys, time
from pathlib import Path
from jumpgate.p4.switch.build import build
from jumpgate.p4.switch.switch import Switch
start = time.perf_counter()
with Switch(build(Path(sys.argv[1]), "none").program) as switch:
    switch.process([(1, b"")])
    print(1000 * (time.perf_counter() - start))
"""

#: a switch that sends frames back out of port 1, until its input ends
SERVE = """
import sys
from pathlib import Path
from jumpgate.p4.switch.switch import PortSpec, Switch
with Switch(Path(sys.argv[1])) as switch:
    print(switch.add_port(PortSpec.parse(f"1=127.0.0.1:0/127.0.0.1:{sys.argv[2]},frames")), flush=True)
    switch.start()
    sys.stdin.read()
    print({name: count for name, count in switch.counts().items() if count}, file=sys.stderr)
"""


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of all threads, to the nanosecond."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def drive(program: Path, server: Callable[[int], list[str]]) -> tuple[float, float]:
    """Packets that came back: a second, and a second of the server's CPU. `server` gets the driver's port."""
    command = [str(program), "drive", str(SECONDS), str(PACKET_BYTES), str(WINDOW)]
    with _start(command) as driver:
        assert driver.stdin is not None and driver.stdout is not None
        with _start(server(int(driver.stdout.readline()))) as serving:
            assert serving.stdout is not None
            port = serving.stdout.readline()
            before = cpu_seconds(serving.pid)
            rate, lost = driver.communicate(port)[0].split()
            cpu = cpu_seconds(serving.pid) - before
            if int(lost):
                remark(f"{lost} packets were lost")
            serving.communicate()
    return float(rate), float(rate) * SECONDS / cpu


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def udp_vs_echo() -> Figure:
    loop = cpp.build("udp_loop", [HERE / "udp_loop.cpp"], cpp.RELEASE)
    by_hand = switch_by_hand.program()
    contenders: dict[str, Callable[[int], list[str]]] = {
        "echo": lambda _: [str(loop), "echo"],
        "switch": lambda peer: [sys.executable, "-c", SERVE, str(by_hand), str(peer)],
    }
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, server in contenders.items():
            rates[name].append(drive(loop, server))
    wall, cpu = (
        {name: statistics.median(run[kind] for run in runs) for name, runs in rates.items()} for kind in (0, 1)
    )
    remark(f"packets/s: echo {wall['echo']:,.0f}, switch {wall['switch']:,.0f}")
    remark(f"packets/s of CPU: echo {cpu['echo']:,.0f}, switch {cpu['switch']:,.0f}")
    ratio = min(wall["switch"] / wall["echo"], cpu["switch"] / cpu["echo"])
    return Figure("udp_vs_echo", ratio, 0.6, "higher", f"{PACKET_BYTES}-byte packets, offload on both sides")


def aggregate_tuples_per_core_s() -> Figure:
    frames = load.packets(*load.aggregate_rows(TUPLES, 1 << 16), slots=4)
    rate = _tuples_per_s(AGGREGATE, "aggregate", (0, (1 << 14) - 1), frames)
    return Figure("aggregate_tuples_per_core_s", rate, 16e6, "higher", "64K groups uniformly, four tuples a packet")


def distinct_tuples_per_core_s() -> Figure:
    frames = load.packets(*load.distinct_rows(TUPLES, 2000), slots=4)
    data = (render.CODES["distinct_lru"], 0, 0, 0, 0, 0, (1 << 10) - 1)
    return Figure(
        "distinct_tuples_per_core_s",
        _tuples_per_s(DISTINCT, "run", data, frames),
        30e6,
        "higher",
        "2000 keys at random, w=2, d=4096, four tuples a packet",
    )


def _tuples_per_s(source: Path, action: str, data: tuple[int, ...], frames: npt.NDArray[np.uint8]) -> float:
    program = library.build_program(source.name, compile_source(source.read_text(), source.name, profile="none").cpp)
    count, size = frames.shape
    ports, lengths = (c.c_uint16 * BATCH)(*[1] * BATCH), (c.c_uint32 * BATCH)(*[size] * BATCH)
    batches = [frames[at : at + BATCH].tobytes() for at in range(0, count, BATCH)]
    rates = []
    for _ in range(ROUNDS):
        with Switch(program) as switch:
            table = switch.table("flow")
            switch.insert(table, Entry((load.FLOW, SECRET), (0xFFFF, (1 << 64) - 1), 0, table.action(action), data))
            route = switch.table("route")
            onward = OUT, 0x020000000003, 0x0A000003, 4000
            switch.insert(route, Entry((load.FLOW, 0), (0xFFFF, 1), 0, route.action("send"), onward))
            start = time.thread_time()
            for batch in batches:
                switch.process_packed(ports, lengths, batch, len(batch) // size)
            rates.append(4 * count / (time.thread_time() - start))
            counts = switch.counts()
            assert counts["ingress_passes"] == count and not counts["malformed"] and not counts["dropped_by_program"]
    remark(f"{source.stem}: {count:,} packets of {size} bytes, tuples/s {min(rates):,.0f} to {max(rates):,.0f}")
    return max(rates)


def loss_recovery() -> Figure:
    """Four senders of an aggregation, where whole bursts are lost on each side of the switch, each way."""
    line = Line(render.AggregateSizes())
    times: dict[float, list[float]] = {loss: [] for loss in (USUAL_LOSS, BURST_LOSS)}
    for seed, (loss, seconds) in itertools.product(range(LOSSY_ROUNDS), times.items()):
        draws = random.Random(seed)
        inputs = [[(draws.randrange(300), draws.randrange(100)) for _ in range(LOSSY_ROWS)] for _ in range(4)]
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(Peers(Path(folder), cpp.RELEASE)) as peers:
            run = Run(peers, [line], 64, Chaos(burst_loss=loss, seed=seed))
            start = time.perf_counter()
            _, _, rows = run.aggregate(inputs)
            seconds.append(time.perf_counter() - start)
            if merged(rows) != grouped([pair for pairs in inputs for pair in pairs]):
                raise SystemExit("the answer over a bad network differs")
    line.close()
    for loss, seconds in times.items():
        remark(f"{loss:.0%} of bursts lost: {', '.join(f'{s:.2f}' for s in sorted(seconds))} s")
    ratio = statistics.median(times[BURST_LOSS]) / statistics.median(times[USUAL_LOSS])
    notes = f"time at {BURST_LOSS:.0%} of bursts lost by that at {USUAL_LOSS:.0%}; four senders of {LOSSY_ROWS:,} rows"
    return Figure("loss_recovery", ratio, 5, "lower", notes)


def compile_ms() -> Figure:
    return Figure("compile_ms", _milliseconds(cached=False), 3000, "lower", "aggregate.p4 to a switch that runs it")


def compile_cached_ms() -> Figure:
    return Figure("compile_cached_ms", _milliseconds(cached=True), 100, "lower", "the same again, in a new process")


def _milliseconds(cached: bool) -> float:
    """Median of building AGGREGATE, and a switch of it, in new processes; their start is not counted."""
    times = []
    for _ in range(ROUNDS):
        if not cached:
            built = build(AGGREGATE, "none")
            built.program.unlink()
        command = [sys.executable, "-c", BUILD, str(AGGREGATE)]
        times.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return statistics.median(times)


def store_sales_reduction() -> Figure:
    """Bytes of UDP payload that reach the host of the client, through a switch that forwards and one that adds up."""
    directory = Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")).absolute() / "sf1"
    if not path(directory, "store_sales", "parquet").exists():
        remark(f"generating store_sales at scale 1 in {directory}")
        generate(directory, 1.0, ["parquet"], ["store_sales"])
    table = client.read(path(directory, "store_sales", "parquet"))
    price = "ss_ext_sales_price"
    flow = table.aggregate(
        by=["ss_item_sk"], sum=sum_(price), count=count(price), least=min_(price), greatest=max_(price)
    )
    switch = SWITCH.device("switch", program="aggregate")
    service = embedded.start(Config(local_hosts(1).hosts, (switch,)))
    try:
        with Session(service.address, prefer=("switch_aggregate",)) as session:
            answer = session.run(flow).to_arrow()
            record = session.describe(session.jobs()[0].id).record
    finally:
        service.close()
    with Session() as session:
        if answer.sort_by("ss_item_sk") != session.run(flow).to_arrow().sort_by("ss_item_sk"):
            raise SystemExit("the answer through the switch differs")
    assert record is not None
    to_switch, to_host = (e["id"] for e in record["edges"] if e["transport"] == DATAGRAMS.name)
    counters = record["counters"].values()
    sent = sum(s["bytes"] for c in counters for s in c["sinks"] if s["edge"] == to_switch)
    arrived = sum(s["bytes"] for c in counters for s in c["sources"] if s["name"] == to_host)
    remark(f"{sent} bytes to the switch, {arrived} from it, for {answer.num_rows} groups")
    return Figure(
        "store_sales_reduction", sent / arrived, 40, "higher", "UDP payload to the client's host, without and with"
    )


def model_agrees() -> Figure:
    """Compare with the compiler in JUMPGATE_P4C or, without it, with its recorded verdicts."""
    known = vendor_cases.cases()
    compiler = find(None) if os.environ.get(VARIABLE) else None
    agreeing = 0
    for case in known:
        accepted = case.accepted if compiler is None else _accepted(case.text, compiler)
        refusal = vendor_cases.refusal(case)
        agreeing += accepted == (not refusal)
        if accepted == bool(refusal):
            remark(f"{case.name}: {'accepted' if accepted else 'refused'}, by the model not")
    seen = sum(case.source == "run" for case in known) if compiler is None else len(known)
    return Figure(
        "model_agrees",
        agreeing / len(known),
        0.95,
        "higher",
        f"{len(known)} programs, {seen} of them seen judged",
    )


def _accepted(text: str, compiler: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(vendor_cases.FOLDER / "include", Path(folder) / "include")
        source = Path(folder) / "case.p4"
        source.write_text(text)
        return judge(source, compiler).accepts


@cache
def _judged() -> dict[str, tuple[Verdict, Resources]]:
    """Return by program the verdict of the compiler in JUMPGATE_P4C and the model's claim."""
    compiler = find(None)
    folder = AGGREGATE.parent
    return {
        name: (judge(folder / f"{name}.p4", compiler), model((folder / f"{name}.p4").read_text(), name))
        for name in render.PROGRAMS
    }


def tofino_compiles() -> Figure:
    judged = _judged()
    for name, (verdict, claimed) in judged.items():
        said = "; ".join(p.message for p in verdict.problems) or "accepted"
        remark(
            f"{name}: {said}, {verdict.stages} stages, {len(claimed.stages)} claimed; {verdict.sram_blocks} blocks of "
            f"SRAM, {claimed.totals['sram_blocks']} claimed"
        )
    share = sum(verdict.accepts for verdict, _ in judged.values()) / len(judged)
    return Figure("tofino_compiles", share, 1.0, "higher", "share of the programs that a Tofino 1's compiler takes")


def tofino_stages_error() -> Figure:
    errors = [verdict.stages - len(claimed.stages) for verdict, claimed in _judged().values() if verdict.stages]
    return Figure("tofino_stages_error", max(errors), 0, "lower", "real stages less claimed ones, the most")


def tofino_sram_error() -> Figure:
    errors = [v.sram_blocks - claimed.totals["sram_blocks"] for v, claimed in _judged().values() if v.sram_blocks]
    return Figure("tofino_sram_error", max(errors), 0, "lower", "real blocks of SRAM less claimed ones, the most")


def switch_chosen_right() -> Figure:
    """Hosts and switches in network namespaces (it takes root); minutes."""
    found = []
    for point in _switch_grid.points():
        found.append(point)
        remark(
            f"{point.link:9} {point.query:24} by hosts {point.hosts_s:.3f} s, through a switch {point.switch_s:.3f} s; "
            f"planned: {'switch' if point.chosen else 'hosts'}"
        )
    wins = sum(point.switch_s < point.hosts_s for point in found)
    share = sum(point.right(TIE) for point in found) / len(found)
    notes = f"{len(found)} queries and link speeds; a switch was faster in {wins}"
    return Figure("switch_chosen_right", share, 1.0, "higher", notes)


def tree_bytes_saved() -> Figure:
    """Hosts and switches in network namespaces (it takes root). A tree saves bytes on the links of racks, too: what is
    compared is what it saves for the host that finishes, beside one switch above all hosts."""
    found = _switch_trees.counted(TREE_ROWS)
    one, tree = found["one"], found["tree"]
    sent = sum(one.up)  # without a switch, all that racks send would reach the host
    remark(f"links of racks: {sent:,} bytes up with one switch, {sum(tree.up):,} with a tree; the host that finishes "
           f"receives {one.arrived:,} and {tree.arrived:,}")  # fmt: skip
    saved = (sent - tree.arrived) / (sent - one.arrived)
    notes = (
        f"{_switch_trees.RACKS + 1} switches, {_switch_trees.RACKS * _switch_trees.HOSTS} hosts of {TREE_ROWS:,} rows, "
        f"{_switch_trees.GROUPS:,} groups; links of racks carry {sum(tree.up) / sent:.2g} of what they did"
    )
    return Figure("tree_bytes_saved", saved, 0.9, "higher", notes)


FIGURES = (
    model_agrees,
    aggregate_tuples_per_core_s,
    distinct_tuples_per_core_s,
    udp_vs_echo,
    loss_recovery,
    compile_ms,
    compile_cached_ms,
    store_sales_reduction,
)
#: where network namespaces can be made
NETWORKED = (switch_chosen_right, tree_bytes_saved)
#: with a compiler in JUMPGATE_P4C
JUDGED = (tofino_compiles, tofino_stages_error, tofino_sram_error)
#: with clones of public programs
PUBLIC = (_tna_programs.tna_compiles, _tna_verdicts.verdicts_agree)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    figures = FIGURES + (JUDGED if os.environ.get(VARIABLE) else ()) + (NETWORKED if permitted() else ())
    figures += PUBLIC if os.environ.get(_tna_programs.VARIABLE) else ()
    parser.add_argument("--only", choices=[figure.__name__ for figure in figures])
    arguments = parser.parse_args()
    library.load()
    for figure in figures:
        if arguments.only in (None, figure.__name__):
            report(figure(), arguments.json)


if __name__ == "__main__":
    main()
