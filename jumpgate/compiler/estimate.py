"""Estimates each operator's rows and bytes, the statistics of its columns, and the error factor of each estimate.

Filters over files are evaluated on samples of the files' rows where there are any. Join sizes follow Selinger et al.
(SIGMOD 1979): |L ⋈ R| = |L|·|R| / max(d(L), d(R)) for each key, where d counts the distinct values of the unfiltered
column in the range that both sides share. Where d is unknown, the rows of the smaller table behind a key replace it,
which is exact for a foreign key. Several keys together never have more values than the larger table has rows. When m of
n rows are left, d·(1 - (1 - m/n)^(n/d)) of d values are left (Cardenas, CACM 1975).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from jumpgate.compiler.columns import between, met, overlap, remaining, thinned, united
from jumpgate.compiler.origins import origins
from jumpgate.compiler.plan import Mapped, StatisticsFunction
from jumpgate.compiler.selectivity import NOTHING, interval, selectivity
from jumpgate.dataflow import bloom
from jumpgate.dataflow.coupons import COUPONS
from jumpgate.dataflow.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    InList,
    Literal,
    conjunction,
    conjuncts,
)
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.join_types import Output
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Operator,
    Prune,
    Read,
    Receive,
    Skyline,
    UnionAll,
    Unnest,
    Window,
)
from jumpgate.dataflow.types import Schema, bool_
from jumpgate.nca.interface import ColumnStatistics, Completeness, Selection, Statistics
from jumpgate.nca.matching import pruned_leaf
from jumpgate.nca.storage import Segments, SegmentsOf

UNKNOWN = Statistics()
STRING_BYTES = 16  #: average length of a string where it is unknown
KEYS_ASKED = 16  #: the most keys to consider: they tell nearly all rows apart, and each takes time
UNIQUE = 0.8  #: a column with this many distinct values per row is a key

PRUNED = 0.1  #: fraction of the unneeded rows that a pruning accelerator lets pass
UNMATCHED = 0.1  #: fraction of the probing rows without a partner where all seem to have one
#: the weight of a textbook selectivity beside a sample, in rows
PRIOR_ROWS = 50.0
#: error factors: of a sample, of a foreign key's join, of groups, of a guess
SAMPLED, REFERRED, GROUPED, GUESSED = 1.2, 1.3, 1.5, 3.0
#: a guess of the elements of a list
ELEMENTS = 4.0
DOUBT_MAX = 100.0


def row_bytes(schema: Schema) -> int:
    """Return the bytes of one row as columns in memory."""
    return sum(STRING_BYTES if f.type.is_text else f.type.width for f in schema) + len(schema) // 8 + 1


def stored_share(node: Operator) -> float:
    """Return the part of its files' bytes that a read takes: in columnar formats that of its columns in a row's."""
    if not isinstance(node, Read) or not formats()[node.format].columnar:
        return 1.0
    return row_bytes(node.schema) / row_bytes(node.file_schema)


class Estimator:
    """Estimates any node of one compilation. It caches by identity and so keeps the nodes alive."""

    def __init__(self, statistics: StatisticsFunction | None, segments: SegmentsOf | None = None) -> None:
        self._statistics, self._segments_of = statistics, segments
        self._files: dict[tuple[object, ...], Statistics] = {}
        self._segments: dict[tuple[object, ...], Sequence[Segments]] = {}
        self._read: dict[tuple[object, ...], ColumnStatistics] = {}
        self._columns: dict[tuple[int, int], ColumnStatistics] = {}
        self._known: dict[int, tuple[Operator, Statistics, float]] = {}
        self._arrives: dict[str, Operator] = {}

    def arrives(self, edge: str, node: Operator) -> None:
        """Set the node whose rows arrive at the Receive of `edge`."""
        self._arrives[edge] = node

    def files(self, read: Read) -> Statistics:
        """Return the statistics of the files: all rows, and their bytes on disk."""
        key = (read.files, read.format, read.options)
        if key not in self._files:
            self._files[key] = self._statistics(*key) if self._statistics else UNKNOWN
        return self._files[key]

    def stored(self, node: Operator) -> float | None:
        """Return the bytes that a read takes of its files, in columnar formats those of its columns by their part of a
        row's bytes; None of other nodes."""
        bytes = self.files(node).bytes if isinstance(node, Read) else None
        return None if bytes is None else bytes * stored_share(node)

    def segments(self, node: Operator) -> Sequence[Segments]:
        """Return the segments of each file of a read; empty if they are unknown, or no disk has any."""
        if self._segments_of is None or not isinstance(node, Read):
            return ()
        key = (node.files, node.format, tuple(node.schema.names))
        if key not in self._segments:
            self._segments[key] = self._segments_of(*key)
        return self._segments[key]

    @staticmethod
    def files_of(node: Operator) -> tuple[str, ...]:
        """Return the files that a node reads, none if it is no read."""
        return node.files if isinstance(node, Read) else ()

    def of(self, node: Operator) -> Statistics:
        """Return the rows and bytes of `node`'s output; unknown where any file below is."""
        return self._found(node)[1]

    def doubt(self, node: Operator) -> float:
        """Return the error factor of the rows, either way; 1 if they are exact."""
        return self._found(node)[2]

    def _found(self, node: Operator) -> tuple[Operator, Statistics, float]:
        found = self._known.get(id(node))
        if found is None:
            rows, doubt = self._rows(node)
            bytes = None if rows is None else rows * row_bytes(node.schema)
            found = self._known[id(node)] = (node, Statistics(rows, bytes), min(DOUBT_MAX, doubt))
        return found

    def is_counted(self, node: Filter) -> bool:
        """Return whether the filter was evaluated on all rows, so that no statistics of single columns are needed."""
        found = self._select(node, node.input) if isinstance(node.input, Read) else None
        return found is not None and found.whole and not found.left

    def rows(self, node: Operator) -> float:
        """Return the rows of `node`'s output, or 0 if they are unknown."""
        return self.of(node).rows or 0.0

    # ---- columns ----

    def column(self, node: Operator, key: Expression) -> ColumnStatistics:
        """Return the statistics of `key`, an expression over `node`'s output."""
        key = _plain(key)
        if isinstance(key, Literal):
            return ColumnStatistics(distinct=1.0)
        if isinstance(key, ColumnRef):
            return self._at(node, key.index)
        if isinstance(key, Case) and all(isinstance(v, ColumnRef) for v in key.branches[1::2]):
            return united([self.column(node, value) for value in key.branches[1::2]])
        if isinstance(key, Call) and key.function == "distinct_coupon":
            return ColumnStatistics(min(COUPONS, self.column(node, key.args[0]).distinct or max(1.0, self.rows(node))))
        distinct = 1.0
        for index in key.columns():
            found = self._at(node, index).distinct
            if found is None:
                return NOTHING
            distinct *= found
        return ColumnStatistics(distinct=min(distinct, max(1.0, self.rows(node))))

    def base(self, node: Operator, key: Expression) -> tuple[float | None, ColumnStatistics]:
        """Return the rows of the unfiltered table (or of the groups) in which the key column originates, and its
        statistics there."""
        origin, column = self.origin(node, key)
        if isinstance(origin, Read):
            known = self._of_file(origin, column.index) if isinstance(column, ColumnRef) else NOTHING
            return self.files(origin).rows, known
        return self.of(origin).rows, self.column(origin, column)

    def origin(self, node: Operator, key: Expression) -> tuple[Operator, Expression]:
        """Return the lowest node of which `key` is a column, and that column."""
        *_, last = self.path(node, key)
        return last

    def path(self, node: Operator, key: Expression) -> Iterator[tuple[Operator, Expression]]:
        """Yield the nodes from `node` down to the origin of `key`, each with the key as an expression over it."""
        while True:
            key = _plain(key)
            yield node, key
            if not isinstance(key, ColumnRef):
                return
            index = key.index
            if isinstance(node, Receive) and node.edge in self._arrives:
                node = self._arrives[node.edge]
            elif isinstance(node, Aggregate | UnionAll):
                return
            else:
                made = node.lineage(index)
                if not made:
                    return
                ((number, key),) = made
                node = node.inputs[number]

    def _at(self, node: Operator, index: int) -> ColumnStatistics:
        """Return the statistics of a column of `node`'s output."""
        place = (id(node), index)
        if place not in self._columns:
            rows = self.of(node).rows  # keeps the node alive
            found = NOTHING if rows is None else self._column(node, index)
            if found.distinct is not None and rows is not None:
                found = replace(found, distinct=max(1.0, min(found.distinct, rows)))
            self._columns[place] = found
        return self._columns[place]

    def _column(self, node: Operator, index: int) -> ColumnStatistics:
        match node:
            case Read():
                return self._of_file(node, index)
            case Receive() if node.edge in self._arrives:
                return self._at(self._arrives[node.edge], index)
            case Filter():
                return self._filtered(node, index)
            case Join():
                return self._joined(node, index)
            case Aggregate() if index < len(node.keys):
                return self.column(node.input, node.keys[index])
            case Aggregate():
                measure = node.measures[index - len(node.keys)] if node.phase == "full" else None
                if measure is None or measure.function not in ("min", "max") or measure.argument is None:
                    return NOTHING
                of = self.column(node.input, measure.argument)
                return ColumnStatistics(of.distinct, of.low, of.high)
            case Window() if index >= len(node.input.schema):
                function = node.functions[index - len(node.input.schema)].function
                if function not in ("row_number", "rank", "dense_rank"):
                    return NOTHING
                groups = max(1.0, self._groups(node.input, node.partition_by))  # none if there are no rows
                most = max(1.0, self.rows(node) / groups)
                if function == "dense_rank":  # one for each value of the order
                    order = tuple(key.expression for key in node.order_by)
                    most = max(1.0, min(most, self._groups(node.input, order)))
                return ColumnStatistics(most, 1.0, most, 0.0)
            case UnionAll():
                return united([self._at(member, index) for member in node.members])
            case Mapped():
                return self._at(node.match.operators[0], index)
            case Prune():
                return self._at(pruned_leaf((node.input,)), index)
        for number, expression in node.lineage(index):
            input = node.inputs[number]
            if not node.passes:
                return self.column(input, expression)
            return thinned(self._at(input, index), self.rows(input), self.rows(node))
        return NOTHING

    def _of_file(self, read: Read, index: int) -> ColumnStatistics:
        look, field = self.files(read).column, read.schema[index]
        key = (read.files, read.format, read.options, field)
        if key not in self._read:
            self._read[key] = NOTHING if look is None else look(field.name, field.type)
        return self._read[key]

    def _filtered(self, node: Filter, index: int) -> ColumnStatistics:
        if isinstance(node.input, Read):
            exact = self._select(node, node.input, (node.input.schema.names[index],))
            if exact is not None and exact.whole and not exact.left:
                return exact.column
        known = self._at(node.input, index)
        kept = thinned(known, self.rows(node.input), self.rows(node))
        for term in conjuncts(node.predicate):
            match term:
                case Call(function="eq", args=args) if _is_fixed(args, index):
                    return replace(kept, distinct=1.0)
                case InList(input=ColumnRef(index=i), options=options) if i == index:
                    kept = replace(kept, distinct=min(kept.distinct or math.inf, float(len(options))))
            bounds = interval(term, lambda c: self._at(node.input, c.index))
            if bounds is not None and bounds[0].index == index:
                kept = between(known, kept, bounds[1], bounds[2])
        return kept

    def _joined(self, node: Join, index: int) -> ColumnStatistics:
        width = len(node.left.schema)
        ours = index < width
        side = node.left if ours else node.right
        if node.type.marks and not ours:
            _, true = self._pairs(node, self.rows(node.left), self.rows(node.right))
            return ColumnStatistics(2.0, true_fraction=true)
        at, rows = index if ours else index - width, self.rows(node)
        if not _keeps_matched_alone(node):
            return thinned(self._at(side, at), self.rows(side), rows)
        looked_at = self._met_by(node, side, at)
        if looked_at is not None:
            return looked_at
        found = thinned(self._at(side, at), self.rows(side), min(rows, self._partners(node, side)))
        pairs = zip(node.left_keys, node.right_keys, strict=True)
        for mine, other in pairs if ours else ((b, a) for a, b in pairs):
            if isinstance(mine, ColumnRef) and mine.index == at:
                return met(found, self.column(node.right if ours else node.left, other))
        return found

    def _met_by(self, node: Join, side: Operator, index: int) -> ColumnStatistics | None:
        """Return the statistics of a column over the file's rows whose key is in the other side's range, if the rows
        can be sampled: of all days, those that have sales."""
        if len(node.left_keys) != 1:
            return None
        (mine,), (other,) = (
            (node.left_keys, node.right_keys) if side is node.left else (node.right_keys, node.left_keys)
        )
        origin, key = self.origin(side, mine)
        below, column = self.origin(side, ColumnRef(side.schema[index].type, index))
        if origin is not below or not isinstance(origin, Read) or not isinstance(key, ColumnRef):
            return None
        if not isinstance(column, ColumnRef) or not key.type.is_integer or column.index == key.index:
            return None
        limits = self.column(node.right if side is node.left else node.left, other)
        known = self._of_file(origin, key.index)
        if limits.low is None or limits.high is None or known.low is None or known.high is None:
            return None
        if limits.low <= known.low and known.high <= limits.high:
            return None
        most = (1 << 8 * key.type.width - 1) - 1  # which bounds may exceed, as they are floats
        least, greatest = (min(max(-most - 1, round(bound)), most) for bound in (limits.low, limits.high))
        terms: list[Expression] = [
            Call(bool_, "ge", (key, Literal(key.type, least))),
            Call(bool_, "le", (key, Literal(key.type, greatest))),
        ]
        chain = next((n for n, _ in self.path(side, mine) if isinstance(n, Filter)), None)
        if chain is not None and chain.input is origin:
            terms += conjuncts(chain.predicate)
        found = self._select(Filter(origin, conjunction(tuple(terms))), origin, (origin.schema.names[column.index],))
        if found is None or not found.whole or found.left or not found.chosen:
            return None
        return found.column

    # ---- rows ----

    def _rows(self, node: Operator) -> tuple[float | None, float]:
        """Return the rows and their error factor."""
        if isinstance(node, Read):
            return self.files(node).rows, 1.0 if formats()[node.format].self_describing else SAMPLED
        if isinstance(node, Mapped):
            return self._mapped(node), self.doubt(node.match.operators[0])
        if isinstance(node, Receive):
            arrives = self._arrives.get(node.edge)
            return (None, 1.0) if arrives is None else (self.of(arrives).rows, self.doubt(arrives))
        if isinstance(node, Prune):
            below, leaf = self.of(node.input).rows, self.of(pruned_leaf((node.input,))).rows
            return _pruned(leaf, below), GUESSED
        inputs = [self.of(i).rows for i in node.inputs]
        known = [r for r in inputs if r is not None]
        if not inputs or len(known) < len(inputs):
            return None, 1.0
        rows = known[0]
        doubt = math.prod(self.doubt(i) for i in node.inputs)
        match node:
            case Filter():
                fraction, more = self._chosen(node)
                return rows * fraction, doubt * more
            case Join():
                return self._join(node, known[0], known[1]), doubt * self._join_doubt(node)
            case Aggregate() if not node.keys:
                return 1.0, 1.0
            case Aggregate():
                groups = self._groups(node.input, node.keys)
                return groups, min(doubt, groups) * GROUPED
            case Distinct():
                return self._groups(node.input, node.together), doubt * GROUPED
            case Unnest():
                return rows * ELEMENTS, doubt * GUESSED
            case Skyline():
                return max(1.0, math.sqrt(rows)), doubt * GUESSED
            case UnionAll():
                return sum(known), max(map(self.doubt, node.members))
        offset, most = node.limits
        if offset or most is not None:
            return _limited(max(0.0, rows - offset), math.inf if most is None else float(most), doubt)
        return rows, doubt

    def _select(self, node: Filter, read: Read, names: tuple[str, ...] = ()) -> Selection | None:
        look = self.files(read).select
        return None if look is None else look(node, names)

    def _chosen(self, node: Filter) -> tuple[float, float]:
        """Return the fraction of rows that a filter selects, and its error factor."""
        terms = conjuncts(node.predicate)
        found = self._select(node, node.input) if isinstance(node.input, Read) else None
        if found is None or not found.seen:
            return self._guessed(terms, node.input), GUESSED
        rest = tuple(terms[i] for i in found.left)
        untried, more = (self._guessed(rest, node.input), GUESSED) if rest else (1.0, 1.0)
        if found.whole:
            return found.chosen / found.seen * untried, more
        tried = tuple(t for i, t in enumerate(terms) if i not in found.left)
        prior = PRIOR_ROWS * self._guessed(tried, node.input)
        more *= SAMPLED if found.chosen > PRIOR_ROWS else GUESSED
        return (found.chosen + prior) / (found.seen + PRIOR_ROWS) * untried, more

    def _guessed(self, terms: Sequence[Expression], input: Operator) -> float:
        product, others = 1.0, []
        for term in terms:
            counted = self._counted(term, input)
            if counted is None:
                others.append(term)
            else:
                product *= counted
        return product * selectivity(conjunction(tuple(others)), lambda c: self._at(input, c.index))

    def _counted(self, term: Expression, input: Operator) -> float | None:
        """Estimate the fraction of groups with more, or fewer, rows than a literal, as if group sizes were
        exponential."""
        match term:
            case Call(function="gt" | "ge" as function, args=(side, Literal(value=int() as bound))):
                more = True
            case Call(function="lt" | "le" as function, args=(side, Literal(value=int() as bound))):
                more = False
            case _:
                return None
        groups, column = self.origin(input, side)
        if not isinstance(groups, Aggregate) or not isinstance(column, ColumnRef) or groups.phase != "full":
            return None
        number = column.index - len(groups.keys)
        if number < 0 or groups.measures[number].function not in ("count", "count_star") or not groups.keys:
            return None
        mean = max(1.0, self.rows(groups.input) / max(1.0, self.rows(groups)))
        least = bound + (function in ("gt", "le")) - 1  # rows beyond the first one
        larger = math.exp(-max(0.0, least) / max(mean - 1.0, 0.2))
        return larger if more else 1.0 - larger

    def _join(self, node: Join, left: float, right: float) -> float:
        matched, found = self._pairs(node, left, right)
        if node.residual is not None:
            width = len(node.left.schema)

            def about(c: ColumnRef) -> ColumnStatistics:
                return self._at(node.left, c.index) if c.index < width else self._at(node.right, c.index - width)

            chosen = selectivity(node.residual, about)
            found *= min(1.0, chosen * max(1.0, matched / max(1.0, left * found)))
            matched *= chosen
        match node.type.output:
            case Output.PAIRS:
                return max(matched, left * node.type.unmatched, right * node.type.unmatched_right)
            case Output.LEFT:
                lacking = max(1.0 - found, UNMATCHED if node.left_keys else 0.0)
                return left * (found * node.type.matched + lacking * node.type.unmatched)
            case Output.MARK:
                return left
        assert_never(node.type.output)

    def _pairs(self, node: Join, left: float, right: float) -> tuple[float, float]:
        """Return the number of pairs of rows with equal keys, and the fraction of left rows that have a partner."""
        if not node.left_keys:
            return left * right, 1.0 if right >= 1 else right
        values, most = 1.0, 1.0
        ours, theirs = left, right  # rows whose keys the other side may have
        in_left, in_right = 1.0, 1.0  # their distinct keys
        for lk, rk in zip(node.left_keys, node.right_keys, strict=True):
            (base_left, a), (base_right, b) = self.base(node.left, lk), self.base(node.right, rk)
            base_left, base_right = base_left or left, base_right or right
            here, there = self.column(node.left, lk), self.column(node.right, rk)
            meet_left, meet_right = overlap(here, there), overlap(there, here)
            common = met(here, there)
            if self._is_key_in_use(node.left, lk, a, base_left):
                meet_left = max(meet_left, min(1.0, base_left * overlap(a, common) / max(1.0, left)))
            if self._is_key_in_use(node.right, rk, b, base_right):
                meet_right = max(meet_right, min(1.0, base_right * overlap(b, common) / max(1.0, right)))
            ours *= meet_left * (1.0 - (here.null_fraction or 0.0))
            theirs *= meet_right * (1.0 - (there.null_fraction or 0.0))
            in_left *= max(1.0, (here.distinct or left) * meet_left)
            in_right *= max(1.0, (there.distinct or right) * meet_right)
            most = max(most, base_left, base_right)
            found = [d.distinct * overlap(d, common) for d in (a, b) if d.distinct is not None]
            of_key = max(1.0, *found) if found else min(base_left, base_right)
            values *= self._of_both(node, lk, rk, of_key)
        values = max(1.0, min(values, most))
        in_right = min(in_right, max(1.0, theirs))
        pairs = ours * theirs / values
        partners = min(1.0, in_right / values) * (ours / left if left else 1.0)
        return pairs, partners

    def _is_key_in_use(self, node: Operator, key: Expression, known: ColumnStatistics, base: float) -> bool:
        """Return whether the rows are those of a table by its unique key, filtered by other columns, and not all rows
        were sampled. Such a filter is assumed to select the keys that the other side has: of all days, those with
        sales."""
        if known.distinct is None or known.distinct < UNIQUE * base:
            return False
        filters = [(f, k) for f, k in self.path(node, key) if isinstance(f, Filter) and isinstance(f.input, Read)]
        return bool(filters) and not any(
            self.is_counted(f) or not k.columns().isdisjoint(f.predicate.columns()) for f, k in filters
        )

    def _of_both(self, node: Join, left: Expression, right: Expression, values: float) -> float:
        """Limit the key values that both sides can have: if both sides take their keys from the same rows, as after a
        semi join, there are no more than in those rows."""
        places = {(id(place), key) for place, key in origins(node.left, left)}
        for place, key in origins(node.right, right):
            if (id(place), key) in places:
                values = min(values, max(1.0, self.column(place, key).distinct or values))
        return values

    def _join_doubt(self, node: Join) -> float:
        if not node.left_keys or node.type.marks:
            return 1.0 if node.residual is None else GUESSED
        known = all(
            self.column(side, key).distinct is not None
            for side, keys in ((node.left, node.left_keys), (node.right, node.right_keys))
            for key in keys
        )
        return (REFERRED if known else GUESSED) * (1.0 if node.residual is None else GUESSED)

    def _groups(self, node: Operator, keys: tuple[Expression, ...]) -> float:
        """Return the distinct combinations of the keys: keys of one table have no more than the table has rows."""
        rows = self.rows(node)
        groups = 1.0
        for table, of_table in self.by_table(node, keys[:KEYS_ASKED]):
            groups *= self._together(node, table, of_table, rows)
        if groups <= 0 or rows <= 0:
            return max(min(groups, rows), 0.0)
        # the expected number of groups that occur if rows fall into them at random
        return max(1.0, min(rows, groups * -math.expm1(-rows / groups)))

    def held(self, node: Window) -> float:
        """Estimate the rows that a window must sort. The n-th row of a partition, in random order, is among the first k
        so far with probability k / n."""
        rows = self.rows(node.input)
        partitions = max(1.0, self._groups(node.input, node.partition_by))
        if node.first is None or rows <= partitions * node.first.count:
            return rows
        return partitions * node.first.count * (1.0 + math.log(rows / (partitions * node.first.count)))

    def by_table(self, node: Operator, keys: tuple[Expression, ...]) -> list[tuple[Operator, list[Expression]]]:
        """Group the keys by the node in which they originate."""
        found: dict[int, tuple[Operator, list[Expression]]] = {}
        for key in keys:
            origin, _ = self.origin(node, key)
            found.setdefault(id(origin), (origin, []))[1].append(key)
        return [*found.values()]

    def names(self, node: Operator, table: Operator, keys: list[Expression]) -> tuple[str, ...]:
        """Return the file's columns that the keys are; () if they are not columns of a file, or if there is only
        one."""
        columns = [self.origin(node, key)[1] for key in keys]
        if not isinstance(table, Read) or len(keys) < 2 or not all(isinstance(c, ColumnRef) for c in columns):
            return ()
        return tuple(sorted({table.schema.names[c.index] for c in columns if isinstance(c, ColumnRef)}))

    def _together(self, node: Operator, table: Operator, keys: list[Expression], rows: float) -> float:
        """Return the distinct combinations of keys of one table."""
        left = min(self._left_of(node, key) for key in keys)
        product = 1.0
        for key in keys:
            distinct = self.column(node, key).distinct
            product *= min(left, rows) if distinct is None else distinct
        if names := self.names(node, table, keys):
            assert isinstance(table, Read)
            found = self._select(whole(table), table, names)
            if found is not None and found.column.distinct is not None:
                product = min(product, remaining(found.column.distinct, self.rows(table), left))
        return min(product, left)

    def _left_of(self, node: Operator, key: Expression) -> float:
        """Return the most rows of the key's table that can be among those of `node`: the minimum along the way."""
        least = math.inf
        above: Operator | None = None
        for place, _ in self.path(node, key):
            if isinstance(above, Join) and _keeps_matched_alone(above):
                least = min(least, self._partners(above, place))
            least, above = min(least, self.rows(place)), place
        return max(1.0, least)

    def _partners(self, node: Join, side: Operator) -> float:
        """Return the most rows of one side that find a partner: if its key is unique, one for each value of the other
        side."""
        pairs = [*zip(node.left_keys, node.right_keys, strict=True)]
        if not pairs:
            return math.inf
        if side is not node.left:
            pairs = [(b, a) for a, b in pairs]
        other = node.right if side is node.left else node.left
        mine, theirs = 1.0, 1.0
        for a, b in pairs:
            mine *= self.column(side, a).distinct or 1.0
            theirs *= self.column(other, b).distinct or math.inf
        return theirs if mine >= UNIQUE * self.rows(side) else math.inf

    def _mapped(self, node: Mapped) -> float | None:
        result = self.of(node.match.operators[0]).rows
        if node.match.completeness is not Completeness.PRUNE or result is None:
            return result
        return _pruned(self.of(pruned_leaf(node.match.operators)).rows, result)


