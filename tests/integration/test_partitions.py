"""Columns in the names of folders, end to end, in every format: values, pruning, counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet
import pytest

from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.errors import Overflow, SchemaMismatch

FORMATS = ("json", "csv", "parquet", "orc")


def write(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".json":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        case ".csv":
            pa.csv.write_csv(table, path)
        case ".parquet":
            pa.parquet.write_table(table, path)
        case _:
            pa.orc.write_table(table, path)


FOLDERS = {
    "y=2023/c=x%2Fy": (2023, "x/y"),
    "y=2023/c=__HIVE_DEFAULT_PARTITION__": (2023, None),
    "y=2024/c=z": (2024, "z"),
    "y=2024/c=ü": (2024, "ü"),
}


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """(folder, its rows)"""
    rows = []
    for at, (folder, (y, c)) in enumerate(FOLDERS.items()):
        values = list(range(at * 3000, at * 3000 + 3000))
        write(pa.table({"a": values}), tmp_path / f"{folder}/t.{request.param}")
        rows += [{"a": a, "y": y, "c": c} for a in values]
    return tmp_path, rows


def sources(session: Session, flow: Dataflow) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(rows, counters of the sources)"""
    result = session.run(flow)
    rows = result.to_pylist()
    record = session.describe(result.job).record
    assert record is not None
    return rows, [s for c in record["counters"].values() for s in c["sources"]]


def test_values(local: Session, table: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, rows = table
    flow = read(folder)
    assert str(flow.schema) == "(a: int64?, y: int64?, c: string?)"
    assert local.run(flow.sort("a")).to_pylist() == rows
    groups = local.run(flow.aggregate(by=["c"], n=count(), t=sum_("y")).sort("t", "c")).to_pylist()
    assert groups == [{"c": c, "n": 3000, "t": 3000 * y} for y, c in FOLDERS.values()]
    assert local.run(flow.select("y").distinct().sort("y")).to_pylist() == [{"y": 2023}, {"y": 2024}]
    assert local.run(read(folder, partitions=False).aggregate(n=count())).to_pylist() == [{"n": 12_000}]


@pytest.mark.parametrize(
    ("condition", "groups"),
    [
        (col("y") == 2024, 2), (col("y") > 2023, 2), (col("c") == "x/y", 1), (col("y") > 2024, 0),
        (col("c").is_null(), 1), (col("c").is_not_null(), 3), (col("y").is_null(), 0),
        ((col("y") == 2024) & (col("c") == "z"), 1), (col("c").isin(["x/y", "z"]), 2),
        (col("y").isin([1, 2023, None]), 2),
    ],
)  # fmt: skip
def test_filters(local: Session, table: tuple[Path, list[dict[str, Any]]], condition: Any, groups: int) -> None:
    """Right rows; files that a bound excludes are not opened."""
    folder, _ = table
    rows, counters = sources(local, read(folder).filter(condition).aggregate(n=count()))
    assert rows == [{"n": 3000 * groups}]
    read_rows = sum(s["rows"] for s in counters)
    assert read_rows == 3000 * groups
    assert read_rows == 12_000 or sum(s["pruned_bytes"] for s in counters) > 0


def test_join_filters(local: Session, table: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    """What the other side of a join lacks is not opened."""
    write(pa.table({"year": [2024]}), tmp_path / "other/t.json")
    sales, years = read(tmp_path.glob("y=*/*/t.*")), read(tmp_path / "other")
    rows, counters = sources(local, sales.join(years, left_on="y", right_on="year").aggregate(n=count()))
    assert rows == [{"n": 6000}]
    assert sum(s["rows"] for s in counters) == 6001


def test_declared_types(local: Session, table: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = table
    flow = read(folder, schema={"y": "decimal(9, 2)", "a": "int32"}).aggregate(by=["y"], n=count()).sort("y")
    assert [(str(r["y"]), r["n"]) for r in local.run(flow).to_pylist()] == [("2023.00", 6000), ("2024.00", 6000)]
    for type, error in (("int8", Overflow), ("date", SchemaMismatch)):
        with pytest.raises(error, match="column 'y' is 2023 by its folder's name, which is .* of int8|no date"):
            local.run(read(folder, schema={"y": type, "a": "int32"}).aggregate(by=["y"], n=count())).to_arrow()


def test_header_less_csv(local: Session, tmp_path: Path) -> None:
    """Columns by position, wherever the schema has those of the folders."""
    for k in (1, 2):
        (tmp_path / f"k={k}").mkdir()
        (tmp_path / f"k={k}/t.csv").write_text(f"{k}0,x\n{k}1,y\n")
    flow = read(tmp_path, schema={"a": "int64", "k": "int64", "b": "string"}, header=False).sort("a")
    assert [tuple(r.values()) for r in local.run(flow).to_pylist()] == [
        (10, 1, "x"), (11, 1, "y"), (20, 2, "x"), (21, 2, "y")
    ]  # fmt: skip
