"""Builds the switch's C++ library and compiled programs, each once for its content; declares its C interface."""

from __future__ import annotations

import ctypes as c
import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from jumpgate import udp
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import BuildError
from jumpgate.p4.switch import layout

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"
INCLUDES = ("-I", str(INCLUDE), "-I", str(udp.INCLUDE))
PROGRAMS_BYTES_MAX = 256 << 20
#: a packet's fields are computed with one by one: in vectors they would only be moved to and fro
PROGRAM_FLAGS = ("-fno-tree-vectorize", "-x", "c++")
FLAGS = ("-std=gnu++20", "-march=native", "-fPIC", "-shared", "-pipe", "-pthread", "-fno-semantic-interposition")


def digest(*parts: bytes | str) -> str:
    """A content key: parts that differ, or are divided otherwise, have different ones."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:24]


@functools.cache
def base_key(variant: str) -> str:
    """Return a hash of everything that each library depends on: compiler, machine, and the headers of the contract."""
    headers = [path.read_bytes() for folder in (INCLUDE, udp.INCLUDE) for path in sorted(folder.rglob("*.h"))]
    return digest(
        variant,
        *FLAGS,
        *toolchain.VARIANTS[variant],
        toolchain.compiler_version(),
        platform.machine(),
        _cpu(),
        *headers,
    )


def _cpu() -> str:
    """Return a description of the CPU, on which -march=native depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _compile(what: str, arguments: list[str], target: Path, variant: str, source: str | None = None) -> Path:
    """Runs the compiler unless `target` is there; concurrent callers compile once. Raises BuildError."""
    if cache.is_usable(target):
        return target
    with cache.locked(f"switch-{target.stem}"):
        if cache.is_usable(target):
            return target
        cache.folder(*target.parent.relative_to(cache.root()).parts)
        with cache.scratch() as work:
            output = work / target.name
            command = [toolchain.compiler(), *FLAGS, *toolchain.VARIANTS[variant], *INCLUDES, *arguments]
            environment = {**os.environ, "TMPDIR": str(work), "LC_ALL": "C"}
            done = subprocess.run(
                [*command, "-o", str(output)], input=source, capture_output=True, text=True, env=environment
            )
            if done.returncode:
                raise BuildError(f"{what} did not compile: {_first_error(done.stderr)}", output=done.stderr[-4000:])
            cache.publish(output, target)
        cache.evict(target.parent.glob("*.so"), PROGRAMS_BYTES_MAX)
    return target


def _first_error(output: str) -> str:
    lines = output.splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "the compiler gave no message")


def build_program(name: str, source: str, variant: str | None = None) -> Path:
    """Compiles a program's generated C++ (include/jgsw/program.h) into a cached shared library; returns its path."""
    variant = variant or toolchain.default_variant()
    target = cache.root() / "switch" / "programs" / f"{digest(base_key(variant), *PROGRAM_FLAGS, source)}.so"
    return _compile(f"the P4 program {name}", [*PROGRAM_FLAGS, "-"], target, variant, source)


def build_shared(what: str, name: str, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """Build a library of other sources, likewise once for its content and headers beside it; return its path."""
    variant = toolchain.default_variant()
    headers = sorted(header for folder in {path.parent for path in sources} for header in folder.glob("*.h"))
    contents = [path.read_bytes() for path in (*sources, *headers)]
    target = cache.root() / "switch" / "library" / f"lib{name}-{digest(base_key(variant), *contents)}.so"
    return _compile(what, [*flags, *map(str, sources)], target, variant)


def build_library(variant: str | None = None) -> Path:
    """The switch's library for this machine, built on first use (some 5 s); returns its path."""
    variant = variant or toolchain.default_variant()
    sources = sorted((HERE / "src").glob("*.cpp"))
    contents = [path.read_bytes() for path in sorted((HERE / "src").iterdir())]
    target = cache.root() / "switch" / "library" / f"libjgsw-{digest(base_key(variant), *contents)}.so"
    return _compile("the software switch", [*map(str, sources), "-ldl"], target, variant)


@functools.cache
def load(variant: str | None = None) -> c.CDLL:
    """The library, with the types of its functions declared."""
    library = c.CDLL(str(build_library(variant)))
    handle, text, u16, u32, i32 = c.c_void_p, c.c_char_p, c.c_uint16, c.c_uint32, c.c_int32
    words, out_u32 = c.POINTER(c.c_uint64), c.POINTER(c.c_uint32)
    cells = c.POINTER(layout.CounterCell)
    for name, result, *arguments in (
        ("load", text, text, c.POINTER(c.POINTER(layout.Program))),
        ("create", handle, c.POINTER(layout.Program), u16, c.c_uint64),
        ("destroy", None, handle),
        ("add_udp", text, handle, u16, i32, text, u16, text, u16, u16, c.POINTER(u16)),
        ("add_interface", text, handle, u16, text),
        ("loop_port", text, handle, u16),
        ("stand_in", text, handle, text, text),
        ("start", text, handle),
        ("stop", None, handle),
        ("process", None, handle, c.c_void_p, c.c_void_p, text, u32, u32, out_u32, c.POINTER(c.POINTER(u16)),
         c.POINTER(c.POINTER(u32)), c.POINTER(c.c_void_p)),
        ("packet_out", None, handle, text, u32),
        ("next_event", c.c_int64, handle, i32, c.POINTER(i32), out_u32, c.c_char_p, u32),
        ("table_write", i32, handle, u32, i32, words, words, i32, u32, words),
        ("table_default", i32, handle, u32, u32, words),
        ("table_default_reset", None, handle, u32),
        ("table_count", u32, handle, u32),
        ("table_locate", i32, handle, u32, words, words, i32, out_u32),
        ("table_read", c.c_bool, handle, u32, u32, words, words, c.POINTER(i32), out_u32, words),
        ("register_read", None, handle, u32, u32, u32, c.c_char_p),
        ("register_write", None, handle, u32, u32, u32, c.c_char_p),
        ("register_reset", None, handle, u32),
        ("counter_read", None, handle, u32, u32, u32, cells),
        ("counter_write", None, handle, u32, u32, u32, cells),
        ("meter_read", None, handle, u32, u32, c.POINTER(layout.MeterConfig)),
        ("meter_write", None, handle, u32, u32, c.POINTER(layout.MeterConfig)),
        ("multicast", None, handle, u32, c.POINTER(u16), c.POINTER(u16), u32),
        ("mirror_session", None, handle, u32, u16),
        ("counts", None, handle, c.POINTER(layout.Counts)),
        ("port_counts", c.c_bool, handle, u16, c.POINTER(layout.PortCounts)),
    ):  # fmt: skip
        function = getattr(library, f"jgsw_{name}")
        function.restype, function.argtypes = result, arguments
    return library
