"""The depth of the logic between the card's registers, as yosys maps it; no FPGA's tools have placed or timed it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench._measure import Figure, remark
from jumpgate.ncas.fpga_join.build import TABLE, rtl_sources

#: modules and their parameters; the whole card is too much for yosys's mapper, which works on all of a module at once
UNITS: dict[str, dict[str, int]] = {
    TABLE: {"VALUE_BITS": 64},
    "interleaver": {"TABLES": 3, "BANKS": 2},
    "combiner": {"TABLES": 3, "VALUE_BITS": 64},
    "frame_parser": {"TABLES": 3},
    "frame_deparser": {},
    "axi4_memory": {},
}
#: cells that begin and end a path, and those that a path passes at next to no cost: carries and the multiplexers of a
#: slice
REGISTERS, FAST = ("FD", "RAMB", "DSP"), ("CARRY4", "MUXF7", "MUXF8")
PORTS = ("IBUF", "OBUF", "BUFG")
#: distributed memory and shift registers, which are read like logic and written like registers; ports of addresses
MEMORIES, ADDRESSES = ("RAM", "SRL"), ("A", "DPRA")
#: assumed of a Virtex-7 of speed grade 2: a LUT with the way to the next one, and a register's own times with that
LEVEL_NS, REGISTER_NS = 0.65, 0.8
SYNTHESIS_S = 600


@dataclass(frozen=True)
class Netlist:
    """A module of cells, each with its type and the bits at its ports."""

    cells: Mapping[str, Any]

    @property
    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for cell in self.cells.values():
            found[cell["type"]] = found.get(cell["type"], 0) + 1
        return found

    def levels(self) -> int:
        """LUTs, and memories that are read, on the longest path from register or port to register or port."""
        drivers: dict[int, str] = {}
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    drivers.update((bit, name) for bit in bits if isinstance(bit, int))
        depth: dict[str, int] = {}
        for start in self.cells:
            stack = [start]
            while stack:
                name = stack[-1]
                if name in depth:
                    stack.pop()
                    continue
                before = [drivers[bit] for bit in _read(self.cells[name]) if bit in drivers]
                if missing := [b for b in before if b not in depth]:
                    stack += missing
                    continue
                kind = self.cells[name]["type"]
                depth[name] = max((depth[b] for b in before), default=0) + (0 if _is_free(kind) else 1)
                stack.pop()
        ends = (depth[drivers[bit]] for cell in self.cells.values() for bit in _taken(cell) if bit in drivers)
        return max(ends, default=0)


def _is_free(kind: str) -> bool:
    return kind.startswith((*REGISTERS, *PORTS)) or kind in FAST


def _read(cell: Mapping[str, Any]) -> Iterator[int]:
    """Bits that its outputs depend on in the same cycle."""
    kind = cell["type"]
    if kind.startswith(REGISTERS):
        return
    for port, bits in cell["connections"].items():
        asks = not kind.startswith(MEMORIES) or port.startswith(ADDRESSES)
        if asks and cell["port_directions"][port] == "input":
            yield from (bit for bit in bits if isinstance(bit, int))


def _taken(cell: Mapping[str, Any]) -> Iterator[int]:
    """Bits that end a path there."""
    if cell["type"].startswith((*REGISTERS, *PORTS, *MEMORIES)):
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input" and port not in ("C", "CLK", "WCLK"):
                yield from (bit for bit in bits if isinstance(bit, int))


@cache
def netlist(module: str, parameters: tuple[tuple[str, int], ...] = ()) -> Netlist:
    """Mapped for a Virtex-7. Raises CalledProcessError, TimeoutExpired."""
    if shutil.which("yosys") is None:
        raise SystemExit("what the RTL takes of an FPGA needs yosys: apt-get install yosys")
    sources = " ".join(map(str, rtl_sources()))
    chosen = "".join(f"chparam -set {name} {value} {module}; " for name, value in parameters)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "netlist.json"
        script = (
            f"read_verilog -sv {sources}; {chosen}synth_xilinx -family xc7 -flatten -noiopad -top {module}; "
            f"write_json {file}"
        )
        command = ["yosys", "-q", "-DSYNTHESIS", "-p", script]
        subprocess.run(command, check=True, capture_output=True, timeout=SYNTHESIS_S)
        modules = json.loads(file.read_text())["modules"].values()
    (top,) = (m for m in modules if int(m["attributes"].get("top", "0"), 2))
    return Netlist(top["cells"])


def logic_levels() -> list[Figure]:
    """The deepest of the units, and the clock that this depth would allow by the assumed times."""
    found = {}
    for module, parameters in UNITS.items():
        unit = netlist(module, tuple(parameters.items()))
        found[module] = unit.levels()
        luts = sum(n for kind, n in unit.counts.items() if kind.startswith("LUT"))
        remark(f"{module} {parameters}: {found[module]} levels, {luts} LUTs as logic")
    most = max(found, key=found.__getitem__)
    of = f"{most}, the deepest of {len(UNITS)} units; reported"
    mhz = 1000 / (REGISTER_NS + LEVEL_NS * found[most])
    return [
        Figure("logic_levels", found[most], 0, "lower", of),
        Figure(
            "estimated_mhz", round(mhz), 0, "higher", f"{LEVEL_NS} ns assumed for a level; nothing has placed it; {of}"
        ),
    ]
