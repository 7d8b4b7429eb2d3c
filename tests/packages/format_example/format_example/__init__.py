"""Arrow IPC files, also called Feather: the example of docs/add-a-format.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.dataflow.formats import Format, Sample, Speeds
from jumpgate.dataflow.types import DataType, Field, Schema, decimal, opaque
from jumpgate.errors import MalformedData, SchemaMismatch

if TYPE_CHECKING:
    import pyarrow as pa

#: values of a column that are looked at
SAMPLED_MAX = 4096
#: of a file's buffers, in the order of the variants
COMPRESSIONS = (None, "lz4", "zstd")
#: types whose values Jumpgate and Arrow lay out alike, by Arrow's names
_TYPES = {
    "bool": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "float": "float32",
    "double": "float64", "date32[day]": "date", "timestamp[us]": "timestamp", "string": "string", "binary": "binary",
}  # fmt: skip


def _opened(file: str) -> pa.ipc.RecordBatchFileReader:
    import pyarrow as pa
    import pyarrow.ipc

    try:
        return pyarrow.ipc.open_file(pa.memory_map(file))
    except pa.ArrowInvalid as error:
        raise MalformedData(f"'{file}' is not an Arrow IPC file, or damaged: {error}", file=file) from None


def _type(type: pa.DataType) -> DataType:
    import pyarrow as pa

    if pa.types.is_decimal128(type) and 0 <= type.scale <= type.precision:
        return decimal(type.precision, type.scale)
    name = _TYPES.get(str(type))
    return opaque(str(type)) if name is None else DataType(name)


def infer_schema(files: tuple[str, ...], options: Mapping[str, str]) -> Schema:
    """That of the first file; the others must have the same."""
    first, *others = (_opened(file).schema for file in files)
    for file, schema in zip(files[1:], others, strict=True):
        if not schema.equals(first):
            raise SchemaMismatch(
                f"files of one read differ: '{files[0]}' and '{file}'; read them separately and union_all them",
                file=file,
            )
    return Schema(tuple(Field(f.name, _type(f.type).with_nullable(f.nullable)) for f in first))


def rows(file: str, options: Mapping[str, str]) -> float:
    reader = _opened(file)
    return float(sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches)))


def sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    """From a record batch in the middle."""
    reader = _opened(file)
    if not reader.num_record_batches:
        return Sample()
    return Sample(reader.get_batch(reader.num_record_batches // 2).column(name).slice(0, SAMPLED_MAX).to_pylist())


def write(table: pa.Table | Iterable[Any], path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
    import pyarrow as pa
    import pyarrow.ipc

    options = pyarrow.ipc.IpcWriteOptions(compression=COMPRESSIONS[variant])
    with pyarrow.ipc.new_file(path, table.schema, options=options) as writer:
        for batch in table.to_batches() if isinstance(table, pa.Table) else table:
            writer.write_table(pa.Table.from_batches([batch]), part_rows)


ARROW_IPC = Format(
    name="arrow_ipc",
    title="Arrow IPC",
    suffixes=(".arrow", ".feather", ".ipc"),
    self_describing=True,
    columnar=True,
    substrait="arrow",
    speeds=Speeds(number=1e-9, decimal=1e-9, text=4e-9),
    infer_schema=infer_schema,
    rows=rows,
    sample=sample,
    libraries=("pyarrow.ipc",),
    reader=Path(__file__).with_name("reader.cpp"),
    write=write,
    variants=len(COMPRESSIONS),
    dataset="ipc",
)
