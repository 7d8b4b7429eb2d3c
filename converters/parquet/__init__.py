"""Apache Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpgate.converters import writing
from jumpgate.converters.footers import parquet_footer, parquet_metadata, parquet_schema
from jumpgate.converters.parquet.segments import segments
from jumpgate.dataflow.formats import ABSENT, DELETED, EARLY_DAYS, Format, Sample, Speeds
from jumpgate.dataflow.opening import opened
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.stores.names import is_remote

#: values come from some rows of some row groups; files of at most SMALL_ROWS rows are read whole
ROWS_MAX, GROUPS_MAX, SMALL_ROWS = 1024, 4, 100_000


def _schema(files: tuple[str, ...], options: Mapping[str, str]) -> Schema:
    return parquet_schema(files)


def _rows(file: str, options: Mapping[str, str]) -> float:
    return float(parquet_footer(file).rows)


def _sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    footer = parquet_footer(file)
    if footer.encrypted:
        return Sample()
    bounds = _bounds(file, options, name, type)
    spread = footer.range(name).spread
    if is_remote(file):  # values are data, which would be paid for twice
        return Sample(bounds=bounds, spread=spread)
    values, whole = _values(file, name)
    return Sample(values, bounds, whole, spread)


def _bounds(file: str, options: Mapping[str, str], name: str, type: DataType) -> tuple[float | None, float | None]:
    footer = parquet_footer(file)
    if footer.encrypted:
        return None, None
    range, scale = footer.range(name), 10.0**-type.scale if type.kind == "decimal" else 1.0
    low, high = ((float(b) * scale if isinstance(b, int | float) else None) for b in (range.low, range.high))
    return low, high


def _values(file: str, name: str) -> tuple[Any, bool]:
    """Return the values of a column, and whether these are all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (
        opened(file) as source,
        pq.ParquetFile(source, metadata=parquet_metadata(file)) as parquet,
    ):
        if parquet.metadata.num_rows <= SMALL_ROWS:
            return parquet.read([name]).column(0), True
        found = []
        groups = parquet.num_row_groups
        for group in sorted({groups * i // GROUPS_MAX for i in range(GROUPS_MAX)}):
            batch = next(parquet.iter_batches(ROWS_MAX, row_groups=[group], columns=[name]), None)
            found += [] if batch is None else [batch.column(0)]
        return pa.chunked_array(found) if found else (), False


def _write(table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    """Write the file, with a variant for each compression, the last one with a page index."""
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pa.Table.from_batches(writing.batches(table), table.schema),
        path,
        row_group_size=part_rows,
        compression=writing.COMPRESSIONS[variant].replace("uncompressed", "none"),
        write_page_index=variant == len(writing.COMPRESSIONS) - 1,
        use_compliant_nested_type=False,  # lists keep their items' name
    )


def _duckdb(files: str, columns: str, options: Mapping[str, str]) -> str:
    return f"read_parquet({files})"


PARQUET = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet", ".pq"),
    options=(ABSENT, EARLY_DAYS, DELETED),
    self_describing=True,
    nested=True,
    columnar=True,
    converted=False,
    substrait="parquet",
    speeds=Speeds(number=1.6e-9, decimal=2.4e-9, text=6e-9),  # late ones are made where rows are left
    duckdb_speeds=Speeds(number=3.9e-9, decimal=6.6e-9, text=11.5e-9),
    infer_schema=_schema,
    rows=_rows,
    sample=_sample,
    bounds=_bounds,
    segments=segments,
    libraries=("pyarrow.parquet",),
    write=_write,
    variants=len(writing.COMPRESSIONS),
    duckdb=_duckdb,
    duckdb_copy="format parquet",
)
