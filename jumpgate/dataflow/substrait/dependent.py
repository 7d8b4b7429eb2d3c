"""Turns correlated subqueries into joins.

A subquery over filters and projections gives its conditions to the join. Any other one is computed for all values that
the outer rows have of the columns that it refers to, the domain, whose columns its operators carry along (Neumann and
Kemper, Unnesting Arbitrary Queries, BTW 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.casts import TypeMismatch, cast_type, common_type
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, Literal, conjunction, conjuncts
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.joins import cross, filtered
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Project,
    Sort,
    column,
)
from jumpgate.dataflow.substrait.joins import equal_rows, read_join
from jumpgate.dataflow.substrait.sets import with_number
from jumpgate.dataflow.substrait.types import Unmapped
from jumpgate.dataflow.types import bool_, int64, string

_FALSE = Literal(bool_.with_nullable(False), False)
_NUMBER = int64.with_nullable(False)


@dataclass(frozen=True)
class Outer(Expression):
    """Column `index` of the rows around a subquery; level 1: around the innermost one that it stands in."""

    index: int
    level: int = 1

    def __str__(self) -> str:
        return f"outer{self.level}#{self.index}"


def is_dependent(node: Operator) -> bool:
    """Return whether the subquery refers to the rows around it."""
    return any(o.level == 1 for o in _outers(node))


def refers_outwards(node: Operator) -> bool:
    """Return whether the node refers to rows around any subquery that it stands in."""
    return next(_outers(node), None) is not None


def lowered(node: Operator) -> Operator:
    """Return a subquery that does not refer to the rows around it, as a part of the query around it."""
    return _mapped(node, lambda e: _placed(e, _no_column)) if refers_outwards(node) else node


def first_counted(subquery: Operator) -> Operator:
    """Return one row: 1 if the subquery, which does not refer to the rows around it, has a row, else 0."""
    return Aggregate(Limit(lowered(subquery), 1), (), (), (Measure.of("count_star", name="rows"),))


def one_row(node: Operator) -> bool:
    """Return whether the operator has exactly one row, whatever the data."""
    while isinstance(node, Project | Sort) and not (isinstance(node, Sort) and (node.limit == 0 or node.offset)):
        node = node.input
    if isinstance(node, Limit):
        return node.count > 0 and node.offset == 0 and one_row(node.input)
    if isinstance(node, Join) and node.type.pairs and not node.left_keys and node.residual is None:
        return one_row(node.left) and one_row(node.right)
    return isinstance(node, Aggregate) and not node.keys and node.phase == "full"


def only_row(node: Operator) -> Operator:
    """Return one row with the input's only value, NULL without one; more rows fail with an InvalidCast that says
    why."""
    value = column(node.schema, 0)
    failure: Expression = Literal(string.with_nullable(False), "several rows of a scalar subquery")
    for type in (int64, string, value.type) if value.type.is_text else (value.type,):
        if not failure.type.same(type):
            failure = Cast(cast_type(failure.type, type, "error"), failure)
    most = Measure.of("max", value, name=node.schema[0].name)
    whole = Aggregate(node, (), (), (most, Measure.of("count_star", name="rows")))
    result, rows = column(whole.schema, 0), column(whole.schema, 1)
    at_most_one = bind("le", (rows, Literal(_NUMBER, 1)))
    return Project(whole, (Case(result.type, (at_most_one, result), failure),), (node.schema[0].name,))


def exists(left: Operator, subquery: Operator) -> Operator:
    """Return left's columns and a mark: whether the subquery has a row."""
    while isinstance(subquery, Limit | Sort) and subquery.limits[0] == 0 and subquery.limits[1] != 0:
        subquery = subquery.input
    moved, width = _moved(subquery), len(left.schema)
    if moved is not None:
        terms = (_beside(t, left, moved.base) for t in moved.terms)
        node = read_join(left, moved.base, JoinType.MARK.substrait, _all(terms), datafusion=False)
    else:
        domain = _Domain.of(left, subquery)
        found = domain.only(domain.carried(subquery))
        node = read_join(left, found, JoinType.MARK.substrait, _all(domain.equal(left, found)), datafusion=False)
    mark = bind("coalesce", (column(node.schema, width), _FALSE))
    return Project(node, (*_columns(node, width), mark), node.schema.names)


