"""Joins of one input in another order, so that those which a device in the network takes are next to each other.

    ((L ⋈ T1) ⋈ T2) ⋈ T3   with T1 and T3 on the device becomes   ((L ⋈ T1) ⋈ T3) ⋈ T2

A join whose keys are columns of L may come first, whatever joins it passes: each of these keeps rows of its left input,
drops them, or repeats them, by what is in that row. All others keep their order, so that they find the columns which
they need. Which joins go to the device is exact: of all sets, the one is taken that saves most bytes of those that fit.
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

#: joins of a run that are looked at: of so many there are 2^7 sets with the last one
JOINS_MAX = 8


@dataclass(frozen=True)
class Step:
    """A join, with expressions over numbered columns: those of L first, then those of each build side. `join` is the
    one in the request that it is; None: there is none."""

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
        """Numbers of the columns that it reads."""
        read = (*self.probing, *((self.residual,) if self.residual is not None else ()))
        return {i for e in read for i in e.columns()}


@dataclass(frozen=True)
class Run:
    """Joins above one input, the deepest first; `output`: the numbers of the root's columns."""

    root: Operator
    leaf: Operator
    steps: tuple[Step, ...]
    output: tuple[int, ...]

    def tree(self, order: Sequence[int], upto: int) -> tuple[Operator, dict[int, int]]:
        """The first `upto` joins in this order, with the columns that are read above them, and where these are."""
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
        """The same rows, with these joins below all others."""
        order = _order(first, len(self.steps))
        node, place = self.tree(order, len(order))
        columns = tuple(column(node.schema, place[i]) for i in self.output)
        return project(node, columns, self.root.schema.names)


def run_of(root: Operator, joins_min: int = 3) -> Run | None:
    """The joins from `root` down, at most JOINS_MAX; None where they are too few: two are next to each other in any
    order."""
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
    columns = [*range(len(leaf.schema))]  # numbers of those of the operator at hand
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
    """The run with those joins first that save most on a device: `takes` says whether it takes a tree of so many joins,
    `saved` is the bytes that stay off the links for one. Only sets with the last join, and whose joins
    are not next to each other as they are: other roots have the others. None where there is no better one."""
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
    """The input whose rows go on through a run; None below it."""
    if isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions):
        return node.input
    if not isinstance(node, Join) or node.type.unmatched_right or node.type.marks or not node.left_keys:
        return None
    return node.probe if node.type.any_order else node.left
