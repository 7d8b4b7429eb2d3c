"""ANY and ALL of a subquery that names nothing of the query around it: its least and greatest values decide."""

from __future__ import annotations

from jumpgate.client.duckdb.functions import whole
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.joins import cross
from jumpgate.dataflow.operators import Aggregate, Measure, Operator, Project, column
from jumpgate.dataflow.types import bool_

#: comparison → the measures that the value is compared with: it holds for some row if it holds for one of these
COMPARED = {"lt": ("most",), "le": ("most",), "gt": ("least",), "ge": ("least",), "ne": ("least", "most")}
_MEASURES = ("least", "most", "known", "rows")


def marked(left: Operator, right: Operator, function: str, value: Expression, option: Expression) -> Operator:
    """The rows of `left` with a mark: whether value (over left) compares so with some row's option (over right), NULL
    if that is undecided."""
    measures = (
        Measure.of("min", option, name="least"), Measure.of("max", option, name="most"),
        Measure.of("count", option, name="known"), Measure.of("count_star", name="rows"),
    )  # fmt: skip
    both = cross(left, Aggregate(right, (), (), measures))
    width = len(left.schema)
    of = {name: column(both.schema, width + i) for i, name in enumerate(_MEASURES)}
    holds = [bind(function, (value, of[name])) for name in COMPARED[function]]
    some = bind("or", tuple(holds)) if len(holds) > 1 else holds[0]
    type = bool_.with_nullable(True)
    no = Literal(bool_.with_nullable(False), False)
    undecided = Case(type, (bind("lt", (of["known"], of["rows"])), Literal(type, None)), no)
    mark = Case(type, (bind("eq", (of["rows"], whole(0))), no), bind("or", (some, undecided)))
    kept = (column(both.schema, i) for i in range(width))
    return Project(both, (*kept, mark), (*left.schema.names, "mark"))
