"""Groups' max or min: rows that do not exceed what their group forwarded before (p4/programs/groupby.py)."""

from __future__ import annotations

from jumpgate.dataflow.operators import Aggregate, Operator
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, pruned, with_payload
from jumpgate.ncas.switch_prune.words import WORD_BITS, Number, number, word


def prune_groupby(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Aggregate) or node.phase != "full" or not node.keys or not node.measures:
        return None
    functions = {m.function for m in node.measures}
    values = list(dict.fromkeys(m.argument for m in node.measures))
    if functions not in ({"max"}, {"min"}) or len(values) > 1 or values[0] is None:
        return Unsupported("the switch prunes groups by the max, or by the min, of one value", "measures",
                           "Use switch_aggregate for sums and counts.")  # fmt: skip
    if "groupby" not in setting.sizes.algorithms:
        return Unsupported("its program has no group-by", "program", 'Use program = "prune" or "prune_groupby".')
    key = _exact([number(k) for k in node.keys])
    value = number(values[0])
    if key is None or value is None:
        what = "the key" if key is None else "the value"
        return Unsupported(
            f"the switch's groups are pairs of 32 bits; {what} is more", "width",
            "Cast it to a shorter integer or decimal, if it fits.",
        )  # fmt: skip
    a, exact = word(value, complement=functions == {"min"})
    if not exact:
        return Unsupported(f"the value is {values[0].type.name}, more than 32 bits", "width",
                           "Cast it to a shorter integer or decimal, if it fits.")  # fmt: skip
    sent, arriving = with_payload(node.input, Tuple(key.expression, a))
    return Pruning("groupby", (node,), pruned([sent], node.with_inputs((arriving,)), node.input))


def _exact(numbers: list[Number | None]) -> Number | None:
    """The only key, if 32 bits hold it."""
    (n,) = numbers if len(numbers) == 1 else (None,)
    return n if n is not None and n.exact and n.bits <= WORD_BITS else None
