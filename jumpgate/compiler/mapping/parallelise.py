"""Parallelises operators over instances: two-phase aggregates, broadcast or partitioned joins, local top-n and a merge.

Every subplan is either *single* (one instance has all rows) or *spread* over the site's instances, perhaps by a hash of
some columns. An exchange is inserted where an operator needs another distribution than its input has. With one instance
everything is single and no exchange is inserted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jumpgate.compiler.mapping.ask_again import AskAgain
from jumpgate.compiler.mapping.skew import dealt_out
from jumpgate.compiler.plan import Exchange, MappedPlan, Site
from jumpgate.compiler.tree import pair_references, project, references
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Partitioning, Project, Read, Shuffle, UnionAll


@dataclass(frozen=True)
class Spread:
    """The distribution of rows: over `count` instances, equal values of the columns `keys` on the same one (None =
    arbitrary)."""

    count: int = 1
    keys: tuple[int, ...] | None = None

    @property
    def single(self) -> bool:
        return self.count == 1


SINGLE = Spread()
#: send each value once if an instance sends at most this fraction of the rows that have it (for a build side: of the
#: rows of its largest table)
ONCE_SHARE = 0.25


def parallelise(plan: MappedPlan) -> MappedPlan:
    """Set every exchange's partitioning and every site's number of instances."""
    worker = _Parallel(plan)
    result = plan.root.input
    assert isinstance(result, Exchange)
    body, spread = worker.visit(result.input, worker.widen(result.site, result.input))
    endpoints = max(1, len(plan.root.endpoints or plan.options.endpoints))
    partitioning = replace(plan.root.partitioning, count=endpoints)
    sent = Exchange(body, partitioning, replace(result.site, count=spread.count))
    return replace(plan, root=replace(plan.root, input=sent))


class _Parallel:
    def __init__(self, plan: MappedPlan) -> None:
        self.options = plan.options
        self.estimator = plan.estimator
        self.accelerators = AskAgain(plan)
        self._memo: dict[tuple[int, Site], tuple[Operator, Spread]] = {}

    def widen(self, site: Site, node: Operator) -> Site:
        """The site, which runs `node` and what is below, with the count of instances that its spread parts have."""
        count = self.options.parallelism or len(site.devices)
        if site.fusion == "" or site.devices[0].kind != "host" or count == 1:
            return replace(site, count=1)
        return replace(site, count=count if self.accelerators.shares(node, site) else 1)

    def visit(self, node: Operator, site: Site) -> tuple[Operator, Spread]:
        """Return `node` as `site` runs it, and the distribution of its rows. Shared nodes stay shared."""
        key = (id(node), site)
        if key not in self._memo:
            self._memo[key] = self._visit(node, site)
        return self._memo[key]

    def _visit(self, node: Operator, site: Site) -> tuple[Operator, Spread]:
        match node:
            case Exchange():
                return self._enter(node, site)
            case Read():
                return node, Spread(site.count)
            case Join():
                return self._join(node, site)
            case Aggregate() if node.phase == "full":
                return self._aggregate(node, site)
            case Aggregate() if node.phase == "final":
                return self._final(node, *self.visit(node.input, site), site)
            case Aggregate():  # a partial phase of the request
                input, spread = self.visit(node.input, site)
                return _over(node, input), Spread(spread.count)
            case UnionAll():
                return self._union(node, site)
            case Shuffle():
                return self._shuffle(node, site)
        if not node.inputs:
            return node, Spread(site.count)
        if node.partial_phase is not None:
            return self._first_rows(node, site)
        if node.together is not None:
            return self._together(node, node.together, site)
        input, spread = self.visit(node.inputs[0], site)
        return _over(node, input), _through(node, spread)

    # ---- exchanges --------------------------------------------------------------------------------------------------

    def move(self, node: Operator, spread: Spread, partitioning: Partitioning, site: Site) -> Operator:
        """Return `node` after an exchange. Two exchanges in a row become one, unless another accelerator sends, which
        may not know the hash: an instance in between then partitions the rows."""
        if isinstance(node, Exchange) and node.transport is None and (node.site.fusion or partitioning.kind != "hash"):
            return replace(node, partitioning=partitioning)
        return Exchange(node, partitioning, replace(site, count=spread.count))

    def gather(self, node: Operator, spread: Spread, site: Site) -> Operator:
        return node if spread.single else self.move(node, spread, Partitioning(), site)

    def scatter(
        self,
        node: Operator,
        spread: Spread,
        keys: tuple[int, ...],
        site: Site,
        heavy: tuple[int, ...] = (),
        copied: bool = False,
    ) -> Operator:
        """Partition `node` by `keys`, except for rows of the `heavy` keys (Partitioning)."""
        if spread.count == site.count and spread.keys == keys:
            return node
        return self.move(node, spread, Partitioning("hash", keys, site.count, heavy, copied and bool(heavy)), site)

    def _enter(self, node: Exchange, site: Site) -> tuple[Operator, Spread]:
        """Receive rows from another accelerator."""
        if node.transport is not None:
            sent = self._device(node)
            if node.partitioning.kind == "single" or site.count == 1:
                return replace(sent, partitioning=Partitioning()), SINGLE
            return replace(sent, partitioning=replace(node.partitioning, count=site.count)), Spread(site.count)
        below = self.widen(node.site, node.input)
        input, spread = self.visit(node.input, below)
        kind = Partitioning() if site.count == 1 else Partitioning("round_robin", count=site.count)
        return Exchange(input, kind, replace(below, count=spread.count)), Spread(site.count)

    def _device(self, node: Exchange) -> Exchange:
        """Keep the operators of devices unchanged; the devices partition the rows by the keys."""
        count = len(node.site.devices)

        def rebuild(inner: Operator) -> Operator:
            if not isinstance(inner, Exchange):
                return _over(inner, *map(rebuild, inner.inputs))
            senders = self.widen(inner.site, inner.input)
            input, spread = self.visit(inner.input, senders)
            to = replace(inner.partitioning, count=count) if count > 1 else Partitioning()
            return replace(inner, input=input, partitioning=to, site=replace(senders, count=spread.count))

        return replace(node, input=rebuild(node.input), site=replace(node.site, count=count))

    # ---- operators --------------------------------------------------------------------------------------------------

    def _join(self, node: Join, site: Site) -> tuple[Operator, Spread]:
        left, left_spread = self.visit(node.left, site)
        right, right_spread = self.visit(node.right, site)
        if left_spread.single and right_spread.single:
            return _over(node, left, right), SINGLE
        whole_build = node.type.marks  # a NULL mark depends on the whole build side
        keyless = not node.left_keys
        small = (self.estimator.of(node.right).bytes or float("inf")) <= self.options.broadcast_bytes_max
        if not node.type.unmatched_right and (whole_build or keyless or small):
            if left_spread.single:
                return _over(node, left, self.gather(right, right_spread, site)), SINGLE
            everywhere = Partitioning("broadcast", count=site.count)
            right = self._each_once(node, right, site)
            return _over(node, left, self.move(right, right_spread, everywhere, site)), left_spread
        if keyless or not self._computes_keys(node, left, right, site):
            gathered = self.gather(left, left_spread, site), self.gather(right, right_spread, site)
            return _over(node, *gathered), SINGLE
        return self._partitioned(node, left, left_spread, right, right_spread, site)

    def _partitioned(
        self, node: Join, left: Operator, left_spread: Spread, right: Operator, right_spread: Spread, site: Site
    ) -> tuple[Operator, Spread]:
        """Partition both sides by a hash of the keys; keys that are not columns are computed before the exchange."""
        width, right_width = len(left.schema), len(right.schema)
        left, left_keys = _with_columns(left, node.left_keys)
        right, right_keys = _with_columns(right, node.right_keys)
        heavy = self._heavy(node, left_spread, left_keys, right_spread, right_keys, site)
        if right_spread.keys != right_keys and len(right.schema) == right_width:
            right = self._each_once(node, right, site)
        shift = len(left.schema) - width
        residual = node.residual
        if residual is not None and shift:
            refs = pair_references(left.schema, right.schema)
            residual = residual.remap(lambda i: refs[i if i < width else i + shift])
        joined = replace(
            node,
            left=self.scatter(left, left_spread, left_keys, site, heavy),
            right=self.scatter(right, right_spread, right_keys, site, heavy, copied=True),
            left_keys=references(left.schema, left_keys),
            right_keys=references(right.schema, right_keys),
            residual=residual,
        )
        keys: tuple[int, ...] | None = None if heavy else left_keys
        if node.type.extends_left and not heavy:  # the left keys hold NULL, not the hashed value
            keys = None if node.type.extends_right else tuple(k + len(left.schema) for k in right_keys)
        wanted = [*range(width)]
        if len(node.schema) > width:
            wanted += range(len(left.schema), len(left.schema) + right_width)
        result = project(joined, references(joined.schema, wanted), node.schema.names)
        if keys is not None and result is not joined:
            keys = tuple(wanted.index(k) for k in keys) if all(k in wanted for k in keys) else None
        return result, Spread(site.count, keys)

    def _computes_keys(self, node: Join, left: Operator, right: Operator, site: Site) -> bool:
        """True if the site makes columns of the join's keys, and drops them again."""
        made = [_with_columns(left, node.left_keys)[0], _with_columns(right, node.right_keys)[0]]
        return all(a is b or self.accelerators.takes(a, site) for a, b in zip(made, (left, right), strict=True))

    def _each_once(self, node: Join, right: Operator, site: Site) -> Operator:
        """The right side, each of its rows once an instance, if rows of the left one are only looked up in it, and
        tables are read for it that have far more rows than its columns have values."""
        inexact = any(f.type.is_nested or f.type.is_float for f in right.schema)
        if node.type.pairs or node.residual is not None or inexact:
            return right
        columns = references(node.right.schema)
        values: dict[int, float] = {}  # distinct combinations of the columns, by their table
        for column in columns:
            rows, known = self.estimator.base(node.right, column)
            if rows is None or known.distinct is None:
                return right
            origin = id(self.estimator.origin(node.right, column)[0])
            values[origin] = min(rows, values.get(origin, 1.0) * known.distinct)
        read = max((self.estimator.files(n).rows or 0.0 for n in node.right.walk() if isinstance(n, Read)), default=0.0)
        if math.prod(values.values()) > ONCE_SHARE * read:
            return right
        once = Aggregate(right, references(right.schema), right.schema.names, ())
        return once if self.accelerators.takes(once, site) else right

    def _heavy(
        self,
        node: Join,
        left: Spread,
        left_keys: tuple[int, ...],
        right: Spread,
        right_keys: tuple[int, ...],
        site: Site,
    ) -> tuple[int, ...]:
        """Return the heavy hitters of the join; none if a side need not move."""
        lies = left.keys == left_keys, right.keys == right_keys
        return () if any(lies) else dealt_out(node, site.count, self.estimator)

    def _aggregate(self, node: Aggregate, site: Site) -> tuple[Operator, Spread]:
        input, spread = self.visit(node.input, site)
        if spread.single:
            return _over(node, input), SINGLE
        grouped = {k.index: i for i, k in enumerate(node.keys) if isinstance(k, ColumnRef)}
        if spread.keys and all(k in grouped for k in spread.keys):  # every group is on one instance already
            return _over(node, input), Spread(spread.count, tuple(grouped[k] for k in spread.keys))
        if all(m.declaration.has_parts for m in node.measures):
            partial = replace(node, input=input, phase="partial")
            final = node.final_phase(partial)
            if self.accelerators.takes(partial, site) and self.accelerators.takes(final, site):
                return self._final(final, partial, Spread(spread.count), site)
        else:
            node, input = self._values_once(node, input, site)
        return self._whole(node, input, spread, site)

    def _whole(self, node: Aggregate, input: Operator, spread: Spread, site: Site) -> tuple[Operator, Spread]:
        """The aggregate in one phase: each group's rows on one instance."""
        keyed, keys = _with_columns(input, node.keys)
        if not keys or (keyed is not input and not self.accelerators.takes(keyed, site)):
            return _over(node, self.gather(input, spread, site)), SINGLE
        whole = replace(node, input=self.scatter(keyed, spread, keys, site), keys=references(keyed.schema, keys))
        return whole, Spread(site.count, tuple(range(len(node.keys))))

    def _values_once(self, node: Aggregate, input: Operator, site: Site) -> tuple[Aggregate, Operator]:
        """The aggregate, and its input with each value of a group once an instance, if it is of one argument's values
        that differ, and far more rows have them."""
        arguments = {m.values for m in node.measures}
        if len(arguments) > 1 or not all(m.declaration.distinct_of for m in node.measures):
            return node, input
        keys = (*node.keys, *arguments.pop())
        once = Aggregate(node.input, keys, tuple(f"key{i}" for i in range(len(keys))), ())
        if self.estimator.rows(once) > ONCE_SHARE * self.estimator.rows(node.input):
            return node, input
        *groups, value = references(once.schema)
        measures = tuple(m.with_expressions((value, *m.options, *[value] * len(m.order))) for m in node.measures)
        distinct = replace(once, input=input)
        if not self.accelerators.takes(distinct, site):
            return node, input
        return replace(node, keys=tuple(groups), measures=measures), distinct

    def _final(self, node: Operator, input: Operator, spread: Spread, site: Site) -> tuple[Operator, Spread]:
        assert isinstance(node, Aggregate)
        if spread.single:
            return _over(node, input), SINGLE
        if not node.keys or site.count == 1:
            return _over(node, self.gather(input, spread, site)), SINGLE
        keys = tuple(range(len(node.keys)))
        return _over(node, self.scatter(input, spread, keys, site)), Spread(site.count, keys)

    def _first_rows(self, node: Operator, site: Site) -> tuple[Operator, Spread]:
        """Finish sort, top-n, limit and skyline on one instance; reduce the rows before they travel where possible."""
        input, spread = self.visit(node.inputs[0], site)
        if spread.single:
            return _over(node, input), SINGLE
        first = _over(node, input).partial_phase
        if first is not None and not _keeps_all(first) and self.accelerators.takes(first, site):
            input = first
        return _over(node, self.gather(input, spread, site)), SINGLE

    def _together(self, node: Operator, by: tuple[Expression, ...], site: Site) -> tuple[Operator, Spread]:
        """Bring the rows of equal values to one instance, or all rows if there are no such columns."""
        inputs = [self.visit(i, site) for i in node.inputs]
        keys = tuple(e.index for e in by if isinstance(e, ColumnRef))
        alone = len(inputs) > 1 or any(spread.single for _, spread in inputs)
        if alone or not keys or len(keys) < len(by) or site.count == 1:
            return _over(node, *(self.gather(input, spread, site) for input, spread in inputs)), SINGLE
        ((input, spread),) = inputs
        return _over(node, self.scatter(input, spread, keys, site)), Spread(site.count, keys)

    def _shuffle(self, node: Shuffle, site: Site) -> tuple[Operator, Spread]:
        """Partition as the client asked, over this site's instances; with one instance nothing moves."""
        input, spread = self.visit(node.input, site)
        wanted = node.partitioning
        if site.count == 1 or wanted.kind == "single":
            return self.gather(input, spread, site), SINGLE
        moved = self.move(input, spread, replace(wanted, count=site.count), site)
        return moved, Spread(site.count, wanted.keys if wanted.kind == "hash" else None)

    def _union(self, node: UnionAll, site: Site) -> tuple[Operator, Spread]:
        members = [self.visit(m, site) for m in node.members]
        if all(s.single for _, s in members):
            return _over(node, *(m for m, _ in members)), SINGLE
        even = Partitioning("round_robin", count=site.count)
        spread_members = [self.move(m, s, even, site) if s.single else m for m, s in members]
        return _over(node, *spread_members), Spread(site.count)


