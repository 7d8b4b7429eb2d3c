"""The first service on a machine measures it, and ends that when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.hosts.config import local_hosts
from jumpgate.service import calibrating, calibration, embedded

#: measures next to nothing, without giving way to other tests
BRIEFLY = """
import os, sys
from jumpgate.client.sql import calibrate, calibrate_once
os.environ["JUMPGATE_QUICK_BUILDS"] = "always"
calibrate_once.yield_to_others = lambda: None
calibrate_once.main(sys.argv[1], calibrate.Effort(1000, 0, runs=1, factor_max=4.0, formats=("parquet",)))
"""
#: says who it is, and goes on
ENDLESS = "import os, sys; open(sys.argv[1] + '/pid', 'w').write(str(os.getpid())); sys.stdin.read()"


@pytest.fixture(autouse=True)
def unmeasured(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CALIBRATE", "")
    monkeypatch.setattr(calibrating, "PATIENCE_S", 0.0)


async def measure() -> None:
    """As a service does, to the end."""
    running = calibrating.Calibrating(local_hosts(1))
    assert running.task is not None
    await running.task
    await running.close()


def test_a_machine_is_measured_in_the_background(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "PROGRAM", BRIEFLY)
    before, began_ns = calibration.stamp(), time.time_ns()
    asyncio.run(measure())
    assert calibration.is_measured() and calibration.stamp() != before
    assert set(calibration.load("host")) == set(calibration.assumed())
    # nobody asked for these jobs; a service of an earlier test may save its own late
    records = [json.loads(file.read_text()) for file in (own_cache / "jobs").glob("*.json")]
    assert not [record for record in records if record["submitted_ns"] > began_ns]
    monkeypatch.setattr(calibrating, "PROGRAM", "this is no program")
    asyncio.run(measure())  # which needs none


def test_the_measurement_ends_with_the_service(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "PROGRAM", ENDLESS)
    os.mkfifo(own_cache / "pid")
    service = embedded.start(local_hosts(1))
    process = int((own_cache / "pid").read_text())
    os.kill(process, 0)
    service.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_who_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    config = local_hosts(1)
    assert calibrating.wanted(config)
    elsewhere = tuple(replace(host, agent="10.0.0.1:7000") for host in config.hosts)
    assert not calibrating.wanted(replace(config, hosts=elsewhere))
    monkeypatch.setenv("JUMPGATE_CALIBRATE", "never")
    assert not calibrating.wanted(config)
