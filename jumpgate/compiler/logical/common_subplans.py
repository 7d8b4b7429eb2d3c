"""Computes equal sub-plans that hold rows once: clients that send trees, as Substrait's do, repeat what they share."""

from __future__ import annotations

from dataclasses import fields

from jumpgate.compiler.plan import Plan
from jumpgate.dataflow.operators import Operator, State, rewrite


def common_subplans(plan: Plan) -> Plan:
    """Let the consumers of equal operators share one, where it holds the rows of its result. Others stay apart: their
    rows would still be computed for each consumer, and conditions of one consumer could no longer move below them."""
    known: dict[tuple[object, ...], int] = {}
    numbers: dict[int, int] = {}  # by identity; equal sub-plans have the same number
    seen: dict[int, Operator] = {}

    def change(node: Operator) -> Operator:
        number = known.setdefault((_own(node), *(numbers[id(i)] for i in node.inputs)), len(known))
        first = seen.setdefault(number, node)
        shown = first if node.state is State.ROWS else node
        numbers[id(shown)] = number
        kept.append(shown)
        return shown

    kept: list[Operator] = []  # while they exist, no other node has their identity
    root = rewrite(plan.root, change)
    return plan.over(root)


def _own(node: Operator) -> tuple[object, ...]:
    """Return the operator without its inputs, to compare: by text, as -0.0 equals 0.0."""
    values = (getattr(node, field.name) for field in fields(node))
    return type(node), *(repr(value) for value in values if not _is_input(value))


def _is_input(value: object) -> bool:
    return isinstance(value, Operator) or (isinstance(value, tuple) and any(isinstance(v, Operator) for v in value))
