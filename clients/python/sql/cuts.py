"""The parts of a plan that go to accelerators: its maximal sub-plans that are dataflows, found from the root.

A node that maps is cut out whole; one that does not is looked into, expressions with subqueries included. Cuts that
are equal run once. What is left, `rest`, is DataFusion's own plan in its own encoding: a projection of the cut's result
stands where the cut was, so that every other node stays as DataFusion planned it. Its scans read files that DataFusion
reads itself, or the results of jobs: what it does not read itself is read by Jumpgate's converters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from jumpgate.client.sql import local
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.logical import (
    antijoins,
    barriers,
    common,
    constants,
    defaults,
    floats,
    frames,
    relations,
    replacing,
    sketches,
)
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node, below, inputs, operator_name, qualify, subquery_exprs
from jumpgate.client.sql.logical.types import write_schema
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import SchemaMismatch

#: decides on one node that maps: None to cut it out here, else why it rather stays
Decision = Callable[["Candidate"], "str | None"]
#: the path of a scan in `rest` that reads a cut, before its number
CUT = "cut:"
#: the path of a scan in `rest` that reads a table's Arrow data, before the table's name
DATA = "data:"
#: what DataFusion would compute wrongly or otherwise than accelerators
REPLACED = (frames.find, constants.find, defaults.find, sketches.find)


@dataclass(frozen=True)
class Candidate:
    """A node that could be cut out, and the dataflow that it is; `uses` counts its places in the plan; `is_whole`:
    there is nothing else."""

    operator: Operator
    operators: int
    uses: int
    is_whole: bool = False


@dataclass
class Cut:
    """A sub-plan that runs as a job; its result has `schema`. `operators` are those of the query's plan that are
    offloaded with it, none if it only reads for DataFusion; `uses` counts the places of the query that read it."""

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
    """A plan taken apart. `rest` reads the cuts; it is None if one cut is the whole plan, or `whole`: DataFusion runs
    the text itself, over tables that it reads or that `cuts` read for it, by name in `reads`. `waits`: it is for this
    time, while jobs that would be faster are prepared."""

    rest: pb.Plan | None
    cuts: list[Cut] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    whole: bool = False
    reads: dict[str, Cut] = field(default_factory=dict)
    waits: bool = False

    @property
    def operators(self) -> int:
        """The operators of the whole plan."""
        return self.offloaded + len(self.kept)

    @property
    def offloaded(self) -> int:
        """The operators of the whole plan that the cuts compute."""
        return sum(cut.operators * cut.uses for cut in self.cuts)


def split(
    root: Node,
    tables: Mapping[str, Table],
    relation: Callable[[Node], Operator | relations.Kept],
    decide: Decision,
    as_text: bool = True,
) -> Split:
    """Takes the plan apart and leaves it unchanged. relation: the dataflow that a node is, or why it is none; as_text:
    whether the text means this plan to DataFusion.

    Raises SchemaMismatch for a column that nobody here reads.
    """
    return _Splitter(root, tables, relation, decide).split(as_text)


class _Splitter:
    def __init__(
        self,
        root: Node,
        tables: Mapping[str, Table],
        relation: Callable[[Node], Operator | relations.Kept],
        decide: Decision,
    ) -> None:
        self._root, self._tables, self._relation, self._decide = root, tables, relation, decide
        self._rest = pb.Plan()
        self._found = Split(self._rest)
        self._known: dict[tuple[int, int], int] = {}  # operator, whether it is offloaded → number of the cut
        self._places: Counter[int] = Counter()

    def split(self, as_text: bool) -> Split:
        root, found = self._root, self._found
        mapped = self._relation(root)
        if isinstance(mapped, Operator) and self._decide(Candidate(mapped, root.operators, 1, is_whole=True)) is None:
            return Split(None, [Cut(mapped, _numbered(root.schema), root.operators)])
        self._rest.CopyFrom(root.plan)
        changed = floats.normalise(root, self._rest)
        replaced = list(replacing.find(root, self._rest, REPLACED))
        self._count(root)
        self._visit(root, self._rest)
        changed |= replacing.replace(replaced)
        assert not sketches.remain(self._rest, root.nests)
        changed |= antijoins.mend(self._rest, root.nests)
        changed |= barriers.guard(self._rest, root.nests)
        renamed = common.rename(self._rest, root.nests)
        if found.cuts or changed or not as_text or (renamed and self._stays_the_same()):
            return found
        return whole(root, "", [], found.kept)

    def _stays_the_same(self) -> bool:
        """Return whether DataFusion runs the plan as it would run the text, so that the text need not be planned again.
        It optimises both, but may slow down joins that are optimised already, and Arrow data would become a file."""
        in_files = all(table.data is None for table in self._tables.values())
        return in_files and not any(
            place.WhichOneof("kind") in ("join", "cross_join") for place in below(self._rest, self._root.nests)
        )

    def _count(self, node: Node) -> None:
        mapped = self._relation(node)
        if isinstance(mapped, Operator):
            self._places[id(mapped)] += 1
        for child in (*node.children, *node.subqueries):
            self._count(child)

    def _visit(self, node: Node, place: pb.Plan) -> None:
        mapped = self._relation(node)
        if isinstance(mapped, Operator):
            candidate = Candidate(mapped, node.operators, self._places[id(mapped)])
            reason = self._decide(candidate)
            if reason is None:
                self._cut(node, mapped, candidate.operators, place)
                return
        else:
            reason = mapped.reason
        if node.kind != "subquery_alias":  # which does nothing
            self._found.kept.append(Kept(node.described, reason))
        if node.kind == "scan":
            self._read(node, mapped, place.scan, place)
        elif node.kind == "limit" and isinstance(mapped, Operator) and self._is_read(node.children[0]):
            self._found.kept.append(Kept(node.children[0].described, reason))
            self._cut(node, mapped, 0, place)  # reading may stop after so many rows
        else:
            places = [*inputs(place)]
            if node.nests:
                places += [expr.subquery.plan.plan for expr in subquery_exprs(place)]
            for child, child_place in zip((*node.children, *node.subqueries), places, strict=True):
                self._visit(child, child_place)

    def _is_read(self, node: Node) -> bool:
        return node.kind == "scan" and self._tables[relations.table_name(node.plan.scan.table)].is_converted

    def _read(self, node: Node, mapped: Operator | relations.Kept, scan: pb.Scan, place: pb.Plan) -> None:
        """A scan that stays: DataFusion reads it, or what a job read for it."""
        table = self._tables[relations.table_name(scan.table)]
        if not table.is_converted:
            point_to_table(scan, table)
        elif isinstance(mapped, Operator):
            self._cut(node, mapped, 0, place)
        else:
            raise SchemaMismatch(f"table '{table.name}': {mapped.reason}", table=table.name)

    def _cut(self, node: Node, operator: Operator, operators: int, place: pb.Plan) -> None:
        key = (id(operator), min(operators, 1))
        if key in self._known:
            number = self._known[key]
            self._found.cuts[number].uses += 1
        else:
            number = self._known[key] = len(self._found.cuts)
            self._found.cuts.append(Cut(operator, _numbered(node.schema), operators))
        _stand_in(place, node, number, self._found.cuts[number].schema)


def whole(root: Node, reason: str, converted: Sequence[Table], kept: Sequence[Kept] = ()) -> Split:
    """All of a plan kept, for that reason or those that `kept` says: DataFusion runs the text, over what jobs read of
    the converted tables."""
    found = Split(None, kept=list(kept) or [Kept(name, reason) for name in _operators(root)], whole=True)
    for table in converted:
        assert table.read is not None
        found.reads[table.name] = Cut(table.read, table.schema, 0)
    found.cuts = list(found.reads.values())
    return found


def _operators(root: Node) -> Iterator[str]:
    """The operators of a plan by name, parents first."""
    names = map(operator_name, root.logical.display_indent().splitlines())
    return (name for name in names if name not in ("alias", "subquery"))


def _stand_in(place: pb.Plan, node: Node, number: int, schema: pa.Schema) -> None:
    """Makes `place` a projection of a cut's result, with the columns' names of the node that it stands for."""
    place.Clear()
    projection = place.projection
    scan = projection.input.scan
    scan.table.bare.table = f"cut {number}"
    scan.paths.append(f"{CUT}{number}")
    scan.arrow.SetInParent()
    scan.schema.SetInParent()  # it may have no columns
    write_schema(scan.schema, schema)
    projection.SetInParent()
    for field_, name in zip(schema, node.names, strict=True):
        alias = projection.exprs.add().alias
        alias.input.column.name = field_.name
        alias.input.column.relation.name = f"cut {number}"
        alias.name = name.name
        if name.relation:
            qualify(alias.relation.add(), name.relation)


def _numbered(schema: pa.Schema) -> pa.Schema:
    """The schema with names that do not repeat: its own, which `arrow_field` tells, or numbers where these repeat or
    are to be changed."""
    if len(set(schema.names)) == len(schema) and not any(common.GIVEN in name for name in schema.names):
        return pa.schema([pa.field(field.name, field.type) for field in schema])
    return pa.schema([pa.field(f"c{i}", f.type) for i, f in enumerate(schema)])


def scans(plan: pb.Plan, nests: bool = True) -> Iterator[pb.Scan]:
    """The scans of a plan, those of subqueries included if it nests any."""
    stack = [plan]
    while stack:
        node = stack.pop()
        if node.WhichOneof("kind") == "scan":
            yield node.scan
        stack.extend(inputs(node))
        if nests:
            stack.extend(expr.subquery.plan.plan for expr in subquery_exprs(node))


def read_here(split: Split, root: Node) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield the name and columns (None: all) of each table that DataFusion reads itself."""
    plan = root.plan if split.whole else split.rest
    for scan in scans(plan) if plan is not None else ():
        if not any(path.startswith((CUT, DATA)) for path in scan.paths):
            columns = tuple(scan.projection.names) if scan.HasField("projection") else None
            yield relations.table_name(scan.table), columns


def point_to_table(scan: pb.Scan, table: Table) -> None:
    """Makes a scan read the files of a table that DataFusion reads itself, or its Arrow data."""
    scan.ClearField("paths")
    scan.ClearField("filters")
    if table.data is not None:
        scan.paths.append(DATA + table.name)
    else:
        scan.paths.extend(Path(file).as_uri() for file in table.files)
    scan.file_extension = ""
    scan.ClearField("arrow")
    scan.parquet.CopyFrom(local.parquet_options())
