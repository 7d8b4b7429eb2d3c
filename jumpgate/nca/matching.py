"""What a match means for the plan around it: its inputs, its first phase, what is left to do; whether it is sound."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.dataflow.operators import Aggregate, Limit, Operator, Skyline, Sort, column
from jumpgate.nca.interface import Completeness, Match, Unsupported


def match_inputs(match: Match) -> tuple[Operator, ...]:
    """The nodes that feed a match from outside, each once, left to right."""
    taken = {id(o) for o in match.operators}
    found: dict[int, Operator] = {}
    for operator in match.operators:
        for child in operator.inputs:
            if id(child) not in taken:
                found[id(child)] = child
    return tuple(found.values())


def malformed(match: Match, node: Operator) -> Unsupported | None:
    """What is wrong with an answer to the question about `node`: an NCA's mistake must not become a wrong result."""
    if not match.operators or match.operators[0] is not node:
        return Unsupported("its match does not start at the operator it was asked about", "malformed_match")
    if match.completeness is Completeness.PARTIAL:
        if not isinstance(node, Aggregate | Sort | Limit | Skyline):
            return Unsupported(f"{node.kind} has no final phase that could complete a partial match", "malformed_match")
        expected = partial_phase(node).schema
    elif match.completeness is Completeness.PRUNE:
        expected = pruned_leaf(match.operators).schema
    else:
        expected = node.schema
    if match.schema.types != expected.types:
        return Unsupported(f"its match would emit {match.schema}, {expected} is needed", "malformed_match")
    return None


def partial_phase(node: Operator) -> Operator:
    """What an NCA that answered PARTIAL computes: the aggregate's partial phase, the first rows of a top-n or limit, a
    skyline of its own."""
    if isinstance(node, Aggregate):
        return replace(node, phase="partial")
    if isinstance(node, Sort):
        return replace(node, limit=None if node.limit is None else node.limit + node.offset, offset=0)
    if isinstance(node, Skyline):
        return node
    assert isinstance(node, Limit)
    return replace(node, count=node.count + node.offset, offset=0)


def final_phase(node: Operator, input: Operator) -> Operator:
    """What combines `input`, the partial phases' output, into `node`'s result."""
    if isinstance(node, Aggregate):
        keys = tuple(column(input.schema, i) for i in range(len(node.keys)))
        return replace(node, input=input, keys=keys, phase="final")
    return node.with_inputs((input,))


def pruned_leaf(operators: tuple[Operator, ...]) -> Operator:
    """What a PRUNE match lets pass rows of: its operators' leftmost input, or the leaf that it reads itself."""
    taken = {id(o) for o in operators}
    node = operators[0]
    while node.inputs and id(node) in taken:
        node = node.inputs[0]
    return node
