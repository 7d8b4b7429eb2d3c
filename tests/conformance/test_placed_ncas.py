"""The conformance kit on accelerators whose data must lie in a store: they place it there themselves."""

from __future__ import annotations

import contextlib

import pytest

from jumpgate.codegen import toolchain
from jumpgate.hosts.config import Config, this_machine
from jumpgate.nca.conformance import Report, check
from jumpgate.nca.conformance.breaks import WAYS
from jumpgate.nca.conformance.kit import BROKEN_PLANS
from jumpgate.nca.registry import default_registry
from jumpgate.service import embedded
from jumpgate.stores import settings
from jumpgate.testing.check import Through, check_nca, placed
from jumpgate.testing.live import agents
from jumpgate.testing.rig import LocalRig

CASES = 12
CONFIG = Config((this_machine(),))


def assert_passed(report: Report) -> None:
    assert report.passed, "\n".join(map(str, report.findings)) or "nothing was run"
    assert report.broken_off == BROKEN_PLANS * len(WAYS)
    assert {"full read", "full filter ← read"} <= set(report.matched)


def test_s3_select_passes() -> None:
    toolchain.runtime()
    registry = default_registry()
    nca = registry.get("s3_select")
    with (
        placed(nca, CONFIG) as (config, place),
        contextlib.closing(embedded.start(config, registry)) as service,
        contextlib.closing(Through(service.address, nca.name)) as runs,
        LocalRig(
            registry, (this_machine().device,), runs=runs, live_hosts=agents, directed=3, place=place
        ) as rig,
    ):  # fmt: skip
        report = check(nca, rig, CASES)
    assert_passed(report)
    assert report.operators["read"] >= 8
    assert not settings.store_of("s3://conformance").select  # as it was before


@pytest.mark.nightly(like="tests/conformance/test_placed_ncas.py::test_s3_select_passes")
def test_all_that_s3_select_takes() -> None:
    toolchain.runtime()
    registry = default_registry()
    report = check_nca(registry.get("s3_select"), registry, CONFIG, directed=4)
    assert_passed(report)
    assert {"literal decimal", "literal date", "literal int64", "function and"} <= set(report.parts)
