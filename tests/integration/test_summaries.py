"""Counts and extremes of whole files come from statistics that have them, and from the rows where these do not."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from jumpgate.client import col, connect, count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import deleted

ROWS = 40_000
EPOCH = datetime.datetime(1969, 12, 30)


def values(i: int) -> tuple[Any, ...]:
    """Of three row groups, in the second of which `rare` has no value, and in the third one."""
    rare = None if ROWS // 3 < i < ROWS - 9 else i
    return (i - 7_000, i % 250 - 125, None if i % 5 == 2 else 3 * i, rare, datetime.date(1950, 1, 1)
            + datetime.timedelta(days=i % 30_000), EPOCH + datetime.timedelta(seconds=i), Decimal(i - 100).scaleb(-2),
            i / 8, f"{i:05}" if i % 3 else None, i % 2 == 0)  # fmt: skip


TYPES = {
    "long": pa.int64(), "tiny": pa.int8(), "holes": pa.int32(), "rare": pa.int64(), "day": pa.date32(),
    "moment": pa.timestamp("us"), "price": pa.decimal128(9, 2), "real": pa.float64(), "text": pa.string(),
    "flag": pa.bool_(),
}  # fmt: skip
FACTS = pa.table(
    [pa.array(c, type) for c, type in zip(zip(*map(values, range(ROWS)), strict=True), TYPES.values(), strict=True)],
    list(TYPES),
)
#: columns whose extremes statistics have
EXACT = ("long", "tiny", "holes", "rare", "day")


@pytest.fixture(scope="module")
def session() -> Any:
    with connect() as found:
        yield found


@pytest.fixture(scope="module", params=["parquet", "orc", "no statistics", "integers"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summaries")
    if request.param == "orc":
        orc.write_table(FACTS, folder / "t.orc", stripe_size=64 << 10)
        assert orc.ORCFile(folder / "t.orc").nstripes > 2
        return folder / "t.orc"
    options = {"write_statistics": request.param != "no statistics"}
    options["store_decimal_as_integer"] = request.param == "integers"
    pq.write_table(FACTS, folder / "t.parquet", row_group_size=ROWS // 3 + 1, **options)
    return folder / "t.parquet"


def asked(session: Session, flow: Any) -> tuple[list[dict[str, Any]], int, int]:
    """The answer, the bytes of the file that were read for it, and the rows that these and statistics stand for."""
    answer = session.run(flow).to_arrow().to_pylist()
    record = session.describe(session.jobs()[0].id).record
    assert record is not None
    sources = [s for c in record["counters"].values() for s in c["sources"]]
    return answer, sum(s["bytes"] for s in sources), sum(s["rows"] for s in sources)


@pytest.mark.parametrize("name", list(TYPES))
def test_each_column(session: Session, file: Path, name: str, request: pytest.FixtureRequest) -> None:
    flow = read(file).aggregate(n=count(), k=count(col(name)), a=min_(col(name)), b=max_(col(name)))
    answer, bytes, rows = asked(session, flow)
    facts = FACTS  # noqa: F841
    expected = duckdb.sql(f'SELECT count(*) n, count("{name}") k, min("{name}") a, max("{name}") b FROM facts')
    assert answer == expected.to_arrow_table().to_pylist() and rows == ROWS
    has = file.suffix == ".parquet" and pq.read_metadata(file).row_group(0).column(0).statistics is not None
    known = (*EXACT, "moment") if has else EXACT if file.suffix == ".orc" else ()
    by_integers = has and pq.read_metadata(file).row_group(0).column(6).physical_type == "INT32"
    known += ("price",) if by_integers else ()
    assert (bytes == 0) == (name in known)


def test_counts_of_any_type(session: Session, file: Path) -> None:
    """No value is decoded for them; extremes of one column need its own only where all have what is wanted."""
    flow = read(file).aggregate(**{name: count(col(name)) for name in TYPES})
    answer, bytes, _ = asked(session, flow)
    assert answer == [{name: ROWS - FACTS[name].null_count for name in TYPES}]
    flow = read(file).aggregate(a=min_(col("long")), s=sum_(col("tiny")))
    answer, bytes, _ = asked(session, flow)
    assert answer[0]["a"] == -7_000 and bytes > 0


def test_what_is_filtered_or_deleted_is_read(session: Session, file: Path, tmp_path: Path) -> None:
    whole = read(file)
    answer, bytes, _ = asked(session, whole.filter(col("tiny") > 0).aggregate(n=count(), b=max_(col("long"))))
    assert bytes > 0 and answer == [{"n": sum(v > 0 for v in FACTS["tiny"].to_pylist()), "b": ROWS - 7_001}]
    if file.suffix == ".parquet":
        rows = deleted.encode([0, ROWS - 1])
        few = read(file, deleted=rows).aggregate(n=count(), a=min_(col("long")), b=max_(col("long")))
        assert asked(session, few)[0] == [{"n": ROWS - 2, "a": -6_999, "b": ROWS - 7_002}]


def test_several_files_and_instances(session: Session, tmp_path: Path) -> None:
    """Of files with few rows, with other types and without a column."""
    for i, part in enumerate((FACTS.slice(0, 1), FACTS.slice(1, 2), FACTS.slice(3, 0), FACTS.slice(3, 5_000))):
        pq.write_table(part.select(["long", "holes"] if i % 2 else ["long"]), tmp_path / f"{i}.parquet")
    flow = read(tmp_path).aggregate(n=count(), k=count(col("holes")), a=min_(col("long")), b=max_(col("holes")))
    held = duckdb.sql(f"SELECT count(*) n, count(holes) k, min(long) a, max(holes) b"
                      f" FROM read_parquet('{tmp_path}/*.parquet', union_by_name = true)")  # fmt: skip
    assert asked(session, flow)[0] == held.to_arrow_table().to_pylist()
