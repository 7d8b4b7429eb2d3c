"""Substrait in and out: a plan of any engine becomes a dataflow, and a dataflow a plan.

    reader = Reader(plan, {"item": read})          # what a relation of the plan is as a dataflow, or why it is none
    root = from_plan(plan_or_bytes_or_json, tables)
    plan = to_plan(root)

Needs the `substrait` package (`pip install 'jumpgate[sql]'`). What is unknown, or would give other values here than the
producer expects, is never guessed: it is `Kept` with a reason.
"""

from jumpgate.dataflow.substrait.plan import from_plan, parse, parse_own
from jumpgate.dataflow.substrait.reader import Kept, Reader
from jumpgate.dataflow.substrait.writer import to_plan

__all__ = ["Kept", "Reader", "from_plan", "parse", "parse_own", "to_plan"]
