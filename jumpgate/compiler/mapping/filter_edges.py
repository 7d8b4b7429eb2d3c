"""Filter edges: a join sends its build keys to the reader of its probe side, which drops rows without partners early.

A probe row without a partner is useless if the join drops it. If such rows travel, a semi join with the build keys
moves to where they come from, as far down as the keys are columns there; its right input is what the join's instances
send once their table is complete. The probe side starts in a later stage anyway, so the filter delays nothing that does
not wait for the table. Build sides on the way that have the keys as columns are filtered, too, and start one stage
later. If the build side is what travels, the join may be swapped. The saving is an estimate: a filter is added if the
rows that stay are `WORTH` times the bytes of the keys. Many keys travel as a Bloom filter if both ends support it and
it is smaller.

A reader that asks a store (TakesFilters) is asked whether it takes the keys. They are sent if the plan's objective
improves: what the store returns crosses its link wherever the reader is.

For a join on a device in the network, the hosts that send the build side also send its keys, and read that side twice.
(Predicate transfer: Yang et al., CIDR 2024.)
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

from jumpgate.compiler.estimate import row_bytes
from jumpgate.compiler.mapping.filtered_reads import filtered, improves, takes_filters
from jumpgate.compiler.plan import Exchange, KeysOfBuild, MappedPlan, Site
from jumpgate.compiler.tree import mirrored, project, references, unique
from jumpgate.dataflow import bloom
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.joins import Lookup, lookup_of, with_partners
from jumpgate.dataflow.operators import Aggregate, Distinct, Filter, Join, Operator, Partitioning, Project, Prune, Read
from jumpgate.nca.interface import Match, SendsFilters

#: bytes that must stay for each byte of a filter, and the least that justifies an edge
WORTH, SAVED_MIN = 2.0, 64e3
#: keys of at most this many bytes travel as a list even if a Bloom filter is smaller: a scan skips what is outside
#: their range
LIST_MAX = 16e3
#: network bytes that take as long as inserting one row into a table instead of passing it on
BUILT = 16.0


def filter_edges(plan: MappedPlan) -> MappedPlan:
    """Add a semi join with the keys of the build side to probe sides that travel."""
    result = plan.root.input
    assert isinstance(result, Exchange)
    body = _Filters(plan).visit(result, result)
    if body is result:
        return plan
    root = plan.root.with_inputs((body,))
    return plan.over(root)


@dataclass(frozen=True)
class _Place:
    """The origin of a probe side's rows: `node` in the fragment below an exchange, its keys there, the operators of
    `path` above it (each with its input's number), and the bytes that travel from there."""

    node: Operator
    keys: tuple[Expression, ...]
    fragment: Exchange
    travels: float = 0.0
    path: tuple[tuple[Operator, int], ...] = ()

    def below(self, keys: tuple[Expression, ...], input: int = 0) -> _Place:
        """Return the place of the same rows at an input of the node."""
        return replace(self, node=self.node.inputs[input], keys=keys, path=(*self.path, (self.node, input)))


class _Filters:
    def __init__(self, plan: MappedPlan) -> None:
        self._plan, self._estimator = plan, plan.estimator
        self._uses = _uses_within(plan.root)
        self._done: dict[int, Operator] = {}
        #: former node of each rebuilt node, with the node itself so that its id stays valid
        self._was: dict[int, tuple[Operator, int]] = {}
        #: build sides whose keys are sent, by identity: they must not change
        self._sent: dict[int, Operator] = {}

    def visit(self, node: Operator, fragment: Exchange) -> Operator:
        """Return `node` of the fragment below that exchange with the filters of all joins below it."""
        if id(node) not in self._done:
            within = node if isinstance(node, Exchange) else fragment
            inputs = tuple(self.visit(i, within) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            new = node if same else node.with_inputs(inputs)
            if isinstance(new, Join):
                new = self._filtered(new, fragment)
            self._was[id(new)] = new, id(node)
            self._done[id(node)] = new
        return self._done[id(node)]

    def _kinds(self, site: Site) -> tuple[str, ...]:
        """Return the kinds of filters that the site's NCA sends and takes."""
        operators = self._plan.registry.get(site.nca).operators
        return operators.travelling_filters if isinstance(operators, SendsFilters) else ()

    def _taken(self, site: Site) -> tuple[str, ...]:
        """Return the kinds of filters that the site's NCA takes."""
        return ("keys",) if takes_filters(self._plan, site) else self._kinds(site)

    def _original(self, node: Operator) -> int:
        return self._was[id(node)][1] if id(node) in self._was else id(node)

    def _shared(self, node: Operator, fragment: Exchange) -> bool:
        """Return whether several operators of the fragment use the node. Nodes shared by fragments are computed by each
        anyway."""
        return self._uses[self._original(fragment), self._original(node)] > 1

    def _filtered(self, join: Join, fragment: Exchange) -> Operator:
        """Return the join with a filter on its probe side if that pays, swapped if holding the other side and filtering
        this one pays more."""
        found = self._with_filter(join, fragment, 0.0)
        if found is not None:
            return found
        if not self._kinds(fragment.site):
            return join
        turned = self._turned(join, fragment)
        if turned is not None:
            other, columns = turned
            found = self._with_filter(other, fragment, BUILT * self._estimator.rows(join.left))
            if found is not None:
                return project(found, columns, join.schema.names)
        return join

    def _turned(self, join: Join, fragment: Exchange) -> tuple[Join, tuple[ColumnRef, ...]] | None:
        """Return the join with its sides swapped if the build side is broadcast and the other one can be held."""
        right = join.right
        if join.builds_left or not isinstance(right, Exchange) or right.partitioning.kind != "broadcast":
            return None
        held = self._estimator.of(join.left).bytes
        most = self._plan.options.broadcast_bytes_max * fragment.site.count
        if held is None or held > most or self._shared(join.left, fragment):
            return None
        return mirrored(join)

    def _with_filter(self, join: Join, fragment: Exchange, spent: float) -> Join | None:
        """Return the join with a semi join at the origin of its probe side; None if that is impossible or saves no more
        than `spent`."""
        lookup, giver = lookup_of(join), self._giver(join, fragment)
        if lookup is None or giver is None:
            return None
        place = self._lowest(_Place(lookup.probe, lookup.keys, fragment))
        place = place and self._asked(place, lookup)
        sent = None if place is None else self._worth(place, lookup.build, lookup.build_keys, giver, spent)
        if place is None or sent is None:
            return None
        self._sent[id(join.build)] = join.build
        if giver is fragment.site:
            to = _partitioning(join.build, giver, place.fragment.site)
            arrives = Exchange(sent, Partitioning(to, (), place.fragment.site.count), giver)
        else:
            everywhere = Partitioning("broadcast", (), place.fragment.site.count)
            arrives = Exchange(_read_again(sent), everywhere, giver)
        probe: Operator = bloom.kept(place.node, place.keys, arrives, sent.blocks)
        for above, input in reversed(place.path):
            probe = above.with_inputs((*above.inputs[:input], probe, *above.inputs[input + 1 :]))
            self._was[id(probe)] = probe, self._original(above)
        return replace(join, right=probe) if join.builds_left else replace(join, left=probe)

    def _asked(self, place: _Place, lookup: Lookup) -> _Place | None:
        """Return the place with what its reader asks a store when the keys arrive; None if that refuses them, or if it
        does not pay."""
        site = place.fragment.site
        if not takes_filters(self._plan, site):
            return place
        answer = filtered(self._plan, site, lookup._replace(probe=place.node, keys=place.keys))
        if not isinstance(answer, Match) or not improves(
            self._plan, site.devices[0], place.node, site.asked, answer.asked
        ):
            return None
        asking = replace(site, asked=answer.asked, note=answer.note, settings=answer.settings)
        fragment = replace(place.fragment, site=asking)
        self._was[id(fragment)] = fragment, self._original(place.fragment)
        path = tuple((fragment if above is place.fragment else above, input) for above, input in place.path)
        return replace(place, fragment=fragment, path=path)

    def _giver(self, join: Join, fragment: Exchange) -> Site | None:
        """Return the site that sends the keys of a join's build side, or None, as for a join that only prunes."""
        if self._kinds(fragment.site):
            return fragment.site
        if isinstance(fragment.input, Prune):
            return None
        build = join.build
        by_host = isinstance(build, Exchange) and build.transport is not None and _is_local(build.input)
        return build.site if isinstance(build, Exchange) and by_host and self._kinds(build.site) else None

    def _lowest(self, place: _Place) -> _Place | None:
        """Return the lowest place for a filter from `place` down; None if nothing travels from a place that can have
        one."""
        node, keys = place.node, place.keys
        below: _Place | None = None
        if not self._shared(node, place.fragment):
            match node:
                case Exchange() if node.transport is None or not self._taken(place.fragment.site):
                    travels = place.travels + self._bytes(node)
                    below = replace(place.below(keys), fragment=node, travels=travels)
                case Project():
                    below = _through(place, node.expressions)
                case _ if takes_filters(self._plan, place.fragment.site):
                    pass  # what it computes is its own
                case Distinct():
                    below = place.below(keys)
                case Filter() if not isinstance(node.input, Read):
                    below = place.below(keys)
                case Aggregate():
                    below = _through(place, node.keys)
                case Join():
                    below = self._beside(place, node)
        lowest = self._lowest(below) if below is not None else None
        return lowest or (place if place.travels and "keys" in self._taken(place.fragment.site) else None)

    def _beside(self, place: _Place, join: Join) -> _Place | None:
        """Return the input of a join that has all keys as columns, if the join does not need the rows that the filter
        drops."""
        width, columns = len(join.left.schema), {i for key in place.keys for i in key.columns()}
        below: _Place | None = None
        if all(i < width for i in columns) and not join.type.unmatched_right:
            below = place.below(place.keys)
        elif all(i >= width for i in columns) and join.type.any_order:
            inputs = references(join.right.schema)
            below = place.below(tuple(key.remap(lambda i: inputs[i - width]) for key in place.keys), 1)
        return None if below is None or (below.node is join.build and id(join.build) in self._sent) else below

    def _bytes(self, node: Exchange) -> float:
        """Return the bytes of the exchange that leave their host, or a store."""
        count, senders = node.partitioning.count, node.site.count
        sent = self._estimator.of(node.input).bytes or 0.0
        if node.transport is not None or takes_filters(self._plan, node.site):
            return sent
        if node.partitioning.kind == "broadcast":
            return sent * (count - 1)
        return sent * (1 - 1 / max(count, senders))

    def _worth(
        self, place: _Place, build: Operator, keys: tuple[Expression, ...], site: Site, spent: float
    ) -> KeysOfBuild | None:
        """Return the keys to send, or None if that does not pay."""
        rows = self._estimator.of(place.node).rows
        partners = with_partners(place.node, build, place.keys, keys)
        sent = KeysOfBuild(build, keys)
        left, known = self._estimator.of(partners).rows, self._estimator.of(sent.distinct)
        if not rows or left is None or known.rows is None or known.bytes is None:
            return None
        gone = 1 - min(1.0, left / rows)
        to = _partitioning(build, site, place.fragment.site)
        senders = site.count if _is_everywhere(build) else 1  # senders of each key
        copies = 0 if to == "paired" else place.fragment.site.count  # a paired edge stays on its host
        best, cost, saved = sent, known.bytes * copies * senders, place.travels * gone
        kinds = {*self._kinds(site)} & {*self._taken(place.fragment.site)}
        if "bloom" in kinds and copies and known.bytes > LIST_MAX:
            sketch, passing = self._sketched(sent, known.rows, site.count, senders)
            size = site.count * sketch.blocks * row_bytes(sketch.schema) * copies
            stay = saved * (1 - passing)
            if stay - size > saved - cost:
                best, cost, saved = sketch, size, stay
        return best if saved > max(SAVED_MIN, WORTH * cost + spent) else None

    def _sketched(self, sent: KeysOfBuild, keys: float, instances: int, senders: int) -> tuple[KeysOfBuild, float]:
        """Return the keys as a Bloom filter of each instance's share, and the fraction of other keys that pass at least
        one. The number of distinct keys is uncertain, so the filter has room for the geometric mean of it and the
        number of rows."""
        share = keys * senders / instances
        blocks = bloom.blocks_for(share * math.sqrt(max(1.0, self._estimator.rows(sent.input) / max(1.0, keys))))
        return replace(sent, blocks=blocks), min(1.0, bloom.passing(share, blocks) * instances / senders)


def _is_everywhere(build: Operator) -> bool:
    """Return whether each instance has all rows."""
    while isinstance(build, Filter | Project):
        build = build.input
    return isinstance(build, Exchange) and build.partitioning.kind == "broadcast"


def _is_local(node: Operator) -> bool:
    """Return whether a host computes the node from files alone."""
    return not any(isinstance(n, Exchange) for n in unique(node))


def _read_again(sent: KeysOfBuild) -> Operator:
    """Return the keys of a build side that is sent to a device, as a fragment of their own."""
    (build,) = sent.input.inputs
    return bloom.sent(Project(build, sent.keys, sent.key_schema.names), sent.blocks)


def _partitioning(build: Operator, sender: Site, reader: Site) -> str:
    """Return the filter edge's partitioning: a sender with all keys sends them to the instance on its own host."""
    same = sender.count == reader.count and sender.devices == reader.devices
    return "paired" if same and _is_everywhere(build) else "broadcast"


def _through(place: _Place, columns: tuple[Expression, ...]) -> _Place | None:
    """Return the place below an operator that outputs `columns` over its input; None if a key is no column there."""
    below = tuple(columns[k.index] for k in place.keys if isinstance(k, ColumnRef) and k.index < len(columns))
    if len(below) < len(place.keys) or not all(isinstance(k, ColumnRef) for k in below):
        return None
    return place.below(below)


def _uses_within(root: Operator) -> Counter[tuple[int, int]]:
    """Count how many operators of the fragment below an exchange use a node, by both identities."""
    found: Counter[tuple[int, int]] = Counter()
    for exchange in unique(root):
        if not isinstance(exchange, Exchange):
            continue
        waiting: list[Operator] = [exchange.input]
        seen: set[int] = set()
        found[id(exchange), id(exchange.input)] += 1
        while waiting:
            node = waiting.pop()
            if id(node) in seen or isinstance(node, Exchange):
                continue
            seen.add(id(node))
            waiting += node.inputs
            found.update((id(exchange), id(i)) for i in node.inputs)
    return found
