"""`jumpgate serve` as a process of its own; its log is `service.log` in the folder that it runs in."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAIN = "from jumpgate.cli.main import main; main()"


@dataclass
class Served:
    process: subprocess.Popen[str]
    address: str
    metrics: str = ""  #: where these are served, a URL without its path
    page: str = ""  #: the URL of the live page

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


def printed(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what `serve --json` prints once it answers."""
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline()
        assert line, "the service has ended"
        text += line
    found: dict[str, Any] = json.loads(text)
    return found


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, port: int = 0, **environment: str) -> Iterator[Served]:
    command = [sys.executable, "-c", MAIN, "serve", "--port", str(port), *arguments]
    with (folder / "service.log").open("a") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    served = Served(process, line.split()[2].rstrip(";"))
    if "--metrics" in arguments:
        served.metrics = process.stdout.readline().split()[2].removesuffix("/metrics")
    if "--http" in arguments:
        served.page = process.stdout.readline().split()[2]
    try:
        yield served
    finally:
        served.stop()
        process.stdout.close()
