"""Runtimes that a wheel brings built, one for each level of processors, with a manifest of what they fit."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import jumpgate

#: what a runtime consists of beside its headers
LIBRARY, HOST_PROGRAM = "libjgruntime.so", "jghost"
FOLDER, MANIFEST = "prebuilt", "manifest.json"


@dataclass(frozen=True)
class Level:
    """Processors with these flags of /proc/cpuinfo, and what g++'s -march takes for them."""

    name: str
    march: str
    needs: tuple[str, ...]


_V2 = ("cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave")
#: that Ice Lake and Zen 4 brought, by g++'s names and the kernel's
_LATER = {
    "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "gfni": "gfni", "vaes": "vaes",
    "vpclmulqdq": "vpclmulqdq", "aes": "aes", "pclmul": "pclmulqdq",
}  # fmt: skip
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", *_LATER.values())
#: of one machine, the best first
LEVELS: Mapping[str, tuple[Level, ...]] = {
    "x86_64": (
        Level("x86-64-v4", " ".join(("x86-64-v4", *(f"-m{name}" for name in _LATER))), _V4),
        Level("x86-64-v3", "x86-64-v3", _V3),
        Level("x86-64-v2", "x86-64-v2", _V2),
    )
}


@dataclass(frozen=True)
class Manifest:
    """Facts of the runtimes in a wheel: from which sources they were built, and for which machines.

    sources: the digest of the runtime's and the readers' sources. arrow: the version in the names of pyarrow's
    libraries, which are compatible while it stays the same. levels: by folder, the best first.
    """

    sources: str
    arrow: str
    machine: str
    compiler: str
    levels: Mapping[str, Iterable[str]]

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1))


def fitting(sources: str, arrow: str, cpu_flags: str, folder: Path | None = None) -> Path | None:
    """Return the folder of the best runtime that came with this package and fits; None if none does: the sources,
    pyarrow or the processor are others."""
    folder = folder or Path(next(iter(jumpgate.__path__))) / FOLDER
    try:
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    if (manifest.sources, manifest.arrow, manifest.machine) != (sources, arrow, platform.machine()):
        return None
    return next(_usable(folder, manifest, set(cpu_flags.split())), None)


def _usable(folder: Path, manifest: Manifest, has: set[str]) -> Iterator[Path]:
    for name, needs in manifest.levels.items():
        if has.issuperset(needs) and (folder / name / LIBRARY).exists():
            yield folder / name
