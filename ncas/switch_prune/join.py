"""Joins: probing rows whose key is in no building row, by a Bloom filter of the build keys (p4/programs/join.py).

The build keys are sent in the stage before, and absorbed. A filter says yes too often, never no too often; the join
itself runs downstream with a build of its own. So keys of more than 64 bits go by their fingerprints.
"""

from __future__ import annotations

from jumpgate.dataflow.operators import Join, Operator
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import (
    Pruning,
    Setting,
    Tuple,
    partners,
    pruned,
    with_payload,
    without_payload,
)
from jumpgate.ncas.switch_prune.words import some_key

ALGORITHMS = ("join_bf", "join_rbf")


def prune_join(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Join) or not node.left_keys:
        return None
    if node.type.unmatched:
        return Unsupported(f"a {node.type} join keeps rows without a partner", "join_type")
    algorithm = next((a for a in ALGORITHMS if a in setting.sizes.algorithms), None)
    if algorithm is None:
        return Unsupported("its program has no join", "program", 'Use program = "prune" or "prune_join".')
    (probe, note), (build, _) = some_key(node.left_keys), some_key(node.right_keys)
    probing, left = with_payload(node.left, Tuple(probe))
    building, right = without_payload(0 if node.right is node.left else 1, Tuple(build), 1)
    # of what the switch sees of the join, its type and its keys
    body = partners(left, right, len(node.left.schema))
    return Pruning(algorithm, (node,), pruned([probing, building], body, node.left), note)
