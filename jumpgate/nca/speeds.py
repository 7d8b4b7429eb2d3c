"""The cost model: cost units in which work is counted, and the seconds that a device takes for each.

An accelerator declares where its device differs from one core of a host (`Speeds`); the compiler counts the work and
multiplies. `jumpgate calibrate` measures the seconds of a host's core in place of HOST.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jumpgate.dataflow.formats import formats

#: seconds of a server core for one unit of each kind of work. A format that is not listed as `scan FORMAT …` uses `scan
#: …`; `… large` is for tables of LARGE entries, and sizes between SMALL and LARGE are interpolated
HOST: dict[str, float] = {
    "job": 8e-3,  # once per job
    "start": 2e-4,  # once per fragment of a job
    "open": 2e-4,  # once per file scan
    "operator": 5e-5,  # once per operator that holds rows: joins, groups, sorts, windows
    "scan byte": 0.0,  # of the files of a format that is read byte by byte
    "scan number": 8e-9,  # a value of a column, by its type: integers, floats, dates
    "scan decimal": 6e-9,
    "scan text": 30e-9,
    "filter": 2e-9,  # per row and condition
    "expression": 1.5e-9,  # per row and computed expression
    "probe": 12e-9,  # a row that looks its partners up
    "probe large": 40e-9,
    "build": 30e-9,  # a row of a join's table
    "build large": 80e-9,
    "group": 8e-9,  # a row added to its group
    "group large": 100e-9,
    "measure": 2e-9,  # per row and measure
    "sort": 5e-9,  # per row and level of the sort (rows × log2 of rows)
    "window": 40e-9,  # per row and function
    "send": 1e-9,  # a byte over an edge, both ends included
    "send datagram": 170e-9,  # a row in datagrams, beside its bytes: a packet takes 0.7 µs and holds at most four rows
    "link": 8e-10,  # a byte over the busiest link between hosts, in one direction: 10 Gbit/s
    "spool": 1e-9,  # a byte of a result that the client keeps and reads again
}
#: entries of a table that fits into a core's cache, and of one that is far larger
SMALL, LARGE = 1e4, 1e7
#: work that does not run faster on several cores
FIXED = ("job", "start", "open", "operator")


@functools.cache
def assumed() -> dict[str, float]:
    """Return HOST with the scan units that each format declares."""
    kinds = ((f, kind) for f in formats().values() for kind in ("byte", "number", "decimal", "text"))
    return {**HOST, **{f"scan {format.name} {kind}": getattr(format.speeds, kind) for format, kind in kinds}}


#: amount of each kind of work
Work = Mapping[str, float]


@dataclass(frozen=True)
class Speeds:
    """How a device differs from a core of a host.

    seconds: per unit of the work named there. factor: all other work takes this many times a core's seconds. receive_s:
    per byte that reaches the device. setup_s: before it can begin. money: the price of a fragment on it. drain_bytes:
    what its receiver reads of it, and sends it, on a link, whatever it holds.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1.0
    receive_s: float = 0.0
    setup_s: float = 0.0
    money: float = 0.0
    drain_bytes: float = 0.0

    def of(self, core: Mapping[str, float]) -> Speeds:
        """Return the device's seconds for every kind of work, from measured seconds of a host's core."""
        seconds = {name: value * self.factor for name, value in {**assumed(), **core}.items()}
        return replace(self, seconds={**seconds, **self.seconds}, factor=1.0)


def seconds_of(work: Work, seconds: Mapping[str, float], cores: int = 1) -> float:
    """Return the seconds that the work takes on `cores` cores."""
    fixed = shared = 0.0
    for name, amount in work.items():
        each = amount * unit_seconds(name, seconds)
        if name.startswith(FIXED):
            fixed += each
        else:
            shared += each
    return fixed + shared / max(1, cores)


def unit_seconds(name: str, seconds: Mapping[str, float]) -> float:
    """Return the seconds of one unit; a format without a figure of its own uses the general one. Raises KeyError."""
    found = seconds.get(name)
    if found is None:
        words = name.split() or [name]
        general = words[0] if words[0] in FIXED else f"{words[0]} {words[-1]}" if len(words) > 2 else name
        found = seconds[general] if general in seconds else HOST[general]
    return found
