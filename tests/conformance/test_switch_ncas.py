"""The conformance kit on the accelerators of a switch: real hosts, and a software switch for each of their programs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.operators import Operator
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.conformance import check
from jumpgate.nca.conformance.breaks import WAYS
from jumpgate.nca.conformance.kit import BROKEN_PLANS
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.switch_aggregate import AGGREGATE, SwitchAggregate
from jumpgate.ncas.switch_prune import PRUNE, SwitchPrune
from jumpgate.service import embedded
from jumpgate.testing.live import agents
from jumpgate.testing.rig import LocalRig

CASES = 60
#: what each must have claimed
MATCHES = {
    "switch_aggregate": {"partial aggregate"},
    "switch_prune": {"prune aggregate", "prune join", "prune sort"},
}


@pytest.mark.parametrize("nca", [AGGREGATE, PRUNE], ids=lambda n: n.name)
def test_ours_pass(nca: SwitchAggregate | SwitchPrune) -> None:
    toolchain.runtime()
    registry, hosts = default_registry(), local_hosts(1).hosts
    service = embedded.start(Config(hosts, nca.sample_devices), registry)
    try:
        with Session(service.address, prefer=(nca.name,)) as session:

            def run(plan: JobPlan, root: Operator) -> pa.Table:
                return session.run(Dataflow(root)).to_arrow()

            devices = (*(h.device for h in hosts), *nca.sample_devices)
            with LocalRig(registry, devices, runs=run, live_hosts=agents, directed=3) as rig:
                report = check(nca, rig, CASES)
    finally:
        service.close()
    assert report.passed, "\n".join(map(str, report.findings)) or "nothing was run"
    assert report.broken_off == BROKEN_PLANS * len(WAYS)
    assert MATCHES[nca.name] <= set(report.matched)
