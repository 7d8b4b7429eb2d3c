"""The simulated cluster: locks are never held by two that exclude each other, and switches help where they should."""

from __future__ import annotations

import json

import pytest

from jumpgate.cli.main import main
from jumpgate.transactions.simulate import VARIANTS, Attempt, Cluster, Costs, Variant
from jumpgate.transactions.workloads import WORKLOADS, Access, Setting, hot_part

SECONDS = 0.0003


class Watched(Cluster):
    """Looks at each lock that is taken."""

    def _take(self, attempt: Attempt, access: Access) -> bool:
        taken = super()._take(attempt, access)
        if taken:
            lock = self._locks[access.row]
            assert attempt in lock.holders and (len(lock.holders) == 1 or not lock.is_exclusive)
        return taken


@pytest.mark.parametrize("policy", ["no-wait", "wait-die"])
@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_locks_exclude_and_all_workers_go_on(workload: str, policy: str) -> None:
    setting = Setting(nodes=2, hot_share=0.5, hot_rows=8, warehouses=2)
    for switched in (False, True):
        cluster = Watched(WORKLOADS[workload](setting), 2, 4, Costs(), Variant(policy, switched))
        counts = cluster.run(SECONDS)
        assert counts.committed >= 8
        blocked = sum(len(lock.waiting) for lock in cluster._locks.values())
        assert len(cluster._events) + blocked >= 8  # nobody is lost
        again = Cluster(WORKLOADS[workload](setting), 2, 4, Costs(), Variant(policy, switched)).run(SECONDS)
        assert again == counts
        assert bool(counts.packets) == switched
    if workload == "ycsb-c":
        assert counts.aborted == 0


def test_one_worker_takes_as_long_as_its_costs_say() -> None:
    """Without another worker: eight accesses and a log, or a log and half a round trip with one pass."""
    setting = Setting(nodes=1, hot_share=1.0, remote_share=0.0)
    costs = Costs(access_us=2, round_trip_us=8, log_us=4, pass_us=1)
    draw = WORKLOADS["ycsb-a"](setting)
    assert Cluster(draw, 1, 1, costs).run(0.002).committed == 2000 // (8 * 2 + 4)
    counts = Cluster(draw, 1, 1, costs, Variant(switched=True)).run(0.0018)
    assert (counts.committed, counts.passes) == (1800 // (4 + 4 + 1), counts.packets)
    assert dict(counts.parts_us) == {"aborted": 0, "locks": 0, "prepare and log": 800, "switch": 1000}


def test_the_more_is_hot_the_more_the_switch_gains() -> None:
    gains = []
    for share in (0.0, 0.5, 1.0):
        draw = WORKLOADS["ycsb-a"](Setting(nodes=2, hot_share=share, hot_rows=8))
        off, on = (Cluster(draw, 2, 8, Costs(), Variant(switched=switched)).run(0.001) for switched in (False, True))
        gains.append(on.committed / off.committed)
    assert gains[0] == pytest.approx(1, abs=0.1) and gains[0] < gains[1] < gains[2]


def test_what_depends_on_what_reaches_the_layout() -> None:
    import random

    draw, rng = WORKLOADS["smallbank"](Setting(nodes=1, hot_share=1.0, hot_rows=3)), random.Random(1)
    works = [hot_part(draw(0, rng)) for _ in range(100)]
    assert {len(w.needs) for w in works} == {0, 1, 2}
    assert all(a != b and {a, b} <= set(w.rows) for w in works for a, b in w.needs)


def test_the_command_line_compares(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["transactions", "simulate", "--nodes", "2", "--workers", "2", "--milliseconds", "0.2"]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "wait-die" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*arguments, "--workload", "tpcc", "--json"])
    assert set(json.loads(capsys.readouterr().out)) == set(VARIANTS)
