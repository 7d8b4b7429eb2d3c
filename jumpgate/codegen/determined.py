"""Finds group keys that other keys determine: columns of the row that a join finds by an integer that is a group key
itself. If no two rows of the join have that integer, which the program knows when it has built the table, the groups
are the same without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.codegen.program import GroupSink, Pipeline, ProbeStep, Program, RowField, SourceColumn, Step, Table
from jumpgate.codegen.runs import RUN_MIN
from jumpgate.codegen.table_code import integer_key
from jumpgate.dataflow.expressions import Expression

_Leaf = tuple[int, int]  # a pointer, or -1 for a source column, and the field or column


@dataclass(frozen=True)
class Unique:
    """The condition, which C++ code knows by `name`, that in none of the joins two rows have the same key."""

    joins: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"unique{'_'.join(map(str, self.joins))}"


def determined(sink: GroupSink, pipeline: Pipeline, program: Program) -> dict[int, Unique]:
    """Return, by position, the keys that others determine, and under which condition. Only for groups that this
    pipeline alone adds to, so that all hashes agree; runs of keys (runs.py) have no exceptions."""
    adding = [s for p in program.pipelines for s in p.sinks if isinstance(s, GroupSink)]
    if len(sink.keys) >= RUN_MIN or sum(s.table == sink.table for s in adding) > 1:
        return {}
    return _determined(sink.keys, pipeline.steps, program.tables)


def _determined(keys: Sequence[Expression], steps: Sequence[Step], tables: Sequence[Table]) -> dict[int, Unique]:
    places: dict[_Leaf, int] = {}
    for i, key in enumerate(keys):
        if (leaf := _leaf(key)) is not None:
            places.setdefault(leaf, i)
    if len(places) < 2:
        return {}
    known: dict[_Leaf, frozenset[int]] = dict.fromkeys(places, frozenset())
    found: dict[int, Unique] = {}
    for step in steps:
        if not isinstance(step, ProbeStep) or not _is_function(step, tables[step.table]):
            continue
        own = (step.pointer, tables[step.table].key_fields[0])
        by = next((leaf for leaf in (_leaf(step.keys[0]), own) if leaf in known), None)
        if by is None:
            continue
        joins = known[by] | {step.table}
        for field in range(len(tables[step.table].fields)):
            leaf = (step.pointer, field)
            if leaf == by:
                continue
            known[leaf] = joins
            if leaf in places:
                found[places[leaf]] = Unique(tuple(sorted(joins)))
    return found


def _leaf(expression: Expression) -> _Leaf | None:
    match expression:
        case SourceColumn(index=index):
            return -1, index
        case RowField(pointer=pointer, field=field):
            return pointer, field
    return None


def _is_function(step: ProbeStep, table: Table) -> bool:
    """Return whether all pairs of a probe's key have the same row if no two rows have the same key."""
    in_memory = table.kind == "join" and not table.on_disk  # a table that is on disk is made anew for each part of it
    alike = not step.type.unmatched or step.residual is None
    return step.passes_pairs and in_memory and alike and integer_key(table) is not None
