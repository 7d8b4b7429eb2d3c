"""`jumpgate doctor`: checks this machine for Jumpgate's needs, with a remedy for each that is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import BuildError
from jumpgate.extras import EXTRAS
from jumpgate.nca.device_kind import DeviceKinds
from jumpgate.nca.registry import default_registry
from jumpgate.words import size

MEMORY_BYTES_MIN = 2 << 30
CACHE_BYTES_MIN = 1 << 30
LOOPBACK_PORTS = 64
PACKAGES = ("pyarrow", "pysimdjson", "protobuf", "grpcio", "jinja2", "crc32c")


@dataclass(frozen=True)
class Finding:
    """One line of the report. `state` is ok, warn or fail; `remedy` says what to do about the latter two."""

    check: str
    state: str
    detail: str
    remedy: str = ""


def python_version() -> Iterator[Finding]:
    yield Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")


def cpp_compiler() -> Iterator[Finding]:
    try:
        version = toolchain.compiler_version()
    except BuildError as error:
        yield Finding("C++ compiler", "fail", error.message, "apt-get install g++, or set JUMPGATE_CXX")
        return
    with tempfile.TemporaryDirectory() as work:
        program = Path(work) / "program.so"
        done = subprocess.run(
            [toolchain.compiler(), "-std=gnu++20", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(program)],
            input='template <class T> concept C = true;\nextern "C" int f() { return C<int>; }\n',
            capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode:
        yield Finding("C++ compiler", "fail", f"{toolchain.compiler()} {version} cannot compile C++20",
                      "install g++ 11 or later, or set JUMPGATE_CXX")  # fmt: skip
    else:
        yield Finding("C++ compiler", "ok", f"{toolchain.compiler()} {version}")


def cores() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0))
    yield Finding("cores", "ok", f"{usable} of {os.cpu_count()}")


def memory() -> Iterator[Finding]:
    facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(facts[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    detail = f"{size(available)} of {size(total)} available"
    if available < MEMORY_BYTES_MIN:
        remedy = f"building the runtime needs about {size(MEMORY_BYTES_MIN)}; end other programs"
        yield Finding("memory", "warn", detail, remedy)
    else:
        yield Finding("memory", "ok", detail)


def cache_directory() -> Iterator[Finding]:
    where = cache.root()
    try:
        with cache.scratch() as work, cache.explained():
            (work / "probe").write_bytes(b"x" * 4096)
    except BuildError as error:
        yield Finding("cache", "fail", error.message, "set JUMPGATE_CACHE_DIR to a folder that can be written")
        return
    free = shutil.disk_usage(where).free
    detail = f"{where}, {size(free)} free"
    if free < CACHE_BYTES_MIN:
        yield Finding("cache", "warn", detail, "free some space, or set JUMPGATE_CACHE_DIR to another disk")
    else:
        yield Finding("cache", "ok", detail)


def runtime_build() -> Iterator[Finding]:
    try:
        home = toolchain.runtime_home()
    except BuildError as error:
        yield Finding("runtime library", "fail", error.message, "see the C++ compiler above")
        return
    if (home / "libjgruntime.so").exists():
        detail = home.name
    elif toolchain.is_built():
        detail = "came built with this package; the first job takes it"
    elif find_spec("cmake") and find_spec("ninja"):
        detail = "not built yet; the first job builds it"
    else:
        detail, remedy = "none came with this package that fits", "pip install 'jumpgate-nca[build]', which builds one"
        yield Finding("runtime library", "fail", detail, remedy)
        return
    yield Finding("runtime library", "ok", detail)


def ports() -> Iterator[Finding]:
    """Check the ports that the kernel chooses for instances."""
    held = []
    try:
        for _ in range(LOOPBACK_PORTS):
            held.append(socket.create_server(("127.0.0.1", 0)))
    except OSError as error:
        yield Finding("ports", "fail", f"cannot listen on 127.0.0.1: {error}", "allow TCP on the loopback interface")
    else:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
        yield Finding("ports", "ok", f"127.0.0.1, {low} to {high}")
    finally:
        for listener in held:
            listener.close()


def packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "fail", "not installed", "pip install jumpgate-nca")
    for name, extra in EXTRAS.items():
        try:
            yield Finding(name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "warn", "not installed (optional)", f"pip install 'jumpgate-nca[{extra}]'")


def accelerators() -> Iterator[Finding]:
    """Check installed accelerators and the kinds of devices that they drive; an unusable one does not affect the
    others."""
    registry, kinds = default_registry(), DeviceKinds()
    yield Finding("accelerators", "ok", ", ".join(registry.names))
    yield Finding("kinds of devices", "ok", ", ".join(kind.name for kind in kinds.all()) or "none")
    for name, error in {**registry.problems, **kinds.problems}.items():
        yield Finding(name, "warn", error.message, "repair or uninstall its package")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    python_version, cpp_compiler, cores, memory, cache_directory, runtime_build, ports, packages,
    accelerators,
)  # fmt: skip


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Check this machine. Exit code 1 if anything that Jumpgate needs is missing."""
    findings = [finding for check in CHECKS for finding in check()]
    if as_json:
        output.print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        from rich.text import Text

        colours = {"ok": "green", "warn": "yellow", "fail": "red"}
        output.print_table(
            "", ("", "check", "found", "what to do"),
            [(Text(f.state, colours[f.state]), f.check, f.detail, f.remedy) for f in findings],
        )  # fmt: skip
    if any(finding.state == "fail" for finding in findings):
        context.exit(1)
