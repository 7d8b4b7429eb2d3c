"""Builds joins: keys cast to common types, duplicate names resolved, the residual condition over both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jumpgate.dataflow.casts import TypeMismatch, common_type
from jumpgate.dataflow.expressions import Expression, conjunction
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Filter, Join, Operator, Project, column
from jumpgate.dataflow.resolve import Scope, describe
from jumpgate.dataflow.types import Field, Schema
from jumpgate.dataflow.unresolved import Unresolved, UnresolvedColumn, as_column
from jumpgate.errors import InvalidDataflow

Columns = str | Unresolved | Sequence["str | Unresolved"]


def join_operator(
    left: Operator,
    right: Operator,
    *,
    on: Columns | None,
    left_on: Columns | None,
    right_on: Columns | None,
    how: str,
    where: Unresolved | None,
    suffix: str | None,
) -> Operator:
    """A Join, under a Project where `on` or `suffix` ask for other output columns. Raises InvalidDataflow."""
    scope = Scope("join", left.schema)
    try:
        type = JoinType(how)
    except InvalidDataflow as unknown:
        scope.problem(unknown.message)
    left_names, right_names = _key_lists(scope, on, left_on, right_on)
    if not left_names and where is None:
        scope.problem("join needs on=, left_on= and right_on=, or where= (lit(True) for every pair of rows)")
    scope.done()
    left_keys, right_keys = _keys(scope, left.schema, right.schema, left_names, right_names)
    shared = _shared(left_names) if on is not None else ()
    duplicates = [n for n in right.schema.names if n in left.schema.positions and n not in shared]
    if type.pairs and suffix is None and duplicates:
        listed = ", ".join(map(repr, duplicates))
        scope.problem(
            f'join: both inputs have a column {listed}; pass suffix="_right" to rename the right one, '
            "or select fewer columns first"
        )
    residual = _residual(scope, left.schema, right.schema, where, suffix, shared, duplicates)
    scope.done()
    node = Join(left, right, type, left_keys, right_keys, residual)
    if not type.pairs:
        _refuse_duplicates(scope, node.schema)
        return node
    return _output(scope, node, len(left.schema), shared, suffix)


def _key_lists(
    scope: Scope,
    on: Columns | None,
    left_on: Columns | None,
    right_on: Columns | None,
) -> tuple[list[Unresolved], list[Unresolved]]:
    if on is not None and (left_on is not None or right_on is not None):
        scope.problem("join: give either on= or left_on= and right_on=")
    left = _listed(on if on is not None else left_on)
    right = left if on is not None else _listed(right_on)
    if len(left) != len(right):
        scope.problem(f"join: left_on has {len(left)} keys, right_on has {len(right)}")
    if on is not None and not all(isinstance(k, UnresolvedColumn) for k in left):
        scope.problem("join: on= takes column names; use left_on= and right_on= for expressions")
    return left, right


def _listed(columns: Columns | None) -> list[Unresolved]:
    if columns is None:
        return []
    return [as_column(c) for c in ([columns] if isinstance(columns, str | Unresolved) else columns)]


def _shared(keys: list[Unresolved]) -> tuple[str, ...]:
    return tuple(k.name for k in keys if isinstance(k, UnresolvedColumn))


def _keys(
    scope: Scope,
    left: Schema,
    right: Schema,
    left_names: list[Unresolved],
    right_names: list[Unresolved],
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    sides = (Scope("join (left input)", left), Scope("join (right input)", right))
    pairs: list[tuple[Expression, Expression]] = []
    for a, b in zip(left_names, right_names, strict=True):
        x, y = sides[0].resolve(a), sides[1].resolve(b)
        if x is None or y is None:
            continue
        try:
            type = common_type((x.type, y.type))
            pairs.append((cast_to(x, type), cast_to(y, type)))
        except TypeMismatch:
            types = f"key {describe(a)} is {x.type.name}, key {describe(b)} is {y.type.name}"
            scope.problem(f"join: {types}; cast one of them")
    for side in sides:
        scope.problems += [p for p in side.problems if p not in scope.problems]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def _residual(
    scope: Scope,
    left: Schema,
    right: Schema,
    where: Unresolved | None,
    suffix: str | None,
    shared: tuple[str, ...],
    duplicates: list[str],
) -> Expression | None:
    """Resolve the condition over left ++ right; a name of both means left's if it is a shared key or there is a
    suffix."""
    if where is None:
        return None
    both = Scope("join", Schema((*left, *right)))
    for name in (*shared, *(duplicates if suffix is not None else ())):
        both.renamed[name] = left.names.index(name)
        if suffix is not None:
            both.renamed[name + suffix] = len(left) + right.names.index(name)
    both.ambiguous = frozenset(duplicates if suffix is None else ())
    residual = both.predicate(where)
    scope.problems += both.problems
    return residual


def _output(scope: Scope, node: Join, width: int, shared: tuple[str, ...], suffix: str | None) -> Operator:
    """One column for each shared key (of the side that has it), the suffix on other names of the right input."""
    schema = node.schema
    taken = set(schema.names[:width])
    expressions: list[Expression] = []
    names: list[str] = []
    for i, field in enumerate(schema):
        expression: Expression = column(schema, i)
        if i < width and field.name in shared:
            twin = width + schema.names[width:].index(field.name)
            if node.type.extends_left:
                right = column(schema, twin)
                expression = bind("coalesce", (expression, right)) if node.type.extends_right else right
        elif i >= width and field.name in shared:
            continue
        expressions.append(expression)
        names.append(field.name + suffix if i >= width and field.name in taken and suffix is not None else field.name)
    _refuse_duplicates(scope, Schema(tuple(Field(n, e.type) for n, e in zip(names, expressions, strict=True))))
    if tuple(names) == schema.names:
        return node
    return Project(node, tuple(expressions), tuple(names))


def _refuse_duplicates(scope: Scope, schema: Schema) -> None:
    again = [n for n, at in schema.positions.items() if len(at) > 1]
    if again:
        raise InvalidDataflow(
            f"join: the result would have two columns called {again[0]!r}; rename one first",
            operator="join",
            column=again[0],
        )


def cross(left: Operator, right: Operator) -> Join:
    """Return every pair of rows."""
    return Join(left, right, JoinType.INNER, (), ())


class Lookup(NamedTuple):
    """The sides of a join, and their keys. Rows of `probe` without partners do not matter."""

    probe: Operator
    build: Operator
    keys: tuple[Expression, ...]
    build_keys: tuple[Expression, ...]


def lookup_of(node: Operator) -> Lookup | None:
    """Return the sides of a join that drops the rows of its probe side without partners; None for other operators."""
    if not isinstance(node, Join) or not node.left_keys or (not node.builds_left and node.type.unmatched):
        return None
    keys = (node.left_keys, node.right_keys)
    return Lookup(node.probe, node.build, *(reversed(keys) if node.builds_left else keys))


def with_partners(
    left: Operator, right: Operator, left_keys: tuple[Expression, ...], right_keys: tuple[Expression, ...]
) -> Join:
    """Return the rows of `left` that have a partner."""
    return Join(left, right, JoinType.SEMI, left_keys, right_keys)


def filtered(node: Operator, terms: Sequence[Expression]) -> Operator:
    """Return the rows for which all terms are TRUE."""
    return Filter(node, conjunction(tuple(terms))) if terms else node
