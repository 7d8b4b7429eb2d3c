"""The Python client: write a dataflow, run it through a Jumpgate service, read the result as Arrow.

    from jumpgate.client import col, read, run, sum_
    run(read("sales.parquet").filter(col("year") == 2024).aggregate(by=["item"], total=sum_("price"))).to_arrow()

Writing dataflows imports neither gRPC nor Arrow; the first `connect` or `run` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumpgate.client.reading import read, read_delta, read_iceberg
    from jumpgate.client.result import Result
    from jumpgate.client.session import Session
    from jumpgate.dataflow.builder import Dataflow
    from jumpgate.dataflow.dialect import Dialect
    from jumpgate.dataflow.measures import (
        any_value,
        approx_distinct,
        arg_max,
        arg_min,
        array_agg,
        avg,
        avg_distinct,
        collect_list,
        corr,
        count,
        count_distinct,
        covar_pop,
        covar_samp,
        first_value,
        last_value,
        max_,
        measure,
        median,
        min_,
        mode,
        percentile,
        quantile_cont,
        quantile_disc,
        regr,
        stddev,
        stddev_pop,
        string_agg,
        sum_,
        sum_distinct,
        variance,
        variance_pop,
    )
    from jumpgate.dataflow.unresolved import col, f, lit, when

#: where the names below are, in this order
_PLACES = (
    "jumpgate.client.reading",
    "jumpgate.dataflow.builder",
    "jumpgate.dataflow.dialect",
    "jumpgate.dataflow.measures",
    "jumpgate.dataflow.unresolved",
)
__all__ = [
    "Dataflow",
    "Dialect",
    "any_value",
    "approx_distinct",
    "arg_max",
    "arg_min",
    "array_agg",
    "avg",
    "avg_distinct",
    "col",
    "collect_list",
    "connect",
    "corr",
    "count",
    "count_distinct",
    "covar_pop",
    "covar_samp",
    "f",
    "first_value",
    "last_value",
    "lit",
    "max_",
    "measure",
    "median",
    "min_",
    "mode",
    "percentile",
    "quantile_cont",
    "quantile_disc",
    "read",
    "read_delta",
    "read_iceberg",
    "regr",
    "run",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum_",
    "sum_distinct",
    "variance",
    "variance_pop",
    "when",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: SQL needs none of them."""
    for place in _PLACES if name in __all__ else ():
        module = importlib.import_module(place)
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def connect(address: str | None = None, **options: Any) -> Session:
    """A session with the service at `address` (host:port); None starts one inside this process.

    options: those of session.Session. Raises Unreachable.
    """
    from jumpgate.client.session import Session

    return Session(address, **options)


def run(dataflow: Dataflow, dialect: Dialect | None = None) -> Result:
    """Runs the dataflow on this machine, in a session that all calls of this process share."""
    from jumpgate.client.session import shared

    return shared().run(dataflow, dialect)
