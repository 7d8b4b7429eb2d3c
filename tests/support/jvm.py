"""Builds the clients for the JVM, and starts programs of theirs, in a clone of the repository."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2] / "clients"


def maven(*arguments: str) -> None:
    """Runs Maven over clients/, one at a time: two would write the same classes. Raises CalledProcessError."""
    found = shutil.which("mvn")
    assert found, "Maven and a Java 17 build the clients for the JVM"
    target = CLIENTS / "target"
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [found, "--quiet", "--batch-mode", *arguments]
        subprocess.run(command, cwd=CLIENTS, check=True, stdout=2)  # its output is never a program's answer


def java(main: str, *options: str, client: str = "jvm", library: str = "") -> list[str]:
    """Return the command that starts a main class of a client, tests included, built if its sources changed; `library`:
    the engine's libraries that a client beside jvm needs."""
    maven("--projects", client, "--also-make", "test-compile")
    classes = [str(CLIENTS / of / "target" / kind) for of in (client, "jvm") for kind in ("test-classes", "classes")]
    classes += [(CLIENTS / "jvm" / "target" / "classpath").read_text(), library]
    return ["java", "-ea", *options, "-cp", ":".join(filter(None, classes)), main]
