"""The longest path of a netlist: what counts as a level, and where paths begin and end."""

from __future__ import annotations

from typing import Any

from bench._fpga_depth import Netlist


def cell(kind: str, output: int, **inputs: int) -> dict[str, Any]:
    ports = {"O": [output], **{name: [bit] for name, bit in inputs.items()}}
    return {
        "type": kind,
        "connections": ports,
        "port_directions": {name: "output" if name == "O" else "input" for name in ports},
    }


def test_levels_are_what_is_between_registers() -> None:
    """Carries and a slice's multiplexers are free; a memory is a level for who reads it, an end for who writes it."""
    cells = {
        "from": cell("FDRE", 1, C=90, D=8),
        "a": cell("LUT6", 2, I0=1),
        "carry": cell("CARRY4", 3, CI=2),
        "b": cell("LUT2", 4, I0=3, I1=1),
        "memory": cell("RAM64M", 5, ADDRA=4, DIA=7, WCLK=90),
        "wide": cell("MUXF7", 6, I0=5, I1=2),
        "to": cell("FDRE", 8, C=90, D=6),
    }
    assert Netlist(cells).levels() == 3
    deep = {f"w{i}": cell("LUT1", 20 + i, I0=19 + i) for i in range(1, 6)}
    assert Netlist({**cells, **deep}).levels() == 3, "nothing takes what they make"
    assert Netlist({**cells, **deep, "memory": cell("RAM64M", 5, ADDRA=4, DIA=25)}).levels() == 5
    assert Netlist(cells).counts == {"FDRE": 2, "LUT6": 1, "CARRY4": 1, "LUT2": 1, "RAM64M": 1, "MUXF7": 1}
