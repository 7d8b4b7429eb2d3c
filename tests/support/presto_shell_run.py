"""Runs a service, a Presto server, and Presto's command line until that ends, in a network namespace of their own:

    python -m tests.support.presto_shell_run FOLDER LIB JAR [ARGUMENT OF THE COMMAND LINE …]

FOLDER has catalog.json and plugin/, and is removed at the end; LIB has the server's jars, JAR is the command line's.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.jvm import BRIEF
from tests.support.presto_run import PORT, serving


def main(folder: Path, lib: Path, jar: Path, arguments: list[str]) -> int:
    end_on_signals()
    try:
        with serving(folder, lib, "SELECT count(*) FROM jumpgate.tpch.nation"):
            return shell(jar, arguments)
    finally:
        shutil.rmtree(folder)


def end_on_signals() -> None:
    """Ctrl-C, SIGTERM and a closed terminal end this process as an exit does: what it started is ended first."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))


def shell(jar: Path, arguments: list[str]) -> int:
    """Runs the command line; gives its exit status. Ctrl-C is the command line's alone: there it ends a query."""
    signal.signal(signal.SIGINT, lambda *_: None)
    words = ["--server", f"127.0.0.1:{PORT}", "--catalog", "jumpgate", "--schema", "tpch", *arguments]
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "java", *BRIEF, "-jar", jar, *words])
    try:
        return process.wait()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
