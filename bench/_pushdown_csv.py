"""PushdownDB's sweeps over CSV, as the paper had it (ICDE 2020, figures 1 to 4 and 10): filters, joins, TPC-H.

Fields of the objects also lie beside them, taken apart beforehand: a store has cores of its own for that, which the
two of this machine are not (bench/_store_server.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from bench._measure import Figure, geometric_mean
from bench._sweeps import Sweep
from bench._tuning import Constants
from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.tpcds.data import generate as generate_tables
from jumpgate.tpcds.data import path, quoted
from jumpgate.tpch import TPCH

#: suffix of the fields of a CSV object, as text in Parquet
FIELDS = ".fields"
TPCH_QUERIES = (1, 3, 6, 14, 17, 19)
TABLES = ("lineitem", "orders", "customer", "part")
PARTS = 8
ITEMS = {"r": "int32", **{f"v{i}": "int32" for i in range(10)}, "t0": "string"}
#: of `r` in `items`
R_MAX = 1_000_000
#: the paper's bounds of figures 2 and 3: c_acctbal at most, o_orderdate before
BALANCES = (-950, -850, -750, -650, -550, -450)
DAYS = {1: date(1992, 3, 1), 2: date(1992, 6, 1), 3: date(1993, 1, 1), 4: date(1994, 1, 1), 5: date(1995, 1, 1)}
CSV_FILTER, TPCH_SWEEP = "filter of CSV", "TPC-H"
#: speed-ups over reading whole tables, as the paper tells them
PUBLISHED: dict[str, dict[float, float]] = {CSV_FILTER: {1e-3: 10.0}}


def generate(folder: Path, data: Path, scale: float) -> None:
    """Write the tables as CSV, once, in several objects each; `folder` has `items` as Parquet. data: where TPC-H is
    generated."""
    source = data / f"tpch-{scale:g}"
    generate_tables(source, scale, ["parquet"], TABLES, suite=TPCH)
    with duckdb.connect() as connection:
        for part in sorted((folder / "items").glob("*.parquet")):
            _written(connection, f"read_parquet({quoted(part)})", folder / "items_csv" / f"{part.stem}.csv")
        for table in TABLES:
            file = path(source, table, "parquet")
            found = connection.execute(f"SELECT count(*) FROM read_parquet({quoted(file)})").fetchone()
            each = -(-(found or (0,))[0] // PARTS)
            for part in range(PARTS):
                rows = (
                    f"(SELECT * EXCLUDE file_row_number FROM read_parquet({quoted(file)}, file_row_number = true) "
                    f"WHERE file_row_number >= {part * each} AND file_row_number < {(part + 1) * each})"
                )
                _written(connection, rows, folder / f"tpch-{scale:g}" / table / f"{part}.csv")


def _written(connection: duckdb.DuckDBPyConnection, rows: str, file: Path) -> None:
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    text = f"read_csv({quoted(file)}, all_varchar = true, header = true, nullstr = 'no field')"
    connection.execute(f"COPY (FROM {rows}) TO {quoted(file)} (FORMAT csv, HEADER true)")
    connection.execute(f"COPY (FROM {text}) TO {quoted(str(file) + FIELDS)} (FORMAT parquet)")


def table(bucket: str, name: str, scale: float) -> Dataflow:
    types = {field.name: field.type for field in TPCH.schema(name)}
    return read(f"{bucket}/tpch-{scale:g}/{name}/*.csv", schema=types)


def sweeps(scale: float) -> list[Sweep]:
    """Return the experiments."""

    def filtered(share: float) -> Callable[[str], Dataflow]:
        return lambda bucket: items(bucket).filter(col("r") < round(share * R_MAX))

    def joined(customers: Any, orders: Any) -> Callable[[str], Dataflow]:
        def flow(bucket: str) -> Dataflow:
            left, right = table(bucket, "orders", scale), table(bucket, "customer", scale).filter(customers)
            left = left if orders is None else left.filter(orders)
            found = left.join(right, left_on="o_custkey", right_on="c_custkey")
            return found.aggregate(n=count(), total=sum_("o_totalprice"))

        return flow

    def asked(query: int) -> Callable[[str], str]:
        return lambda bucket: TPCH.queries()[query]

    def hashed(rate: float) -> Constants:
        return {"keys": {"HASHES_MAX": round(math.log2(1 / rate)), "LISTED_MAX": 0}}

    def items(bucket: str) -> Dataflow:
        return read(f"{bucket}/items_csv/*.csv", schema=ITEMS)

    few = col("c_acctbal") <= BALANCES[0]
    return [
        Sweep(CSV_FILTER, "1", "share of the rows that are left", True, {
            share: filtered(share) for share in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
        }, published="the index is best below a share of 1e-4", indexed=(items, "r")),
        Sweep("join by customers", "2", "upper bound of c_acctbal", False, {
            float(bound): joined(col("c_acctbal") <= bound, None) for bound in BALANCES
        }, True),
        Sweep("join by orders", "3", "upper bound of o_orderdate, from 1992-03-01 to 1995-01-01", False, {
            float(x): joined(few, col("o_orderdate") < day) for x, day in DAYS.items()
        }, True),
        Sweep("rate of a Bloom filter", "4", "share of the other keys that pass", True, {
            2.0**-hashes: joined(few, None) for hashes in (1, 2, 4, 7, 10, 13)
        }, True, "0.01 is best", hashed),
        Sweep(TPCH_SWEEP, "10", "query", False, {
            float(number): asked(number) for number in TPCH_QUERIES
        }, True),
    ]  # fmt: skip


def figures(link: str, scale: float, points: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return the figures of TPC-H, if it was run."""
    found = [p for p in points if p["sweep"] == TPCH_SWEEP]
    if not found:
        return []
    numbers = ", ".join(format(p["x"], "g") for p in found)
    what = (
        f"queries {numbers} of TPC-H, scale {scale:g}, CSV, {link}: as chosen, beside ranged reads of whole tables; "
        "the store's text is taken apart beforehand; geometric mean of"
    )
    speed = geometric_mean(p["ranges"]["seconds"] / p["chosen"]["seconds"] for p in found)
    money = geometric_mean(p["chosen"]["cost"] / p["ranges"]["cost"] for p in found)
    return [
        Figure("tpch_speedup", speed, 4.0, "higher", f"{what} speed; published: 6.7"),
        Figure("tpch_cost_ratio", money, 0.75, "lower", f"{what} cost; published: 0.70"),
    ]
