"""Builds the clients for the JVM, and starts programs of theirs, in a clone of the repository."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
#: options of a JVM that lives for minutes: it loses more by its own optimiser, and by checking the bytecode of jars
#: that nobody changes, than it gains
BRIEF = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip


def maven(*arguments: str) -> None:
    """Run Maven over clients/, one at a time: two would write the same classes. Raises CalledProcessError."""
    with _locked():
        _run(*arguments)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    target = CLIENTS / "target"
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*arguments: str) -> None:
    found = shutil.which("mvn")
    assert found, "Maven and a Java 17 build the clients for the JVM"
    command = [found, "--quiet", "--batch-mode", *arguments]
    subprocess.run(command, cwd=CLIENTS, check=True, stdout=2)  # what it says is never what a program answers


def build(spark: str = "") -> None:
    """Package all clients, with the classes of their tests, or the plugin for another version of Spark, unless that was
    done since a source of theirs changed."""
    # `./dev jvm` and `./dev test` make that of all, too
    stamp = CLIENTS / "target" / "-".join(filter(None, ("packaged", spark)))
    profile = ("--activate-profiles", f"spark-{spark}", "--projects", "spark", "--also-make") if spark else ()
    sources = [*CLIENTS.glob("**/pom.xml"), *(path for path in CLIENTS.glob("*/src/**/*") if path.is_file())]
    with _locked():
        if not stamp.exists() or stamp.stat().st_mtime < max(path.stat().st_mtime for path in sources):
            _run("package", "-DskipTests", *profile)
            stamp.touch()


def java(main: str, *options: str, client: str = "jvm", library: str = "") -> list[str]:
    """Return the command that starts a main of a client, of its tests too; `library` is what a client beside jvm needs
    of its engine."""
    build()
    classes = [str(CLIENTS / of / "target" / kind) for of in (client, "jvm") for kind in ("test-classes", "classes")]
    classes += [(CLIENTS / "jvm" / "target" / "classpath").read_text(), library]
    return ["java", "-ea", *options, "-cp", ":".join(filter(None, classes)), main]
