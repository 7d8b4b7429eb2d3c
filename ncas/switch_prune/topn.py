"""Top-n by its first key: rows that cannot be among the n first (p4/programs/topn.py).

Rows are pruned only when n others are strictly before them in the first key, so ties and further keys do not matter.
Rows whose first key is NULL pass.

The deterministic algorithm's thresholds double from the least of the first n values on. Where the key's bounds are
known, what travels is therefore not the key but a step, 1, 2, 4 …, by how many rows are expected to have a better one:
each threshold then lets a like part of the rows pass that passed the one before, wherever zero is.
"""

from __future__ import annotations

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import Operator, Sort
from jumpgate.nca.interface import Estimates, Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, pruned, with_payload
from jumpgate.ncas.switch_prune.words import INT64_MAX, Number, at_number, number, steps, unsigned, word
from jumpgate.p4.programs import sizing

WANTED_MAX = (1 << 32) - 1
#: the last threshold is where so many times the wanted rows are expected above it: n must be, for it to count
SPARE = 2.0


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
    a = None
    if algorithm == "topn_det" and setting.estimates is not None:
        a = _stepped(node, ordered, setting.sizes.topn_thresholds, setting.estimates)
        note = f"in {setting.sizes.topn_thresholds + 1} steps" if a is not None else ""
    if a is None:  # thresholds are doubled: numbers from zero on suit them
        a = unsigned(ordered) if first.descending else word(ordered, complement=True)[0]
    sent, arriving = with_payload(node.input, Tuple(a=a))
    return Pruning(algorithm, (node,), pruned([sent], node.with_inputs((arriving,)), node.input), note)


def _stepped(node: Sort, ordered: Number, thresholds: int, estimates: Estimates) -> Expression | None:
    """The step of a row's key; None if too little is known, or most rows are wanted. Any bounds are right, since a
    better key never has a smaller step; how well they are chosen decides how much is pruned."""
    first = node.keys[0]
    known, rows = estimates.column(node.input, first.expression), estimates.of(node.input).rows
    if known.low is None or known.high is None or not rows or rows <= SPARE * wanted(node):
        return None
    low, high = (at_number(first.expression.type, end) for end in (known.low, known.high))
    if low < -INT64_MAX or high >= INT64_MAX:  # beyond what the comparisons below can hold
        return None
    return steps(ordered, *step_bounds(low, high, SPARE * wanted(node) / rows, thresholds, first.descending))


def step_bounds(low: int, high: int, share: float, thresholds: int, descending: bool) -> tuple[list[int], list[int]]:
    """Bounds (rising) and the steps between them, one more, for values that are spread evenly from `low` to `high`:
    each threshold lets a like part of what passed the one before pass, the last one `share` of all."""
    shares = [share ** (i / thresholds) for i in range(1, thresholds + 1)]
    if descending:
        return [high - round((high - low) * s) for s in shares], [1 << i for i in range(thresholds + 1)]
    bounds = [low + 1 + round((high - low) * s) for s in reversed(shares)]
    return bounds, [1 << i for i in reversed(range(thresholds + 1))]


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
