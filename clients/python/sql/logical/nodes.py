"""A node of a plan as its encoding, which says what it does, and as DataFusion's object, which has its columns."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import datafusion
import pyarrow as pa
from datafusion.plan import LogicalPlan
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from jumpgate.client.sql.logical.plan_pb2 import Column, Expr, Plan, TableName
from jumpgate.dataflow.substrait.types import Unmapped

#: of the messages of plans, the fields that hold inputs, in the order in which DataFusion has them
_INPUTS = ("input", "left", "right", "inputs")
#: messages that hold no expressions, or, as plans, others than those of their node
_WITHOUT_EXPRESSIONS = frozenset(("Plan", "Scalar", "Type", "Schema", "TableName", "Relation"))
#: operators whose names in a display are not words
_OPERATORS = {"tablescan": "scan", "windowaggr": "window", "subqueryalias": "alias", "emptyrelation": "empty relation"}


@dataclass(frozen=True)
class Name:
    """A column's name: `flat` as DataFusion compares it, with its qualifier if there is one."""

    flat: str
    relation: str
    name: str


@dataclass(frozen=True, eq=False)
class Node:
    """One node of a plan over the tables of `context`. nests: whether its expressions hold subqueries."""

    plan: Plan
    logical: LogicalPlan
    context: datafusion.SessionContext
    nests: bool = True

    @property
    def kind(self) -> str:
        """The operator's name in the encoding; empty for one that Jumpgate does not know."""
        return self.plan.WhichOneof("kind") or ""

    @property
    def described(self) -> str:
        """The operator in words."""
        return operator_name(str(self.logical.display()))

    @cached_property
    def schema(self) -> pa.Schema:
        """Names without qualifiers, and types."""
        return self.context.create_dataframe_from_logical_plan(self.logical).schema()

    @cached_property
    def types(self) -> list[pa.DataType]:
        found: list[pa.DataType] = self.schema.types
        return found

    @cached_property
    def flat_names(self) -> list[str]:
        """Names with their qualifiers; raises Unmapped for an operator that cannot tell them."""
        try:
            names: list[str] = self.logical.to_variant().schema().field_names()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise Unmapped(f"the columns of a {self.described} are not known") from None
        return names

    @cached_property
    def names(self) -> list[Name]:
        """Names of the columns, taken apart."""
        found = []
        for flat, name in zip(self.flat_names, self.schema.names, strict=True):
            qualified = flat != name and flat.endswith("." + name)
            found.append(Name(flat, flat[: -len(name) - 1] if qualified else "", name if qualified else flat))
        return found

    @cached_property
    def children(self) -> list[Node]:
        """Its inputs."""
        plans = list(inputs(self.plan))
        logicals = list(self.logical.inputs())
        while len(logicals) < len(plans) and self.kind == "union":  # a decoded union nests in its first input
            logicals = [*logicals[0].inputs(), *logicals[1:]]
        if len(plans) != len(logicals):
            raise Unmapped(f"a {self.described} with {len(logicals)} inputs is encoded with {len(plans)}")
        return [Node(plan, logical, self.context, self.nests) for plan, logical in zip(plans, logicals, strict=True)]

    @cached_property
    def operators(self) -> int:
        """How many operators it and all below it are, subqueries included; a new name is none."""
        return (self.kind != "subquery_alias") + sum(n.operators for n in (*self.children, *self.subqueries))

    def subquery(self, plan: Plan) -> Node:
        """The node of a subquery in one of the expressions."""
        try:
            return Node(plan, LogicalPlan.from_bytes(self.context, plan.SerializeToString()), self.context)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise Unmapped("the subquery cannot be read back") from None

    @cached_property
    def subqueries(self) -> list[Node]:
        """The subqueries of its expressions, in the order of the encoding."""
        return [self.subquery(expr.subquery.plan.plan) for expr in subquery_exprs(self.plan)] if self.nests else []


def operator_name(line: str) -> str:
    """The operator in words, of a line of a plan's display."""
    name = line.strip().partition(":")[0].partition(" [")[0].lower()
    return _OPERATORS.get(name, name)


def flat_name(column: Column) -> str:
    """A column's name as DataFusion compares it."""
    return f"{column.relation.name}.{column.name}" if column.HasField("relation") else str(column.name)


def qualify(target: TableName, name: str) -> None:
    """Fills a table's name with `table`, `schema.table` or `catalog.schema.table`."""
    match name.split("."):
        case [schema, table]:
            target.partial.schema, target.partial.table = schema, table
        case [catalog, schema, table]:
            target.full.catalog, target.full.schema, target.full.table = catalog, schema, table
        case _:
            target.bare.table = name


def inputs(plan: Plan) -> Iterator[Plan]:
    """The encoded inputs of an encoded node."""
    kind = plan.WhichOneof("kind")
    body = getattr(plan, kind) if kind else None
    for name in _INPUTS:
        value = getattr(body, name, None)
        if name == "inputs" and value is not None:
            yield from value
        elif isinstance(value, Plan) and body is not None and body.HasField(name):
            yield value


def within(message: Message) -> Iterator[Message]:
    """The message and all within it, outer ones first, but for plans, values and types, and what these hold."""
    stack = [message]
    while stack:
        message = stack.pop()
        yield message
        for field, value in reversed(message.ListFields()):
            if (holds := _holds_expressions(field)) is not None:
                stack.extend(reversed(value)) if holds else stack.append(value)


@functools.cache
def _holds_expressions(field: FieldDescriptor) -> bool | None:
    """Return whether a field that may hold expressions holds several of its messages; None for any other field."""
    type = field.message_type
    if type is None or type.GetOptions().map_entry or type.name in _WITHOUT_EXPRESSIONS:
        return None
    return bool(field.is_repeated)


def subquery_exprs(plan: Plan) -> Iterator[Expr]:
    """The subqueries in the expressions of one node, not those of its inputs or in other subqueries."""
    kind = plan.WhichOneof("kind")
    for message in within(getattr(plan, kind)) if kind else ():
        if isinstance(message, Expr) and message.WhichOneof("kind") == "subquery":
            yield message


def placed(node: Node, plan: Plan) -> Iterator[tuple[Node, Plan]]:
    """The node's children and subqueries, each with its place in `plan`, the node's encoding or a copy of it."""
    places = [*inputs(plan)]
    if node.nests:
        places += [expr.subquery.plan.plan for expr in subquery_exprs(plan)]
    yield from zip((*node.children, *node.subqueries), places, strict=True)


def below(plan: Plan, nests: bool = True) -> Iterator[Plan]:
    """The plan and all plans below it, subqueries included if it nests any; inner ones first."""
    for inner in inputs(plan):
        yield from below(inner, nests)
    for expr in subquery_exprs(plan) if nests else ():
        yield from below(expr.subquery.plan.plan)
    yield plan
