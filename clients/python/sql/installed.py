"""Functions of installed packages in SQL: DataFusion computes what stays with it by their reference bodies."""

from __future__ import annotations

import datafusion
import pyarrow as pa

from jumpgate.dataflow.dialect import DATAFUSION
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import apply, installed
from jumpgate.dataflow.signatures import Exactly
from jumpgate.ntf.codec import arrow_type


def register(context: datafusion.SessionContext) -> None:
    """Gives a context those that have an SQL name; names that DataFusion knows stay its own."""
    have = set(context.udfs())
    for name, function in installed("sql").items():
        if name not in have:
            context.register_udf(_udf(name, function))


def _udf(name: str, function: Function) -> datafusion.ScalarUDF:
    assert isinstance(function.operands, Exactly), "what an installed function with an SQL name has"
    wanted = tuple(t.with_nullable(True) for t in function.operands.wanted)
    result = function.type_of(tuple(ColumnRef(t, i) for i, t in enumerate(wanted)))
    out = arrow_type(function.sql_type or result)

    def compute(*columns: pa.Array) -> pa.Array:
        rows = zip(*(c.to_pylist() for c in columns), strict=True)
        return pa.array([apply(function.name, wanted, result, DATAFUSION, row) for row in rows], out)

    return datafusion.udf(compute, list(map(arrow_type, wanted)), out, "immutable", name)
