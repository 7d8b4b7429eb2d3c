"""Star queries after the Star Schema Benchmark, over four machines: with the card, and with shuffles alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench._fpga_links import HOSTS, PLAIN, SHUFFLED, link, machines_with_card, megabytes, write
from bench._measure import Figure, geometric_mean, remark
from jumpgate.study.paper.network import Machine, line
from tests.cluster.lab import Lab

#: at scale 0.1
LINES, CUSTOMERS, SUPPLIERS, PARTS, DAYS = 600_000, 3_000, 200, 20_000, 2_556
#: of each query: the dimensions, each with a filter on one of its columns ("" is none), and what it groups by
QUERIES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "1.1": ({"date": "d_year == 1993"}, ()),
    "2.1": ({"date": "", "part": "p_category == 12", "supplier": "s_region == 1"}, ("d_year", "p_brand")),
    "2.3": ({"date": "", "part": "p_brand == 260", "supplier": "s_region == 2"}, ("d_year", "p_brand")),
    "3.1": (
        {"customer": "c_region == 2", "supplier": "s_region == 2", "date": "d_year <= 1997"}, ("c_nation", "d_year"),
    ),
    "3.2": ({"customer": "c_nation == 9", "supplier": "s_nation == 9", "date": "d_year <= 1997"}, ("c_city", "d_year")),
    "4.1": (
        {"customer": "c_region == 1", "supplier": "s_region == 1", "part": "p_mfgr <= 1", "date": ""},
        ("d_year", "c_nation"),
    ),
    "all customers": ({"customer": "", "supplier": "", "date": ""}, ("c_region", "s_region", "d_year")),
    "all dimensions": ({"customer": "", "supplier": "", "part": "", "date": ""}, ("d_year", "p_mfgr", "c_region")),
}  # fmt: skip
CLIENT = """
import json, sys
from jumpgate.client import col, connect, count, read, sum_
address, folder, prefer = sys.argv[1:]
with connect(address, progress=False, prefer=(prefer,)) as session:
    for line in sys.stdin:
        joins, groups = json.loads(line)
        flow = read(f"{folder}/lines/*.parquet")
        for name, filter in joins.items():
            key = name[0]
            rows = read(f"{folder}/{name}/*.parquet")
            if filter:
                column, sign, value = filter.split()
                test = col(column) == int(value) if sign == "==" else col(column) <= int(value)
                rows = rows.filter(test)
            flow = flow.join(rows, left_on=col(f"l_{key}"), right_on=col(f"{key}_key"))
        answer = session.run(flow.aggregate(by=groups, n=count(), s=sum_("l_revenue"))).to_arrow().to_pylist()
        record = session.describe(session.jobs()[0].id).record
        print(json.dumps({"answer": sorted(map(str, answer)), "ncas": sorted({i["nca"] for i in record["instances"]})}),
              flush=True)
"""


def ssb_bytes_saved() -> list[Figure]:
    """Bytes over the busiest link of shuffles ÷ of the card: shuffles alone, and with the filters that the card has."""
    with machines_with_card() as (machines, config, servers):
        tables(machines.folder)
        ways = []
        for before, prefer in ((PLAIN, "cpp"), (SHUFFLED, "cpp"), (SHUFFLED, "fpga_join")):
            service = machines.serve(config, before=before)
            ways.append(_run(machines, service.address, servers, prefer))
            service.end()
    alone, filtered = [], []
    for name, (plain, truth), (shuffled, same), (carded, answer) in zip(QUERIES, *ways, strict=True):
        assert truth == same == answer, name
        busiest = [max(map(max, links)) for links in (plain, shuffled, carded)]
        alone.append(busiest[0] / busiest[2])
        filtered.append(busiest[1] / busiest[2])
        remark(f"{name}: shuffles {megabytes(plain)}, filtered {megabytes(shuffled)}, card {megabytes(carded)} MB "
               f"up/down: {alone[-1]:.2f}, {filtered[-1]:.2f}")  # fmt: skip
    which = f"bytes over the busiest link of {HOSTS} hosts, {len(QUERIES)} star queries"
    return [
        Figure("ssb_bytes_saved", geometric_mean(alone), 2, "higher", f"shuffles alone; {which}"),
        Figure("ssb_bytes_saved_filtered", geometric_mean(filtered), 0, "higher",
               f"shuffles of what filters leave, too; reported; {which}"),
    ]  # fmt: skip


def _run(
    machines: Lab, address: str, servers: Sequence[Machine], prefer: str
) -> list[tuple[list[tuple[int, int]], list[str]]]:
    client = machines.here.start("python", "-c", CLIENT, address, machines.folder, prefer, stdin=subprocess.PIPE)
    assert client.stdin is not None
    found = []
    for query in QUERIES.values():
        for _ in range(2):  # programs are built and shipped before the run that counts
            before = [link(m) for m in servers]
            client.stdin.write(json.dumps(query) + "\n")
            client.stdin.flush()
            said = json.loads(line(client))
        assert ("fpga_join" in said["ncas"]) == (prefer == "fpga_join"), said["ncas"]
        after = [link(m) for m in servers]
        found.append(([(a - c, b - d) for (a, b), (c, d) in zip(after, before, strict=True)], said["answer"]))
    client.stdin.close()
    client.wait(60)
    return found


def tables(folder: Path) -> None:
    random = np.random.default_rng(7)

    def some(rows: int, values: int) -> np.ndarray:
        return random.integers(0, values, rows)

    city, supplied, brand = some(CUSTOMERS, 250), some(SUPPLIERS, 250), some(PARTS, 1000)
    day = np.arange(DAYS)
    write(
        folder / "customer",
        {"c_key": np.arange(CUSTOMERS), "c_city": city, "c_nation": city // 10, "c_region": city // 50},
    )
    write(folder / "supplier", {"s_key": np.arange(SUPPLIERS), "s_nation": supplied // 10, "s_region": supplied // 50})
    write(
        folder / "part",
        {"p_key": np.arange(PARTS), "p_brand": brand, "p_category": brand // 40, "p_mfgr": brand // 200},
    )
    write(folder / "date", {"d_key": day, "d_year": 1992 + day // 365})
    keys = {"l_c": CUSTOMERS, "l_s": SUPPLIERS, "l_p": PARTS, "l_d": DAYS}
    write(folder / "lines", {**{name: some(LINES, n) for name, n in keys.items()}, "l_revenue": some(LINES, 10_000)})
