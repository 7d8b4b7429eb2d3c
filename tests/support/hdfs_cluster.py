"""A real cluster of HDFS for tests: Hadoop's own small one, of the version that Spark brings, with WebHDFS."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark

from jumpgate.codegen import cache
from tests.support import jvm

MAIN = Path(__file__).parents[1] / "integration" / "MiniHdfs.java"


@dataclass(frozen=True)
class MiniHdfs:
    """Its names begin with `base`; WebHDFS is at `endpoint`."""

    base: str
    endpoint: str
    process: subprocess.Popen[str]

    def stop_datanode(self) -> None:
        """End the first of its two datanodes, which its namenode does not notice for minutes."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "stopped\n"


@contextlib.contextmanager
def started(folder: Path) -> Iterator[MiniHdfs]:
    """Start a cluster in a folder, for the block."""
    jars = Path(pyspark.__file__).parent / "jars"
    version = next(jars.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    front = folder / "front"
    for name in ("hdfs", "datanode", "static"):  # else each server unpacks the whole jar for its pages
        (front / "webapps" / name).mkdir(parents=True)
    needed = [jar for name in ("hadoop-client", "slf4j-api", "jcl-over-slf4j") for jar in jars.glob(f"{name}-*.jar")]
    path = ":".join(map(str, (front, _library(version), *needed)))
    command = ["java", *jvm.BRIEF, "-cp", path, str(MAIN), str(folder / "data")]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        told = process.stdout.readline().split()
        assert len(told) == 2, (folder / "errors").read_text()
        yield MiniHdfs(f"hdfs://127.0.0.1:{told[0]}", f"http://127.0.0.1:{told[1]}", process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _library(version: str) -> Path:
    """Return the jar of the cluster, fetched once."""
    folder = cache.root() / f"hadoop-{version}"
    with cache.locked("hadoop"):
        if not folder.exists():
            artifact = f"org.apache.hadoop:hadoop-client-minicluster:{version}"
            jvm.maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}.part", "-N")
            Path(f"{folder}.part").rename(folder)
    return next(folder.glob("*.jar"))
