"""Hosts in racks: what a plan expects of the links of networks, what crosses them, and what a measurement finds."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.cli.main import main
from jumpgate.client import count, read
from jumpgate.client.session import Session
from jumpgate.hosts.config import parse
from jumpgate.service import embedded

RACKS = """
[[network]]
name = "spine"
[[network]]
name = "rack1"
network = "spine"
link_bits_per_s = 40000000000
link_delay_us = 5
[[network]]
name = "rack2"
network = "spine"
[[host]]
name = "a"
network = "rack1"
link_bits_per_s = 10000000000
cores = 1
[[host]]
name = "b"
network = "rack2"
cores = 1
"""


def test_what_crosses_networks_is_expected_and_counted(tmp_path: Path) -> None:
    rows = 200_000
    pq.write_table(pa.table({"k": range(rows)}), tmp_path / "t.parquet", row_group_size=rows // 4)
    networks = [{"name": "rack1"}, {"name": "rack2"}]
    hosts = [{"name": name, "cores": 1, "network": rack} for name, rack in (("a", "rack1"), ("b", "rack2"))]
    service = embedded.start(parse({"host": hosts, "network": networks}))
    try:
        with Session(service.address, parallelism=2) as session:
            flow = read(str(tmp_path / "t.parquet")).aggregate(n=count(), by="k").aggregate(n=count())
            assert session.run(flow).to_pylist() == [{"n": rows}]
            text, found = session.explain_job(), session.explain_job_data()
    finally:
        service.close()
    edge = next(e for e in found["edges"] if e["partitioning"].startswith("hash"))
    expected = sum(found["networks"][rack]["up"] for rack in ("rack1", "rack2"))
    assert expected >= edge["crossing"] > 0
    assert found["above"] == {"a": ["rack1"], "b": ["rack2"]}
    lines = [line for line in text.splitlines() if line.startswith("network rack")]
    assert len(lines) == 2 and all("; was " in line and "was 0 B up" not in line for line in lines)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["network", *words])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out + captured.err


def test_a_network_is_drawn_and_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jumpgate.toml"
    file.write_text(RACKS + '[[store]]\nurl = "s3://lake"\nbits_per_s = 1e9\nlatency_ms = 20\n')
    assert said(capsys, "show", "--config", str(file)) == (0, _DRAWN)
    links = json.loads(said(capsys, "show", "--config", str(file), "--json")[1])["links"]
    assert {link["name"]: link["network"] for link in links} == {
        "a": "rack1", "b": "rack2", "rack1": "spine", "rack2": "spine", "spine": "", "s3://lake": "",
    }  # fmt: skip
    status, text = said(capsys, "measure", "--config", str(file), "--seconds", "0.1", "--json")
    found = json.loads(text)
    assert status == 0 and {(w["source"], w["target"]) for w in found["ways"]} == {("a", "b"), ("b", "a")}
    assert all(way["bits_per_s"] > 0 and way["delay_s"] > 0 for way in found["ways"])
    assert found["links"].keys() == {"a", "b"}
    status, text = said(capsys, "measure", "--config", str(file), "--seconds", "0.1")
    assert status == 0 and "link_bits_per_s = " in text and '[[host]]  # "a"' in text
    file.write_text('[[host]]\nname = "a"\n')
    status, text = said(capsys, "measure", "--config", str(file))
    assert status == 1 and "there is one host, and no way between hosts" in text


_DRAWN = """\
network
├── spine  network  speed unknown
│   ├── rack1  network  40 Gbit/s  5 µs
│   │   └── a  host  10 Gbit/s
│   └── rack2  network  speed unknown
│       └── b  host  speed unknown
└── s3://lake  store  1 Gbit/s  10 ms
"""
