"""The part of a partition that window functions see, by their window's frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jumpgate.codegen.program import PEERS, Table, View
from jumpgate.dataflow.operators import Window


def view_of(node: Window, table: Table, states: Sequence[int], parameter: Callable[[int], int]) -> View:
    """Return the view of the frame, whose offsets are parameters. If the frame leaves rows behind, the table gets a
    field for each of the `states` over the rows from each row on."""
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