def compares(left: Operator, subquery: Operator, needle: Expression, function: str = "eq") -> Operator:
    """Return left's columns and a nullable mark: whether the comparison of `needle`, an expression over left, holds for
    any of the subquery's values."""
    moved = _moved(subquery)
    if moved is None:
        domain = _Domain.of(left, subquery)
        found = domain.carried(subquery)
        value = _right(left, found, column(found.schema, 0))
        terms = [bind(function, _alike(needle, value)), *domain.equal(left, found, 1)]
        return read_join(left, found, JoinType.MARK.substrait, _all(terms), datafusion=False)
    base, width = moved.base, len(left.schema)
    terms = [bind(function, _alike(needle, _beside(moved.columns[0], left, base)))]
    known: list[Expression] = []
    for term in (_beside(t, left, base) for t in moved.terms):
        # a condition that is NULL drops the row, while a comparison with the needle that is NULL makes the mark NULL
        pair = _equality(term, width)
        if pair is None:
            terms.append(bind("coalesce", (term, _FALSE)))
            continue
        ours, theirs = pair
        terms.append(bind("is_not_distinct", (ours, theirs)))
        if theirs.type.nullable:
            known.append(bind("is_not_null", (theirs.remap(lambda i: column(base.schema, i - width)),)))
    base = filtered(base, known)
    return read_join(left, base, JoinType.MARK.substrait, _all(terms), datafusion=False)


def scalar(left: Operator, subquery: Operator) -> Operator:
    """Return left's columns and the value of the subquery: over projections an aggregate without keys."""
    above: list[Project] = []
    while not isinstance(subquery, Aggregate):
        if isinstance(subquery, Project):
            above.append(subquery)
        elif not isinstance(subquery, Sort):
            raise Unmapped(f"a correlated scalar subquery over {subquery.kind} is not known")
        subquery = subquery.input
    groups, conditions = _grouped(left, subquery)
    joined = read_join(left, groups, JoinType.LEFT.substrait, _all(conditions), datafusion=False)
    width, keys = len(left.schema), len(groups.schema) - len(subquery.measures)
    measured = (column(joined.schema, width + keys + i) for i in range(len(subquery.measures)))
    values = [_of_nothing(value, m) for value, m in zip(measured, subquery.measures, strict=True)]
    outer = _columns(joined, width)
    for projection in reversed(above):
        below = values
        values = [_placed(e.remap(below.__getitem__), outer.__getitem__) for e in projection.expressions]
    if len(values) != 1:
        raise Unmapped(f"a scalar subquery has {len(values)} columns")
    return Project(joined, (*outer, values[0]), (*left.schema.names, "value"))


def _grouped(left: Operator, aggregate: Aggregate) -> tuple[Operator, Sequence[Expression]]:
    """Return the aggregate for each value of the columns that it refers to, after these, and how it is joined."""
    moved, bound = _moved(aggregate.input), None
    if moved is not None:
        bound = _bound(moved, [o for e in (*aggregate.own_expressions, *moved.columns) for o in _outers_of(e)])
    if moved is not None and bound is not None:
        pairs, rest = bound
        node = filtered(moved.base, rest)
        keys: tuple[Expression, ...] = tuple(e for _, e in pairs)
        placed = [_placed(e.remap(moved.columns.__getitem__), _no_column) for e in aggregate.own_expressions]
    else:
        domain = _Domain.of(left, aggregate)
        node = domain.carried(aggregate.input)
        keys = domain.columns(node)
        placed = [domain.placed(e, node) for e in aggregate.own_expressions]
        pairs = []
    names = tuple(f"k{i}" for i in range(len(keys)))
    groups = replace(aggregate, input=node, keys=(), key_names=()).with_expressions(placed)
    assert isinstance(groups, Aggregate)
    groups = replace(groups, keys=keys, key_names=names)
    if not pairs:
        return groups, domain.equal(left, groups, 0)
    values = (_right(left, groups, column(groups.schema, i)) for i in range(len(pairs)))
    outer = (column(left.schema, o.index) for o, _ in pairs)
    return groups, [bind("eq", pair) for pair in zip(outer, values, strict=True)]