def _plain(key: Expression) -> Expression:
    """Strip what does not change how many distinct values the key has."""
    key = bloom.key_of(key)
    while isinstance(key, Cast):
        key = key.input
    return key


def whole(read: Read) -> Filter:
    """Return a filter that passes all rows, for statistics of several columns together."""
    return Filter(read, Literal(bool_, True))


def _keeps_matched_alone(node: Join) -> bool:
    """Return whether the join drops the rows without a partner of both sides."""
    return node.type.matched and not (node.type.unmatched or node.type.unmatched_right)


def _pruned(before: float | None, needed: float | None) -> float | None:
    """Return the rows that a pruning accelerator lets pass."""
    if before is None or needed is None:
        return needed
    return min(before, needed + (before - min(before, needed)) * PRUNED)


def _limited(rows: float, most: float, doubt: float) -> tuple[float, float]:
    """Cap rows at a limit; if even the low end of the estimate exceeds the limit, the result is exact."""
    return min(rows, most), 1.0 if rows > most * doubt else doubt


def _is_fixed(args: Sequence[Expression], index: int) -> bool:
    """Return whether one argument is this column and the other one a literal."""
    columns = [a for a in args if isinstance(a, ColumnRef)]
    return len(columns) == 1 and columns[0].index == index and any(isinstance(a, Literal) for a in args)
