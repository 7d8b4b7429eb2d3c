"""Asks accelerators about what the compiler makes of operators that they took: phases, exchanges, projections.

Who takes an operator need not take its first phase, and need not share rows over several instances. An accelerator says
so as it says everything: by its answer to the operator, which for sharing rows is a Shuffle.
"""

from __future__ import annotations

from jumpgate.compiler.plan import Plan, Site
from jumpgate.dataflow.operators import Operator, Partitioning, Shuffle
from jumpgate.nca.interface import Completeness, Device, Match, OperatorInterface
from jumpgate.nca.matching import ask, each


class AskAgain:
    """The accelerators of a plan. Answers are remembered by node and site."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._takes: dict[tuple[int, str, Device], tuple[Operator, bool]] = {}
        self._shares: dict[tuple[str, Device], bool] = {}

    def takes(self, node: Operator, site: Site) -> bool:
        """True if an accelerator of the site's fusion domain does all of `node` there."""
        key = id(node), site.fusion, site.devices[0]
        if key not in self._takes:
            self._takes[key] = node, any(self._is_full(nca.operators, node, site) for nca in self._plan.registry)
        return self._takes[key][1]

    def shares(self, node: Operator, site: Site) -> bool:
        """True if the site's instances can share rows, such as those of `node`, by a hash of a column."""
        key = site.fusion, site.devices[0]
        if key not in self._shares:
            plain = (i for i, f in enumerate(node.schema) if not (f.type.is_opaque or f.type.is_nested))
            keys = tuple(plain)[:1]
            shuffle = Shuffle(node, Partitioning("hash", keys, 2) if keys else Partitioning("round_robin", (), 2))
            self._shares[key] = self.takes(shuffle, site)
        return self._shares[key]

    def _is_full(self, operators: OperatorInterface, node: Operator, site: Site) -> bool:
        answer = ask(operators, node, site.devices[0], self._plan.options.dialect, self._plan.estimator)
        return any(
            isinstance(a, Match)
            and a.completeness is Completeness.FULL
            and a.fusion == site.fusion
            and bool(a.operators)
            and a.operators[0] is node
            for a in each(answer)
        )
