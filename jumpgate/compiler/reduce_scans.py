"""Rows of a shared text that the joins of all its readers would drop are dropped once, before they are kept: by a semi
join with the partners that any of the readers has for a key.

Of `a join (b where p) on a.x = b.y` and `a join (b where q) on a.x = b.y` no row of `a` is needed but those whose `x`
is among the values of `y` where `p` or `q` holds. Reads by column are left alone: for each of their readers the joins
themselves skip the parts of files without partners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from jumpgate.compiler.keep_rows import SAVED_MIN, kept_seconds
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import project, unique
from jumpgate.compiler.work import takes_again
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import (
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Read,
    Send,
    Sort,
    UnionAll,
    column,
    with_partners,
)
from jumpgate.nca.speeds import assumed

#: of the rows that would be kept, those that may be left: for less of a gain estimates are not sure enough
LEFT_MAX = 0.5
#: tables of partners for one key, at most: the rows of each are read once more
PARTNERS_MAX = 8
#: readers that are looked at, at most: there may be many ways to one that has shared inputs
READERS_MAX = 1000

#: where a row's partners are looked for: operators, and which of their columns is the key; by that and their identity
_Partners = Mapping[tuple[int, int], Operator]
#: which of the shared read's columns those of an operator above it are
_Columns = tuple[int | None, ...]


def reduce_scans(plan: Plan) -> Plan:
    """Where the rows are known, and it is estimated to save time."""
    reducer = _Reducer(plan)
    if not reducer.joins:
        return plan
    root = reducer.visit(plan.root)
    assert isinstance(root, Send)
    return replace(plan, root=root)


class _Reducer:
    def __init__(self, plan: Plan) -> None:
        self.estimator = plan.estimator
        self.seconds = {**assumed(), **plan.options.speeds}
        #: of a node, and which input of theirs it is
        self.readers: defaultdict[int, list[tuple[Operator, int]]] = defaultdict(list)
        nodes = [*unique(plan.root)]
        for node in nodes:
            for place, input in enumerate(node.inputs):
                self.readers[id(input)].append((node, place))
        self.readers_left = READERS_MAX
        self.joins: dict[int, Join] = {}  # by the identity of the read that each is over
        for node in nodes:
            if self._is_shared_text(node) and (found := self._reduced(node)) is not None:
                self.joins[id(node)] = found
        self._done: dict[int, Operator] = {}

    def visit(self, node: Operator) -> Operator:
        """The node over the semi joins. Partners are not below the read that they are looked up for, nor below one
        that was reduced before it, so that this ends."""
        if id(node) not in self._done:
            join = self.joins.get(id(node))
            inputs = (node, self.visit(join.right)) if join else tuple(map(self.visit, node.inputs))
            new = join or node
            same = all(a is b for a, b in zip(inputs, new.inputs, strict=True))
            self._done[id(node)] = new if same else new.with_inputs(inputs)
        return self._done[id(node)]

    def _is_shared_text(self, node: Operator) -> bool:
        return isinstance(node, Read) and len(self.readers[id(node)]) > 1 and not formats()[node.format].columnar

    def _reduced(self, read: Operator) -> Join | None:
        """The semi join over it that saves most."""
        rows, best, gain = self.estimator.rows(read), None, SAVED_MIN
        for key, partners in self._by_all(read, tuple(range(len(read.schema)))).items():
            if len(partners) > PARTNERS_MAX or read.schema[key].type.is_float or not self._may_use(partners, read):
                continue
            each = [self.estimator.of(_semi_join(read, key, {k: p})).rows for k, p in partners.items()]
            if None in each or (left := sum(r or 0.0 for r in each)) > LEFT_MAX * rows:
                continue
            # what looking rows up takes is spared where they are looked up no more
            saved = kept_seconds(read, rows - left) - sum(map(self._again, partners.values()))
            if saved > gain:
                best, gain = _semi_join(read, key, partners), saved
        return best

    def _may_use(self, partners: _Partners, read: Operator) -> bool:
        """Not those of which other rows may come when they are computed again."""
        nodes = [node for partner in partners.values() for node in unique(partner)]
        below = {id(node) for node in nodes}
        return id(read) not in below and self.joins.keys().isdisjoint(below) and not any(map(_chooses_any, nodes))

    def _again(self, node: Operator) -> float:
        """Seconds to compute a partner's rows once more: those of a shared text are kept."""
        while isinstance(node, Filter | Project):
            (node,) = node.inputs
        return 0.0 if self._is_shared_text(node) else takes_again(node, self.estimator, self.seconds)

    def _by_all(self, node: Operator, columns: _Columns) -> dict[int, _Partners]:
        """Of which partners a row needs one, whoever reads it: by the read's column that is the key."""
        found = [self._by_one(reader, place, columns) for reader, place in self.readers[id(node)]]
        keys = set.intersection(*map(set, found)) if found else set()
        return {key: {k: p for each in found for k, p in each[key].items()} for key in sorted(keys)}

    def _by_one(self, reader: Operator, place: int, columns: _Columns) -> dict[int, _Partners]:
        self.readers_left -= 1
        match reader:
            case _ if self.readers_left < 0:
                return {}
            case Project():
                shown = tuple(columns[e.index] if isinstance(e, ColumnRef) else None for e in reader.expressions)
                return self._by_all(reader, shown)
            case Filter():
                return self._by_all(reader, columns)
            case Join() if reader.type.any_order or (reader.type.output is Output.LEFT and reader.type.matched):
                return self._by_join(reader, place, columns)
        return {}

    def _by_join(self, join: Join, place: int, columns: _Columns) -> dict[int, _Partners]:
        """Of a join that keeps rows with partners: these, or those of its own readers."""
        above: dict[int, _Partners] = {}
        if join.type.any_order:
            absent = (None,) * len(join.inputs[1 - place].schema)
            above = self._by_all(join, (*absent, *columns) if place else (*columns, *absent))
        elif place == 0:
            above = self._by_all(join, columns)
        return {**above, **dict(self._by_keys(join, place, columns))}

    @staticmethod
    def _by_keys(join: Join, place: int, columns: _Columns) -> Iterator[tuple[int, _Partners]]:
        other, keys = join.inputs[1 - place], (join.left_keys, join.right_keys)
        for mine, theirs in zip(keys[place], keys[1 - place], strict=True):
            if isinstance(mine, ColumnRef) and isinstance(theirs, ColumnRef):
                key = columns[mine.index]
                if key is not None:
                    yield key, {(id(other), theirs.index): other}


def _chooses_any(node: Operator) -> bool:
    """Whether which rows are left is not said by the request, or not where they are alike."""
    return isinstance(node, Limit) or (isinstance(node, Sort) and (node.limit is not None or node.offset > 0))


def _semi_join(read: Operator, key: int, partners: _Partners) -> Join:
    """The rows of the read that have any of the partners. A single table of these is that of the readers' joins."""
    keys = (column(read.schema, key),)
    if len(partners) == 1:
        [((_, index), partner)] = partners.items()
        return with_partners(read, partner, keys, (column(partner.schema, index),))
    members = tuple(project(p, (column(p.schema, index),), ("key",)) for (_, index), p in partners.items())
    union = UnionAll(members)
    return with_partners(read, union, keys, (column(union.schema, 0),))
