"""ORC files that pyorc writes: each codec, writers' time zones, and Bloom filters."""

from __future__ import annotations

import datetime
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyorc
import pytest
from pyorc import CompressionKind

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from tests.support import probe

ROWS = 5000
STRIDE = 1000
CODECS = ("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD")
#: west and east of Greenwich; those of America and Europe change in summer, that of India has a half hour
ZONES = ("America/New_York", "Europe/Berlin", "Asia/Kolkata")
COLUMNS = "struct<n:bigint,text:string,price:decimal(9,2),at:timestamp>"
SCHEMA = Schema(tuple(Field(n, v) for n, v in {"n": t.int64, "text": t.string, "price": t.decimal(9, 2),
                                               "at": t.timestamp}.items()))  # fmt: skip
SUMMER, HOUR = datetime.datetime(2024, 7, 1, 12, 30, 0, 125_000), datetime.timedelta(hours=1)


def rows() -> list[tuple[Any, ...]]:
    """Return even numbers that grow, few texts, decimals, and times of summer and winter, with NULLs."""
    return [
        (2 * n, None if n % 7 == 3 else f"text {n % 40}", None if n % 11 == 5 else Decimal(n) / 4, SUMMER + n * HOUR)
        for n in range(ROWS)
    ]


def write(path: Path, zone: str = "UTC", codec: str = "ZLIB", **options: Any) -> str:
    local = zoneinfo.ZoneInfo(zone)
    settings = {"compression": CompressionKind[codec], "timezone": local, "row_index_stride": STRIDE, **options}
    with path.open("wb") as file, pyorc.Writer(file, COLUMNS, **settings) as writer:
        writer.writerows((n, text, price, at.replace(tzinfo=local)) for n, text, price, at in rows())
    return str(path)


@pytest.mark.parametrize(("codec", "zone"), [*((c, "UTC") for c in CODECS), *(("ZLIB", zone) for zone in ZONES)])
def test_values_are_those_that_were_written(local: Session, tmp_path: Path, codec: str, zone: str) -> None:
    flow = read(write(tmp_path / "t.orc", zone, codec)).sort(col("n"))
    found = local.run(flow).to_arrow()
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == rows()


def test_bloom_filters_rule_out_what_no_row_has(tmp_path: Path) -> None:
    filtered = write(tmp_path / "filtered.orc", bloom_filter_columns=["n", "text"], bloom_filter_fpp=1e-6)
    plain = write(tmp_path / "plain.orc")

    def given(path: str, column: int, value: str) -> list[tuple[int, bytes | None]]:
        scan = probe.scan("orc", [path], SCHEMA, bounds=[(column, "eq", value.encode())])
        return list(zip(scan.columns[0], scan.columns[1], strict=True))

    for column, present, absent in ((0, "4242", "4243"), (1, "text 7", "text 7a")):
        assert given(plain, column, absent)
        assert not given(filtered, column, absent)
        wanted = [(n, text.encode()) for n, text, *_ in rows() if str((n, text)[column]) == present]
        assert wanted and set(wanted) <= set(given(filtered, column, present))
