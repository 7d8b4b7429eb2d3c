"""Orders, and the days that they were made on: what selective scans and few groups are measured over.

Small integers and short texts in no order, so that no page and no row group can be skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 40
#: a day in 80 is in one month of its seven years
FIRST, END = "1992-01-01", "1998-08-03"

#: figure → (target, query → text)
FIGURES: dict[str, tuple[float, dict[str, str]]] = {
    "selective_scan_vs_duckdb": (
        1.3,
        {
            "1 in 70, 1 in 80": "SELECT sum(price * discount) s FROM orders JOIN days ON day = days.id"
            " WHERE month = 199401 AND discount BETWEEN 4 AND 6 AND quantity BETWEEN 26 AND 28",
            "1 in 8, 1 in 7": "SELECT sum(price * discount) s FROM orders JOIN days ON day = days.id"
            " WHERE year = 1993 AND discount BETWEEN 1 AND 3 AND quantity < 25",
            "1 in 70": "SELECT sum(price * discount) s, count(*) n FROM orders"
            " WHERE discount BETWEEN 4 AND 6 AND quantity BETWEEN 26 AND 28",
            "a text of 100": "SELECT sum(price) s, count(*) n FROM orders WHERE region = 'region 42'",
        },
    ),
    "few_groups_vs_best": (
        1.2,
        {
            "100 texts": "SELECT region, sum(price) s, count(*) n FROM orders GROUP BY region",
            "100 texts, filtered": "SELECT region, sum(price) s FROM orders WHERE quantity < 25 GROUP BY region",
            "100 × 100 texts": "SELECT region, kind, sum(price) s, count(*) n FROM orders GROUP BY region, kind",
            "50 integers": "SELECT quantity, sum(price) s, max(discount) d FROM orders GROUP BY quantity",
        },
    ),
}


def rows_of(facts: int) -> int:
    """Return how many orders are measured beside so many rows of facts."""
    return facts * 6 // 10


def generated(rows: int, folder: Path) -> dict[str, Path]:
    """Table → file; `orders` of so many rows and `days`, made where they are missing."""
    files = {name: folder / f"{name}.parquet" for name in ("orders", "days")}
    if all(f.exists() for f in files.values()):
        return files
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    dates = np.arange(FIRST, END, dtype="datetime64[D]")
    ids = np.array([int(str(date).replace("-", "")) for date in dates], np.int32)
    days = {"id": ids, "year": ids // 10000, "month": ids // 100}
    orders = {
        "day": ids[random.integers(0, len(ids), rows)],
        "discount": random.integers(0, 11, rows).astype(np.int32),
        "quantity": random.integers(1, 51, rows).astype(np.int32),
        "price": random.integers(90_000, 10_500_000, rows).astype(np.int32),
        "region": _text("region ", random.integers(0, 100, rows)),
        "kind": _text("kind-", random.integers(0, 100, rows)),
    }
    for name, columns in (("days", days), ("orders", orders)):
        pq.write_table(pa.table(columns), files[name])
    return files


def _text(prefix: str, numbers: Any) -> Any:
    return pa.compute.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")
