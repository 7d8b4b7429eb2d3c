"""Parts of a scan, in the order in which siblings begin with those on the disks of their own hosts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import jumpgate.converters
from jumpgate.errors import FileUnreadable
from jumpgate.stores import hdfs, placement
from tests.support import cpp

CPP = Path(__file__).parents[1] / "cpp"
CONVERTERS = Path(jumpgate.converters.__file__).parent


def test_siblings_begin_with_their_own() -> None:
    sources = [CPP / "placed_parts.cpp", CONVERTERS / "common" / "placed_parts.cpp"]
    program = cpp.build("placed_parts", sources, [*cpp.SANITIZED, "-I", str(CONVERTERS), "-I", str(CPP)])
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Namenodes tell of two blocks of each file, the first on workers 1 and 2; with the files that were asked about."""
    asked: list[str] = []

    def blocks(name: str) -> list[list[str]]:
        asked.append(name)
        if "silent" in name:
            raise FileUnreadable("it does not tell", file=name)
        return [["worker1.lab", "10.0.0.1", "WORKER2.lab", "10.0.0.2"], ["elsewhere", "10.0.0.9"]]

    monkeypatch.setattr(hdfs, "blocks", blocks)
    yield asked
    placement._kept.clear()


def test_blocks_are_dealt_to_hosts_that_have_them(told: list[str]) -> None:
    files = {"hdfs://n/a": 1, "hdfs://n/b": 1, "hdfs://n/silent": 1, "s3://b/c": 1}
    placement.look(files)
    assert sorted(told) == ["hdfs://n/a", "hdfs://n/b", "hdfs://n/silent"]
    readers = [{"worker3"}, {"worker2", "10.0.0.2"}, {"other", "10.0.0.1"}]
    assert placement.owners(files, files, readers) == {"hdfs://n/a": [1, -1], "hdfs://n/b": [2, -1]}
    assert placement.owners(files, files, [{"worker3"}, {"worker4"}]) == {}
    assert placement.owners(files, {**files, "hdfs://n/a": 2}, readers) == {"hdfs://n/b": [1, -1]}
    placement.look({"hdfs://n/a": 1, "hdfs://n/b": 2})
    assert told[3:] == ["hdfs://n/b"]  # of another version, the other one is known
