"""Sort, top-n and limit."""

from __future__ import annotations

from jumpgate.dataflow.operators import Limit, Operator, Sort
from jumpgate.nca.interface import Statistics
from jumpgate.ncas.software import SoftwareNCA


class Sorter(SoftwareNCA):
    """Sorts in memory; a top-n holds no more than its rows."""

    name = "sort"
    throughput = 0.5e9
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Sort | Limit)

    def memory_bytes(self, inputs: tuple[Statistics, ...]) -> float:
        return inputs[0].bytes or 0.0


SORT = Sorter()
