"""Trino with the connector beside the same with offload off, where Trino executes all but the scan: queries of TPC-DS
and TPC-H.

    ./dev bench trino --json [--scale 1] [--answers-scale 0.1] [--data DIR] [--queries tpch:1,tpch:3,…]
        [--journal FILE] [--only FIGURE]…

Needs the extra `dev`, a Java 17 and Maven, which fetches the server. Answers are compared with Trino's and DuckDB's.
Its hive connector is not there to compare with: what it needs is in no public repository.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench._measure import Figure
from bench.presto import TARGETS, Bench, answers_right, main, versus_own


class Trino(Bench):
    engine = "Trino"
    own = "Trino with offload off"


#: the ratios have no target: the compared way also scans with the connector
FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "answers_right": answers_right,
    **{f"{format}_vs_trino": partial(versus_own, format=format, target=1.0) for format in TARGETS},
}

if __name__ == "__main__":
    main(__doc__, Trino, FIGURES)
