"""Distinct rows, or groups without measures: a cache of keys that were forwarded before (p4/programs/distinct.py).

Keys of more than 64 bits go by their fingerprints where the configuration accepts that two may be taken for one.
"""

from __future__ import annotations

import math

from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Distinct, Operator
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, every_column, fingerprints, pruned, with_payload
from jumpgate.ncas.switch_prune.words import KEY_BITS, key
from jumpgate.p4.programs import sizing
from jumpgate.p4.programs.render import PruneSizes

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
    carried, note, most = key(columns), "", math.inf
    if carried is None:
        most = rows_max(setting.sizes, 1 - setting.success)
        if most < 1:
            types = ", ".join(e.type.name for e in columns)
            return Unsupported(
                f"the switch tells keys of 64 bits apart; ({types}) are more, and a fingerprint of them might lose a "
                "row", "key", "Accept a probability of the right answer (success = 0.9999), or take distinct integers, "
                "dates or short decimals and join what belongs to them afterwards.",
            )  # fmt: skip
        carried = bind("fingerprint", columns)
        note = fingerprints(KEY_BITS, setting, most)
    sent, arriving = with_payload(leaf, Tuple(carried))
    return Pruning(algorithm, (node,), pruned([sent], node.with_inputs((arriving,)), leaf), note, most)


def rows_max(sizes: PruneSizes, delta: float) -> int:
    """How many rows, which may all differ, lose one with probability `delta` at most."""
    rows = 1 << sizes.distinct_bits
    bits = KEY_BITS - sizing.carried_bits(0, rows)  # the key chooses the row as well
    by_length = sizing.length_max(bits, sizes.distinct_columns, delta)
    return max(by_length, sizing.distinct_keys_max(bits, rows, delta))
