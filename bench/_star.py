"""Star queries after the Star Schema Benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jumpgate.client import col, count, read, sum_
from jumpgate.dataflow.builder import Dataflow

#: that read them: each table has a file for each
HOSTS = 4
#: at scale 0.1
LINES, CUSTOMERS, SUPPLIERS, PARTS, DAYS = 600_000, 3_000, 200, 20_000, 2_556
#: for each query: the dimensions, each with a filter on one of its columns ("" is none), and the grouping columns
QUERIES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "1.1": ({"date": "d_year == 1993"}, ()),
    "2.1": ({"date": "", "part": "p_category == 12", "supplier": "s_region == 1"}, ("d_year", "p_brand")),
    "2.3": ({"date": "", "part": "p_brand == 260", "supplier": "s_region == 2"}, ("d_year", "p_brand")),
    "3.1": (
        {"customer": "c_region == 2", "supplier": "s_region == 2", "date": "d_year <= 1997"}, ("c_nation", "d_year"),
    ),
    "3.2": ({"customer": "c_nation == 9", "supplier": "s_nation == 9", "date": "d_year <= 1997"}, ("c_city", "d_year")),
    "4.1": (
        {"customer": "c_region == 1", "supplier": "s_region == 1", "part": "p_mfgr <= 1", "date": ""},
        ("d_year", "c_nation"),
    ),
    "all customers": ({"customer": "", "supplier": "", "date": ""}, ("c_region", "s_region", "d_year")),
    "all dimensions": ({"customer": "", "supplier": "", "part": "", "date": ""}, ("d_year", "p_mfgr", "c_region")),
}  # fmt: skip


def star(folder: str, joins: Mapping[str, str], groups: Sequence[str]) -> Dataflow:
    """A query over the tables below a folder."""
    flow = read(f"{folder}/lines/*.parquet")
    for name, filter in joins.items():
        rows = read(f"{folder}/{name}/*.parquet")
        if filter:
            column, sign, value = filter.split()
            rows = rows.filter(col(column) == int(value) if sign == "==" else col(column) <= int(value))
        flow = flow.join(rows, left_on=col(f"l_{name[0]}"), right_on=col(f"{name[0]}_key"))
    return flow.aggregate(by=groups, n=count(), s=sum_("l_revenue"))


def tables(folder: Path, times: int = 1) -> None:
    """Write the tables at `times` times a scale of 0.1, with the parts and days of scale 1."""
    lines, customers, suppliers = times * LINES, times * CUSTOMERS, times * SUPPLIERS
    random = np.random.default_rng(7)

    def some(rows: int, values: int) -> np.ndarray:
        return random.integers(0, values, rows)

    city, supplied, brand = some(customers, 250), some(suppliers, 250), some(PARTS, 1000)
    day = np.arange(DAYS)
    write(
        folder / "customer",
        {"c_key": np.arange(customers), "c_city": city, "c_nation": city // 10, "c_region": city // 50},
    )
    write(folder / "supplier", {"s_key": np.arange(suppliers), "s_nation": supplied // 10, "s_region": supplied // 50})
    write(
        folder / "part",
        {"p_key": np.arange(PARTS), "p_brand": brand, "p_category": brand // 40, "p_mfgr": brand // 200},
    )
    write(folder / "date", {"d_key": day, "d_year": 1992 + day // 365})
    keys = {"l_c": customers, "l_s": suppliers, "l_p": PARTS, "l_d": DAYS}
    write(folder / "lines", {**{name: some(lines, n) for name, n in keys.items()}, "l_revenue": some(lines, 10_000)})


def write(folder: Path, columns: dict[str, np.ndarray]) -> None:
    """Keys and measures are never NULL, as in the benchmark's schema."""
    folder.mkdir()
    table = pa.table(columns)
    table = table.cast(pa.schema([field.with_nullable(False) for field in table.schema]))
    for part in range(HOSTS):
        first = table.num_rows * part // HOSTS
        pq.write_table(
            table.slice(first, table.num_rows * (part + 1) // HOSTS - first),
            folder / f"{part}.parquet",
            row_group_size=-(-table.num_rows // (4 * HOSTS)),
        )
