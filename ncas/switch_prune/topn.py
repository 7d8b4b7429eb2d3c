"""Top-n by its first key: rows that cannot be among the n first (p4/programs/topn.py).

Rows are pruned only when n others are strictly before them in the first key, so ties and further keys do not matter.
Rows whose first key is NULL pass.
"""

from __future__ import annotations

from jumpgate.dataflow.operators import Operator, Sort
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, pruned, with_payload
from jumpgate.ncas.switch_prune.words import number, unsigned, word
from jumpgate.p4.programs import sizing

WANTED_MAX = (1 << 32) - 1


def prune_topn(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Sort) or node.limit is None or not node.keys:
        return None
    first = node.keys[0]
    ordered = number(first.expression)
    if ordered is None:
        return Unsupported(f"the switch orders numbers and dates, not {first.expression.type.name}", "order",
                           "Order by a number first.")  # fmt: skip
    found = _algorithm(wanted(node), setting)
    if isinstance(found, Unsupported):
        return found
    algorithm, note = found
    # thresholds are doubled: numbers from zero on suit them
    a = unsigned(ordered) if first.descending else word(ordered, complement=True)[0]
    sent, arriving = with_payload(node.input, Tuple(a=a))
    return Pruning(algorithm, (node,), pruned([sent], node.with_inputs((arriving,)), node.input), note)


def wanted(node: Sort) -> int:
    """How many rows may be needed."""
    return (node.limit or 0) + node.offset


def _algorithm(n: int, setting: Setting) -> tuple[str, str] | Unsupported:
    """The deterministic one, unless the configuration accepts a probability and the randomised one keeps it."""
    sizes = setting.sizes
    if n > WANTED_MAX:
        return Unsupported(f"the switch counts to {WANTED_MAX}, not to {n}", "limit")
    if "topn_rand" in sizes.algorithms and setting.success < 1:
        failure = sizing.topn_failure(n, 1 << sizes.topn_bits, sizes.topn_columns)
        if failure <= 1 - setting.success:
            return "topn_rand", f"randomised top-n: wrong with a probability of at most {failure:.2g}"
    if "topn_det" in sizes.algorithms:
        return "topn_det", ""
    return Unsupported(
        "its program has no deterministic top-n", "program",
        'Use program = "prune_topn", or accept a probability: success = 0.9999.',
    )  # fmt: skip
