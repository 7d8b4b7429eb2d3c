"""Encodes texts of build sides as numbers, for devices in the network with fixed-width rows.

    L ⋈ T(key, name)   becomes   (L ⋈ T(key, code)) ⋈ D(code, name)

`code` numbers the texts of T's rows in their order, NULL among them, and D has each code once. T is computed twice, so
it must return the same rows each time: a limit chooses rows freely, and sums of floats depend on the order of rows.
Hosts join D above the joins of the run, or before the first one that reads such a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jumpgate.compiler.mapping.arrange_joins import Run, Step
from jumpgate.compiler.tree import references, unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Measure,
    Operator,
    Project,
    Read,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.types import Field

CODE = "text_code"
#: types of columns that are encoded: of any length, with an order
CODED = ("string", "binary")
#: measures that do not depend on the order of rows, for any type but floats
REPEATING = ("count", "count_star", "min", "max", "sum")


@dataclass(frozen=True)
class _Dictionary:
    """A join with a dictionary that is still to be added, and the former numbers of its texts, in the order of its
    columns."""

    step: Step
    texts: tuple[int, ...]


def text_codes(run: Run) -> Run | None:
    """Return the run with texts of its build sides encoded, or None if there are none. A text in a key or in a residual
    condition stays as it is."""
    if not any(map(_texts, run.steps)):
        return None
    fields = [*run.leaf.schema]
    at = {i: i for i in range(len(fields))}  # a column's number → its number in the new run
    count = len(fields)
    steps: list[Step] = []
    dictionaries: list[_Dictionary] = []

    def add(step: Step, numbers: Sequence[int | None]) -> None:
        """Append a step. `numbers` has the former number of each build column; None for a new column."""
        nonlocal count
        steps.append(replace(step, first=count))
        at.update({number: count + n for n, number in enumerate(numbers) if number is not None})
        count += len(numbers)

    for step in run.steps:
        for needed in [d for d in dictionaries if step.needs() & {*d.texts}]:
            dictionaries.remove(needed)
            add(needed.step, (None, *needed.texts))
        own = step.build.schema
        fields += own
        texts = _texts(step)
        kept = [i for i in range(len(own)) if i not in texts]
        build = step.build
        if texts:
            coded = _coded(build, texts)
            build = Project(coded, references(coded.schema, [*kept, len(own)]), (*(own.names[i] for i in kept), CODE))
            code = ColumnRef(coded.schema.types[-1], count + len(kept), CODE)
            dictionaries.append(
                _Dictionary(_dictionary(coded, texts, step.type, code), tuple(step.first + i for i in texts))
            )
        coded_step = replace(
            step,
            build=build,
            probing=tuple(_moved(e, at, fields) for e in step.probing),
            building=tuple(_moved(e, {i: n for n, i in enumerate(kept)}, own.fields) for e in step.building),
        )
        add(coded_step, [*(step.first + i for i in kept), *((None,) if texts else ())])
        if step.residual is not None:
            steps[-1] = replace(steps[-1], residual=_moved(step.residual, at, fields))
    for left in dictionaries:
        add(left.step, (None, *left.texts))
    return Run(run.root, run.leaf, tuple(steps), tuple(at[i] for i in run.output))


def _texts(step: Step) -> tuple[int, ...]:
    """Return the columns of the build side that are encoded."""
    if not step.type.pairs or not all(map(_repeats, unique(step.build))):
        return ()
    read = {i for e in step.building for i in e.columns()}
    if step.residual is not None:
        read |= {i - step.first for i in step.residual.columns()}
    return tuple(i for i, f in enumerate(step.build.schema) if f.type.kind in CODED and i not in read)


def _repeats(node: Operator) -> bool:
    """Return whether the node gives the same rows each time for the same input, in whatever order that arrives."""
    if isinstance(node, Aggregate):
        types = [e.type for m in node.measures for e in m.expressions]
        return all(m.function in REPEATING for m in node.measures) and not any(t.is_float for t in types)
    return isinstance(node, Read | Filter | Project | Join | UnionAll)


def _coded(build: Operator, texts: Sequence[int]) -> Operator:
    """Return the build side with a code column at its end."""
    order = tuple(SortKey(column(build.schema, i)) for i in texts)
    return Window(build, (), order, (WindowFunction("dense_rank", (), window_type("dense_rank", ()), CODE),))


def _dictionary(coded: Operator, texts: Sequence[int], type: JoinType, code: ColumnRef) -> Step:
    """Return the join that looks up the texts of each code. Its type is the build side's, as rows without a partner
    there have no code."""
    schema = coded.schema
    measures = tuple(Measure.of("min", column(schema, i), name=schema.names[i]) for i in texts)
    build = Aggregate(coded, (column(schema, len(schema) - 1),), (CODE,), measures)
    return Step(None, type, False, build, 0, (code,), (column(build.schema, 0),), None, moves=False)


def _moved(expression: Expression, at: Mapping[int, int], fields: Sequence[Field]) -> Expression:
    return expression.remap(lambda i: ColumnRef(fields[i].type, at[i], fields[i].name))
