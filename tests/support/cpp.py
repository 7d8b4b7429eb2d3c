"""Small C++ programs for tests and benchmarks: compiled once for each content, without the rest of the runtime."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import simdjson

from jumpgate import udp
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import BuildError

#: the codecs and edges stand alone: they need neither Arrow nor simdjson
NTF_SOURCES = (
    "ntf/crc32c", "ntf/descriptor", "ntf/frame", "ntf/columnar", "ntf/row", "ntf/stream",
    "edges/socket", "edges/tls", "edges/wire", "edges/emitter", "edges/receiver", "edges/listener",
    "edges/peer", "edges/scan_shares",
)  # fmt: skip
#: the ends of edges over datagrams stand alone likewise
DATAGRAM_SOURCES = (
    "ntf/crc32c", "ntf/descriptor", "ntf/columnar", "ntf/row", "edges/socket",
    "datagrams/packet", "datagrams/answers", "datagrams/flow", "datagrams/socket", "datagrams/tuples",
    "datagrams/blocks", "datagrams/drain", "datagrams/sender", "datagrams/receiver",
)  # fmt: skip
#: reading from object stores needs simdjson alone
OBJECT_SOURCES = (
    "base/disk", "ntf/crc32c", "edges/socket", "edges/tls", "objects/http", "objects/chunks", "objects/webhdfs",
    "objects/objects",
)  # fmt: skip
SIMDJSON = Path(simdjson.__file__).parent
RELEASE = ("-O2", "-march=native")
SANITIZED = ("-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
PROGRAMS_BYTES_MAX = 256 << 20


def runtime_source() -> Path:
    """The folder of the runtime's CMakeLists.txt."""
    spec = find_spec("jumpgate.ncas.runtime")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def ntf_sources() -> list[Path]:
    return [runtime_source() / "src" / f"{name}.cpp" for name in NTF_SOURCES]


def datagram_sources() -> list[Path]:
    return [runtime_source() / "src" / f"{name}.cpp" for name in DATAGRAM_SOURCES]


def object_sources() -> list[Path]:
    """With simdjson, which reads a namenode's answers."""
    return [*(runtime_source() / "src" / f"{name}.cpp" for name in OBJECT_SOURCES), SIMDJSON / "simdjson.cpp"]


def build(name: str, sources: Sequence[Path], flags: Sequence[str] = SANITIZED, compiler: str | None = None) -> Path:
    """Compile the sources as one, so that headers are read once, into a program (or, with -shared, a library) and
    return its path. Raises BuildError."""
    compiler = compiler or toolchain.compiler()
    runtime = runtime_source()
    command = [
        compiler, "-std=gnu++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread",
        "-I", str(runtime / "include"), "-I", str(runtime / "src"), "-I", str(udp.INCLUDE),
        "-isystem", str(SIMDJSON), "-x", "c++", "-", "-x", "none", *flags,
    ]  # fmt: skip
    together = "".join(f'#include "{source}"\n' for source in sources)
    digest = hashlib.sha256("\0".join([*command, together]).encode())
    folders = [
        runtime,
        udp.INCLUDE,
        *(Path(folder) for flag, folder in zip(flags, flags[1:], strict=False) if flag == "-I"),
    ]
    headers = [path for folder in folders for path in sorted(folder.rglob("*.h"))]
    headers += [path for folder in sorted({s.parent for s in sources}) for path in sorted(folder.glob("*.h"))]
    for path in [*sources, *headers]:
        digest.update(path.read_bytes())
    target = cache.folder("test-programs") / f"{name}-{digest.hexdigest()[:24]}"
    with cache.locked(f"test-program-{name}"):
        if not cache.mark_used(target):
            with cache.scratch() as work:
                done = subprocess.run(
                    [*command, "-o", str(work / name)], input=together, capture_output=True, text=True, check=False
                )
                if done.returncode:
                    raise BuildError(f"{name} did not compile:\n{done.stderr[-4000:]}")
                (work / name).rename(target)
            cache.evict(target.parent.iterdir(), PROGRAMS_BYTES_MAX)
    return target