@dataclass(frozen=True)
class _Moved:
    """A subquery as conditions and columns over `base`, which does not refer to the rows around it."""

    base: Operator
    terms: tuple[Expression, ...]
    columns: tuple[Expression, ...]


def _moved(node: Operator) -> _Moved | None:
    """Take the filters and projections above an independent part off; None where something else refers to outer
    rows."""
    if not is_dependent(node):
        base = lowered(node)
        return _Moved(base, (), _columns(base, len(base.schema)))
    below = _moved(node.input) if isinstance(node, Filter | Project) else None
    if below is None:
        return None
    if isinstance(node, Filter):
        terms = (t.remap(below.columns.__getitem__) for t in conjuncts(node.predicate))
        return replace(below, terms=(*below.terms, *terms))
    assert isinstance(node, Project)
    return replace(below, columns=tuple(e.remap(below.columns.__getitem__) for e in node.expressions))


def _bound(moved: _Moved, elsewhere: Sequence[Outer]) -> tuple[list[tuple[Outer, Expression]], list[Expression]] | None:
    """Split the terms into equalities of an outer column with an expression over the base, one for each outer column,
    and the rest; None unless outer columns stand nowhere else."""
    pairs: dict[int, tuple[Outer, Expression]] = {}
    rest: list[Expression] = []
    for term in moved.terms:
        pair = _pair(term)
        if pair is not None and pair[0].index not in pairs:
            pairs[pair[0].index] = pair[0], _placed(pair[1], _no_column)
        elif any(o.level == 1 for o in _outers_of(term)):
            return None
        else:
            rest.append(_placed(term, _no_column))
    if not pairs or any(o.level == 1 for o in elsewhere):
        return None
    return [*pairs.values()], rest


def _pair(term: Expression) -> tuple[Outer, Expression] | None:
    """Return the sides of `outer = expression`; None for floats, whose NaN and zeros groups keep apart otherwise."""
    if not isinstance(term, Call) or term.function != "eq" or term.args[0].type.is_float:
        return None
    for a, b in (term.args, term.args[::-1]):
        if isinstance(a, Outer) and a.level == 1 and b.columns() and not any(o.level == 1 for o in _outers_of(b)):
            return a, b
    return None


