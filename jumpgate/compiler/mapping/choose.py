"""Takes the cheapest candidate and expands it into operators, with an exchange where rows change accelerators."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.mapping.map_operators import fused
from jumpgate.compiler.plan import Exchange, Mapped, MappedPlan
from jumpgate.compiler.tree import project
from jumpgate.dataflow.operators import Operator, Partitioning, Prune, Receive, rewrite
from jumpgate.nca.interface import Completeness, Match, Wire
from jumpgate.nca.matching import partial_phase, pruned_leaf


def choose(plan: MappedPlan) -> MappedPlan:
    """Expand the first candidate. The new root is Send over an Exchange of the site that computes the result."""
    best = plan.candidates[0]
    root = best.root
    assert isinstance(root, Mapped)
    writer, site = _Writer(), root.site
    body = writer.expand(root)
    if root.match.wire is not None:  # the client reads rows: the sender to the device converts what comes back
        sender = root.members[0]
        assert isinstance(sender, Mapped)
        body, site = writer.exchange(body, root), sender.site
    result = Exchange(body, plan.root.partitioning, site)
    return replace(plan, root=replace(plan.root, input=result))


class _Writer:
    """Expands matches into operators; a shared match stays one node."""

    def __init__(self) -> None:
        self._done: dict[int, Operator] = {}

    def expand(self, box: Mapped) -> Operator:
        """Return the operators behind `box` over those of its inputs."""
        if id(box) not in self._done and box.match.wire is not None:
            self._done[id(box)] = self._on_wire(box, box.match.wire)
        elif id(box) not in self._done:
            inputs = {}
            for leaf, member in zip(box.leaves, box.members, strict=True):
                assert isinstance(member, Mapped)
                below = self.expand(member)
                if not fused(box, member):
                    below = self.exchange(below, member)
                inputs[id(leaf)] = below
            self._done[id(box)] = _instantiate(box.match, inputs)
        return self._done[id(box)]

    def _on_wire(self, box: Mapped, wire: Wire) -> Operator:
        """Return the device's operators over exchanges of the rows that are sent to it."""
        inputs: dict[int, Operator] = {}
        for i, w in enumerate(wire.inputs):
            member = box.members[w.leaf]
            assert isinstance(member, Mapped)
            sent = project(self.expand(member), w.expressions, w.schema.names)
            partitioning = Partitioning("hash", w.keys) if w.keys else Partitioning()
            inputs[i] = Exchange(sent, partitioning, member.site, wire.transport)

        def receive(node: Operator) -> Operator:
            return inputs[int(node.edge)] if isinstance(node, Receive) else node

        return rewrite(wire.body, receive)

    def exchange(self, below: Operator, member: Mapped) -> Operator:
        """Return the result of `member` as rows for another instance, whatever format travels."""
        key = -id(member)  # beside the box's own entry
        if key not in self._done:
            wire = member.match.wire
            if wire is None:
                self._done[key] = Exchange(below, Partitioning(), member.site)
            else:
                spread = Partitioning("round_robin" if wire.spreads else "single")
                arriving = Exchange(below, spread, member.site, wire.transport)
                self._done[key] = project(arriving, wire.from_wire, member.schema.names)
        return self._done[key]


def _instantiate(match: Match, inputs: dict[int, Operator]) -> Operator:
    """Return the operators that the NCA runs over new inputs: the match's own, as a first phase or a pruning where it
    said so."""

    def rebuild(node: Operator) -> Operator:
        if id(node) in inputs:
            return inputs[id(node)]
        new = tuple(rebuild(i) for i in node.inputs)
        return node if all(a is b for a, b in zip(new, node.inputs, strict=True)) else node.with_inputs(new)

    root = rebuild(match.operators[0])
    if match.completeness is Completeness.PARTIAL:
        return partial_phase(root)
    if match.completeness is Completeness.PRUNE:
        return Prune(root, pruned_leaf(match.operators).schema)
    return root
