"""Verifies checksums of the pages of Parquet files, for a reader that does not.

A page is a header, in Thrift's compact protocol, and its bytes; the checksum (CRC-32) covers the stored bytes. Format:
https://github.com/apache/parquet-format, PageHeader.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.converters.footers import columns_of, parquet_footer
from jumpgate.dataflow import beneath
from jumpgate.errors import JumpgateError, MalformedData

#: seconds after which the rest is left to the next call
SLICE_S = 1.0
#: a writer gives checksums to the first pages of a chunk, or to none
_FIRST = 2
_HEADER_BYTES, _HEADER_BYTES_MAX = 256, 1 << 20
_PIECE_BYTES = 1 << 20
_SIZE, _CHECKSUM = 3, 4  # fields of a page's header
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)


@dataclass(frozen=True)
class _Page:
    """The position of a page's bytes, and its checksum if it has one."""

    start: int
    size: int
    checksum: int | None


def with_checksums(files: Sequence[str]) -> list[str]:
    """Return the files in which the first pages of a column have checksums; unreadable files have none."""
    import pyarrow.parquet as pq

    found = []
    for path in files:
        try:
            if parquet_footer(path).encrypted:
                continue
            with open(path, "rb", opener=beneath.opener) as file:
                metadata = pq.read_metadata(file)
                groups = (metadata.row_group(g) for g in range(metadata.num_row_groups))
                chunk = next((group.column(0) for group in groups if group.num_rows and group.num_columns), None)
                if chunk is not None and _has_checksums(file.fileno(), chunk):
                    found.append(path)
        except (JumpgateError, OSError, ValueError):  # includes all of pyarrow's; reading the file reports it
            continue
    return found


def check(files: Sequence[str], names: Sequence[str], group: int) -> int:
    """Verify the checksums of these columns in one file from a row group on; return the next row group, or -1.

    Raises MalformedData for a page whose bytes have changed.
    """
    import pyarrow.parquet as pq

    (path,) = files
    end = time.monotonic() + SLICE_S
    with open(path, "rb", opener=beneath.opener) as file:
        metadata = pq.read_metadata(file)
        columns = columns_of(metadata.schema, metadata.schema.to_arrow_schema())
        wanted = [(leaf, column.name) for column, leaves in columns if column.name in names for leaf in leaves]
        for g in range(group, metadata.num_row_groups):
            if g > group and time.monotonic() > end:
                return g
            row_group = metadata.row_group(g)
            for leaf, name in wanted:
                chunk = row_group.column(leaf)
                if _has_checksums(file.fileno(), chunk):
                    _check(file.fileno(), chunk, path, name)
    return -1


def _has_checksums(file: int, chunk: Any) -> bool:
    return any(page.checksum is not None for _, page in zip(range(_FIRST), _pages(file, chunk), strict=False))


def _check(file: int, chunk: Any, path: str, column: str) -> None:
    for page in _pages(file, chunk):
        if page.checksum is not None and page.checksum != _checksum(file, page):
            raise MalformedData(
                f"Parquet file '{path}' is damaged or incomplete: column '{column}': CRC checksum verification failed "
                f"for the page whose bytes begin at {page.start}",
                file=path,
                column=column,
            )


def _checksum(file: int, page: _Page) -> int:
    found = 0
    for start in range(page.start, page.start + page.size, _PIECE_BYTES):
        found = zlib.crc32(os.pread(file, min(_PIECE_BYTES, page.start + page.size - start), start), found)
    return found


def _pages(file: int, chunk: Any) -> Iterator[_Page]:
    """Yield the pages of a column chunk, up to one that cannot be parsed."""
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    position = min(starts)
    end = position + chunk.total_compressed_size
    while position < end:
        header = _header(file, position)
        if header is None or _SIZE not in header[0]:
            return
        fields, length = header
        size = fields[_SIZE]
        if size < 0 or position + length + size > end:
            return
        checksum = fields.get(_CHECKSUM)
        yield _Page(position + length, size, None if checksum is None else checksum & 0xFFFFFFFF)
        position += length + size


def _header(file: int, position: int) -> tuple[dict[int, int], int] | None:
    """Return the integers among a page header's fields, and its length."""
    size = _HEADER_BYTES
    while size <= _HEADER_BYTES_MAX:
        data = os.pread(file, size, position)
        try:
            return _struct(data, 0)
        except IndexError:  # statistics make it longer
            if len(data) < size:
                return None
            size *= 16
        except ValueError:
            return None
    return None


def _struct(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """Parse a struct. Raises IndexError beyond the data, ValueError for malformed structs."""
    fields: dict[int, int] = {}
    number = 0
    while (head := data[at]) != _STOP:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(data, at)
        kind = head & 15
        if kind in (_I16, _I32, _I64):
            fields[number], at = _zigzag(data, at)
        elif kind not in (_TRUE, _FALSE):  # these are in the head
            at = _after(data, at, kind)
    return fields, at + 1


def _after(data: bytes, at: int, kind: int) -> int:
    """Return the end of a value that begins at `at`."""
    if kind in (_TRUE, _FALSE, _BYTE):
        return at + 1
    if kind in (_I16, _I32, _I64):
        return _varint(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == _STRUCT:
        return _struct(data, at)[1]
    if kind in (_LIST, _SET):
        count, of, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _varint(data, at)
        for _ in range(count):
            at = _after(data, at, of)
        return at
    raise ValueError(f"a page header with a value of kind {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
