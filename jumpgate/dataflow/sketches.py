"""Approximate distinct counts as exact counts of the coupons that values draw (coupons.py), of which a group has few.

So every way to count distinct values (on disk, over several hosts, beside other measures) also counts approximately,
and the result depends only on the set of values.
"""

from __future__ import annotations

from dataclasses import replace

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, Project, column


def expanded(node: Aggregate) -> Operator:
    """Return the aggregate without approximate measures: estimates from the number of distinct coupons."""
    measures = tuple(_coupons(m) for m in node.measures)
    if measures == node.measures:
        return node
    counted = replace(node, measures=measures)
    columns: list[Expression] = [column(counted.schema, i) for i in range(len(counted.schema))]
    for i, m in enumerate(node.measures, len(node.keys)):
        if m.declaration.expanded:
            columns[i] = bind("distinct_estimate", (columns[i],))
    return Project(counted, tuple(columns), node.schema.names)


def _coupons(m: Measure) -> Measure:
    if not m.declaration.expanded:
        return m
    return Measure.of("count_distinct", bind("distinct_coupon", m.values), name=m.name)
