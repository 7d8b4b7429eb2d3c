"""Prefetches statistics: tells what later passes will ask about files, so that all of it is looked up at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jumpgate.compiler.estimate import KEYS_ASKED, Estimator, whole
from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import references, unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Operator, Read, UnionAll

Question = tuple[Operator, tuple[str, ...]]


def look_ahead(plan: Plan) -> Plan:
    """Return the plan unchanged after telling `options.look` which files, filters and columns later passes ask about.

    The columns are the keys of joins, groups and partitions, and those of conditions that were not evaluated on all
    rows.
    """
    if plan.options.look is not None:
        plan.options.look(_tables(plan.root))
        plan.options.look(_once(_Ahead(plan.estimator).questions(plan.root)))
    return plan


def _tables(root: Operator) -> Iterator[Question]:
    for node in unique(root):
        if isinstance(node, Read) or (isinstance(node, Filter) and isinstance(node.input, Read)):
            yield node, ()


def _once(questions: Iterable[Question]) -> Iterable[Question]:
    """Drop repeated questions about a node by its identity: comparing nodes with wide schemas takes longer than asking
    again."""
    return {(id(node), names): (node, names) for node, names in [*questions]}.values()


class _Ahead:
    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._seen: set[tuple[int, Expression]] = set()

    def questions(self, root: Operator) -> Iterator[Question]:
        for node in unique(root):
            if isinstance(node, Filter) and self._estimator.is_counted(node):
                continue
            for input, keys in _keys(node):
                for key in keys:
                    yield from self._column(input, key)
                for table, of_table in self._estimator.by_table(input, keys) if len(keys) > 1 else ():
                    if isinstance(table, Read) and (names := self._estimator.names(input, table, of_table)):
                        yield whole(table), names

    def _column(self, node: Operator, key: Expression) -> Iterator[Question]:
        """Yield the questions about the files' columns that a key is made of."""
        above: Operator | None = None
        for place, expression in self._estimator.path(node, key):
            # A path may come to a Read again by a filter, whose rows are another question.
            if (id(place), expression) in self._seen and not isinstance(place, Read):
                return
            self._seen.add((id(place), expression))
            match place, expression:
                case Read(), ColumnRef(index=index):
                    name = place.schema.names[index]
                    yield place, (name,)
                    if isinstance(above, Filter):
                        yield above, (name,)
                case UnionAll(), ColumnRef():
                    for member in place.members:
                        yield from self._column(member, expression)
                case Aggregate(), ColumnRef(index=index) if index < len(place.keys):
                    yield from self._column(place.input, place.keys[index])
                case _, ColumnRef():
                    pass
                case _:
                    for reference in references(place.schema, sorted(expression.columns())):
                        yield from self._column(place, reference)
            above = place


def _keys(node: Operator) -> Iterator[tuple[Operator, tuple[Expression, ...]]]:
    """Yield the expressions whose statistics the estimate of the node needs, with the input of each."""
    match node:
        case Filter():
            for index in sorted(node.predicate.columns()):
                yield node.input, references(node.input.schema, (index,))
        case Join():
            for left, right in zip(node.left_keys, node.right_keys, strict=True):
                yield node.left, (left,)
                yield node.right, (right,)
        case _ if node.together:
            yield node.inputs[0], node.together[:KEYS_ASKED]
