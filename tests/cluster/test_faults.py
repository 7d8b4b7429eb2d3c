"""A few rounds of faults, by seed (`./dev bench hosts` runs hundreds)."""

from __future__ import annotations

import os

import pytest

from jumpgate.study.paper.network import permitted
from tests.cluster.faults import Faults
from tests.cluster.lab import Lab
from tests.cluster.sshd import installed

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2"),
    pytest.mark.skipif(not installed(), reason="sshd is not installed (openssh-server)"),
    pytest.mark.timeout(900),
]
ROUNDS = 8
#: JUMPGATE_FAULT_SEED=N runs other rounds
SEED = int(os.environ.get("JUMPGATE_FAULT_SEED", "0"))


@pytest.mark.nightly(like="tests/cluster/test_lost_hosts.py::test_a_worker_that_is_cut_off")
def test_faults_are_survived(lab: Lab) -> None:
    faults = Faults(lab)
    try:
        rounds = [faults.round(seed) for seed in range(SEED, SEED + ROUNDS)]
        assert not faults.end()
    finally:
        faults.close()
    assert not [r for r in rounds if r.wrong]
    assert len({r.fault for r in rounds}) > 2
