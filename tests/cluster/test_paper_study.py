"""The paper's evaluation at a tiny scale, from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jumpgate.codegen import toolchain
from jumpgate.dataflow.formats import formats
from jumpgate.study.paper.network import permitted
from jumpgate.testing.leaks import wait_until

pytestmark = pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    text = "from jumpgate.cli.main import main; main()"
    command = [sys.executable, "-c", text, "study", "paper", "--json", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def namespaces(process: subprocess.Popen[str]) -> list[str]:
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [name for name in names.split() if name.startswith(f"jg{process.pid}-")]


def study(folder: Path, *words: str) -> tuple[int, str, str]:
    """The exit status, and what it wrote; none of its namespaces is left."""
    process = start(folder, *words)
    output, errors = process.communicate(timeout=300)
    assert not namespaces(process)
    return process.returncode, output, errors


@pytest.mark.nightly(like="tests/cluster/test_paper_study.py::test_one_that_is_told_to_end_leaves_nothing")
def test_everything_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    toolchain.runtime()
    words = ["--scale", "0.01", "--links", "1gbit", "--runs", "1", "--data", str(tmp_path / "data")]
    status, said, errors = study(tmp_path, *words)
    assert status == 0, errors
    found = json.loads(said)
    assert [(p["query"], p["run"]) for p in found["phases"]] == [
        (query, run) for query in ("sales by item", "sales by ticket", "join") for run in ("first", "warm")
    ]
    first, warm = found["phases"][:2]
    assert first["seconds"]["compile"] > 0.05 and warm["seconds"]["compile"] < 0.01
    scans = [f"scan of {format}" for format in formats()]
    assert [t["what"] for t in found["throughputs"]] == [
        *scans,
        "join",
        "group",
        "shuffle",
        "aggregation in the switch",
    ]
    assert all(t["bytes_s"] > 0 and t["rows_s"] > 0 for t in found["throughputs"])
    assert 0 < found["left"]["1gbit"] < 1
    (placed,) = found["placed"]
    assert list(placed["seconds"]) == ["client", "hosts", "switch"]
    assert placed["moved"]["hosts"] < placed["moved"]["client"]
    assert len(found["claims"]) == 6
    page = (tmp_path / "paper.html").read_text()
    assert "Overhead by phase" in page and "2.29%" in page and "<script" not in page

    (tmp_path / "data" / "parquet" / "item.parquet").write_bytes(b"not Parquet")
    status, said, errors = study(tmp_path, *words, "--figures", "phases", "-o", str(tmp_path / "other.html"))
    assert status == 1 and "item.parquet" in json.loads(said)["error"]["message"], (said, errors)


def test_one_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    toolchain.runtime()
    process = start(tmp_path, "--scale", "0.01", "--data", str(tmp_path / "data"))
    try:
        assert wait_until(lambda: len(namespaces(process)) >= 3, 60), process.poll()
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.communicate()
    assert not namespaces(process)
    assert not (tmp_path / "paper.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--links", "100mbit,fast"), "--links: 'fast' is no speed"),
        (("--figures", "phases,speed"), "--figures: there is no 'speed'; there are phases, throughput, switch, places"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_made(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    status, said, _ = study(tmp_path, *words)
    assert status == 1
    assert message in json.loads(said)["error"]["message"]
    assert not [*tmp_path.iterdir()]
