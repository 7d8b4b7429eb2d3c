"""Groups whose sum or count exceeds a constant: rows of others, by a count-min sketch (p4/programs/having.py).

All rows are sent twice: first to be counted, and absorbed; then those pass whose group's estimate exceeds the
constant. Estimates are never too small: negative values count as nothing, and keys that share counters, or
fingerprints, add up.
The aggregate and its condition run again downstream.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, Literal, conjuncts
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Measure, Operator, column
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.switch_prune.pruning import (
    NOTHING,
    Pruning,
    Setting,
    Tuple,
    partners,
    pruned,
    with_payload,
    without_payload,
)
from jumpgate.ncas.switch_prune.words import Number, literal, number, some_key, unsigned

#: counters saturate at 2^32 - 1, which must still exceed the constant
THRESHOLD_MAX = (1 << 32) - 2
ONE = replace(NOTHING, value=1)


def prune_having(node: Operator, setting: Setting) -> Pruning | Unsupported | None:
    if not isinstance(node, Filter) or not isinstance(node.input, Aggregate):
        return None
    groups = node.input
    if groups.phase != "full" or not groups.keys:
        return None
    found = next((f for t in conjuncts(node.predicate) if (f := _condition(t, groups)) is not None), None)
    if found is None:
        return Unsupported("the switch compares a sum or a count of each group with a constant: sum(x) > 100",
                           "condition")  # fmt: skip
    if "having" not in setting.sizes.algorithms:
        return Unsupported("its program has no having", "program", 'Use program = "prune".')
    value, threshold = found
    if not 0 <= threshold <= THRESHOLD_MAX:
        return Unsupported(f"the switch counts from 0 to {THRESHOLD_MAX}; the constant is {threshold}", "threshold")
    carried, note = some_key(groups.keys)
    leaf = groups.input
    row = Tuple(carried, bind("coalesce", (value, NOTHING)) if value.type.nullable else value)
    again, left = with_payload(leaf, row)
    counted, right = without_payload(0, row, 1)
    total = column(right.schema, 1)
    estimates = Aggregate(right, (column(right.schema, 0),), ("key",), (Measure.of("sum", total, name="total"),))
    over = Filter(estimates, bind("gt", (column(estimates.schema, 1), literal(threshold))))
    body = partners(left, over, len(leaf.schema))
    return Pruning("having", (node, groups), pruned([again, counted], body, leaf), note)


def _condition(term: Expression, groups: Aggregate) -> tuple[Expression, int] | None:
    """Return the word that a row adds to its group (unsigned), and the bound that a group's total must exceed."""
    if not isinstance(term, Call) or term.function not in ("gt", "ge", "lt", "le"):
        return None
    total, constant = term.args if term.function in ("gt", "ge") else term.args[::-1]
    if isinstance(total, Cast):
        total = total.input
    if not isinstance(total, ColumnRef) or total.index < len(groups.keys) or not isinstance(constant, Literal):
        return None
    wanted = groups.measures[total.index - len(groups.keys)]
    if not isinstance(constant.value, int | Decimal) or isinstance(constant.value, bool):
        return None
    scale = 0
    if wanted.function == "count_star":
        value: Expression = ONE
    elif wanted.function == "count" and wanted.argument is not None:
        from_value = bind("is_not_null", (wanted.argument,))
        value = unsigned(Number(_as_integer(from_value), 1))
    elif wanted.function == "sum" and wanted.argument is not None:
        added = number(wanted.argument)
        if added is None or wanted.argument.type.kind in ("date", "timestamp"):
            return None
        value, scale = unsigned(added), wanted.argument.type.scale
    else:
        return None
    exceeded = constant.value * 10**scale
    return value, math.floor(exceeded) if term.function in ("gt", "lt") else math.ceil(exceeded) - 1


def _as_integer(e: Expression) -> Expression:
    found = number(e)
    assert found is not None
    return found.expression


def threshold_of(body: Join) -> int:
    """The constant of what `prune_having` made."""
    assert isinstance(body.right, Filter) and isinstance(body.right.predicate, Call)
    constant = body.right.predicate.args[1]
    assert isinstance(constant, Literal) and isinstance(constant.value, int)
    return constant.value
