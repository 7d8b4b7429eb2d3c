"""Interprets a match: its inputs, its first phase, the operators left to do, and whether it is sound."""

from __future__ import annotations

from functools import cache
from typing import cast

from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Operator, Receive, numbered
from jumpgate.dataflow.types import Schema
from jumpgate.nca.interface import (
    Answer,
    Completeness,
    Device,
    Estimates,
    Match,
    MatchesEstimated,
    OperatorInterface,
    Unsupported,
    Wire,
)


def each(answer: Answer) -> tuple[Match | Unsupported, ...]:
    """Return the answers of an NCA as a tuple; empty if the operator is not its own."""
    if answer is None:
        return ()
    return answer if isinstance(answer, tuple) else (answer,)


def ask(operators: OperatorInterface, node: Operator, device: Device, dialect: Dialect, estimates: Estimates) -> Answer:
    """Ask an operator interface about a node, with estimates if it takes them."""
    if _takes_estimates(type(operators)):
        return cast(MatchesEstimated, operators).match_estimated(node, device, dialect, estimates)
    return operators.match_operations(node, device, dialect)


@cache
def _takes_estimates(kind: type) -> bool:
    return issubclass(kind, MatchesEstimated)


def match_inputs(match: Match) -> tuple[Operator, ...]:
    """Return the nodes that feed a match from outside, each once, left to right."""
    taken = {id(o) for o in match.operators}
    found: dict[int, Operator] = {}
    for operator in match.operators:
        for child in operator.inputs:
            if id(child) not in taken:
                found[id(child)] = child
    return tuple(found.values())


def malformed(match: Match, node: Operator) -> Unsupported | None:
    """Return the problem of an answer about `node`, or None: an NCA's mistake must not become a wrong result."""
    if not match.operators or match.operators[0] is not node:
        return Unsupported("its match does not start at the operator it was asked about", "malformed_match")
    if match.completeness is Completeness.PARTIAL:
        if node.partial_phase is None:
            return Unsupported(f"{node.kind} has no final phase that could complete a partial match", "malformed_match")
        expected = node.partial_phase.schema
    elif match.completeness is Completeness.PRUNE:
        expected = pruned_leaf(match.operators).schema
    else:
        expected = node.schema
    if isinstance(match.rows_max, tuple) and len(match.rows_max) != len(match_inputs(match)):
        return Unsupported("its match has a rows_max for each of another number of inputs", "malformed_match")
    if match.schema.types != expected.types:
        return Unsupported(f"its match would emit {match.schema}, {expected} is needed", "malformed_match")
    return None if match.wire is None else _malformed_wire(match, match.wire)


def _malformed_wire(match: Match, wire: Wire) -> Unsupported | None:
    """Return the problem of a match's wire, or None."""
    leaves = match_inputs(match)
    arriving = received(wire.body)
    for i, w in enumerate(wire.inputs):
        if w.leaf >= len(leaves):
            return Unsupported(f"input {w.leaf} is sent, its match has {len(leaves)}", "malformed_match")
        if arriving.get(str(i)) != w.schema or tuple(e.type for e in w.expressions) != w.schema.types:
            return Unsupported(f"what is sent as input {i} is not what its body receives", "malformed_match")
    back = tuple(e.type for e in wire.from_wire)
    if len(back) != len(match.schema) or not all(a.same(b) for a, b in zip(back, match.schema.types, strict=True)):
        return Unsupported(f"what comes back is not {match.schema}", "malformed_match")
    return None


def received(root: Operator) -> dict[str, Schema]:
    """Return the edges that a fragment or a part of it reads, with their columns."""
    return {node.edge: node.schema for node in numbered(root) if isinstance(node, Receive)}


def partial_phase(node: Operator) -> Operator:
    """Return what an NCA that answered PARTIAL computes: the aggregate's partial phase, the first rows of a top-n or
    limit, or a local skyline."""
    partial = node.partial_phase
    assert partial is not None, f"{node.kind} has no partial phase"
    return partial


def pruned_leaf(operators: tuple[Operator, ...]) -> Operator:
    """Return the node whose rows a PRUNE match filters: its operators' leftmost input, or the leaf that it reads
    itself."""
    taken = {id(o) for o in operators}
    node = operators[0]
    while node.inputs and id(node) in taken:
        node = node.inputs[0]
    return node
