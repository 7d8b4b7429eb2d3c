"""Reorders joins of one probe input so that the joins which a device in the network takes are adjacent.

    ((L ⋈ T1) ⋈ T2) ⋈ T3   with T1 and T3 on the device becomes   ((L ⋈ T1) ⋈ T3) ⋈ T2

A join whose keys are columns of L may move below any other join of the run: each join keeps, drops or repeats rows of
its left input by the values in that row alone. All other joins keep their order, so that they find the columns they
need. The set of joins for the device is chosen exactly: of all sets that fit, the one that saves most bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jumpgate.compiler.tree import project
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, Project, column
from jumpgate.dataflow.types import Field

#: the most joins of a run to consider: there are 2^7 sets that include the last of 8
JOINS_MAX = 8


@dataclass(frozen=True)
class Step:
    """A join over numbered columns: first the columns of L, then those of each build side. `join` is the join of the
    request, or None for an added one."""

    join: Join | None
    type: JoinType
    builds_left: bool
    build: Operator
    first: int  # number of the build side's first column
    probing: tuple[Expression, ...]
    building: tuple[Expression, ...]  # over the build side itself
    residual: Expression | None
    moves: bool

    def needs(self) -> set[int]:
        """Return the numbers of the columns that the join reads."""
        read = (*self.probing, *((self.residual,) if self.residual is not None else ()))
        return {i for e in read for i in e.columns()}


@dataclass(frozen=True)
class Run:
    """Joins above one input, the deepest first. `output` holds the numbers of the root's columns."""

    root: Operator
    leaf: Operator
    steps: tuple[Step, ...]
    output: tuple[int, ...]

    def tree(self, order: Sequence[int], upto: int) -> tuple[Operator, dict[int, int]]:
        """Return the first `upto` joins in this order with the columns that are read above them, and each column's
        position."""
        node, place = self.leaf, {i: i for i in range(len(self.leaf.schema))}
        for at in range(upto):
            step = self.steps[order[at]]
            width = len(node.schema)
            both = place | {step.first + i: width + i for i in range(len(step.build.schema))}
            fields = (*node.schema, *step.build.schema)

            def there(i: int, both: dict[int, int] = both, fields: Sequence[Field] = fields) -> ColumnRef:
                return ColumnRef(fields[both[i]].type, both[i], fields[both[i]].name)

            node = Join(
                node, step.build, step.type, tuple(e.remap(there) for e in step.probing), step.building,
                None if step.residual is None else step.residual.remap(there),
                step.builds_left and not step.type.any_order,
            )  # fmt: skip
            if step.type.pairs:
                place = both
            above = {*self.output}.union(*(self.steps[t].needs() for t in order[at + 1 :]))
            kept = sorted(above & {*place}, key=place.__getitem__) or [min(place)]
            columns = tuple(column(node.schema, place[i]) for i in kept)
            node = project(node, columns, tuple(node.schema.names[place[i]] for i in kept))
            place = {i: at for at, i in enumerate(kept)}
        return node, place

    def arranged(self, first: Sequence[int]) -> Operator:
        """Return the same rows with the joins `first` below all others."""
        order = _order(first, len(self.steps))
        node, place = self.tree(order, len(order))
        columns = tuple(column(node.schema, place[i]) for i in self.output)
        return project(node, columns, self.root.schema.names)


def run_of(root: Operator, joins_min: int = 3) -> Run | None:
    """Return the joins from `root` down, at most JOINS_MAX, or None for fewer than `joins_min`: two joins are adjacent
    in any order."""
    operators: list[Operator] = []
    node, joins = root, 0
    while joins < JOINS_MAX and (below := _probe(node)) is not None:
        operators.append(node)
        joins += isinstance(node, Join)
        node = below
    while operators and not isinstance(operators[-1], Join):
        node = operators.pop()
    if joins < joins_min:
        return None
    leaf = node
    columns = [*range(len(leaf.schema))]  # the numbers of this operator's columns
    count = len(columns)
    steps: list[Step] = []
    for operator in reversed(operators):
        if isinstance(operator, Project):
            columns = [columns[i] for e in operator.expressions for i in e.columns()]
            continue
        assert isinstance(operator, Join)
        swapped = operator.type.any_order and operator.builds_left
        probing, building = operator.left_keys, operator.right_keys
        build, probe = operator.right, operator.left
        if swapped:
            probing, building, build, probe = building, probing, probe, build
        own = [*range(count, count + len(build.schema))]
        both = [*own, *columns] if swapped else [*columns, *own]
        keys = tuple(_numbered(e, columns, probe.schema.fields) for e in probing)
        moves = operator.residual is None and all(isinstance(e, ColumnRef) and e.index < len(leaf.schema) for e in keys)
        residual = operator.residual
        if residual is not None:
            residual = _numbered(residual, both, (*operator.left.schema, *operator.right.schema))
        steps.append(Step(operator, operator.type, operator.builds_left, build, count, keys, building, residual, moves))
        count += len(own)
        columns = both if operator.type.pairs else columns
    return Run(root, leaf, tuple(steps), tuple(columns))


def best_order(run: Run, takes: Callable[[Operator, int], bool], saved: Callable[[Join], float]) -> Operator | None:
    """Return the run with the joins first that save most on a device, or None if no order is better.

    `takes` tells whether the device takes a tree of that many joins; `saved` is the bytes that one join keeps off the
    links. Only sets that include the last join and are not adjacent yet are tried: other roots cover the others.
    """
    last = len(run.steps) - 1
    gains = {t: saved(step.join) for t, step in enumerate(run.steps) if step.join is not None and step.moves}
    fit = [t for t, gain in gains.items() if gain > 0 and takes(run.tree(_order((t,), last + 1), 1)[0], 1)]
    if last not in fit:
        return None
    sets = [(*some, last) for size in range(len(fit)) for some in itertools.combinations(fit[:-1], size)]
    for some in sorted(sets, key=lambda chosen: -sum(gains[t] for t in chosen)):
        if len(some) == 1 or takes(run.tree(_order(some, last + 1), len(some))[0], len(some)):
            return None if some[0] + len(some) - 1 == last else run.arranged(some)
    return None


def _order(first: Sequence[int], count: int) -> list[int]:
    return [*first, *(t for t in range(count) if t not in first)]


def _numbered(expression: Expression, columns: Sequence[int], fields: Sequence[Field]) -> Expression:
    return expression.remap(lambda i: ColumnRef(fields[i].type, columns[i], fields[i].name))


def _probe(node: Operator) -> Operator | None:
    """Return the input whose rows continue through the run, or None at its end."""
    if isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions):
        return node.input
    if not isinstance(node, Join) or node.type.unmatched_right or node.type.marks or not node.left_keys:
        return None
    return node.probe if node.type.any_order else node.left
