"""Hash aggregation (full, partial, final) and distinct."""

from __future__ import annotations

from jumpgate.dataflow.operators import Aggregate, Distinct, Operator
from jumpgate.nca.interface import Statistics
from jumpgate.ncas.software import SoftwareNCA


class HashAggregate(SoftwareNCA):
    """Groups by any keys, NULL among them; sums of decimals are exact."""

    name = "aggregate"
    throughput = 1e9
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Aggregate | Distinct)

    def memory_bytes(self, inputs: tuple[Statistics, ...]) -> float:
        return inputs[0].bytes or 0.0


AGGREGATE = HashAggregate()
