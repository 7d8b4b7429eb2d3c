"""The parts of a Substrait plan that go to accelerators: its maximal sub-plans that are dataflows, found from the root.

A relation that maps is cut out whole; one that does not is looked into, expressions with subqueries included. Cuts that
are equal run once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message
from substrait.algebra_pb2 import ReadRel, Rel
from substrait.plan_pb2 import Plan

from jumpgate.client.sql.substrait_types import named_struct, plain
from jumpgate.dataflow.operators import Operator

#: decides on one relation that maps: None to cut it out here, else why it rather stays
Decision = Callable[["Candidate"], "str | None"]


#: messages without relations below them
_LEAVES = frozenset(
    {
        "substrait.NamedStruct",
        "substrait.Type",
        "substrait.RelCommon",
        "substrait.Expression.Literal",
        "substrait.Expression.MaskExpression",
        "substrait.Expression.FieldReference",
    }
)


@dataclass(frozen=True)
class Candidate:
    """A relation that could be cut out, and the dataflow that it is; `uses` counts its places in the plan."""

    rel: Rel
    operator: Operator
    operators: int
    uses: int


@dataclass
class Cut:
    """A sub-plan that runs on accelerators; `name` is the table that stands for its result in the rest, with `schema`.
    `operators` are those of the query's plan that it holds; `uses` counts the places of the query that read it."""

    name: str
    operator: Operator
    schema: pa.Schema
    operators: int
    uses: int = 1


@dataclass(frozen=True)
class Kept:
    """An operator that stays with the client: its kind and the reason."""

    kind: str
    reason: str


@dataclass
class Split:
    """A plan taken apart. `rest` reads the cuts as tables, and is None if one cut is the whole plan."""

    rest: Plan | None
    cuts: list[Cut] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    @property
    def operators(self) -> int:
        """Of the whole plan."""
        return self.offloaded + len(self.kept)

    @property
    def offloaded(self) -> int:
        """Of the whole plan, those that the cuts do."""
        return sum(cut.operators * cut.uses for cut in self.cuts)


def split(
    plan: Plan,
    relation: Callable[[Rel], Operator | str],
    decide: Decision,
    schema_of: Callable[[Plan], pa.Schema | None],
    prefix: str,
) -> Split:
    """Takes `plan` apart and leaves it unchanged. relation: the dataflow that one of its relations is, or why it is
    none.

    schema_of: the schema that the client's engine gives a plan, None if it cannot. prefix: of the cuts'
    names.
    """
    rest = Plan()
    rest.CopyFrom(plan)
    found = Split(rest)
    known: dict[bytes, Cut] = {}
    places = Counter(_key(rel) for root in roots(plan) for rel in below(root))

    def visit(rel: Rel, place: Rel) -> None:
        mapped = relation(rel)
        if isinstance(mapped, Operator):
            candidate = Candidate(rel, mapped, count(rel), places[_key(rel)])
            reason = decide(candidate)
            if reason is None and (cut := cut_of(candidate)) is not None:
                _stand_in(place, cut)
                return
            reason = reason or "the client's engine cannot say what columns it has"
        else:
            reason = mapped
        found.kept.append(Kept(kind(rel), reason))
        for child, child_place in zip(list(children(rel)), list(children(place)), strict=True):
            visit(child, child_place)

    def cut_of(candidate: Candidate) -> Cut | None:
        key = _key(candidate.rel)
        if key in known:
            known[key].uses += 1
            return known[key]
        schema = schema_of(_plan_of(plan, candidate))
        if schema is None or len(schema) != len(candidate.operator.schema):
            return None
        cut = Cut(f"{prefix}{len(known)}", candidate.operator, plain(schema), candidate.operators)
        found.cuts.append(cut)
        known[key] = cut
        return cut

    for root, place in zip(roots(plan), roots(rest), strict=True):
        visit(root, place)
    if len(found.cuts) == 1 and not found.kept and len(rest.relations) == 1:
        found.rest = None
    return found


def _stand_in(place: Rel, cut: Cut) -> None:
    """Makes `place` read the cut's result."""
    read = ReadRel(base_schema=named_struct(cut.schema))
    read.common.direct.SetInParent()
    read.named_table.names.append(cut.name)
    place.Clear()
    place.read.CopyFrom(read)


def nothing(plan: Plan, reason: str) -> Split:
    """The plan with all of it kept."""
    return Split(plan, kept=[Kept(kind(rel), reason) for root in roots(plan) for rel in below(root)])


def _plan_of(plan: Plan, candidate: Candidate) -> Plan:
    """A plan of the candidate alone."""
    alone = Plan(version=plan.version, extension_urns=plan.extension_urns, extensions=plan.extensions)
    root = alone.relations.add().root
    root.input.CopyFrom(candidate.rel)
    root.names.extend(f"c{i}" for i in range(len(candidate.operator.schema)))
    return alone


def roots(plan: Plan) -> Iterator[Rel]:
    for relation in plan.relations:
        yield relation.root.input if relation.WhichOneof("rel_type") == "root" else relation.rel


def children(rel: Rel) -> Iterator[Rel]:
    """The relations right below one: its inputs, and the subqueries of its expressions."""
    body = getattr(rel, rel.WhichOneof("rel_type") or "read")
    yield from _relations(body)


def _relations(message: Message) -> Iterator[Rel]:
    stack: list[Message] = [message]
    while stack:
        inner = stack.pop()
        for descriptor, value in reversed(inner.ListFields()):
            if descriptor.message_type is None or descriptor.message_type.full_name in _LEAVES:
                continue
            values: Any = value if descriptor.is_repeated else (value,)
            if isinstance(values, Mapping):
                continue
            for item in values:
                if isinstance(item, Rel):
                    yield item
                elif isinstance(item, Message):
                    stack.append(item)


def below(rel: Rel) -> Iterator[Rel]:
    """The relation and all below it, parents first."""
    stack = [rel]
    while stack:
        rel = stack.pop()
        yield rel
        stack.extend(reversed(list(children(rel))))


def count(rel: Rel) -> int:
    """How many relations it and all below it are."""
    return sum(1 for _ in below(rel))


def _key(rel: Rel) -> bytes:
    """Equal for equal sub-plans."""
    return bytes(rel.SerializeToString(deterministic=True))


def kind(rel: Rel) -> str:
    return rel.WhichOneof("rel_type") or "nothing"
