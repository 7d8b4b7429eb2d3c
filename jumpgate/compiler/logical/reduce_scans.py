"""Filters a shared text scan before its rows are kept: a semi join drops rows for which no consumer's join has a
partner.

In `a join (b where p) on a.x = b.y` and `a join (b where q) on a.x = b.y` only those rows of `a` are needed whose `x`
is among the values of `y` where `p` or `q` holds. Columnar reads are left alone: the joins of each consumer skip the
parts of files without partners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import project, unique
from jumpgate.compiler.work import SAVED_MIN, kept_seconds, takes_again
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.joins import with_partners
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, Read, UnionAll, column
from jumpgate.nca.speeds import assumed

#: the largest fraction of kept rows that may be left: estimates are not precise enough for a smaller gain
LEFT_MAX = 0.5
#: the most tables of partners for one key: the rows of each are read once more
PARTNERS_MAX = 8
#: the most consumers to visit: many paths may lead to a node that has shared inputs
READERS_MAX = 1000

#: the operators that have a row's partners, and their key columns, by identity and column
_Partners = Mapping[tuple[int, int], Operator]
#: columns of the shared read behind the columns of an operator above it
_Columns = tuple[int | None, ...]


def reduce_scans(plan: Plan) -> Plan:
    """Add semi joins where the rows are known and the estimate shows a gain."""
    reducer = _Reducer(plan)
    if not reducer.joins:
        return plan
    root = reducer.visit(plan.root)
    return plan.over(root)


class _Reducer:
    def __init__(self, plan: Plan) -> None:
        self.estimator = plan.estimator
        self.seconds = {**assumed(), **plan.options.speeds}
        #: consumers of a node, each with the number of the input
        self.readers: defaultdict[int, list[tuple[Operator, int]]] = defaultdict(list)
        nodes = [*unique(plan.root)]
        for node in nodes:
            for place, input in enumerate(node.inputs):
                self.readers[id(input)].append((node, place))
        self.readers_left = READERS_MAX
        self.joins: dict[int, Join] = {}  # by the identity of the read below each
        for node in nodes:
            if self._is_shared_text(node) and (found := self._reduced(node)) is not None:
                self.joins[id(node)] = found
        self._done: dict[int, Operator] = {}

    def visit(self, node: Operator) -> Operator:
        """Return the node over the semi joins. Partners are not below the read that they filter, nor below a read
        reduced earlier, so that this terminates."""
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
        """Return the semi join over the read that saves most."""
        rows, best, gain = self.estimator.rows(read), None, SAVED_MIN
        for key, partners in self._by_all(read, tuple(range(len(read.schema)))).items():
            if len(partners) > PARTNERS_MAX or read.schema[key].type.is_float or not self._may_use(partners, read):
                continue
            each = [self.estimator.of(_semi_join(read, key, {k: p})).rows for k, p in partners.items()]
            if None in each or (left := sum(r or 0.0 for r in each)) > LEFT_MAX * rows:
                continue
            # consumers no longer look up the dropped rows
            saved = kept_seconds(read, rows - left) - sum(map(self._again, partners.values()))
            if saved > gain:
                best, gain = _semi_join(read, key, partners), saved
        return best

    def _may_use(self, partners: _Partners, read: Operator) -> bool:
        """Exclude partners that may have other rows when they are computed again."""
        nodes = [node for partner in partners.values() for node in unique(partner)]
        below = {id(node) for node in nodes}
        return id(read) not in below and self.joins.keys().isdisjoint(below) and not any(map(_chooses_any, nodes))

    def _again(self, node: Operator) -> float:
        """Return the seconds to compute a partner's rows again; a shared text's rows are kept."""
        while isinstance(node, Filter | Project):
            (node,) = node.inputs
        return 0.0 if self._is_shared_text(node) else takes_again(node, self.estimator, self.seconds)

    def _by_all(self, node: Operator, columns: _Columns) -> dict[int, _Partners]:
        """Return the partners of which a row needs one for every consumer, by the read's key column."""
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
        """Return the partners that a join, or its consumers, require of its rows."""
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
    """Return whether the request leaves open which rows the node returns, at all or among equal ones."""
    return node.limits != (0, None)


def _semi_join(read: Operator, key: int, partners: _Partners) -> Join:
    """Return the read's rows that have any of the partners. A single table of partners is shared with the consumers'
    joins."""
    keys = (column(read.schema, key),)
    if len(partners) == 1:
        [((_, index), partner)] = partners.items()
        return with_partners(read, partner, keys, (column(partner.schema, index),))
    members = tuple(project(p, (column(p.schema, index),), ("key",)) for (_, index), p in partners.items())
    union = UnionAll(members)
    return with_partners(read, union, keys, (column(union.schema, 0),))
