"""The conformance kit on accelerators in the network: real hosts, a software switch for each program, and a card."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from jumpgate.client import min_
from jumpgate.codegen import toolchain
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.conformance import Case, check
from jumpgate.nca.conformance.breaks import WAYS
from jumpgate.nca.conformance.kit import BROKEN_PLANS, COMPARED_MIN
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join import FPGA_JOIN, FpgaJoin
from jumpgate.ncas.switch_aggregate import AGGREGATE, SwitchAggregate
from jumpgate.ncas.switch_prune import PRUNE, SwitchPrune
from jumpgate.service import embedded
from jumpgate.testing.check import Through
from jumpgate.testing.directed import table
from jumpgate.testing.lab import Lab
from jumpgate.testing.live import agents
from jumpgate.testing.rig import LocalRig

CASES = 60
#: directed dataflows of each operator: enough that what a switch takes is among them, of several types
DIRECTED = 20
#: whose values fit the 32 bits in which the switch compares; with all directed dataflows each would be among them
NARROW = ("int32", "decimal(7, 2)", "date", "int8")
#: what each must have claimed
MATCHES = {
    "switch_aggregate": {"partial aggregate"},
    "fpga_join": {"full join"},
    "switch_prune": {"prune aggregate", "prune join", "prune sort"},
}


@pytest.mark.nightly(but=("switch_aggregate", "fpga_join"))
@pytest.mark.parametrize("nca", [AGGREGATE, PRUNE, FPGA_JOIN], ids=lambda n: n.name)
def test_ours_pass(nca: SwitchAggregate | SwitchPrune | FpgaJoin, tmp_path: Path) -> None:
    toolchain.runtime()
    registry, hosts = default_registry(), local_hosts(1).hosts
    service = embedded.start(Config(hosts, nca.sample_devices), registry)
    try:
        with contextlib.closing(Through(service.address, nca.name)) as runs:
            lab = Lab(None, tmp_path)  # type: ignore[arg-type]  # it runs nothing
            own = [Case(f"least {t}", table(lab, t).aggregate(by=["g"], lo=min_("v")).root) for t in NARROW]
            devices = (*(h.device for h in hosts), *nca.sample_devices)
            with LocalRig(registry, devices, runs=runs, live_hosts=agents, directed=DIRECTED, own=own) as rig:
                report = check(nca, rig, CASES)
    finally:
        service.close()
    assert report.passed, "\n".join(map(str, report.findings)) or "nothing was run"
    assert min(report.operators.values()) >= COMPARED_MIN
    assert report.broken_off == BROKEN_PLANS * len(WAYS)
    assert MATCHES[nca.name] <= set(report.matched)
