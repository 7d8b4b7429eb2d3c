"""Checks histories of databases in a switch: each is replayed in the order of its numbers.

A bigint's register holds the distance from a base, which an epoch begins with. What goes from one epoch to the next,
and what workers were told, are values; what is replayed are registers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jumpgate.p4.programs.transactions import Instruction, Reference
from jumpgate.transactions.steps import Executed

Cell = tuple[int, int]
#: number, instructions, results
Entry = tuple[int, Sequence[Instruction], Sequence[int]]
#: cell, amount or value, if it sets that, least value
AloneStep = tuple[Cell, int, bool, int | None]


@dataclass
class Epoch:
    """An epoch, from one base to the next: `before` and `after` are registers, `gid` is the last number before.
    `alone`: a transaction that was executed on values after these, in no switch, with the next base; and what these
    had to be."""

    gid: int
    before: dict[Cell, int]
    bases: dict[Cell, int]
    entries: list[Entry]
    after: dict[Cell, int]
    alone: list[AloneStep] = field(default_factory=list)
    expected: dict[Cell, int] = field(default_factory=dict)


class History:
    """The transactions of one database. `wrong` says what does not hold; `path` keeps what they saw until `check`."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.wrong: list[str] = []
        self.transactions = self.acknowledged = 0
        self._last: tuple[int, dict[Cell, int]] | None = None

    def add(self, epoch: Epoch, name: str) -> None:
        """Replay the next epoch: its results, and the registers that came out."""
        values = {cell: value + epoch.bases[cell] for cell, value in epoch.before.items()}
        if self._last is not None:
            gid, was = self._last
            if gid != epoch.gid or any(values.get(cell) != value for cell, value in was.items()):
                self._complain(f"{name}: does not begin as the one before ended")
        reference = Reference()
        reference.cells, reference.gid = dict(epoch.before), epoch.gid
        with self.path.open("ab") as file:
            for gid, instructions, results in sorted(epoch.entries, key=lambda entry: entry[0]):
                if reference.run(instructions) != list(results) or gid != reference.gid:
                    self._complain(f"transaction {gid} at {reference.gid}")
                    reference.gid = gid
                executed = Executed(tuple(instructions))
                is_done = executed.is_done(results)
                cells = [(at, (instructions[at].array, instructions[at].index)) for at in executed.accesses()]
                seen = [results[at] + epoch.bases[cell] for at, cell in cells] if is_done else []
                file.write(json.dumps([gid, is_done, sorted(seen)]).encode() + b"\n")
                self.transactions += 1
            if any(reference.cells.get(cell, 0) != value for cell, value in epoch.after.items()):
                self._complain(f"{name}: another final state")
            values = {cell: value + epoch.bases[cell] for cell, value in epoch.after.items()}
            if epoch.alone:
                is_done, told = _run_alone(epoch, values)
                file.write(json.dumps([0, is_done, sorted(told)]).encode() + b"\n")
                self.transactions += 1
        self._last = reference.gid, values

    def check(self, acknowledged: Iterable[tuple[int, bool, Sequence[int]]]) -> None:
        """Compare what workers were told: number, if it was done, values. A number is 0 if the switch had no part."""
        history: dict[int, tuple[bool, list[int]]] = {}
        alone: Counter[tuple[bool, tuple[int, ...]]] = Counter()
        with self.path.open() as file:
            for gid, done, values in map(json.loads, file):
                if gid:
                    history[gid] = done, values
                else:
                    alone[done, tuple(values)] += 1
        told_once: set[int] = set()
        for gid, done, told in acknowledged:
            self.acknowledged += 1
            if gid in told_once:
                self._complain(f"{gid} was told twice")
            if gid:
                told_once.add(gid)
                is_done, seen = history.get(gid, (None, []))
                if is_done is not done or done and any(value not in seen for value in told):
                    self._complain(f"{gid} told {done} {list(told)}, was {is_done} {seen}")
            elif (key := (done, tuple(sorted(told)))) not in alone:
                self._complain(f"told {done} {list(told)} without a number, was not")
            else:
                alone[key] -= 1
                if not alone[key]:
                    del alone[key]

    def _complain(self, text: str) -> None:
        self.wrong.append(f"{self.name}: {text}")


def _run_alone(epoch: Epoch, values: dict[Cell, int]) -> tuple[bool, list[int]]:
    """Execute the transaction that needed no switch on these values, or none of it. Return what it saw."""
    after, seen = dict(values), []
    if any(values[cell] != value for cell, value in epoch.expected.items()):
        return False, []
    for cell, amount, sets, least in epoch.alone:
        new = amount if sets else after[cell] + amount
        if least is not None and (after[cell] if sets else new) < least:
            return False, []
        seen.append(after[cell])
        after[cell] = new
    values.update(after)
    return True, seen
