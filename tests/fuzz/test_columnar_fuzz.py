"""The Parquet and ORC readers on damaged files: libFuzzer where clang is installed, else random mutations, both under
ASan and UBSan, for a bounded time."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import jumpgate.converters
from tests.support import cpp, fuzz
from tests.support.orc_tail import OrcFile, packed

HERE = Path(__file__).parent
CONVERTERS = Path(jumpgate.converters.__file__).parent
#: of the runtime, beside object stores
PARTS = ("base/lent_memory", "base/memory", "functions/functions", "functions/case")
ROWS_TO_SEEK = 5000  # three batches, of which the fuzz target leaves out the second
TYPES = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "float64": pa.float64(), "decimal_small": pa.decimal128(7, 2),
    "decimal_large": pa.decimal128(38, 10), "date": pa.date32(), "timestamp": pa.timestamp("us"), "string": pa.string(),
    "binary": pa.binary(),
}  # fmt: skip
TEXTS = pa.list_(pa.string())
PART = pa.struct({"n": pa.int32(), "l": TEXTS})
NESTED = {"nested": pa.struct({"n": pa.int32(), "l": TEXTS, "m": pa.map_(pa.string(), PART)})}
PARQUET_TYPES = {"uint64": pa.uint64(), "float16": pa.float16()}
PARQUET: list[dict[str, Any]] = [
    {}, {"compression": "none", "data_page_size": 200, "write_batch_size": 16},
    {"data_page_version": "2.0", "row_group_size": 40, "write_page_checksum": True},
    {"compression": "zstd", "use_deprecated_int96_timestamps": True},
    {"use_dictionary": False, "compression": "none", "column_encoding": {
        "int32": "DELTA_BINARY_PACKED", "string": "DELTA_BYTE_ARRAY", "binary": "DELTA_LENGTH_BYTE_ARRAY",
        "float64": "BYTE_STREAM_SPLIT", "bool": "RLE"}},
]  # fmt: skip
ORC: list[dict[str, Any]] = [
    {}, {"compression": "uncompressed", "stripe_size": 2000, "batch_size": 50},
    {"compression": "snappy", "dictionary_key_size_threshold": 1.0}, {"compression": "zlib", "file_version": "0.11"},
    {"compression": "snappy", "row_index_stride": 500}, {"compression": "uncompressed", "row_index_stride": 1000},
]  # fmt: skip


def in_a_zone(file: OrcFile) -> None:
    for stripe in file.stripes:
        stripe.footer.put(3, b"GMT-03:30")


def with_old_decimals(file: OrcFile) -> None:
    file.footer.each(4, lambda type_: type_.put(5).put(6))


def with_new_decimals(file: OrcFile) -> None:
    """Whose bytes are then read as what they are not."""
    file.postscript.put(4, packed([1, 9999]))


#: Parquet with a page of each thousand rows, which its index places, and Bloom filters
INDEXED: dict[str, Any] = {
    "write_page_index": True, "data_page_size": 1, "write_batch_size": 1000,
    "bloom_filter_options": {name: {"ndv": 12, "fpp": 0.01} for name in ("int32", "int64")},
}  # fmt: skip
#: ORC with a row group of each thousand rows, and Bloom filters of the types' numbers
INDEXED_ORC: dict[str, Any] = {"row_index_stride": 1000, "bloom_filter_columns": [1, 2]}
OTHER_WRITERS = (in_a_zone, with_old_decimals, with_new_decimals)


def table(rows: int, types: dict[str, pa.DataType]) -> pa.Table:
    """Values that repeat, with NULLs."""

    def value(type_: pa.DataType, row: int) -> Any:
        if row % 5 == 3:
            return None
        n = row * row % 97
        if pa.types.is_struct(type_):
            return {"n": n, "l": ["x", None] * (n % 3), "m": [(f"{n}", {"n": n, "l": []}), ("k", None)][: n % 3]}
        match str(type_):
            case "bool":
                return n % 2 == 0
            case "string":
                return f"{n}" * (n % 4)
            case "binary":
                return b"%d" % n * (n % 4)
        return decimal.Decimal(n) if pa.types.is_decimal(type_) else n

    return pa.table({n: pa.array([value(t, r) for r in range(rows)], t) for n, t in types.items()})


@pytest.mark.nightly(but="orc")
@pytest.mark.parametrize(("format", "layouts"), [("parquet", PARQUET), ("orc", ORC)])
@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_no_file_crashes_the_readers(tmp_path: Path, format: str, layouts: list[dict[str, Any]]) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for i, layout in enumerate(layouts):
        write = pq.write_table if format == "parquet" else orc.write_table
        rows = ROWS_TO_SEEK if "row_index_stride" in layout else 30 + 70 * i
        types = TYPES | NESTED | (PARQUET_TYPES if format == "parquet" else {})
        write(table(rows, types), str(corpus / str(i)), **layout)
    clustered = pa.table({n: pa.array([row // 1000 for row in range(12_000)], TYPES[n]) for n in ("int32", "int64")})
    if format == "parquet":  # one of which bounds rule out pages
        pq.write_table(clustered, corpus / "pages", **INDEXED)
        for compression in ("none", "snappy"):  # of pages that are read in pieces
            large = clustered.select(["int64"]).slice(0, 9000)
            pq.write_table(large, corpus / f"large-{compression}", use_dictionary=False, compression=compression)
    if format == "orc":
        for compression in ("uncompressed", "snappy"):  # of which bounds rule out row groups
            orc.write_table(clustered, corpus / f"groups-{compression}", compression=compression, **INDEXED_ORC)
        for i, change in enumerate(OTHER_WRITERS):
            file = OrcFile.read(corpus / "1")
            change(file)
            file.write(corpus / f"other{i}")
    library = pa.get_library_dirs()[0]
    soname = next(Path(library).glob("libarrow.so.*")).name.removeprefix("libarrow.so.").partition(".")[0]
    sources = [HERE / f"{format}_fuzz.cpp", CONVERTERS / "readers.cpp", *sorted(CONVERTERS.glob(f"{format}/*.cpp")),
               *sorted(p for p in CONVERTERS.glob("common/*.cpp") if p.name != "scan_probe.cpp"),
               *(cpp.runtime_source() / f"src/{name}.cpp" for name in PARTS),
               *cpp.object_sources()]  # fmt: skip
    flags = ["-march=native", "-I", str(CONVERTERS), "-isystem", pa.get_include(), f"-L{library}",
             f"-Wl,-rpath,{library}"]  # fmt: skip
    libraries = [f"{library}/libarrow.so.{soname}", f"{library}/libparquet.so.{soname}"]
    linked = [*flags, "-Wl,--no-as-needed", *libraries]
    inputs = fuzz.fuzz(format, sources, HERE / "mutate_main.cpp", corpus, linked, ["-malloc_limit_mb=16384"])
    assert inputs > len(layouts), "the fuzzer ran nothing"
