"""Spreads hot rows over register arrays so that most transactions take one pass (P4DB, section 5).

Rows that are accessed together are the nodes and edges of a graph. A constrained max-cut puts them into different
arrays; the arrays are then ordered by the direction in which values flow between them.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

from jumpgate.p4.programs.transactions import DEFAULT, TransactionSizes

Row = Hashable
#: each start improves a layout of its own; the best is taken
STARTS = 8
#: of one start: each improves the cut, so they end by themselves; this bounds them on large graphs
SWEEPS_MAX = 50


@dataclass(frozen=True)
class Work:
    """A transaction: its rows, and those pairs of them where the second one's new value needs the first one's."""

    rows: tuple[Row, ...]
    needs: tuple[tuple[Row, Row], ...] = ()


@dataclass
class Layout:
    """`arrays`: each hot row's array; `cut`: the share of the graph's weight between different arrays."""

    sizes: TransactionSizes
    arrays: dict[Row, int] = field(default_factory=dict)
    cut: float = 1.0

    def passes(self, work: Work) -> int | None:
        """How many passes a transaction takes; None if not all its rows are hot."""
        found = self.rows_of_passes(work)
        return None if found is None else max(len(found), 1)

    def rows_of_passes(self, work: Work) -> list[list[Row]] | None:
        """Return the rows of each pass, in the order of their arrays; None if not all are hot."""
        if any(row not in self.arrays for row in work.rows):
            return None
        left, done, passes = list(dict.fromkeys(work.rows)), set[Row](), list[list[Row]]()
        while left:
            taken: dict[Row, int] = {}
            for row in sorted(left, key=lambda row: self.arrays[row]):
                level = self.arrays[row] // self.sizes.columns
                ready = all(
                    a in done or (a in taken and taken[a] < level) for a, b in work.needs if b == row and a != row
                )
                if ready and self.arrays[row] not in {self.arrays[other] for other in taken}:
                    taken[row] = level
            if not taken:  # values that need each other: one by one
                taken = {left[0]: 0}
            done |= taken.keys()
            left = [row for row in left if row not in taken]
            passes.append(list(taken))
        return passes


def access_graph(works: Iterable[Work], hot: set[Row]) -> nx.Graph:
    """Hot rows, with how often each two are in one transaction as `weight`."""
    graph = nx.Graph()
    graph.add_nodes_from(sorted(hot, key=repr))
    for work in works:
        rows = [row for row in dict.fromkeys(work.rows) if row in hot]
        for a, b in itertools.combinations(rows, 2):
            graph.add_edge(a, b, weight=graph.get_edge_data(a, b, {"weight": 0})["weight"] + 1)
    return graph


def hottest(works: Iterable[Work], capacity: int) -> list[Row]:
    """The rows that most accesses are of, as many as the switch holds; the hottest first."""
    counts = Counter(row for work in works for row in work.rows)
    return [row for row, _ in sorted(counts.items(), key=lambda item: (-item[1], repr(item[0])))[:capacity]]


def max_cut(graph: nx.Graph, parts: int, part_max: int, seed: int = 1, starts: int = STARTS) -> dict[Row, int]:
    """A part for each node, with little weight inside the parts; none has more than `part_max` nodes.

    Greedy starts in random order, each improved by moves and swaps until nothing helps.
    """
    if len(graph) > parts * part_max:
        raise ValueError(f"{len(graph)} rows do not fit {parts} arrays of {part_max}")
    rng = random.Random(seed)
    found: list[tuple[float, dict[Row, int]]] = []
    by_weight = sorted(graph, key=lambda node: -graph.degree(node, weight="weight"))
    for start in range(starts):
        order = by_weight if start == 0 else rng.sample(by_weight, len(by_weight))
        search = _Search(graph, parts, part_max)
        for node in order:
            search.put(node, min(search.open_parts(), key=lambda p: (search.inside(node, p), search.used[p])))
        search.improve(order)
        found.append((search.weight(), search.part))
    return min(found, key=lambda item: item[0])[1]


class _Search:
    def __init__(self, graph: nx.Graph, parts: int, part_max: int) -> None:
        self.graph, self.parts, self.part_max = graph, parts, part_max
        self.part: dict[Row, int] = {}
        self.used = [0] * parts
        self.beside: dict[Row, dict[int, float]] = defaultdict(lambda: defaultdict(float))

    def open_parts(self) -> list[int]:
        return [p for p in range(self.parts) if self.used[p] < self.part_max]

    def inside(self, node: Row, part: int) -> float:
        """The weight of a node's edges into a part."""
        return self.beside[node].get(part, 0.0)

    def put(self, node: Row, part: int) -> None:
        before = self.part.get(node)
        for other, edge in self.graph[node].items():
            self.beside[other][part] += edge["weight"]
            if before is not None:
                self.beside[other][before] -= edge["weight"]
        if before is not None:
            self.used[before] -= 1
        self.part[node] = part
        self.used[part] += 1

    def improve(self, nodes: Sequence[Row]) -> None:
        for _ in range(SWEEPS_MAX):
            changed = [self._moved(node) or self._swapped(node) for node in nodes]
            if not any(changed):
                return

    def _moved(self, node: Row) -> bool:
        here = self.inside(node, self.part[node])
        best = min(self.open_parts(), key=lambda p: self.inside(node, p), default=None)
        if best is None or self.inside(node, best) >= here:
            return False
        self.put(node, best)
        return True

    def _swapped(self, node: Row) -> bool:
        """Exchanges a node with one of a part that is full, or with a neighbour that could not leave alone."""
        mine = self.part[node]
        if not self.inside(node, mine):
            return False
        for other in self.graph:
            theirs = self.part[other]
            if theirs == mine:
                continue
            edge = self.graph.get_edge_data(node, other, {"weight": 0})["weight"]
            before = self.inside(node, mine) + self.inside(other, theirs)
            after = self.inside(node, theirs) + self.inside(other, mine) - 2 * edge
            if after < before:
                self.put(node, theirs)
                self.put(other, mine)
                return True
        return False

    def weight(self) -> float:
        return float(sum(e["weight"] for a, b, e in self.graph.edges(data=True) if self.part[a] == self.part[b]))


