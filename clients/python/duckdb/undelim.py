"""Turns delim joins that only ask for a partner into plain ones.

DuckDB writes EXISTS over a correlated subquery as a join with the subquery's rows, of which each is joined with the
distinct values of the columns that correlate. Where every such column is compared in that inner join alone, the outer
join makes the same comparisons with the rows themselves:

    l delim semi join (r join distinct(l.a) as d on r.x = d.a) on l.a is not distinct from d.a
    l semi join r on l.a = r.x
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jumpgate.client.duckdb import plan as p
from jumpgate.client.duckdb.expressions import Ref

#: by where the rows are that a delim join keeps
_LEFT, _RIGHT = ("SEMI", "ANTI", "MARK"), ("RIGHT_SEMI", "RIGHT_ANTI")
#: comparisons with the sides swapped
_SWAPPED = {
    "eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "is_distinct": "is_distinct",
    "is_not_distinct": "is_not_distinct",
}  # fmt: skip
_EQUAL = ("eq", "is_not_distinct")


@dataclass(frozen=True)
class _Column:
    """A column of the subquery: which one it is of the rows without the distinct values, and which of these values it
    equals."""

    own: int | None
    distinct: int | None


NOTHING = _Column(None, None)


@dataclass(frozen=True)
class _Asked:
    """The subquery's rows without the distinct values, its columns, and the conditions on both: the values are on the
    left."""

    node: p.Node
    columns: tuple[_Column, ...]
    conditions: tuple[p.Condition, ...]


def undelim(node: p.Join, width: Callable[[p.Node], int]) -> p.Join | None:
    """The plain join that a delim join is; None if it is no such one. width: the number of a node's columns."""
    if node.type not in (_RIGHT if node.flipped else _LEFT) or len(node.children) != 2:
        return None
    whole, inner = reversed(node.children) if node.flipped else node.children
    asked = _asked(inner, width)
    conditions = None if asked is None else _conditions(node, asked)
    if asked is None or conditions is None:
        return None
    if node.flipped:
        conditions = [_swapped(item) for item in conditions]
    children = (asked.node, whole) if node.flipped else (whole, asked.node)
    return replace(node, children=children, conditions=tuple(conditions), distinct=(), is_exists=True)


def _conditions(node: p.Join, asked: _Asked) -> list[p.Condition] | None:
    """The conditions on the rows of both sides, those that are kept first; None if they are not all that is asked."""
    compared, found = set(), []
    for item in map(_swapped, node.conditions) if node.flipped else node.conditions:
        column = asked.columns[item.right.index] if isinstance(item.right, Ref) else NOTHING
        is_same = column.distinct is not None and node.distinct[column.distinct] == item.left
        if is_same and item.function == "is_not_distinct":
            compared.add(column.distinct)
        elif column.own is not None and node.type != "MARK":
            found.append(replace(item, right=Ref(item.right.type, column.own)))
        else:
            return None
    if len(compared) < len(node.distinct):
        return None
    for item in asked.conditions:
        assert isinstance(item.left, Ref)
        if node.type == "MARK" and item.function not in _EQUAL:
            return None
        found.append(replace(item, left=node.distinct[item.left.index]))
    return found


def _asked(node: p.Node, width: Callable[[p.Node], int]) -> _Asked | None:
    """The subquery without the distinct values; None if it is more than an inner join with them."""
    if isinstance(node, p.Projection):
        below = _asked(node.children[0], width)
        if below is None:
            return None
        columns = tuple(below.columns[e.index] if isinstance(e, Ref) else NOTHING for e in node.expressions)
        return replace(below, columns=columns)
    if not isinstance(node, p.Join) or node.type != "INNER" or node.distinct:
        return None
    left, right = node.children
    if isinstance(left, p.DelimGet) == isinstance(right, p.DelimGet):
        return None
    values, rows = (left, right) if isinstance(left, p.DelimGet) else (right, left)
    assert isinstance(values, p.DelimGet)
    conditions = node.conditions if values is left else tuple(map(_swapped, node.conditions))
    if any(not isinstance(item.left, Ref) for item in conditions) or _reads_values(rows):
        return None
    pairs = [(item.left, item.right) for item in conditions if item.function in _EQUAL]
    same = {b.index: a.index for a, b in pairs if isinstance(a, Ref) and isinstance(b, Ref)}
    of_rows = tuple(_Column(i, same.get(i)) for i in range(width(rows)))
    of_values = tuple(_Column(None, i) for i in range(len(values.types)))
    left_columns, right_columns = (of_values, of_rows) if values is left else (of_rows, of_values)
    if node.left_kept or node.right_kept:
        left_columns = tuple(left_columns[i] for i in node.left_kept) or left_columns
        right_columns = tuple(right_columns[i] for i in node.right_kept) or right_columns
    return _Asked(rows, (*left_columns, *right_columns), conditions)


def _reads_values(node: p.Node) -> bool:
    """Return whether distinct values of a delim join around the node are read in it."""
    if isinstance(node, p.DelimGet):
        return True
    children = node.children
    if isinstance(node, p.Join) and node.distinct:  # the other side reads its own
        children = (children[1 if node.flipped else 0],)
    return any(map(_reads_values, children))


def _swapped(item: p.Condition) -> p.Condition:
    return p.Condition(_SWAPPED[item.function], item.right, item.left)
