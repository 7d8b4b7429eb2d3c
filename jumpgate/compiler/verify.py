"""Checks a plan after every pass, so that a pass's mistake is found where it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from jumpgate.compiler.plan import PhysicalPlan, Plan
from jumpgate.compiler.tree import unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Operator, numbered
from jumpgate.dataflow.traits import State, scoped
from jumpgate.dataflow.types import Schema
from jumpgate.errors import InternalError
from jumpgate.nca.disk_joins import candidates
from jumpgate.nca.matching import received


class Verifier:
    """Checks each node once, so that a pass that changes little costs little."""

    def __init__(self, plan: Plan) -> None:
        self._result = plan.root.schema
        self._last: Plan | None = None
        self._seen: dict[int, Operator] = {}

    def verify(self, plan: Plan, after: str) -> None:
        """Raise InternalError that names the pass and the problem, and the operator that has it."""
        last, self._last = self._last, plan
        if last is None or plan.root is not last.root:
            self._verify_root(plan, after)
        if isinstance(plan, PhysicalPlan) and not (isinstance(last, PhysicalPlan) and _same_parts(plan, last)):
            wrong = next(physical_problems(plan), "")
            if wrong:
                raise InternalError(f"{after} left a wrong plan: {wrong}", step=after)

    def _verify_root(self, plan: Plan, after: str) -> None:
        for node in unique(plan.root):
            if id(node) in self._seen:
                continue
            self._seen[id(node)] = node
            wrong = problem(node)
            if wrong:
                raise InternalError(f"{after} left a wrong plan: {node.kind}: {wrong}", operator=node.kind, step=after)
        have, want = plan.root.schema, self._result
        if have.names != want.names or not _same_types(have, want):
            raise InternalError(f"{after} changed the result from {want} to {have}", step=after)


def problem(node: Operator) -> str:
    """Return the problem of one operator over its inputs; empty if there is none."""
    expressions: Iterable[tuple[Expression, Schema]] = scoped(node) if node.inputs else ()
    if isinstance(node, Aggregate) and node.phase == "final":  # its measures' arguments are of the rows before
        expressions = ((key, node.input.schema) for key in node.keys)
    return node.defect or next((found for e, schema in expressions if (found := _references(e, schema))), "")


def physical_problems(plan: PhysicalPlan) -> Iterator[str]:
    """Yield the problems of instances and edges that do not fit together."""
    edges = {edge.id: edge for edge in plan.edges}
    counts = Counter(i.fragment for i in plan.instances)
    ids = {i.id: i for i in plan.instances}
    for edge in plan.edges:
        yield from (f"{end} sends on edge {edge.id} and is no instance" for end in edge.producers if end not in ids)
        for end in edge.consumers:
            if end not in ids or edge.id not in ids[end].inputs:
                yield f"{end} does not read edge {edge.id}, which goes to it"
    for i in plan.instances:
        if i.count != counts[i.fragment] or not i.index < i.count:
            yield f"{i.id} is number {i.index} of {i.count}, its fragment has {counts[i.fragment]}"
        if i.index:
            continue  # runs the same operators
        nodes = numbered(i.root)
        if not 1 <= i.stage <= plan.stages or any(not 1 <= stage <= i.stage for stage in i.input_stages):
            yield f"{i.id} sends in stage {i.stage} and reads in {i.input_stages}, of {plan.stages}"
        reads = received(i.root)
        if i.output not in edges or not reads.keys() <= edges.keys() & {*i.inputs}:
            yield f"{i.id} sends on {i.output} and reads {', '.join(reads)}, of which some are no edges of its own"
            continue
        for name, schema in {**reads, i.output: i.root.schema}.items():
            if not _carries(edges[name].ntf.schema, schema):
                yield f"{i.id} has {schema} on edge {name}, which carries {edges[name].ntf.schema}"
        if not i.joins_on_disk <= candidates(i.root).keys():
            yield f"{i.id} has joins on disk {sorted(i.joins_on_disk)}, of which not all may spill"
        if not i.kept_rows <= {number for number, node in enumerate(nodes) if node.state is not State.ROWS}:
            yield f"{i.id} keeps the rows of {sorted(i.kept_rows)}, of which some keep theirs anyway"


def _same_parts(a: PhysicalPlan, b: PhysicalPlan) -> bool:
    return a.instances is b.instances and a.edges is b.edges and a.stages == b.stages


def _same_types(a: Schema, b: Schema) -> bool:
    return len(a) == len(b) and all(x.type.same(y.type) for x, y in zip(a, b, strict=True))


def _carries(carried: Schema, schema: Schema) -> bool:
    """Return whether an edge carries rows of the schema; nested values travel as bytes."""
    return len(carried) == len(schema) and all(
        c.type.same(f.type.physical) for c, f in zip(carried, schema, strict=True)
    )


def _references(expression: Expression, schema: Schema) -> str:
    fields = schema.fields
    for e in (expression,) if isinstance(expression, ColumnRef) else expression.walk():
        if isinstance(e, ColumnRef):
            if not 0 <= e.index < len(fields):
                return f"{e} refers beyond {len(fields)} columns"
            if not e.type.same(fields[e.index].type):
                return f"{e} is {e.type}, the column is {fields[e.index].type}"
    return ""