def order_parts(flows: Mapping[tuple[int, int], float], sizes: TransactionSizes) -> list[int]:
    """The array of each part, so that as much as possible flows to a later level; exact, by dynamic programming."""
    everything = frozenset(range(sizes.arrays))
    best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for _ in range(sizes.levels):
        following: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for placed, (gain, order) in best.items():
            for level in itertools.combinations(sorted(everything - placed), sizes.columns):
                forward = gain + sum(flows.get((a, b), 0.0) for a in placed for b in level)
                known = following.get(placed | set(level))
                if known is None or forward > known[0]:
                    following[placed | set(level)] = forward, order + level
        best = following
    order = best[everything][1]
    return [order.index(part) for part in range(sizes.arrays)]


def arrange(works: Sequence[Work], sizes: TransactionSizes = DEFAULT, rows_max: int = 0, seed: int = 1) -> Layout:
    """The layout for a trace; `rows_max`: how many rows may be hot, 0: as many as the switch holds."""
    capacity = sizes.arrays << sizes.index_bits
    hot = set(hottest(works, min(rows_max or capacity, capacity)))
    graph = access_graph(works, hot)
    parts = max_cut(graph, sizes.arrays, 1 << sizes.index_bits, seed)
    flows: dict[tuple[int, int], float] = defaultdict(float)
    for work in works:
        for a, b in work.needs:
            if a in parts and b in parts:
                flows[parts[a], parts[b]] += 1
    arrays = order_parts(flows, sizes)
    total = sum(e["weight"] for _, _, e in graph.edges(data=True))
    within = sum(e["weight"] for a, b, e in graph.edges(data=True) if parts[a] == parts[b])
    return Layout(sizes, {row: arrays[part] for row, part in parts.items()}, 1 - within / total if total else 1.0)
