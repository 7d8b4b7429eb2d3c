"""Converts Substrait plans to dataflows and back.

    reader = Reader(plan, {"item": read})          # a relation of the plan as a dataflow, or why it is none
    root = from_plan(plan_or_bytes_or_json, tables)
    plan = to_plan(root)

Needs the `substrait` package (`pip install 'jumpgate-nca[sql]'`). Unknown parts, and those with other values here than
the producer expects, are never guessed: they are `Kept` with a reason.
"""

from jumpgate.dataflow.substrait.plan import from_plan, parse, parse_own
from jumpgate.dataflow.substrait.reader import Kept, Reader
from jumpgate.dataflow.substrait.writer import to_plan

__all__ = ["Kept", "Reader", "from_plan", "parse", "parse_own", "to_plan"]
