"""What joins leave of the work below them: row groups that are skipped, and values that are not decoded."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate.client import col, count, read
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.work import PAGES, part_of, read_parts, work
from jumpgate.converters.probe import estimate
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.operators import Join, Read, numbered
from jumpgate.service.estimates import _paths

ROWS, DAYS = 200_000, 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales by day, and the same in no order; days."""
    folder = tmp_path_factory.mktemp("parts")
    day = [i * DAYS // ROWS for i in range(ROWS)]
    mixed = random.Random(1).sample(day, ROWS)
    for name, values in (("sales", day), ("mixed", mixed)):
        columns = {
            "day": pa.array(values, pa.int32()),
            "price": pa.array(range(ROWS), pa.int32()),
            "note": ["x"] * ROWS,
        }
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=ROWS // 20)
    days = pa.table({"id": pa.array(range(DAYS), pa.int32()), "month": pa.array([d // 30 for d in range(DAYS)])})
    parquet.write_table(days, folder / "days.parquet")
    return folder


def shares(folder: Path, sales: str, days: Dataflow, how: str = "inner") -> tuple[float, float, float]:
    """The parts of a scan of numbers and of texts, and of looking up, that a join leaves."""
    flow = read(folder / f"{sales}.parquet").join(days, left_on="day", right_on="id", how=how)
    estimator = Estimator(estimate)
    parts = read_parts(flow.root, estimator)

    def share(node: Read | Join, unit: str) -> float:
        whole, found = work(node, estimator), part_of(node, estimator, parts[id(node)]) if id(node) in parts else None
        assert whole is not None
        return 1.0 if found is None else found[unit] / whole[unit]

    (scan,) = (n for n in numbered(flow.root) if isinstance(n, Read) and sales in n.files[0])
    (join,) = (n for n in numbered(flow.root) if isinstance(n, Join))
    return share(scan, "scan parquet number"), share(scan, "scan parquet text"), share(join, "probe")


def test_row_groups_are_skipped_where_rows_lie_by_the_key(folder: Path) -> None:
    days = read(folder / "days.parquet")
    month = days.filter(col("month") == 3)
    number, text, probe = shares(folder, "sales", month)
    assert text < number < probe and 0.03 < probe < 0.12
    number, text, probe = shares(folder, "mixed", month)
    assert probe == 1.0, "all row groups have such days"
    assert PAGES < text < 0.3 and text < number < 0.7, "values of rows without a partner are not decoded"
    assert shares(folder, "sales", days) == (1.0, 1.0, 1.0)
    assert shares(folder, "sales", month, "left") == (1.0, 1.0, 1.0), "each row is in the result"


def test_grouping_sets_are_one_way(folder: Path) -> None:
    sales = read(folder / "sales.parquet")
    one, other = sales.aggregate(by=["day"], n=count()).select("n"), sales.aggregate(n=count())
    union = one.union_all(other).root
    (scan,) = {id(n): n for n in numbered(union) if isinstance(n, Read)}.values()
    assert _paths(union)[id(scan)] == 1
    joined = one.join(other.select(m=col("n")), left_on="n", right_on="m").root
    assert _paths(joined)[id(scan)] == 2
