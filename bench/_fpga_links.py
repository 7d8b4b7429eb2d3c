"""The paper's experiments 1 to 3 (ADMS 2019): three joins shuffled between hosts, or answered by a card in the network.

At full size by the network model (jumpgate.compiler.mapping.links); at a thousandth of the rows by what crosses the
links of four machines in network namespaces, of a job on its hosts and of the same job through the emulated card.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench._cluster import lab
from bench._filters import share_programs
from bench._measure import Figure, remark
from bench._star import HOSTS, write
from bench._stealing import STATIC
from jumpgate.compiler.mapping.links import Chain, Links, taken
from jumpgate.study import charts, report
from jumpgate.study.paper.network import Machine, line
from tests.cluster.lab import Lab

#: a row has a column of 8 bytes for each join, before and after it; a row of a build side has a key and a value
KEY_BYTES, BUILD_BYTES = 8, 16
BUILD_ROWS = 50_000_000
PROBE_ROWS = (5_000_000, 50_000_000, 500_000_000, 5_000_000_000)
SKEW = tuple(Fraction(n, 100) for n in (80, 13, 5, 2))
EQUAL_JOINS = (1, 2, 3, 4)
#: of the rows that run in namespaces
SCALE = 1000
#: build sides that are shuffled, each file read by the host that has it, and links that are as much slower as there are
#: fewer rows
SHUFFLED = (
    STATIC
    + f"""
from jumpgate.compiler import compile, plan
from jumpgate.nca import speeds
speeds.HOST["link"] *= {SCALE}
init = plan.CompileOptions.__init__
plan.CompileOptions.__init__ = lambda self, *a, **k: init(self, *a, **{{**k, "broadcast_bytes_max": 0.0}})
"""
)
#: features that the paper does not have: filter edges and heavy hitters
PLAIN = (
    SHUFFLED
    + """
from jumpgate.compiler.mapping import skew
compile.PASSES = tuple(step for step in compile.PASSES if step.__name__ != "filter_edges")
skew.HEAVY_SHARE = float("inf")
"""
)
#: runs the joins of the folder's tables; says the answer and where rows were joined
CLIENT = """
import json, sys
from jumpgate.client import col, connect, count, read, sum_
address, folder, joins, *prefer = sys.argv[1:]
with connect(address, progress=False, prefer=tuple(prefer)) as session:
    for line in sys.stdin:
        flow = read(f"{folder}/probe/*.parquet")
        chosen = [int(j) for j in joins.split(",")]
        for j in chosen:
            build = read(f"{folder}/build{j}/*.parquet")
            flow = flow.join(build, left_on=col(f"k{j}"), right_on=col(f"t{j}"))
        # columns that other joins would read or have made travel, too
        others = [name for name in flow.root.schema.names if name[0] == "k" and int(name[1:]) not in chosen]
        sums = {f"s{j}": sum_(f"v{j}") for j in chosen}
        flow = flow.aggregate(n=count(), **sums, **{f"o{name}": sum_(name) for name in others})
        answer = session.run(flow).to_arrow().to_pylist()[0]
        record = session.describe(session.jobs()[0].id).record
        print(json.dumps({"answer": answer, "ncas": sorted({i["nca"] for i in record["instances"]})}), flush=True)
