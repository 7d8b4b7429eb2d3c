"""Star queries after the Star Schema Benchmark, over four machines: with the card, and with shuffles alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from bench._fpga_links import PLAIN, SHUFFLED, machines_with_card, megabytes
from bench._measure import Figure, geometric_mean, remark
from bench._star import HOSTS, QUERIES, tables
from jumpgate.study.paper.network import Machine, line
from tests.cluster.lab import Lab

CLIENT = """
import json, sys
from bench._star import star
from jumpgate.client import connect
address, folder, prefer = sys.argv[1:]
with connect(address, progress=False, prefer=(prefer,)) as session:
    for line in sys.stdin:
        answer = session.run(star(folder, *json.loads(line))).to_arrow().to_pylist()
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
            before = [m.crossed() for m in servers]
            client.stdin.write(json.dumps(query) + "\n")
            client.stdin.flush()
            said = json.loads(line(client))
        assert ("fpga_join" in said["ncas"]) == (prefer == "fpga_join"), said["ncas"]
        after = [m.crossed() for m in servers]
        found.append(([(a - c, b - d) for (a, b), (c, d) in zip(after, before, strict=True)], said["answer"]))
    client.stdin.close()
    client.wait(60)
    return found