@dataclass(frozen=True)
class _Domain:
    """The values that outer rows have of columns `indices`, each combination once."""

    rows: Operator
    indices: tuple[int, ...]

    @staticmethod
    def of(left: Operator, subquery: Operator) -> _Domain:
        indices = tuple(sorted({o.index for o in _outers(subquery) if o.level == 1}))
        columns = tuple(column(left.schema, i) for i in indices)
        return _Domain(Aggregate(left, columns, tuple(f"d{i}" for i in indices), ()), indices)

    def columns(self, node: Operator) -> tuple[Expression, ...]:
        """Return the domain's columns of a node that carries them: its last ones."""
        width = len(node.schema)
        return tuple(column(node.schema, i) for i in range(width - len(self.indices), width))

    def only(self, node: Operator) -> Operator:
        return Project(node, self.columns(node), self.rows.schema.names)

    def equal(self, left: Operator, node: Operator, start: int | None = None) -> list[Expression]:
        """Return conditions over left ++ node: outer rows find their values, which begin at `start`, NULL finds
        NULL."""
        at = len(node.schema) - len(self.indices) if start is None else start
        return [
            bind("is_not_distinct", (column(left.schema, index), _right(left, node, column(node.schema, at + i))))
            for i, index in enumerate(self.indices)
        ]

    def placed(self, expression: Expression, node: Operator) -> Expression:
        """Return an expression of the subquery over `node`, which carries the domain."""
        found = dict(zip(self.indices, self.columns(node), strict=True))
        return _placed(expression, found.__getitem__)

    def carried(self, node: Operator) -> Operator:
        """Return the node's rows for each row of the domain, with the domain's columns after its own."""
        if not is_dependent(node):
            return cross(lowered(node), self.rows)
        match node:
            case Filter():
                below = self.carried(node.input)
                return Filter(below, self.placed(node.predicate, below))
            case Project():
                below = self.carried(node.input)
                expressions = (*(self.placed(e, below) for e in node.expressions), *self.columns(below))
                return Project(below, expressions, (*node.names, *self.rows.schema.names))
            case Sort(limit=None, offset=0):
                return self.carried(node.input)
            case Sort() | Limit():
                return self._first(node)
            case Aggregate(phase="full"):
                return self._aggregate(node)
            case Join():
                return self._join(node)
        if node.own_expressions or len(node.inputs[0].schema) != len(node.schema):
            raise Unmapped(f"a correlated subquery with {node.kind} is not known")
        return node.with_inputs(tuple(self.carried(i) for i in node.inputs))  # it is about whole rows

    def _first(self, node: Sort | Limit) -> Operator:
        """Number the rows of each value of the domain, and keep the first ones."""
        below = self.carried(node.input)
        offset, count = node.limits
        keys = node.keys if isinstance(node, Sort) else ()
        order = tuple(replace(k, expression=self.placed(k.expression, below)) for k in keys)
        over = with_number(below, self.columns(below), order)
        place = column(over.schema, len(over.schema) - 1)
        terms = [bind("gt", (place, Literal(_NUMBER, offset)))] if offset else []
        if count is not None:
            terms.append(bind("le", (place, Literal(_NUMBER, offset + count))))
        return _selected(filtered(over, terms), range(len(below.schema)))

    def _aggregate(self, node: Aggregate) -> Operator:
        below = self.carried(node.input)
        over = replace(node, input=below).with_expressions([self.placed(e, below) for e in node.own_expressions])
        assert isinstance(over, Aggregate)
        added = self.columns(below)
        keys, size = len(node.keys), len(added)
        over = replace(over, keys=(*over.keys, *added), key_names=(*over.key_names, *self.rows.schema.names))
        order = [*range(keys), *range(keys + size, len(over.schema)), *range(keys, keys + size)]
        if node.keys:
            return _selected(over, order)
        # without keys there is a row for each value of the domain, for which the aggregate may have had no row
        conditions = equal_rows(self.rows.schema, over.schema)[:size]
        whole = read_join(self.rows, over, JoinType.LEFT.substrait, _all(conditions), datafusion=False)
        values = [_of_nothing(column(whole.schema, 2 * size + i), m) for i, m in enumerate(node.measures)]
        names = (*(m.name for m in node.measures), *self.rows.schema.names)
        return Project(whole, (*values, *_columns(whole, size)), names)

    def _join(self, node: Join) -> Operator:
        if node.type.unmatched_right:
            raise Unmapped(f"a correlated subquery with a {node.type} join is not known")
        width = len(node.left.schema)
        terms: list[Expression] = [
            bind("eq", (a, _right(node.left, node.right, b)))
            for a, b in zip(node.left_keys, node.right_keys, strict=True)
        ]
        terms += () if node.residual is None else conjuncts(node.residual)
        if node.type.any_order and not is_dependent(node.left):
            left, right = lowered(node.left), self.carried(node.right)
            carrier = [_right(left, right, e) for e in self.columns(right)]
        else:
            left = self.carried(node.left)
            right = self.carried(node.right) if is_dependent(node.right) else lowered(node.right)
            carrier = [*self.columns(left)]
        outer = dict(zip(self.indices, carrier, strict=True))
        columns = [*_columns(left, width), *(_right(left, right, e) for e in _columns(right, len(node.right.schema)))]
        placed = [_placed(t.remap(columns.__getitem__), outer.__getitem__) for t in terms]
        if len(right.schema) > len(node.right.schema) and len(left.schema) > width:
            pairs = zip(carrier, self.columns(right), strict=True)
            placed += [bind("is_not_distinct", (a, _right(left, right, b))) for a, b in pairs]
        joined = read_join(left, right, node.type.substrait, _all(placed), datafusion=False)
        start, size = len(left.schema), len(self.indices)
        own = [*range(width)]
        if node.type.pairs:
            own += range(start, start + len(node.right.schema))
        elif node.type.marks:
            own.append(start)
        carried = range(width, start) if start > width else range(len(joined.schema) - size, len(joined.schema))
        return _selected(joined, [*own, *carried])