def _over(node: Operator, *inputs: Operator) -> Operator:
    same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


def _through(node: Operator, spread: Spread) -> Spread:
    """Return the distribution after a filter or projection."""
    if spread.keys is None:
        return spread
    where: dict[int, int] = {}
    for index in range(len(node.schema)):
        for _, made in node.lineage(index):
            if isinstance(made, ColumnRef):
                where.setdefault(made.index, index)
    known = all(k in where for k in spread.keys)
    return Spread(spread.count, tuple(where[k] for k in spread.keys) if known else None)


def _keeps_all(partial: Operator) -> bool:
    """Return whether a partial phase outputs all rows, so that it spares nothing."""
    return partial.commutes({*range(len(partial.schema))})


def _with_columns(node: Operator, expressions: tuple[Expression, ...]) -> tuple[Operator, tuple[int, ...]]:
    """Return `node` with a column for each expression (appended if it is not one yet), and their positions."""
    positions: list[int] = []
    added: list[Expression] = []
    width = len(node.schema)
    for e in expressions:
        if isinstance(e, ColumnRef):
            positions.append(e.index)
        else:
            positions.append(width + len(added))
            added.append(e)
    if added:
        names = (*node.schema.names, *(f"key{i}" for i in range(len(added))))
        node = Project(node, (*references(node.schema), *added), names)
    return node, tuple(positions)
