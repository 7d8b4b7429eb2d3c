"""Rows of an object of text by its index table: the ranges of bytes that it has for intervals of values, and the rows
there."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet

from jumpgate.errors import JumpgateError
from jumpgate.ncas.s3_select.intervals import GAP_BYTES, REQUEST_BYTES, common, is_empty
from jumpgate.stores import reading, web
from jumpgate.stores.indexes import Interval
from jumpgate.stores.objects import Grant

#: requests under way, of all objects of an instance; and those whose answers are held
AT_ONCE, HELD = 16, 16
#: the first and the last byte of a record
Range = tuple[int, int]


def ranges(told: Mapping[str, Any], wanted: Sequence[Interval]) -> list[Range] | None:
    """Return the ranges of the records whose values the intervals have, in order; None if the table cannot be read.
    told: what reads it, and the size of its object."""
    try:
        if "grant" in told:
            with reading.opened(told["place"], Grant(**told["grant"])) as file:
                found = list(_looked_up(file, wanted))
        else:
            with open(told["place"], "rb") as file:
                found = list(_looked_up(file, wanted))
    except (OSError, JumpgateError, pa.ArrowException):
        return None
    found.sort()
    return found if all(0 <= first <= last < told["size"] for first, last in found) else None


def _looked_up(file: IO[bytes], wanted: Sequence[Interval]) -> Iterator[Range]:
    with parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True) as source:
        for group in range(source.num_row_groups):
            known = source.metadata.row_group(group).column(0).statistics
            low, high = (known.min, known.max) if known is not None and known.has_min_max else (None, None)
            some = [i for i in wanted if not is_empty(common(i, (low, high)))]
            if not some:
                continue
            table = source.read_row_group(group, use_threads=False)
            values: list[Any] = table["value"].to_pylist()
            for least, most in some:
                begin = 0 if least is None else bisect.bisect_left(values, least)
                end = len(values) if most is None else bisect.bisect_right(values, most)
                part = table.slice(begin, max(0, end - begin))
                yield from zip(part["first_byte"].to_pylist(), part["last_byte"].to_pylist(), strict=True)


def records(
    file: str, grant: Grant, found: Sequence[Range], header: str, count: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield texts of the records in these ranges, in order, below the header. count: is told the bytes of each request.
    Raises FileChanged, FileUnreadable, Forbidden."""

    def read(part: list[Range]) -> bytes:
        start, end = part[0][0], part[-1][1] + 1
        block = web.ranged(file, grant, start, end - start)
        count(len(block))
        rows = (block[first - start : last - start + 1] for first, last in part)
        return b"".join(row if row.endswith(b"\n") else row + b"\n" for row in rows)

    parts = requests(found)
    while some := list(itertools.islice(parts, HELD)):
        yield b"".join([header.encode(), *_pool().map(read, some)])


def requests(found: Iterable[Range]) -> Iterator[list[Range]]:
    """Yield ranges, which are in order, by the request that reads them.

    >>> list(requests([(0, 9), (20, 29), (100_000, 100_009)]))
    [[(0, 9), (20, 29)], [(100000, 100009)]]
    """
    part: list[Range] = []
    for first, last in found:
        if part and (first - part[-1][1] > GAP_BYTES or last - part[0][0] > REQUEST_BYTES):
            yield part
            part = []
        part.append((first, last))
    if part:
        yield part


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE)
