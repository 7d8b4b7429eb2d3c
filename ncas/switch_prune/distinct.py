"""Distinct rows, or groups without measures: a cache of keys that were forwarded before (p4/programs/distinct.py)."""

from __future__ import annotations

from jumpgate.dataflow.operators import Aggregate, Distinct, Operator
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, every_column, pruned, with_payload
from jumpgate.ncas.switch_prune.words import key

ALGORITHMS = ("distinct_lru", "distinct_fifo")


def prune_distinct(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if isinstance(node, Distinct):
        leaf, columns = node.input, every_column(node.input)
    elif isinstance(node, Aggregate) and node.phase == "full" and node.keys and not node.measures:
        leaf, columns = node.input, node.keys
    else:
        return None
    algorithm = next((a for a in ALGORITHMS if a in setting.sizes.algorithms), None)
    if algorithm is None:
        return Unsupported("its program has no distinct", "program", 'Use program = "prune" or "prune_distinct".')
    carried = key(columns)
    if carried is None:
        types = ", ".join(e.type.name for e in columns)
        return Unsupported(
            f"the switch tells keys of 64 bits apart; ({types}) are more, and a fingerprint of them might lose a row",
            "key", "Take distinct integers, dates or short decimals, and join what belongs to them afterwards.",
        )  # fmt: skip
    sent, arriving = with_payload(leaf, Tuple(carried))
    return Pruning(algorithm, (node,), pruned([sent], node.with_inputs((arriving,)), leaf))
