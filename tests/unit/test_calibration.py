"""What was measured on a machine is kept; what is of no use is ignored, and a warning says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jumpgate.service import calibration

MEASURED = {"host": {"probe": 1e-9, "scan json byte": 2e-9}, "duckdb": {"job": 0.5}}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path))


def test_figures_are_kept_by_machine() -> None:
    assert calibration.load("host") == {} and calibration.load("duckdb") == {}
    file = calibration.save(MEASURED)
    assert file == calibration.path()
    assert {who: calibration.load(who) for who in calibration.WHO} == MEASURED
    calibration.save({**MEASURED, "host": {}})
    assert calibration.load("host") == {}


def content(**changes: object) -> dict[str, object]:
    return {"version": calibration.VERSION, "seconds": MEASURED, **changes}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"jumpgate": {"json": 1e9}, "client": {"json": 1e8}, "overhead_s": 0.01, "measured": True}, "another version"),
        (content(version=1), "another version"),
        (content(seconds={"host": {}}), "figures are missing"),
        (content(seconds={**MEASURED, "host": {"juggle": 1.0}}), "no such work as 'juggle'"),
        (content(seconds={**MEASURED, "host": {"": 1.0}}), "no such work"),
        (content(seconds={**MEASURED, "host": {"probe": -1}}), "'probe' takes -1"),
        (content(seconds={**MEASURED, "host": {"probe": "fast"}}), "'probe' takes 'fast'"),
        ([], "another version"),
    ],
)
def test_what_is_of_no_use_is_ignored_with_a_warning(found: object, why: str) -> None:
    calibration.save({})
    calibration.path().write_text(json.dumps(found))
    with pytest.warns(UserWarning, match=why):
        assert calibration.load("host") == {}
    assert calibration.load("duckdb") == {}  # said once


def test_a_damaged_file_is_ignored_with_a_warning() -> None:
    calibration.save({})
    calibration.path().write_bytes(b'{"version": 2, \xff')
    with pytest.warns(UserWarning, match="cannot be read.*run `jumpgate calibrate`"):
        assert calibration.load("host") == {}