"""


def chain(probe_rows: int, joins: int, build_rows: int = BUILD_ROWS) -> Chain:
    """Keys become values one by one, so that rows stay as wide as they are."""
    probe = probe_rows * KEY_BYTES * joins
    return Chain(HOSTS, (probe,) * (joins + 1), (build_rows * BUILD_BYTES,) * joins)


def ratio(of: Chain, skewed: bool = False) -> float:
    return float(taken(of.by_hosts(SKEW if skewed else None)) / taken(of.by_device()))


def turned(by: int) -> tuple[Fraction, ...]:
    return SKEW[-by:] + SKEW[:-by] if by else SKEW


def break_even() -> int:
    return next(n for n in EQUAL_JOINS if ratio(chain(BUILD_ROWS, n)) >= 1)


def modelled() -> list[Figure]:
    large = chain(PROBE_ROWS[-1], 3)
    for rows in PROBE_ROWS:
        of = chain(rows, 3)
        hosts, card = (_sum(steps) for steps in (of.by_hosts(), of.by_device()))
        remark(f"A of {rows:.0e} rows: hosts send {int(hosts.sent)} B, with a card {int(card.sent)} B of which "
               f"{int(sum(card.up))} B to it; busiest link {int(hosts.busiest)} and {int(card.busiest)} B")  # fmt: skip
    device = taken(large.by_device())
    for which, step in (("the same host has", 0), ("another host has", 1)):
        goes = [turned(step * i) for i in range(3)]
        in_place = float(taken(large.by_hosts_in_place(goes)) / device)
        remark(f"skew, rows left where they were joined, {which} most each time: {in_place:.3g}")
    between = f"{HOSTS} hosts, bytes over the busiest link, full size"
    return [
        Figure("speedup_100_to_1", ratio(large), 2, "higher", f"A 100 times each of three tables; {between}"),
        Figure("speedup_skew", ratio(large, True), 7, "higher", f"80, 13, 5 and 2 % of each shuffle; {between}"),
        Figure("break_even_joins", break_even(), 2, "lower", f"tables of {BUILD_ROWS:.0e} rows; {between}"),
    ]


def _sum(steps: Sequence[Links]) -> Links:
    first, *others = steps
    for step in others:
        first = first + step
    return first


# ---- counted ----


@dataclass(frozen=True)
class Counted:
    """Bytes over the links of the hosts, on their hosts step by step and with the card."""

    hosts: list[list[tuple[int, int]]]
    card: list[tuple[int, int]]

    @property
    def ratio(self) -> float:
        return sum(max(map(max, step)) for step in self.hosts) / max(map(max, self.card))


def counted(probe_rows: int, joins: int, skewed: bool = False) -> Counted:
    """A thousandth of the rows, in namespaces; the answers of both ways are compared.

    Of skewed keys each join is a job of its own on the hosts, over rows as wide as they are in the chain, as the model
    has it: its shuffle begins with rows that lie evenly, and the next one waits for it."""
    with machines_with_card() as (machines, config, servers):
        truth = tables(machines.folder, probe_rows // SCALE, joins, skewed)
        service = machines.serve(config, before=PLAIN)
        card = _run(machines, service.address, servers, [*range(joins)], "fpga_join", truth)
        steps = [[j] for j in range(joins)] if skewed else [[*range(joins)]]
        hosts = [_run(machines, service.address, servers, step, "cpp", truth) for step in steps]
        service.end()
    result = Counted(hosts, card)
    remark(f"A of {probe_rows // SCALE} rows, {joins} joins{', skewed' if skewed else ''}: up and down of each link in "
           f"MB, hosts {'; '.join(map(megabytes, hosts))}, card {megabytes(card)}: {result.ratio:.3f}")  # fmt: skip
    return result


@contextlib.contextmanager
def machines_with_card() -> Iterator[tuple[Lab, Path, list[Machine]]]:
    """Start machines, with the configuration of hosts on them and a card beside the service, and the machines whose
    links count: packets in both directions with all headers, of at most 1500 bytes."""
    with lab() as machines:
        names = [f"worker{i}" for i in range(1, HOSTS + 1)]
        servers = []
        for name in names:
            share_programs(machines.folder / name / "cache")
            servers.append(machines.worker(name).machine)
        config = machines.config(*names)
        config.write_text(config.read_text() + f'\n[[device]]\nname = "card"\nkind = "fpga"\n'
                          f'address = "{machines.here.address}"\nmemory_bytes = {1 << 30}\n')  # fmt: skip
        for machine in (machines.here, *servers):
            machine.cut_packets()
        yield machines, config, servers


def _run(
    machines: Lab,
    address: str,
    servers: Sequence[Machine],
    joins: Sequence[int],
    prefer: str,
    truth: dict[str, int],
) -> list[tuple[int, int]]:
    client = machines.here.start(
        "python", "-c", CLIENT, address, machines.folder, ",".join(map(str, joins)), prefer, stdin=subprocess.PIPE
    )
    assert client.stdin is not None
    wanted = {name: value for name, value in truth.items() if name == "n" or int(name[1:]) in joins}
    before: list[tuple[int, int]] = []
    for _ in range(2):  # programs are built and shipped before the run that counts
        before = [m.crossed() for m in servers]
        client.stdin.write("run\n")
        client.stdin.flush()
        said = json.loads(line(client))
        assert {name: said["answer"][name] for name in wanted} == wanted, f"{prefer}: {said['answer']} beside {truth}"
        assert ("fpga_join" in said["ncas"]) == (prefer == "fpga_join"), said["ncas"]
    client.stdin.close()
    client.wait(60)
    return [(up - u, down - d) for (up, down), (u, d) in zip((m.crossed() for m in servers), before, strict=True)]


def megabytes(links: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{up / 1e6:.2f}/{down / 1e6:.2f}" for up, down in links)


def tables(folder: Path, probe_rows: int, joins: int, skewed: bool) -> dict[str, int]:
    """Writes them, four files each; returns the answer."""
    random = np.random.default_rng(19)
    build_rows = BUILD_ROWS // SCALE
    keys = random.permutation(build_rows)
    probe, truth = {}, {"n": probe_rows}
    hot = [next(k for k in range(build_rows) if host_of(k) == host) for host in range(HOSTS)]
    for j in range(joins):
        if skewed:
            chosen = random.choice(np.roll(hot, j), probe_rows, p=[float(s) for s in SKEW])
        else:
            chosen = random.integers(0, build_rows, probe_rows)
        probe[f"k{j}"] = chosen
        truth[f"s{j}"] = int((3 * chosen + j).sum())
        write(folder / f"build{j}", {f"t{j}": keys, f"v{j}": 3 * keys + j})
    write(folder / "probe", probe)
    return truth


def host_of(key: int) -> int:
    """Return the host of a shuffled key: `jg_hash_int` of the runtime's kernel.h."""
    x = (key + 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return (x ^ x >> 32) % HOSTS


def counted_figures() -> list[Figure]:
    large, skew = counted(PROBE_ROWS[-1], 3), counted(PROBE_ROWS[-1], 3, skewed=True)
    of = chain(PROBE_ROWS[-1], 3)
    even = [(n, counted(BUILD_ROWS, n).ratio) for n in EQUAL_JOINS[:3]]
    least = next((n for n, found in even if found >= 1), 99)
    where = f"frames counted in namespaces at 1/{SCALE} of the rows; the model says"
    return [
        Figure("speedup_100_to_1_counted", large.ratio, 2, "higher", f"{where} {ratio(of):.3g}"),
        Figure("speedup_skew_counted", skew.ratio, 7, "higher", f"{where} {ratio(of, True):.3g}; join after join"),
        Figure("break_even_joins_counted", least, 2, "lower", f"{where} {break_even()}"),
    ]


# ---- the page ----


def page(figures: Sequence[Figure]) -> str:
    """Return the experiments' curves beside the paper's, as one HTML file."""
    sizes = {
        "by the model": [(rows, ratio(chain(rows, 3))) for rows in _steps(*PROBE_ROWS[:: len(PROBE_ROWS) - 1])],
        "the paper, where A is 100 times larger": [(PROBE_ROWS[-1], 2.0)],
    }
    skewed = {
        "by the model, skewed": [(rows, ratio(chain(rows, 3), True)) for rows in _steps(PROBE_ROWS[0], PROBE_ROWS[-1])],
        "the paper, where A is 100 times larger": [(PROBE_ROWS[-1], 7.0)],
    }
    joins = {
        "by the model": [(float(n), ratio(chain(BUILD_ROWS, n))) for n in range(1, 9)],
        "the paper's break-even": [(2.0, 1.0)],
    }
    panels = [
        ("Experiment 1", "rows of A; three tables of 5·10⁷", charts.lines(sizes, logarithmic=True)),
        (
            "Experiment 2",
            "rows of A; 80, 13, 5 and 2 % of the rows at each host",
            charts.lines(skewed, logarithmic=True),
        ),
        ("Experiment 3", "joins of equal tables", charts.lines(joins)),
    ]
    return report.template("fpga_bench.html.j2").render(panels=panels, figures=figures, hosts=HOSTS)


def _steps(low: int, high: int) -> Iterator[int]:
    rows = float(low)
    while rows <= high * 1.01:
        yield round(rows)
        rows *= 10**0.25
