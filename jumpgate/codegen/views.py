"""What window functions see of a partition, from the frame of their window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jumpgate.codegen.program import PEERS, Table, View
from jumpgate.dataflow.operators import Window


def view_of(node: Window, table: Table, states: Sequence[int], parameter: Callable[[int], int]) -> View:
    """The frame, whose offsets are parameters. Where it leaves rows behind, the table gets a field for each of the
    `states`, of the rows from each one on."""
    frame = node.frame
    if (frame.start is None and frame.end is None) or (frame.unit != "rows" and not node.order_by):
        return View("whole")
    if frame.start is None and frame.end == 0:
        return View("rows" if frame.unit == "rows" else "range")
    start, end = (
        None if bound is None else PEERS if bound == 0 and frame.unit == "range" else parameter(bound)
        for bound in (frame.start, frame.end)
    )
    later: list[tuple[int, int]] = []
    for state in states if frame.start is not None else ():
        later.append((state, len(table.fields)))
        table.fields.append(table.fields[state])
    return View("frame", frame.unit, start, end, tuple(later))
