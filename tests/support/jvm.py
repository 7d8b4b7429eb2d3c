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
        subprocess.run(command, cwd=CLIENTS, check=True, stdout=2)  # what it says is never what a program answers


def java(main: str, *options: str) -> list[str]:
    """The command that starts a main of clients/jvm, of its tests too, with what has been built since it changed."""
    maven("--projects", "jvm", "test-compile")
    target = CLIENTS / "jvm" / "target"
    classes = [str(target / "test-classes"), str(target / "classes"), (target / "classpath").read_text()]
    return ["java", "-ea", *options, "-cp", ":".join(classes), main]
