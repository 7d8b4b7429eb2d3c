"""Random dataflows over random files: equal to DuckDB's answers on one host, and on four in which rows are exchanged.

The number of dataflows is small here; JUMPGATE_RANDOM_DATAFLOWS=1000 asks for more, JUMPGATE_RANDOM_SEED=n starts
elsewhere. A failure prints its seed and the dataflow, and leaves its files in pytest's folder.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import Dataflow, count, count_distinct
from jumpgate.client.session import Session
from jumpgate.dataflow.operators import Operator
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import ALL_KINDS, Generator
from jumpgate.testing.lab import Lab

COUNT = int(os.environ.get("JUMPGATE_RANDOM_DATAFLOWS", "40"))
FIRST = int(os.environ.get("JUMPGATE_RANDOM_SEED", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
#: a plan for several hosts has more and larger programs
CLUSTER_SEEDS = SEEDS[: max(1, COUNT // 3)]


def made(seed: int, folder: Path) -> Operator:
    return Generator(seed, folder, kinds=ALL_KINDS).dataflow(1 + seed % 6)


def check(session: Session, root: Operator) -> dict[str, Any]:
    """The dataflow's answer is DuckDB's; returns the job's record."""
    result = session.run(Dataflow(root))
    oracle.assert_same(result.to_arrow(), root)
    record = session.describe(result.job).record
    assert record is not None
    return record


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_one_host(local: Session, tmp_path: Path, seed: int) -> None:
    check(local, made(seed, tmp_path))


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("seed", CLUSTER_SEEDS)
def test_four_hosts(cluster: Session, tmp_path: Path, seed: int) -> None:
    """Equal answers, and what the producers of every edge sent is what its consumers received."""
    record = check(cluster, made(seed, tmp_path))
    sent, received = rows_of_edges(record)
    for edge in record["edges"]:
        if edge["consumers"]:  # the client does not count
            assert received[edge["id"]] == sent[edge["id"]], edge


def test_rows_cross_between_hosts(cluster: Session, tmp_path: Path) -> None:
    """Every row is scanned once, whoever takes its part, and travels once to the instance that owns its group."""
    rows, groups = 40_000, 500
    lab = Lab(cluster, tmp_path)
    table = lab.table({"k": "int64", "v": "int64"}, [(i % groups, i) for i in range(rows)], files=8)
    result = cluster.run(table.aggregate(by=["k"], n=count(), d=count_distinct("v")))
    answer = result.to_arrow()
    assert sorted(answer.column("d").to_pylist()) == [rows // groups] * groups
    record = cluster.describe(result.job).record
    assert record is not None
    (shuffled,) = (e for e in record["edges"] if e["consumers"])
    assert shuffled["partitioning"] == "hash"
    assert len({i["host"] for i in record["instances"]}) == len(shuffled["consumers"]) == len(shuffled["producers"]) > 1
    sent, received = rows_of_edges(record)
    assert sent == {shuffled["id"]: rows, "result": groups}
    assert received == {shuffled["id"]: rows}
    parts = [c["sources"][0]["rows"] for id, c in record["counters"].items() if id in shuffled["producers"]]
    assert sum(parts) == rows


def rows_of_edges(record: dict[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Rows that left into each edge and rows that came out of it, over all instances."""
    sent: dict[str, int] = defaultdict(int)
    received: dict[str, int] = defaultdict(int)
    edges = {e["id"] for e in record["edges"]}
    for counters in record["counters"].values():
        for sink in counters["sinks"]:
            sent[sink["edge"]] += sink["rows"]
        for source in counters["sources"]:
            if source["name"] in edges:
                received[source["name"]] += source["rows"]
    return sent, received
