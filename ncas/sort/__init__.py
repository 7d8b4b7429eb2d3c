"""Sort, top-n, limit, skyline and window functions."""

from __future__ import annotations

from jumpgate.dataflow.operators import Limit, Operator, Skyline, Sort, Window
from jumpgate.ncas.software import SoftwareNCA


class Sorter(SoftwareNCA):
    """Sorts in memory, and computes window functions or a skyline over the sorted rows; a top-n holds its rows only."""

    name = "sort"
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Sort | Limit | Skyline | Window)


SORT = Sorter()
