"""Hash aggregation (full, partial, final) and distinct."""

from __future__ import annotations

from jumpgate.dataflow.operators import Aggregate, Distinct, Operator
from jumpgate.ncas.software import SoftwareNCA


class HashAggregate(SoftwareNCA):
    """Groups by any keys, NULL among them; sums of decimals are exact."""

    name = "aggregate"
    stateful = True

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Aggregate | Distinct)


AGGREGATE = HashAggregate()
