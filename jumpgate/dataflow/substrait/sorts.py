"""Sort keys of Substrait."""

from __future__ import annotations

from collections.abc import Iterable

from substrait.algebra_pb2 import SortField

from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.operators import SortKey
from jumpgate.dataflow.substrait.expressions import ExpressionReader
from jumpgate.dataflow.substrait.types import Unmapped

_NULLS_FIRST = (SortField.SORT_DIRECTION_ASC_NULLS_FIRST, SortField.SORT_DIRECTION_DESC_NULLS_FIRST)
_DESCENDING = (SortField.SORT_DIRECTION_DESC_NULLS_FIRST, SortField.SORT_DIRECTION_DESC_NULLS_LAST)
_UNORDERED = (SortField.SORT_DIRECTION_UNSPECIFIED, SortField.SORT_DIRECTION_CLUSTERED)


def read_sorts(sorts: Iterable[SortField], reader: ExpressionReader) -> tuple[SortKey, ...]:
    """The keys in order, without literals, which order nothing."""
    keys = []
    for field in sorts:
        if field.WhichOneof("sort_kind") != "direction" or field.direction in _UNORDERED:
            raise Unmapped("a sort by a function of its own is not known")
        key = reader.read(field.expr)
        if not isinstance(key, Literal):
            keys.append(SortKey(key, field.direction in _DESCENDING, field.direction in _NULLS_FIRST))
    return tuple(keys)
