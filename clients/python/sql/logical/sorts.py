"""Orders of DataFusion's plans."""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.expressions import ExpressionReader
from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.operators import SortKey


def read_sorts(keys: Iterable[pb.SortKey], reader: ExpressionReader) -> tuple[SortKey, ...]:
    """The keys in order, without literals, which order nothing."""
    found = []
    for key in keys:
        value = reader.read(key.expr)
        if not isinstance(value, Literal):
            found.append(SortKey(value, not key.ascending, key.nulls_first))
    return tuple(found)
