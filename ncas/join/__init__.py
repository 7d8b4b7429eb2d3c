"""Hash join: the right input is built into a table, the left one probes it in its own pass."""

from __future__ import annotations

from jumpgate.dataflow.operators import Join, Operator
from jumpgate.ncas.software import SoftwareNCA


class HashJoin(SoftwareNCA):
    """All join types, several keys, a residual condition; no keys: every pair under the residual."""

    name = "join"
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Join)


JOIN = HashJoin()
