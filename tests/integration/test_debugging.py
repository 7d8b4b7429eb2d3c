"""What $JUMPGATE_DEBUG shows of a real job, rung by rung, and what its record says about the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded

#: rung → how one of its lines begins, and what stands in it
RUNGS = {
    1: ("[f0.0@local] ", "cpp of job "),
    2: ("[f0.0@local stage 1] ", "read 25 bytes"),
    3: ("[plan@service] ", "-- after push_filters"),
    4: ("[f0@local] ", "jg_program"),
    5: ("[client@", "] {'x': 2}"),
}


@pytest.mark.parametrize("level", range(6))
def test_each_rung_shows_what_those_below_do(
    level: int, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.json").write_text('{"x": 1}\n{"x": 2}\n{"y":3}')
    flow = read(tmp_path / "t.json", schema={"x": "int64"}).filter(col("x") > 1)
    monkeypatch.setenv("JUMPGATE_DEBUG", str(level))
    service = embedded.start(local_hosts(1))
    try:
        with Session(service.address) as session:
            assert session.run(flow).to_pylist() == [{"x": 2}]
            record = session.describe().record
    finally:
        service.close()
    lines = capsys.readouterr().err.splitlines()
    for rung, (start, text) in RUNGS.items():
        shown = [line for line in lines if line.startswith(start) and text in line]
        assert bool(shown) == (rung <= level), (rung, lines)
    assert len(list((own_cache / "sources").glob("*.cpp"))) == (level >= 4), "generated code is kept"
    assert record is not None
    phases = [phase["name"] for phase in record["phases"]]
    assert phases == ["map", "agents", "generate", "compile", "allocate", "configure", "stage 1"]
    counters = record["counters"]["f0.0"]
    assert counters["cpu_ns"] >= sum(p["busy_ns"] for p in counters["pipelines"]) > 0
