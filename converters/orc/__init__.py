"""Apache ORC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jumpgate.converters import writing
from jumpgate.converters.arrow_values import values
from jumpgate.converters.footers import FOOTERS_CACHED_MAX, Footer, Range, cached, common_schema, unreadable
from jumpgate.converters.orc.footer import read_footer
from jumpgate.dataflow.formats import Format, Sample, Speeds
from jumpgate.dataflow.types import DataType, Field, Schema

#: values come from one stripe, which is read whole: tables of more rows are left alone
ROWS_MAX = 2_000_000
SMALL_ROWS, SAMPLED_MAX = 100_000, 4096
#: of a stripe that is written, for each of its rows
ROW_BYTES = 16


def orc_schema(files: Sequence[str], options: Mapping[str, str] = {}) -> Schema:
    """As footers.parquet_schema; columns of ORC files are all nullable."""
    return common_schema([orc_footer(path) for path in files])


def orc_footer(path: str) -> Footer:
    """The footer of one file. Raises FileUnreadable or MalformedData."""
    return cached(path, _read)


@lru_cache(maxsize=FOOTERS_CACHED_MAX)
def _read(path: str, _mtime_ns: int, _size: int) -> Footer:
    try:
        rows, columns = read_footer(path)
    except OSError as e:
        raise unreadable("ORC", path, e) from None
    return Footer(path, Schema(tuple(Field(n, type_) for n, type_ in columns)), rows, {}, lambda _name: Range())


def _rows(file: str, options: Mapping[str, str]) -> float:
    return float(orc_footer(file).rows)


def _sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    import pyarrow.orc

    opened = pyarrow.orc.ORCFile(file)
    if opened.nrows > ROWS_MAX or not opened.nstripes:
        return Sample()
    if opened.nrows <= SMALL_ROWS:
        return Sample(values(opened.read(columns=[name]).column(0)), whole=True)
    stripe = opened.read_stripe(opened.nstripes // 2, columns=[name]).column(0)
    return Sample(values(stripe.slice(0, SAMPLED_MAX)))


def _write(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """A variant for each compression."""
    import pyarrow as pa
    import pyarrow.orc

    size = {} if part_rows is None else {"stripe_size": part_rows * ROW_BYTES}
    with pyarrow.orc.ORCWriter(str(path), compression=writing.COMPRESSIONS[variant], **size) as writer:
        writer.write(table.schema.empty_table())  # there may be no batch
        for batch in writing.batches(table):
            writer.write(pa.Table.from_batches([batch], table.schema))


ORC = Format(
    name="orc",
    title="ORC",
    suffixes=(".orc",),
    self_describing=True,
    nested=True,
    columnar=True,
    substrait="orc",
    speeds=Speeds(number=3e-9, decimal=3e-9, text=10e-9),
    datafusion=Speeds(number=10e-9, decimal=20e-9, text=36e-9),
    infer_schema=orc_schema,
    rows=_rows,
    sample=_sample,
    libraries=("pyarrow.orc",),
    write=_write,
    variants=len(writing.COMPRESSIONS),
    dataset="orc",
    lacks=("time", "duration"),
)
