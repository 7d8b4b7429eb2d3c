"""Tests the operator interface: it must be pure, its matches sound, and every refusal must have a reason."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator, Receive
from jumpgate.nca.conformance.coverage import parts
from jumpgate.nca.interface import NCA, Device, Match, Unsupported
from jumpgate.nca.matching import each, malformed, match_inputs
from jumpgate.nca.speeds import HOST

#: a device that no accelerator supports
NOWHERE = Device("nowhere", "a kind that does not exist")


def ask(
    nca: NCA,
    root: Operator,
    devices: tuple[Device, ...],
    matched: dict[str, int],
    refused: dict[str, int],
    dialect: Dialect = DEFAULT,
    claimed: set[str] | None = None,
) -> list[str]:
    """Ask about every node of `root` on every device, in one dialect. Return the problems found.

    `matched` counts answers by the operators' names, `refused` by reasons; `claimed` has the parts of what was matched.
    """
    problems: list[str] = []
    for node in _nodes(root):
        if nca.operators.match_operations(node, NOWHERE, dialect) is not None:
            problems.append(f"claims {node.kind} on a device that it cannot know")
        for device in devices:
            answer = nca.operators.match_operations(node, device, dialect)
            if answer != nca.operators.match_operations(node, device, dialect):
                problems.append(f"answers differently about {node.kind} when asked twice")
            for one in each(answer):
                if isinstance(one, Unsupported):
                    refused[one.reason] = refused.get(one.reason, 0) + 1
                    if not one.reason:
                        problems.append(f"refuses {node.kind} without a reason")
                    continue
                name = f"{one.completeness.value} " + " ← ".join(o.kind for o in one.operators)
                matched[name] = matched.get(name, 0) + 1
                if claimed is not None:
                    claimed |= parts(one.operators)
                problems += [f"{name}: {p}" for p in _unsound(nca, one, node, device)]
    return problems


def operator_of(matched: str) -> str:
    """Return the operator in a key of `matched`, without the filters and projections around it."""
    return matched.split(" ", 1)[1].split(" ← ")[-1]


def _nodes(root: Operator) -> Iterator[Operator]:
    """Yield every node, and each operator over an input that arrives from elsewhere."""
    for node in root.walk():
        yield node
        if node.inputs:
            yield node.with_inputs(tuple(Receive(f"e{i}", c.schema) for i, c in enumerate(node.inputs)))


def _unsound(nca: NCA, match: Match, node: Operator, device: Device) -> Iterator[str]:
    if match.nca != nca.name:
        yield f"its match is of '{match.nca}', it is called '{nca.name}'"
    wrong = malformed(match, node)
    if wrong is not None:
        yield wrong.reason
        return
    inputs = match_inputs(match)
    speeds = nca.operators.speeds(device)
    numbers = (*speeds.seconds.values(), speeds.factor, speeds.receive_s, speeds.setup_s, speeds.money)
    if not all(math.isfinite(n) and n >= 0 for n in numbers):
        yield f"its speeds on {device.name} are not times: {speeds}"
    if strange := sorted(set(speeds.seconds) - set(HOST)):
        yield f"its speeds name work that nobody counts: {', '.join(strange)}"
    descriptor, transport = nca.operators.match_output(match, 1)
    emitted = match.schema if match.wire is None else match.wire.body.schema
    if descriptor.schema.types != emitted.types:
        yield f"would emit {descriptor.schema} where it matched {emitted}"
    if not transport.carries(descriptor):
        yield f"would emit {descriptor.layout} tuples that {transport.name} does not carry"
    for leaf in inputs:  # it must be able to read the output of its own kind
        offered, over = nca.operators.match_output(Match(nca.name, (leaf,), match.completeness, leaf.schema), 1)
        refusal = nca.operators.match_input(offered, over)
        if refusal is not None and not refusal.reason:
            yield "refuses an input without a reason"
