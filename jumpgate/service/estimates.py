"""Estimates a planned job, here and with other speeds, as Explain answers it."""

from __future__ import annotations

import math
from collections import Counter

from jumpgate.compiler.estimate import Estimator, row_bytes
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.operators import Emit, Operator, Send, numbered
from jumpgate.dataflow.types import Schema
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.speeds import seconds_of, unit_seconds
from jumpgate.v1 import service_pb2 as pb


def estimate_of(plan: JobPlan, elsewhere: pb.Speeds) -> pb.Estimate:
    """The plan's figures. Elsewhere nothing is sent. What is used several times may be kept there (tables of WITH) or
    computed as often (equal subqueries): the geometric mean of these is taken. Grouping sets are computed at once."""
    seconds = dict(elsewhere.seconds)
    found = pb.Estimate(known=plan.figures.seconds is not None, seconds=plan.figures.seconds or 0.0)
    total = unit_seconds("job", seconds) if seconds else 0.0
    for instance in plan.instances:
        if instance.index:
            continue
        paths = _paths(instance.root)
        for number, node in enumerate(numbered(instance.root)):
            figures = plan.figures.operators.get((instance.fragment, number))
            if figures is None:
                continue
            there = 0.0
            if seconds and not isinstance(node, Emit):
                there = math.sqrt(paths[id(node)]) * seconds_of(figures.work, seconds, elsewhere.cores)
            if isinstance(node, Emit) and instance.output == plan.result:
                found.rows, found.bytes = figures.rows, figures.bytes
            total += there
            found.operators.append(
                pb.OperatorEstimate(
                    fragment=instance.fragment,
                    number=number,
                    kind=node.kind,
                    rows=figures.rows,
                    bytes=figures.bytes,
                    doubt=figures.doubt,
                    seconds=figures.seconds,
                    elsewhere_seconds=there,
                )
            )
    found.elsewhere_seconds = total
    return found


def columns_of(estimator: Estimator, root: Operator) -> list[pb.ColumnEstimate]:
    """Return the estimates of each column of a dataflow's result."""
    result = root.input if isinstance(root, Send) else root
    rows = estimator.of(result).rows
    found = []
    for index, field in enumerate(result.schema):
        known = estimator.column(result, ColumnRef(field.type, index))
        bytes = None if rows is None else rows * row_bytes(Schema((field,)))
        found.append(
            pb.ColumnEstimate(
                bytes=bytes, distinct=known.distinct, low=known.low, high=known.high, null_fraction=known.null_fraction
            )
        )
    return found


def _paths(root: Operator) -> Counter[int]:
    """How many ways lead from the root to each node, by its identity; those through several members of a union, as the
    grouping sets of an aggregate, are one."""
    found: dict[int, Counter[int]] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        missing = [child for child in node.inputs if id(child) not in found]
        waiting += missing
        if missing:
            continue
        waiting.pop()
        below: Counter[int] = Counter()
        is_union = len(node.schema) > 0 and len(node.lineage(0)) > 1
        for child in node.inputs:
            below = below | found[id(child)] if is_union else below + found[id(child)]
        found[id(node)] = below + Counter({id(node): 1})
    return found[id(root)]
