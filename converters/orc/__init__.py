"""Apache ORC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jumpgate.converters import writing
from jumpgate.converters.footers import FOOTERS_CACHED_MAX, Footer, Range, cached, common_schema, each, unreadable
from jumpgate.converters.orc.footer import Contents, read_footer
from jumpgate.dataflow.formats import ABSENT, EARLY_DAYS, Format, Sample, Speeds
from jumpgate.dataflow.opening import opened
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.stores.names import is_remote

#: the most stripes to sample, which are read whole: if they have more rows, nothing is read
STRIPES_MAX, STRIPE_ROWS_MAX = 4, 2_000_000
SMALL_ROWS, SAMPLED_MAX = 100_000, 4096
#: bytes of a written stripe per row
ROW_BYTES = 16


def orc_schema(files: Sequence[str], options: Mapping[str, str] = {}) -> Schema:
    """Return the schema as footers.parquet_schema does; columns of ORC files are all nullable."""
    return common_schema(each(files, orc_footer))


def orc_footer(path: str) -> Footer:
    """Return the footer of one file. Raises FileUnreadable or MalformedData."""
    return cached(path, _read)


def _read(path: str, mtime_ns: int, size: int) -> Footer:
    contents = _contents(path, mtime_ns, size)
    schema = Schema(tuple(Field(n, type_) for n, type_ in contents.columns))
    return Footer(path, schema, contents.rows, {}, lambda _name: Range())


@lru_cache(maxsize=FOOTERS_CACHED_MAX)
def _contents(path: str, _mtime_ns: int, _size: int) -> Contents:
    try:
        return read_footer(path)
    except OSError as e:
        raise unreadable("ORC", path, e) from None


def _rows(file: str, options: Mapping[str, str]) -> float:
    return float(orc_footer(file).rows)


def _bounds(file: str, options: Mapping[str, str], name: str, type: DataType) -> tuple[float | None, float | None]:
    return cached(file, _contents).bounds.get(name, (None, None))


def _sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    import pyarrow as pa
    import pyarrow.orc

    bounds = cached(file, _contents).bounds.get(name)
    if is_remote(file):  # values are data, which would be paid for twice
        return Sample(bounds=bounds)
    with opened(file) as stream:
        orc = pyarrow.orc.ORCFile(stream)
        stripes = orc.nstripes
        if not stripes or orc.nrows > stripes * STRIPE_ROWS_MAX:
            return Sample(bounds=bounds)
        if orc.nrows <= SMALL_ROWS:
            return Sample(orc.read(columns=[name]).column(0), bounds, whole=True)
        found = []
        chosen = sorted({stripes * i // STRIPES_MAX for i in range(STRIPES_MAX)})
        for stripe in chosen:
            column = orc.read_stripe(stripe, columns=[name]).column(0)
            step = -(-len(column) * len(chosen) // SAMPLED_MAX)
            found.append(column.take(pa.array(range(0, len(column), max(1, step)), pa.int64())))
    return Sample(pa.chunked_array(found), bounds)


def _write(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """Write the file, with a variant for each compression."""
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
    options=(ABSENT, EARLY_DAYS),
    self_describing=True,
    nested=True,
    columnar=True,
    substrait="orc",
    speeds=Speeds(number=3e-9, decimal=3e-9, text=10e-9),
    duckdb_speeds=Speeds(number=5.5e-9, decimal=11e-9, text=20e-9),
    infer_schema=orc_schema,
    rows=_rows,
    sample=_sample,
    bounds=_bounds,
    libraries=("pyarrow.orc",),
    write=_write,
    variants=len(writing.COMPRESSIONS),
    dataset="orc",
    lacks=("time", "duration"),
)