# ---- expressions and columns ------------------------------------------------------------------------------------


def _outers(node: Operator) -> Iterator[Outer]:
    """Yield the references to outer rows in a subquery, each node's once."""
    seen: set[int] = set()
    pending = [node]
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            pending += node.inputs
            for expression in node.own_expressions:
                yield from _outers_of(expression)


def _outers_of(expression: Expression) -> Iterator[Outer]:
    return (e for e in expression.walk() if isinstance(e, Outer))


def _placed(expression: Expression, where: Callable[[int], Expression]) -> Expression:
    """Replace references to the rows around a subquery; those to rows around these come one level nearer."""
    if isinstance(expression, Outer):
        return where(expression.index) if expression.level == 1 else replace(expression, level=expression.level - 1)
    if not expression.children:
        return expression
    return expression.with_children(tuple(_placed(c, where) for c in expression.children))


def _no_column(index: int) -> Expression:
    raise AssertionError(f"column {index} of outer rows in an independent part")


def _mapped(node: Operator, change: Callable[[Expression], Expression]) -> Operator:
    """Change all expressions of a plan; what several operators read stays one."""
    known: dict[int, Operator] = {}

    def visit(node: Operator) -> Operator:
        if id(node) not in known:
            inputs = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            known[id(node)] = (node if same else node.with_inputs(inputs)).map_expressions(change)
        return known[id(node)]

    return visit(node)


def _beside(expression: Expression, left: Operator, base: Operator) -> Expression:
    """Return an expression over base, with references to left's rows, as one over left ++ base."""
    moved = expression.remap(lambda i: _right(left, base, column(base.schema, i)))
    return _placed(moved, lambda i: column(left.schema, i))


def _right(left: Operator, right: Operator, expression: Expression) -> Expression:
    """Return an expression over the right input of a join as one over left ++ right."""
    width = len(left.schema)

    def where(index: int) -> Expression:
        found = right.schema[index]
        return ColumnRef(found.type, width + index, found.name)

    return expression.remap(where)


def _columns(node: Operator, count: int) -> tuple[Expression, ...]:
    return tuple(column(node.schema, i) for i in range(count))


def _selected(node: Operator, positions: Sequence[int]) -> Operator:
    if [*positions] == [*range(len(node.schema))]:
        return node
    names = tuple(node.schema[p].name for p in positions)
    return Project(node, tuple(column(node.schema, p) for p in positions), names)


def _all(terms: Iterable[Expression]) -> Expression | None:
    found = tuple(terms)
    return conjunction(found) if found else None


def _equality(term: Expression, width: int) -> tuple[Expression, Expression] | None:
    """Return the sides of an equality between the inputs of a join, left first; None for floats, which differ in what
    equals what as keys of groups."""
    if not isinstance(term, Call) or term.function != "eq" or term.args[0].type.is_float:
        return None
    for a, b in (term.args, term.args[::-1]):
        x, y = a.columns(), b.columns()
        if x and y and max(x) < width <= min(y):
            return a, b
    return None


def _alike(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    try:
        type = common_type((a.type, b.type))
    except TypeMismatch as error:
        raise Unmapped(str(error)) from None
    return cast_to(a, type), cast_to(b, type)


def _of_nothing(value: Expression, measure: Measure) -> Expression:
    """Return a measure of a left join's right side; where there is no partner, it is that of no row."""
    if measure.type.nullable:
        return value
    return bind("coalesce", (value, Literal(measure.type, AGGREGATES[measure.function].value([]))))
