"""Sort, top-n, limit, skyline and window functions."""

from __future__ import annotations

from jumpgate.dataflow.operators import Limit, Operator, Skyline, Sort, Window
from jumpgate.nca.interface import Statistics
from jumpgate.ncas.software import SoftwareNCA


class Sorter(SoftwareNCA):
    """Sorts in memory, and computes window functions or a skyline over the sorted rows; a top-n holds its rows only."""

    name = "sort"
    throughput = 0.5e9
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Sort | Limit | Skyline | Window)

    def memory_bytes(self, inputs: tuple[Statistics, ...]) -> float:
        return inputs[0].bytes or 0.0


SORT = Sorter()
