"""Groups' max or min: rows that do not exceed what their group forwarded before (p4/programs/groupby.py).

The switch compares 32 bits of a value, and two registers of that width do not change as one. Of a wider column those
values are therefore compared that lie in a window of 2^32, at the better end of what is known of the column; others
pass. Any window is right; how well it is chosen decides how much is pruned.

The switch keeps 32 bits of a key. Wider keys go by 32 bits of their fingerprints, whose others choose the row, where
the configuration accepts that two groups may be taken for one.
"""

from __future__ import annotations

import math

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Operator
from jumpgate.nca.interface import Estimates, Unsupported
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting, Tuple, fingerprints, pruned, with_payload
from jumpgate.ncas.switch_prune.words import INT64_MAX, WORD_BITS, WORD_MAX, at_number, number, packed, within, word
from jumpgate.p4.programs import sizing
from jumpgate.p4.programs.render import PruneSizes


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
    value = number(values[0])
    if value is None:
        return Unsupported(f"the switch compares numbers and dates, not {values[0].type.name}", "width")
    if not value.exact:
        return Unsupported(f"of a {values[0].type.name} the switch compares the day alone", "width",
                           "Cast it to a date, if days suffice.")  # fmt: skip
    least = functions == {"min"}
    if value.bits <= WORD_BITS:
        a, notes = word(value, complement=least)[0], []
    else:
        low = window(node, values[0], least, setting.estimates)
        a, notes = within(value, low, complement=least), [f"values from {low} to {low + WORD_MAX}"]
    carried, most = packed(node.keys, WORD_BITS), math.inf
    if carried is None:
        most = rows_max(setting.sizes, 1 - setting.success)
        if most < 1:
            types = ", ".join(e.type.name for e in node.keys)
            return Unsupported(
                f"the switch's groups are pairs of 32 bits; the key ({types}) is more, and with a fingerprint of it a "
                "group's value might be lost", "width",
                "Cast it to a shorter integer or decimal, if it fits, or accept a probability of the right answer "
                "(success = 0.9999).",
            )  # fmt: skip
        carried = bind("fingerprint", node.keys)
        notes.append(fingerprints(WORD_BITS, setting, most))
    sent, arriving = with_payload(node.input, Tuple(carried, a))
    wire = pruned([sent], node.with_inputs((arriving,)), node.input)
    return Pruning("groupby", (node,), wire, "; ".join(notes), most)


def window(node: Aggregate, value: Expression, least: bool, estimates: Estimates | None) -> int:
    """Where the 2^32 numbers begin that are compared: around zero if nothing is known of the column."""
    known = None if estimates is None else estimates.column(node.input, value)
    end = None if known is None else known.low if least else known.high
    if end is None:
        return -1 - (WORD_MAX >> 1)
    first = at_number(value.type, end) - (0 if least else WORD_MAX)
    return min(max(first, -INT64_MAX), INT64_MAX - WORD_MAX)


def rows_max(sizes: PruneSizes, delta: float) -> int:
    """How many rows, each of which may be a group, lose one with probability `delta` at most."""
    by_length = sizing.length_max(WORD_BITS, sizes.groupby_columns, delta)
    return max(by_length, sizing.distinct_keys_max(WORD_BITS, 1 << sizes.groupby_bits, delta))
