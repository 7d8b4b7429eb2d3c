"""Skylines of two keys: rows that a stored point dominates (p4/programs/skyline.py), scored by the sum of both words.

Rows with a NULL key pass. Words are exact, so a row that is dominated by its words is.
"""

from __future__ import annotations

from jumpgate.dataflow.operators import Operator, Skyline
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, pruned, with_payload
from jumpgate.ncas.switch_prune.words import number, word


def prune_skyline(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Skyline):
        return None
    if "skyline" not in setting.sizes.algorithms:
        return Unsupported("its program has no skyline", "program", 'Use program = "prune_skyline".')
    if len(node.keys) != 2:
        return Unsupported(f"the switch compares points by two keys, not by {len(node.keys)}", "keys")
    words = []
    for k in node.keys:
        n = number(k.expression)
        made, exact = (None, False) if n is None else word(n, complement=not k.descending)
        if made is None or not exact:
            return Unsupported(f"a key is {k.expression.type.name}; the switch compares 32 bits", "width",
                               "Cast it to a shorter integer or decimal, if it fits.")  # fmt: skip
        words.append(made)
    sent, arriving = with_payload(node.input, Tuple(a=words[0], b=words[1]))
    return Pruning("skyline", (node,), pruned([sent], node.with_inputs((arriving,)), node.input))
