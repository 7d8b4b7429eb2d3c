"""Hash join: the right input is built into a table, the left one probes it in its own pass."""

from __future__ import annotations

from jumpgate.dataflow.operators import Join, Operator
from jumpgate.nca.interface import Statistics
from jumpgate.ncas.software import SoftwareNCA


class HashJoin(SoftwareNCA):
    """All join types, several keys, a residual condition; no keys: every pair under the residual."""

    name = "join"
    throughput = 1e9
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Join)

    def memory_bytes(self, inputs: tuple[Statistics, ...]) -> float:
        build = inputs[-1]
        # rows beside their hash, and a directory at most half full
        return 2.0 * (build.bytes or 0.0) + 16.0 * (build.rows or 0.0)


JOIN = HashJoin()
