"""The units in which work is counted, and how long a device takes for each: what costs are computed from.

An accelerator declares where its device differs from one core of a host (`Speeds`); the compiler counts the work and
multiplies. `jumpgate calibrate` measures the seconds of a host's core in place of HOST.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from jumpgate.dataflow.formats import formats

#: seconds of one core of a server for one unit of each kind of work. `scan FORMAT …` of a format that is not listed is
#: that of `scan …`; `… large` is for tables of LARGE entries, those between it and SMALL are in between
HOST: dict[str, float] = {
    "job": 8e-3,  # once for each job
    "start": 2e-4,  # once for each fragment of a job
    "open": 2e-4,  # once for each file scan
    "operator": 5e-5,  # once for each operator that holds rows: joins, groups, sorts, windows
    "scan byte": 0.0,  # of the files of a format whose every byte is looked at
    "scan number": 8e-9,  # a value of a column, by its type: integers, floats, dates
    "scan decimal": 6e-9,
    "scan text": 30e-9,
    "filter": 2e-9,  # a row and condition
    "expression": 1.5e-9,  # a row and computed expression
    "probe": 12e-9,  # a row that looks for its partners
    "probe large": 40e-9,
    "build": 30e-9,  # a row of a join's table
    "build large": 80e-9,
    "group": 8e-9,  # a row that is added to its group
    "group large": 140e-9,
    "measure": 2e-9,  # a row and measure
    "sort": 17e-9,  # a row and level of the sort (rows × log2 of rows)
    "window": 40e-9,  # a row and function
    "send": 1e-9,  # a byte over an edge, both ends of it
    "send datagram": 170e-9,  # a row in datagrams, beside its bytes: a packet takes 0.7 µs and has four rows at most
    "link": 8e-10,  # a byte over the busiest link between hosts, in one direction: 10 Gbit/s
    "spool": 1e-9,  # a byte of a result that the client keeps and reads again
}
#: entries of a table that stays in a core's cache, and of one that is far larger
SMALL, LARGE = 1e4, 1e7
#: work that takes as long on one core as on many
FIXED = ("job", "start", "open", "operator")


@functools.cache
def assumed() -> dict[str, float]:
    """HOST, with what each format declares of its scans."""
    kinds = ((f, kind) for f in formats().values() for kind in ("byte", "number", "decimal", "text"))
    return {**HOST, **{f"scan {format.name} {kind}": getattr(format.speeds, kind) for format, kind in kinds}}


#: how much of each kind of work something is
Work = Mapping[str, float]


@dataclass(frozen=True)
class Speeds:
    """How a device differs from a core of a host.

    seconds: for one unit of the work named there. factor: all other work takes so many times what it takes a core.
    receive_s: for a byte that reaches the device. setup_s: before it can begin. money: what a fragment on it costs.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1.0
    receive_s: float = 0.0
    setup_s: float = 0.0
    money: float = 0.0

    def of(self, core: Mapping[str, float]) -> Speeds:
        """The same with a host's core as it was measured: every kind of work has its seconds."""
        seconds = {name: value * self.factor for name, value in {**assumed(), **core}.items()}
        return Speeds({**seconds, **self.seconds}, 1.0, self.receive_s, self.setup_s, self.money)


def seconds_of(work: Work, seconds: Mapping[str, float], cores: int = 1) -> float:
    """What the work takes on so many cores."""
    fixed = shared = 0.0
    for name, amount in work.items():
        each = amount * unit_seconds(name, seconds)
        if name.startswith(FIXED):
            fixed += each
        else:
            shared += each
    return fixed + shared / max(1, cores)


def unit_seconds(name: str, seconds: Mapping[str, float]) -> float:
    """For one unit; of a format without a figure of its own that of all formats. Raises KeyError."""
    found = seconds.get(name)
    if found is None:
        words = name.split() or [name]
        general = words[0] if words[0] in FIXED else f"{words[0]} {words[-1]}" if len(words) > 2 else name
        found = seconds[general] if general in seconds else HOST[general]
    return found
